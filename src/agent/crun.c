/* agent/crun.c - containers made by crun, each under a supervisor that outlives
 * the agent: the driver's interface.
 *
 * Invariants: `members` is sorted by ref without doubles; a member is listed from
 * the moment its claim is durable until its directory is gone.
 * docs/spec/node.md */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "agent/adopt.h"
#include "agent/clean.h"
#include "agent/crun_impl.h"
#include "agent/docker/host.h"
#include "agent/docker/watch.h"
#include "base/check.h"
#include "base/mem.h"
#include "host/file.h"
#include "net/conn.h"
#include "net/log.h"
#include "wire/carry.h"

#define GREET_MS 2000
#define LATE_MS 10000

/* ---- members ---- */

static bool find_at(const struct crun *c, struct member_ref ref, uint32_t *ret_at)
{
    uint32_t lo = 0, hi = c->members.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int cmp = member_ref_cmp(c->members.v[mid]->ref, ref);
        if (cmp == 0) {
            *ret_at = mid;
            return true;
        }
        if (cmp < 0) lo = mid + 1;
        else hi = mid;
    }
    *ret_at = lo;
    return false;
}

struct crun_member *crun_find(struct crun *c, struct member_ref ref)
{
    uint32_t at;
    return find_at(c, ref, &at) ? c->members.v[at] : NULL;
}

struct crun_member *crun_add(struct crun *c, struct member_ref ref, int dir)
{
    uint32_t at;
    CHECK(!find_at(c, ref, &at));
    struct crun_member *m = mem_alloc(sizeof(*m));
    m->driver = c;
    m->ref = m->report.ref = ref;
    m->report.phase = MEMBER_PREPARING;
    claim_name(ref, m->name);
    m->dir = dir;
    m->sock = m->input = -1;
    VEC_INSERT(&c->members, at, m);
    return m;
}

static void free_member(struct crun_member *m)
{
    crun_unlink(m);
    if (m->prepare) {
        prepare_done(m->prepare);
        mem_free(m->prepare);
    }
    file_close(&m->dir);
    mem_free(m);
}

void crun_remove(struct crun_member *m)
{
    struct crun *c = m->driver;
    uint32_t at;
    CHECK(!m->busy);
    CHECK(find_at(c, m->ref, &at));
    VEC_REMOVE(&c->members, at);
    free_member(m);
    crun_changed(c);
}

void crun_changed(struct crun *c)
{
    if (!c->closing && !net_timer_armed(c->tell)) net_timer_set(c->tell, 0, 0);
}

static void on_tell(void *arg)
{
    struct crun *c = arg;
    if (c->on_change) c->on_change(c->arg);
}

/* Connected, it may still be that nobody is behind the socket. */
static int64_t greeting_due(const struct crun_member *m) { return m->sock >= 0 ? m->silent_ms : 0; }

/* The timer of all members is due with the first of them. */
static void arm(struct crun *c)
{
    int64_t now = net_now_ms(), next = INT64_MAX;
    for (uint32_t i = 0; i < c->members.n; i++) {
        const struct crun_member *m = c->members.v[i];
        const int64_t dues[] = {m->retry_ms, m->late_ms, greeting_due(m)};
        for (uint32_t k = 0; k < ARRAY_LEN(dues); k++)
            if (dues[k] && dues[k] < next) next = dues[k];
    }
    if (next == INT64_MAX) net_timer_stop(c->retry);
    else net_timer_set(c->retry, next > now ? next - now : 0, 0);
}

void crun_retry_at(struct crun_member *m, int64_t delay_ms)
{
    m->retry_ms = net_now_ms() + delay_ms;
    arm(m->driver);
}

void crun_stop_said(struct crun_member *m)
{
    m->late_ms = net_now_ms() + m->stop_grace_ms + m->driver->late_ms;
    arm(m->driver);
}

void crun_await_greeting(struct crun_member *m) { arm(m->driver); }

/* Collects who is due first: acting on one may remove it. */
static void on_retry(void *arg)
{
    struct crun *c = arg;
    VEC(struct member_ref) due = {0};
    int64_t now = net_now_ms();
    for (uint32_t i = 0; i < c->members.n; i++) {
        struct crun_member *m = c->members.v[i];
        if (m->late_ms && m->late_ms <= now) {
            m->late_ms = 0;
            crun_overrule(m);
        }
        bool silent = greeting_due(m) && greeting_due(m) <= now;
        if (!silent && (m->retry_ms == 0 || m->retry_ms > now)) continue;
        if (m->retry_ms <= now) m->retry_ms = 0;
        VEC_PUSH(&due, m->ref);
    }
    for (uint32_t i = 0; i < due.n; i++) {
        struct crun_member *m = crun_find(c, due.v[i]);
        if (m && greeting_due(m)) crun_hear_last(m); /* it was we who were late, perhaps */
        m = crun_find(c, due.v[i]);
        if (m) crun_next(m);
    }
    arm(c);
    VEC_DONE(&due);
}

/* ---- operations ---- */

static void op_facts(void *self, struct driver_facts *ret)
{
    const struct crun *c = self;
    *ret = (struct driver_facts){.proved = c->proved};
    text_fmt(ret->note, sizeof(ret->note), "%s%s", c->note, c->node.net->note);
}

static void op_set_incarnation(void *self, const char *incarnation)
{
    struct crun *c = self;
    struct err err = {0};
    TEXT_CLIP(c->incarnation, str_of(incarnation));
    if (pulse_begin(&c->pulse, c->state, incarnation, &err) < 0)
        log_event(LOG_ERROR, "pulse.failed", LOG_ERR(&err));
    crun_changed(c);
}

static void op_answered(void *self, int64_t sent_boot_ms)
{
    struct crun *c = self;
    struct err err = {0};
    if (pulse_answered(&c->pulse, sent_boot_ms, &err) < 0)
        log_event(LOG_ERROR, "pulse.failed", LOG_ERR(&err));
}

static void refuse(struct crun_member *m, const struct err *why)
{
    struct memo_exit e = {.fatal = true, .mem_peak_bytes = -1, .cpu_us = -1,
                          .ended_wall_us = proc_wall_us()};
    TEXT_CLIP(e.text, str_of(why->text));
    /* Lost in a crash, it is refused again when it is wanted again. */
    memo_write_exit(m->dir, &e, NULL);
    crun_take_exit(m);
}

/* What lives here decides what may be given away, whatever the manager believes. */
static bool has_room(const struct crun *c, const struct claim *wanted)
{
    struct claim held = {0};
    if (c->capacity.cpu_milli == 0) return true;
    for (uint32_t i = 0; i < c->members.n; i++) {
        const struct crun_member *m = c->members.v[i];
        const struct container_claim *k = &m->claim;
        if (m->report.phase == MEMBER_EXITED || m->report.phase == MEMBER_FAILED) continue;
        claim_add(&held, &(struct claim){k->cpu_milli, k->mem_bytes, (uint32_t)k->devices});
    }
    return claim_fits(&held, wanted, &c->capacity);
}

static int op_create(void *self, const struct container_spec *spec, struct err *err)
{
    struct crun *c = self;
    struct container_claim claim = {.uid = spec->uid, .gid = spec->gid, .tty = spec->tty,
                          .stdin_open = spec->stdin_open, .cpu_milli = spec->claim.cpu_milli,
                          .mem_bytes = spec->claim.mem_bytes, .devices = spec->claim.devices};
    char name[MEMO_NAME];
    if (crun_find(c, spec->ref)) return 0;
    if (!has_room(c, &spec->claim))
        return err_set(err, ERR_UNAVAILABLE, "what lives on this node leaves no room for it");
    if (c->node.docker && !c->node.docker->ready)
        return err_set(err, ERR_UNAVAILABLE, "%s", c->note);
    struct err why = {0};
    int refused = prepare_check(&c->node, spec, &why);
    __attribute__((cleanup(crun_image_done))) struct crun_image image = {.spec = *spec};
    int rc = refused < 0 || c->node.docker ? 0 : crun_image(c, spec, &image, err);
    if (rc < 0) return rc;
    TEXT_CLIP(claim.image, str_of(image.record.digest));
    TEXT_CLIP(claim.incarnation, str_of(spec->incarnation));
    TEXT_CLIP(claim.workdir, str_of(image.spec.workdir ? image.spec.workdir : ""));
    TEXT_SET(claim.boot_id, str_of(c->node.boot_id));
    if (spec->grant) claim_take_grant(&claim, spec->grant);
    claim_name(spec->ref, name);
    struct prepare *p = mem_alloc(sizeof(*p));
    int dir = claim_make(c->node.containers, name, &claim, err);
    rc = dir;
    if (rc >= 0 && refused >= 0 && spec->fence_ms > 0) rc = pulse_link(&c->pulse, dir, err);
    if (rc >= 0 && refused >= 0) rc = prepare_init(p, &c->node, &image.spec, dir, err);
    if (rc < 0) {
        if (dir >= 0) file_remove_tree(c->node.containers, name, NULL);
        file_close(&dir);
        mem_free(p);
        return rc;
    }
    struct crun_member *m = crun_add(c, spec->ref, dir);
    m->claim = claim;
    m->wired = spec->wiring == NULL;
    crun_changed(c);
    if (refused < 0) {
        mem_free(p);
        refuse(m, &why);
        return 0;
    }
    p->image = image.record;
    image.record = (struct image_record){0};
    m->prepare = p;
    crun_image_note(m);
    crun_start_job(m, CRUN_PREPARE);
    return 0;
}

static void op_go(void *self, struct member_ref ref)
{
    struct crun_member *m = crun_find(self, ref);
    if (!m || m->go) return;
    m->go = true;
    crun_next(m);
}

static void op_stop(void *self, struct member_ref ref, int64_t grace_ms, bool preempted)
{
    struct crun_member *m = crun_find(self, ref);
    if (!m || (m->stop && grace_ms >= m->stop_grace_ms)) return;
    m->stop = true;
    m->stop_grace_ms = grace_ms;
    m->stop_preempted = preempted;
    m->stop_sent = false;
    crun_next(m);
}

static void op_signal(void *self, struct member_ref ref, uint32_t no, int signum)
{
    struct crun_member *m = crun_find(self, ref);
    if (!m || !m->started || no <= m->report.signal_done) return;
    struct shim_signal s = {no, signum};
    crun_send(m, SHIM_SIGNAL, &s, sizeof(s));
}

static void op_clean(void *self, struct member_ref ref)
{
    struct crun_member *m = crun_find(self, ref);
    if (!m || m->clean) return;
    m->clean = true;
    crun_next(m);
}

static uint32_t op_list(void *self, struct member_report **ret)
{
    struct crun *c = self;
    struct member_report *v = mem_array(c->members.n ? c->members.n : 1, sizeof(*v));
    for (uint32_t i = 0; i < c->members.n; i++) {
        const struct crun_member *m = c->members.v[i];
        v[i] = m->report;
        v[i].orphan = c->incarnation[0] && strcmp(m->claim.incarnation, c->incarnation) != 0;
    }
    *ret = v;
    return c->members.n;
}

static bool op_place(void *self, struct member_ref ref, struct driver_place *ret)
{
    struct crun *c = self;
    struct crun_member *m = crun_find(c, ref);
    struct memo_life life;
    if (!m || !m->started || m->report.phase >= MEMBER_EXITED) return false;
    memset(ret, 0, sizeof(*ret));
    if (clean_groups(&c->node, m->name, &ret->groups, NULL) != 0) return false;
    if (memo_read_life(m->dir, &life, NULL) != 0) return true;
    if (strcmp(life.boot_id, c->node.boot_id) != 0) return true;
    ret->pid = life.pid;
    ret->start = (uint64_t)life.start;
    return true;
}

static bool op_log_dir(void *self, struct member_ref ref, char *ret_path, uint32_t cap)
{
    struct crun *c = self;
    char name[MEMO_NAME];
    claim_name(ref, name);
    const char *where = file_exists(c->node.containers, name) ? "containers" : "logs";
    if (where[0] == 'l' && !file_exists(c->node.logs, name)) return false;
    char path[MEMO_PATH * 2];
    text_fmt(path, sizeof(path), "%s/%s/%s", c->node.state_dir, where, name);
    return text_set(ret_path, cap, str_of(path));
}

static int op_exec(void *self, struct member_ref ref, const char *const *argv, bool tty,
                   struct net_conn *conn, struct err *err)
{
    struct crun_member *m = crun_find(self, ref);
    if (!m) return err_set(err, ERR_NOT_FOUND, "it is not on this node");
    if (!m->started || m->report.phase >= MEMBER_STOPPING)
        return err_set(err, ERR_CONFLICT, "it is not running");
    return crun_exec_start(m, argv, tty, conn, err);
}

static enum shim_kind input_kind(uint8_t frame)
{
    switch (frame) {
    case CARRY_STDIN: return SHIM_INPUT;
    case CARRY_STDIN_END: return SHIM_EOF;
    case CARRY_RESIZE: return SHIM_RESIZE;
    case CARRY_SIGNAL: return SHIM_SIGNAL;
    default: return 0;
    }
}

/* Input has a connection of its own: the supervisor stops reading it while the
 * job does not take more, and must still hear "stop". */
static int open_input(struct crun_member *m, struct err *err)
{
    char drop[SHIM_MSG_MAX];
    if (m->input < 0) m->input = crun_node_connect(m->dir, err);
    if (m->input < 0) return m->input;
    while (recv(m->input, drop, sizeof(drop), MSG_DONTWAIT) > 0) continue;
    return 0;
}

static int op_attach_input(void *self, struct member_ref ref, uint8_t frame, const void *data,
                           uint32_t n, struct err *err)
{
    struct crun_member *m = crun_find(self, ref);
    enum shim_kind kind = input_kind(frame);
    const uint8_t *p = data;
    if (!m || m->report.phase >= MEMBER_EXITED)
        return err_set(err, ERR_NOT_FOUND, "it is not running on this node");
    if (!kind || n > SHIM_DATA_MAX)
        return err_set(err, ERR_INVALID, "at most %d bytes of input at a time", SHIM_DATA_MAX);
    if (kind == SHIM_SIGNAL) { /* from a person at a terminal: not a numbered wish */
        if (n != 1) return err_set(err, ERR_INVALID, "a signal is one byte");
        struct memo_life l;
        int rc = memo_read_life(m->dir, &l, err);
        if (rc < 0) return rc;
        int fd = proc_open(l.pid, (uint64_t)l.start, err);
        if (fd < 0) return fd;
        proc_signal(fd, p[0]);
        close(fd);
        return 0;
    }
    if (!m->claim.tty && !m->claim.stdin_open)
        return err_set(err, ERR_CONFLICT, "it was started without an input");
    struct shim_resize r = {0};
    char msg[SHIM_MSG_MAX];
    int rc = open_input(m, err);
    if (rc < 0) return rc;
    msg[0] = (char)kind;
    if (kind == SHIM_RESIZE) {
        if (n != 4) return err_set(err, ERR_INVALID, "a size is four bytes");
        carry_resize_get(p, &r.rows, &r.cols);
        memcpy(msg + 1, &r, sizeof(r));
        n = sizeof(r);
    } else if (n) {
        memcpy(msg + 1, p, n);
    }
    if (send(m->input, msg, n + 1, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
    if (errno == EAGAIN) return err_set(err, ERR_UNAVAILABLE, "the job does not read its input");
    int code = errno;
    file_close(&m->input);
    return err_sys(err, ERR_UNAVAILABLE, code, "cannot reach the supervisor");
}

static void op_set_devices(void *self, uint32_t mask)
{
    struct crun *c = self;
    c->capacity.devices = mask;
}

static void op_free(void *self)
{
    struct crun *c = self;
    c->closing = true;
    net_timer_stop(c->tell); /* who would be told is going, or gone */
    net_timer_stop(c->retry);
    fetcher_free(c->fetcher);
    while (c->execs.n) crun_exec_free(c->execs.v[0]);
    /* Jobs on the workers use the node: let them end. */
    while (c->jobs > 0) uv_run(net_loop_uv(c->loop), UV_RUN_ONCE);
    docker_watch_free(c->watch);
    for (uint32_t i = 0; i < c->members.n; i++) free_member(c->members.v[i]);
    crun_forget_children(c);
    VEC_DONE(&c->members);
    VEC_DONE(&c->execs);
    net_timer_free(c->retry);
    net_timer_free(c->tell);
    cgroup_host_remove(&c->node.cgroups); /* stays while any container has its own below */
    pulse_done(&c->pulse);
    file_close(&c->state);
    crun_node_close(&c->node);
    mem_free(c);
}

static const struct driver_ops crun_ops = {
    .name = "crun",           .facts = op_facts,
    .set_incarnation = op_set_incarnation,
    .answered = op_answered,
    .create = op_create,      .go = op_go,
    .stop = op_stop,          .signal = op_signal,
    .clean = op_clean,        .list = op_list,
    .place = op_place,        .log_dir = op_log_dir,
    .exec = op_exec,          .attach_input = op_attach_input,
    .set_devices = op_set_devices,
    .free = op_free,
};

/* ---- start ---- */

static void adopt_one(struct crun *c, const char *name)
{
    struct member_ref ref;
    if (!claim_parse_name(str_of(name), &ref)) {
        /* Not a name of ours: then never begun by us either. */
        if (name[0] != '.') file_remove_tree(c->node.containers, name, NULL);
        return;
    }
    int dir = file_open_dir(c->node.containers, name, NULL);
    if (dir < 0) return;
    struct adopt_facts f = adopt_look(&c->node, dir);
    enum adopt_verdict v = adopt_decide(&f);
    /* An engine may be long in answering: that is for a worker. */
    if (!c->node.docker && (v == ADOPT_REMOVE || v == ADOPT_AGAIN)) {
        /* It never ran.  Gone before the first list is asked for, it may be created
         * again at once; listed while it goes, it would look like one that was lost. */
        if (clean_all(&c->node, name, NULL) == 0 && !file_exists(c->node.containers, name)) {
            file_close(&dir);
            return;
        }
    }
    struct crun_member *m = crun_add(c, ref, dir);
    claim_read(dir, &m->claim, NULL);
    crun_image_note(m);
    m->wired = !file_exists(dir, "net");
    if (memo_went(dir, c->node.boot_id)) {
        m->report.phase = MEMBER_STARTING;
        m->wired = true;
    }
    crun_settle(m);
}

static int adopt_all(struct crun *c, struct err *err)
{
    VEC(struct claim_dir { char name[256]; }) names = {0};
    int own = openat(c->node.containers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) return err_sys(err, ERR_IO, errno, "cannot read the directory of containers");
    const struct dirent *e;
    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            TEXT_CLIP(VEC_ADD(&names)->name, str_of(e->d_name));
    closedir(d);
    for (uint32_t i = 0; i < names.n; i++) adopt_one(c, names.v[i].name);
    VEC_DONE(&names);
    return 0;
}

static void on_image(void *arg) { crun_changed(arg); }

static int driver_new(struct net_loop *loop, const struct driver_config *config, struct driver *ret,
                      struct err *err)
{
    struct crun *c = mem_alloc(sizeof(*c));
    int rc = crun_node_open(config, &c->node, err);
    if (rc < 0) {
        mem_free(c);
        return rc;
    }
    c->loop = loop;
    c->pulse.fd = -1;
    c->state = file_open_dir(AT_FDCWD, c->node.state_dir, err);
    if (c->state < 0) {
        rc = c->state;
        crun_node_close(&c->node);
        mem_free(c);
        return rc;
    }
    c->capacity = config->capacity;
    c->late_ms = config->late_ms ? config->late_ms : LATE_MS;
    c->on_change = config->on_change;
    c->arg = config->arg;
    c->retry = net_timer_new(loop, on_retry, c);
    c->tell = net_timer_new(loop, on_tell, c);
    c->fetcher = fetcher_new(loop, &(struct fetcher_config){
        .program = config->image_program ? config->image_program : "/proc/self/exe",
        .state_dir = c->node.state_dir, .limit_bytes = c->node.images.limit_bytes,
        .authfile = config->registry_auth ? config->registry_auth : "",
        .insecure = config->registries_insecure ? config->registries_insecure : "",
        .on_change = on_image, .arg = c});
    image_store_recover(&c->node.images);
    clean_strays(&c->node);
    rc = c->node.docker ? 0 : crun_probe(c, err);
    if (c->node.docker) c->watch = docker_watch_new(c);
    if (rc == 0) rc = adopt_all(c, err);
    /* What is reported first should be what is, not what is being asked. */
    if (rc == 0) crun_hear_all(c, GREET_MS);
    if (rc < 0) {
        op_free(c);
        return rc;
    }
    c->ops = crun_ops;
    if (c->node.docker) c->ops.name = "docker";
    *ret = (struct driver){&c->ops, c};
    return 0;
}

int crun_driver_new(struct net_loop *loop, const struct driver_config *config, struct driver *ret,
                    struct err *err)
{
    struct driver_config own = *config;
    own.docker_socket = NULL;
    return driver_new(loop, &own, ret, err);
}

int docker_driver_new(struct net_loop *loop, const struct driver_config *config, struct driver *ret,
                      struct err *err)
{
    CHECK(config->docker_socket != NULL);
    return driver_new(loop, config, ret, err);
}
