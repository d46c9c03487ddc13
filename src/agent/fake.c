/* agent/fake.c - containers that exist in memory alone: for tests, for trying the
 * scheduler, and for measuring everything around containers.
 *
 *     argv[0]   "sleep:MS"   runs for MS milliseconds, then exits with 0
 *               "exit:N"     exits with N at once
 *               "print:TEXT" leaves TEXT as one line of log, exits with 0
 *               "fail"       fails to start, may be tried again
 *               "fatal"      fails to start for good
 *               other        exits with 0 at once
 *
 * Invariants: `order` holds the used slots of `members`, sorted by ref, no doubles;
 * a member runs exactly while its phase is RUNNING, and then due_ms is in the heap
 * with its stamp.  Nothing survives the process: the next agent lists nothing. */
#include "agent/driver.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/check.h"
#include "base/heap.h"
#include "base/str.h"
#include "base/vec.h"
#include "net/loop.h"
#include "wire/shim.h"

#define FOREVER INT64_MAX

struct fake_member {
    struct member_report report;
    int64_t run_ms;    /* once it goes; FOREVER: until stopped */
    int64_t due_ms;
    int32_t exit_code;
    bool limited;      /* run_ms is the time limit */
    uint32_t stamp;
    char print[128];
};

struct fake {
    struct net_loop *loop;
    struct net_timer *due, *kick;
    struct driver_config config;
    char state_dir[256];
    VEC(struct fake_member) members;
    VEC(uint32_t) unused, order;
    struct heap timers;
};

static void changed(struct fake *f)
{
    if (!net_timer_armed(f->kick)) net_timer_set(f->kick, 0, 0);
}

static void on_kick(void *arg)
{
    struct fake *f = arg;
    if (f->config.on_change != NULL) f->config.on_change(f->config.arg);
}

/* Place of ref in `order`; true when it is there. */
static bool find(const struct fake *f, struct member_ref ref, uint32_t *ret_at)
{
    uint32_t lo = 0, hi = f->order.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = member_ref_cmp(f->members.v[f->order.v[mid]].report.ref, ref);
        if (c == 0) {
            *ret_at = mid;
            return true;
        }
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    *ret_at = lo;
    return false;
}

static struct fake_member *member_of(struct fake *f, struct member_ref ref)
{
    uint32_t at;
    return find(f, ref, &at) ? &f->members.v[f->order.v[at]] : NULL;
}

static void rearm(struct fake *f)
{
    const struct heap_item *top;
    while ((top = heap_top(&f->timers)) != NULL) {
        const struct fake_member *m = &f->members.v[top->slot];
        if (m->stamp == top->stamp && m->report.phase == MEMBER_RUNNING) break;
        struct heap_item stale;
        heap_pop(&f->timers, &stale);
    }
    if (top == NULL) {
        net_timer_stop(f->due);
        return;
    }
    int64_t in = top->key - net_loop_now_ms(f->loop);
    net_timer_set(f->due, in > 0 ? in : 0, 0);
}

static void finish(struct fake_member *m, int32_t code, int32_t signal)
{
    m->report.phase = MEMBER_EXITED;
    m->report.end = (struct member_end){.exit_code = code, .signal = signal};
    m->stamp++;
}

static void on_due(void *arg)
{
    struct fake *f = arg;
    int64_t now = net_loop_now_ms(f->loop);
    const struct heap_item *top;
    while ((top = heap_top(&f->timers)) != NULL && top->key <= now) {
        struct heap_item item;
        heap_pop(&f->timers, &item);
        struct fake_member *m = &f->members.v[item.slot];
        if (m->stamp != item.stamp || m->report.phase != MEMBER_RUNNING) continue;
        finish(m, m->exit_code, m->limited ? SIGTERM : 0);
        m->report.end.timed_out = m->limited;
        changed(f);
    }
    rearm(f);
}

/* ---- the driver's operations ---- */

static void fake_facts(void *self, struct driver_facts *ret)
{
    (void)self;
    *ret = (struct driver_facts){.simulated = true, .proved = false};
    TEXT_CLIP(ret->note, STR("fake driver: nothing really runs"));
}

static void fake_set_incarnation(void *self, const char *incarnation)
{
    (void)self;
    (void)incarnation; /* nothing here is older than this process */
}

static void script(struct fake_member *m, struct str cmd)
{
    struct str verb;
    uint64_t n = 0;
    bool arg = str_cut(&cmd, ':', &verb);
    m->report.phase = MEMBER_READY;
    if (arg && str_eq(verb, STR("sleep")) && str_to_u64(cmd, &n)) {
        m->run_ms = n < INT32_MAX ? (int64_t)n : FOREVER;
    } else if (arg && str_eq(verb, STR("exit")) && str_to_u64(cmd, &n)) {
        m->exit_code = (int32_t)(n & 0xff);
    } else if (arg && str_eq(verb, STR("print"))) {
        TEXT_CLIP(m->print, cmd);
    } else if (str_eq(verb, STR("fail")) || str_eq(verb, STR("fatal"))) {
        m->report.phase = MEMBER_FAILED;
        m->report.end = (struct member_end){.exit_code = -1, .fatal = verb.n == 5};
        TEXT_CLIP(m->report.end.detail, STR("told to fail"));
    }
}

static int fake_create(void *self, const struct container_spec *spec, struct err *err)
{
    struct fake *f = self;
    uint32_t at, slot;
    if (find(f, spec->ref, &at)) return 0;
    if (spec->argv == NULL || spec->argv[0] == NULL) {
        return err_set(err, ERR_INVALID, "no command");
    }
    if (f->unused.n > 0) {
        slot = VEC_POP(&f->unused);
    } else {
        slot = f->members.n;
        (void)VEC_ADD(&f->members);
    }
    struct fake_member *m = &f->members.v[slot];
    uint32_t stamp = m->stamp;
    *m = (struct fake_member){.report.ref = spec->ref, .stamp = stamp + 1};
    script(m, str_of(spec->argv[0]));
    if (spec->limit_ms > 0 && m->run_ms > spec->limit_ms) {
        m->run_ms = spec->limit_ms;
        m->exit_code = 128 + SIGTERM;
        m->limited = true;
    }
    VEC_INSERT(&f->order, at, slot);
    changed(f);
    return 0;
}

/* As the supervisor would: one record in the first log file. */
static void write_log(const struct fake *f, const struct fake_member *m, const char *dir)
{
    char path[400], line[SHIM_LOG_HEAD + sizeof(m->print) + 1];
    text_fmt(path, sizeof(path), "%s/logs", f->state_dir);
    mkdir(path, 0700);
    mkdir(dir, 0700);
    text_fmt(path, sizeof(path), "%s/" SHIM_LOG_PREFIX "%012x", dir, 0u);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return;
    int n = text_fmt(line, sizeof(line), "%012x %012x %014x o F %s\n", 0u, 0u, 0u, m->print);
    ssize_t wrote = write(fd, line, (size_t)n);
    (void)wrote; /* the log of a container that is not there */
    close(fd);
}

static bool fake_log_dir(void *self, struct member_ref ref, char *ret_path, uint32_t cap)
{
    const struct fake *f = self;
    char path[400];
    struct stat st;
    text_fmt(path, sizeof(path), "%s/logs/%llu.%u.%u", f->state_dir,
             (unsigned long long)ref.session, ref.attempt, ref.member);
    return stat(path, &st) == 0 && text_set(ret_path, cap, str_of(path));
}

/* What runs nowhere cannot run on. */
static void fake_answered(void *self, int64_t sent_boot_ms)
{
    (void)self;
    (void)sent_boot_ms;
}

static void fake_go(void *self, struct member_ref ref)
{
    struct fake *f = self;
    struct fake_member *m = member_of(f, ref);
    if (m == NULL || m->report.phase != MEMBER_READY) return;
    m->report.phase = MEMBER_RUNNING;
    m->stamp++;
    if (m->print[0] != '\0') {
        char dir[400];
        text_fmt(dir, sizeof(dir), "%s/logs/%llu.%u.%u", f->state_dir,
                 (unsigned long long)ref.session, ref.attempt, ref.member);
        write_log(f, m, dir);
    }
    if (m->run_ms == 0) {
        finish(m, m->exit_code, 0);
    } else if (m->run_ms != FOREVER) {
        m->due_ms = net_loop_now_ms(f->loop) + m->run_ms;
        heap_push(&f->timers, (struct heap_item){.key = m->due_ms, .tie = ref.session,
                                                 .slot = (uint32_t)(m - f->members.v),
                                                 .stamp = m->stamp});
        rearm(f);
    }
    changed(f);
}

static void fake_stop(void *self, struct member_ref ref, int64_t grace_ms, bool preempted)
{
    struct fake *f = self;
    struct fake_member *m = member_of(f, ref);
    (void)grace_ms; /* nothing here catches SIGTERM */
    (void)preempted;
    if (m == NULL || m->report.phase == MEMBER_EXITED || m->report.phase == MEMBER_FAILED) return;
    if (m->report.phase == MEMBER_RUNNING) {
        finish(m, 128 + SIGTERM, SIGTERM);
    } else {
        m->report.phase = MEMBER_FAILED;
        m->report.end = (struct member_end){.exit_code = -1};
        TEXT_CLIP(m->report.end.detail, STR("stopped before it ran"));
    }
    changed(f);
}

static void fake_signal(void *self, struct member_ref ref, uint32_t no, int signum)
{
    struct fake *f = self;
    struct fake_member *m = member_of(f, ref);
    if (m == NULL || m->report.phase != MEMBER_RUNNING || no <= m->report.signal_done) return;
    m->report.signal_done = no;
    if (signum == SIGKILL || signum == SIGTERM || signum == SIGINT) {
        finish(m, 128 + signum, signum);
    }
    changed(f);
}

static void fake_clean(void *self, struct member_ref ref)
{
    struct fake *f = self;
    uint32_t at;
    if (!find(f, ref, &at)) return;
    uint32_t slot = f->order.v[at];
    f->members.v[slot].stamp++;
    f->members.v[slot].report.phase = MEMBER_NONE;
    VEC_REMOVE(&f->order, at);
    VEC_PUSH(&f->unused, slot);
    changed(f);
}

static uint32_t fake_list(void *self, struct member_report **ret)
{
    const struct fake *f = self;
    struct member_report *list = mem_array(f->order.n > 0 ? f->order.n : 1, sizeof(*list));
    for (uint32_t i = 0; i < f->order.n; i++) list[i] = f->members.v[f->order.v[i]].report;
    *ret = list;
    return f->order.n;
}

static int fake_exec(void *self, struct member_ref ref, const char *const *argv, bool tty,
                     struct net_conn *conn, struct err *err)
{
    (void)self, (void)ref, (void)argv, (void)tty, (void)conn;
    return err_set(err, ERR_UNSUPPORTED, "nothing runs here: this node uses the fake driver");
}

static int fake_attach_input(void *self, struct member_ref ref, uint8_t frame, const void *data,
                             uint32_t n, struct err *err)
{
    (void)frame, (void)data, (void)n;
    if (member_of(self, ref) == NULL) return err_set(err, ERR_NOT_FOUND, "no such container");
    return 0;
}

static void fake_free(void *self)
{
    struct fake *f = self;
    net_timer_free(f->due);
    net_timer_free(f->kick);
    VEC_DONE(&f->members);
    VEC_DONE(&f->unused);
    VEC_DONE(&f->order);
    heap_done(&f->timers);
    mem_free(f);
}

int fake_driver_new(struct net_loop *loop, const struct driver_config *config,
                    struct driver *ret, struct err *err)
{
    static const struct driver_ops ops = {
        .name = "fake", .facts = fake_facts, .set_incarnation = fake_set_incarnation,
        .answered = fake_answered, .create = fake_create, .go = fake_go, .stop = fake_stop,
        .signal = fake_signal, .clean = fake_clean, .list = fake_list, .log_dir = fake_log_dir,
        .exec = fake_exec, .attach_input = fake_attach_input, .free = fake_free,
    };
    struct fake *f = mem_alloc(sizeof(*f));
    if (!TEXT_SET(f->state_dir, str_of(config->state_dir))) {
        mem_free(f);
        return err_set(err, ERR_LIMIT, "the path of the state directory is too long");
    }
    f->loop = loop;
    f->config = *config;
    f->due = net_timer_new(loop, on_due, f);
    f->kick = net_timer_new(loop, on_kick, f);
    *ret = (struct driver){.ops = &ops, .self = f};
    return 0;
}
