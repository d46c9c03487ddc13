/* tests/unit/agent/crun_rig.c - real containers under test. */
#include "crun_rig.h"
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/claim.h"
#include "agent/cgroup.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "host/file.h"
#include "net/loop.h"
#include "wire/shim.h"

#define WAIT_MS rig_ms(rig_engine() ? 60000 : 10000)
#define OUTPUT_MAX (8 * 1024 * 1024)

const char *rig_engine(void) { return getenv("ROTA_TEST_ENGINE"); }

bool rig_possible(void)
{
    const char *why = NULL;
    if (geteuid() != 0) why = "needs root";
    else if (access("/usr/bin/crun", X_OK) < 0) why = "needs crun";
    else if (!getenv("ROTA_SHIM")) why = "needs ROTA_SHIM, the path of rota-shim";
    if (why) printf("skipped: %s\n", why);
    return !why;
}

int64_t rig_ms(int64_t ms)
{
    const char *text = getenv("ROTA_TEST_PATIENCE");
    int64_t factor = 1;
    if (text && (!str_to_i64(str_of(text), &factor) || factor < 1 || factor > 1000))
        fail_msg("ROTA_TEST_PATIENCE is 1 to 1000, not '%s'", text);
    return ms * factor;
}

bool rig_slow(void) { return rig_ms(1) > 1; }

/* An engine has to answer, and to run the probe, before anything is created. */
void rig_until_proved(struct rig *r)
{
    struct driver_facts f = {0};
    for (int64_t until = net_now_ms() + WAIT_MS; net_now_ms() < until; rig_turn(r, 5)) {
        r->driver.ops->facts(r->driver.self, &f);
        if (f.proved) return;
    }
    fail_msg("the engine is not proved: %s", f.note);
}

void rig_start_agent(struct rig *r)
{
    struct err err = {0};
    struct driver_config c = {.state_dir = r->state_dir, .shim_path = getenv("ROTA_SHIM"),
                              .late_ms = rig_ms(1000),
                              .image_program = getenv("ROTA_ROTAD"),
                              .image_cache_bytes = 128 * 1024 * 1024,
                              .log_keep_bytes = 64 * 1024 * 1024};
    c.docker_socket = rig_engine();
    c.helper_path = getenv("ROTA_ROTAD");
    int rc = rig_engine() ? docker_driver_new(r->loop, &c, &r->driver, &err)
                          : crun_driver_new(r->loop, &c, &r->driver, &err);
    if (rc < 0) fail_msg("%s", err.text);
    r->driver.ops->set_incarnation(r->driver.self, "one");
    if (rig_engine()) rig_until_proved(r);
}

void rig_stop_agent(struct rig *r)
{
    r->driver.ops->free(r->driver.self);
    r->driver = (struct driver){0};
}

void rig_open(struct rig *r)
{
    *r = (struct rig){.next = 1};
    text_fmt(r->state_dir, sizeof(r->state_dir), "/tmp/rota-test-XXXXXX");
    assert_non_null(mkdtemp(r->state_dir));
    r->loop = net_loop_new();
    rig_start_agent(r);
}

struct rig rig;

int rig_setup(void **state)
{
    (void)state;
    rig_open(&rig);
    return 0;
}

int rig_teardown(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

struct container_spec rig_spec(struct rig *r, const char *const *argv)
{
    static const char *const envp[] = {"PATH=/usr/bin:/bin", "HOME=/home/me", NULL};
    struct container_spec s = {
        .ref = {r->next++, 1, 0}, .incarnation = "one",
        .image = rig_engine() ? getenv("ROTA_TEST_IMAGE") : "host", .argv = argv,
        .envp = envp, .hostname = "box", .uid = 31337, .gid = 31337, .cpu_milli = 1000,
        .mem_bytes = 64 * 1048576, .pids_max = 32, .grace_ms = 30000,
    };
    return s;
}

struct container_spec rig_shell(struct rig *r, const char *script)
{
    static const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
    argv[2] = script;
    return rig_spec(r, argv);
}

void rig_create(struct rig *r, const struct container_spec *spec)
{
    struct err err = {0};
    if (r->driver.ops->create(r->driver.self, spec, &err) < 0) fail_msg("%s", err.text);
}

bool rig_report(struct rig *r, struct member_ref ref, struct member_report *ret)
{
    struct member_report *v;
    bool found = false;
    uint32_t n = r->driver.ops->list(r->driver.self, &v);
    for (uint32_t i = 0; i < n && !found; i++) {
        found = member_ref_cmp(v[i].ref, ref) == 0;
        if (found) *ret = v[i];
    }
    mem_free(v);
    return found;
}

void rig_turn(struct rig *r, int64_t ms)
{
    bool never = false;
    net_loop_run_until(r->loop, &never, ms);
}

struct member_report rig_until(struct rig *r, struct member_ref ref, enum member_phase phase)
{
    struct member_report m = {0};
    for (int64_t until = net_now_ms() + WAIT_MS; net_now_ms() < until; rig_turn(r, 1))
        if (rig_report(r, ref, &m) && m.phase >= phase) return m;
    fail_msg("member is still %s, not %s", member_phase_name(m.phase), member_phase_name(phase));
    return m;
}

void rig_until_gone(struct rig *r, struct member_ref ref)
{
    struct member_report m = {0};
    for (int64_t until = net_now_ms() + WAIT_MS; net_now_ms() < until; rig_turn(r, 1))
        if (!rig_report(r, ref, &m)) return;
    fail_msg("member is still there, %s", member_phase_name(m.phase));
}

void rig_until_said(struct rig *r, struct member_ref ref, const char *text)
{
    for (int64_t until = net_now_ms() + WAIT_MS; net_now_ms() < until; rig_turn(r, 2)) {
        size_t n;
        char *out = rig_output(r, ref, 'o', &n);
        bool found = strstr(out, text) != NULL;
        mem_free(out);
        if (found) return;
    }
    fail_msg("it never said '%s'", text);
}

struct member_report rig_run(struct rig *r, const struct container_spec *spec)
{
    rig_create(r, spec);
    r->driver.ops->go(r->driver.self, spec->ref);
    return rig_until(r, spec->ref, MEMBER_EXITED);
}

void rig_clean(struct rig *r, struct member_ref ref)
{
    r->driver.ops->clean(r->driver.self, ref);
    rig_until_gone(r, ref);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_log(const struct dirent *e) { return strncmp(e->d_name, "log.", 4) == 0; }

/* Appends what one directory's log files say on one stream. */
static void read_logs(int dir, char stream, struct strbuf *out)
{
    struct dirent **names = NULL;
    char *file = mem_alloc(SHIM_LOG_FILE_MAX + 65536);
    int n = scandirat(dir, ".", &names, is_log, by_name);
    for (int i = 0; i < n; i++) {
        size_t len = 0;
        if (file_read(dir, names[i]->d_name, file, SHIM_LOG_FILE_MAX + 65536, &len, NULL) < 0)
            len = 0;
        struct str rest = str_n(file, len), line;
        struct shim_log_record rec = {0};
        while (str_cut(&rest, '\n', &line)) {
            if (!shim_log_parse(line.p, line.n, &rec)) fail_msg("bad log record: %.60s", line.p);
            if (rec.err != (stream == 'e')) continue;
            strbuf_put(out, str_n(rec.text, rec.n));
            if (rec.newline) strbuf_putc(out, '\n');
        }
        free(names[i]);
    }
    free(names);
    mem_free(file);
}

char *rig_output(struct rig *r, struct member_ref ref, char stream, size_t *ret_n)
{
    char path[256], now[256];
    struct strbuf out;
    bool there, moved;
    strbuf_init(&out, OUTPUT_MAX);
    do { /* as a reader must: what moved meanwhile is read where it went */
        strbuf_reset(&out);
        strbuf_puts(&out, "");
        there = r->driver.ops->log_dir(r->driver.self, ref, path, sizeof(path));
        int dir = there ? file_open_dir(AT_FDCWD, path, NULL) : -1;
        if (dir >= 0) read_logs(dir, stream, &out);
        file_close(&dir);
        moved = r->driver.ops->log_dir(r->driver.self, ref, now, sizeof(now)) &&
                (!there || strcmp(path, now) != 0);
    } while (moved);
    *ret_n = out.n;
    return strbuf_steal(&out);
}

int64_t rig_memo(struct rig *r, struct member_ref ref, const char *file, const char *key)
{
    char name[MEMO_NAME], path[256], buf[MEMO_MAX];
    size_t n = 0;
    int64_t v = 0;
    claim_name(ref, name);
    text_fmt(path, sizeof(path), "%s/containers/%s/%s", r->state_dir, name, file);
    assert_int_equal(file_read(AT_FDCWD, path, buf, sizeof(buf), &n, NULL), 0);
    struct str rest = str_n(buf, n), line, k;
    while (str_cut(&rest, '\n', &line))
        if (str_cut(&line, ' ', &k) && str_eq(k, str_of(key)) && str_to_i64(line, &v)) return v;
    fail_msg("%s has no %s", file, key);
    return 0;
}

void rig_kill_shim(struct rig *r, struct member_ref ref)
{
    pid_t pid = (pid_t)rig_memo(r, ref, "life", "shim_pid");
    uint64_t start;
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int64_t until = net_now_ms() + WAIT_MS; net_now_ms() < until; usleep(500))
        if (proc_start_time(pid, &start, NULL) < 0 || proc_is_zombie(pid)) return;
    fail_msg("the supervisor outlives SIGKILL");
}

static void count_one(void *arg, const char *name)
{
    fail_msg("control group %s is left", name);
    (void)arg;
}

static void check_empty(const struct rig *r, const char *sub)
{
    char path[128];
    text_fmt(path, sizeof(path), "%s/%s", r->state_dir, sub);
    DIR *d = opendir(path);
    const struct dirent *e;
    assert_non_null(d);
    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            fail_msg("%s/%s is left", sub, e->d_name);
    closedir(d);
}

void rig_check_nothing_left(struct rig *r)
{
    struct cgroup_host h;
    char *mounts = mem_alloc(1024 * 1024);
    size_t n = 0;
    check_empty(r, "containers");
    check_empty(r, "runtime");
    assert_int_equal(cgroup_host_open(r->state_dir, "", &h, NULL), 0);
    cgroup_each(&h, count_one, NULL);
    assert_int_equal(file_read(AT_FDCWD, "/proc/self/mountinfo", mounts, 1024 * 1024, &n, NULL), 0);
    assert_null(strstr(mounts, r->state_dir));
    mem_free(mounts);
}

bool rig_v2(const struct rig *r)
{
    struct cgroup_host h;
    assert_int_equal(cgroup_host_open(r->state_dir, "", &h, NULL), 0);
    return h.parent.version == CGROUP_V2;
}

void rig_close(struct rig *r)
{
    struct cgroup_host h;
    rig_check_nothing_left(r);
    rig_stop_agent(r);
    net_loop_free(r->loop);
    if (cgroup_host_open(r->state_dir, "", &h, NULL) == 0) cgroup_host_remove(&h);
    assert_int_equal(file_remove_tree(AT_FDCWD, r->state_dir, NULL), 0);
}
