/* The probe as a process, and made-up machines. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/file.h"
#include "host/proc.h"

enum { OUT_MAX = 4 << 20 };

void place_make(struct place *p)
{
    TEXT_CLIP(p->dir, STR("/tmp/rota-probe-XXXXXX"));
    assert_non_null(mkdtemp(p->dir));
    assert_int_equal(mkdir(place_path(p, "proc"), 0755), 0);
    assert_int_equal(mkdir(place_path(p, "sys"), 0755), 0);
    assert_int_equal(mkdir(place_path(p, "dev"), 0755), 0);
}

void place_remove(struct place *p)
{
    assert_int_equal(file_remove_tree(AT_FDCWD, p->dir, NULL), 0);
}

const char *place_path(const struct place *p, const char *name)
{
    static char paths[4][256];
    static unsigned at;
    char *path = paths[at++ % 4];
    text_fmt(path, sizeof(paths[0]), "%s/%s", p->dir, name);
    return path;
}

static void make_parents(const char *path)
{
    char part[256];
    for (const char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
        text_clip(part, sizeof(part), str_n(path, (size_t)(s - path)));
        if (mkdir(part, 0755) < 0) assert_int_equal(errno, EEXIST);
    }
}

static void put(const char *path, int flags, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

void place_write(const struct place *p, const char *name, const char *text)
{
    char path[256], fresh[300];
    text_fmt(path, sizeof(path), "%s", place_path(p, name));
    text_fmt(fresh, sizeof(fresh), "%s.new", path);
    make_parents(path);
    put(fresh, O_TRUNC, text);
    assert_int_equal(rename(fresh, path), 0);
}

void place_append(const struct place *p, const char *name, const char *text)
{
    put(place_path(p, name), O_APPEND, text);
}

void place_link(const struct place *p, const char *name, const char *target)
{
    const char *path = place_path(p, name);
    make_parents(path);
    assert_int_equal(symlink(target, path), 0);
}

void place_node(const struct place *p, const char *name, unsigned major, unsigned minor)
{
    const char *path = place_path(p, name);
    make_parents(path);
    assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(major, minor)), 0);
}

void place_scenario(const struct place *p, const char *text) { place_write(p, "scenario", text); }

/* ---- the process ---- */

static void become_probe(const struct place *p, const char *const *extra, bool once_only)
{
    const char *argv[32] = {"rotad", "probe"};
    char env[300], proc[128], sys[128], dev[128];
    uint32_t n = 2;
    text_fmt(env, sizeof(env), "ROTA_FAKE_NVML=%s/scenario", p->dir);
    text_fmt(proc, sizeof(proc), "%s/proc", p->dir);
    text_fmt(sys, sizeof(sys), "%s/sys", p->dir);
    text_fmt(dev, sizeof(dev), "%s/dev", p->dir);
    const char *base[] = {"--root-proc", proc, "--root-sys", sys, "--root-dev", dev};
    for (size_t i = 0; i < ARRAY_LEN(base); i++) argv[n++] = base[i];
    if (once_only) argv[n++] = "--once";
    else argv[n++] = "--interval-ms", argv[n++] = "50";
    for (uint32_t i = 0; extra && extra[i]; i++) argv[n++] = extra[i];
    const char *envp[] = {env, "LSAN_OPTIONS=detect_leaks=0", NULL};
    execve(ROTAD, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
    _exit(127);
}

static void start(struct child *c, const struct place *p, const char *const *extra,
                  bool once_only)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    *c = (struct child){.out = fds[0], .buf = mem_alloc(OUT_MAX)};
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        become_probe(p, extra, once_only);
    }
    (void)close(fds[1]);
}

void child_start(struct child *c, const struct place *p, const char *const *extra)
{
    start(c, p, extra, false);
}

/* False: it has ended. */
static bool more(struct child *c, int64_t until_us)
{
    struct pollfd f = {.fd = c->out, .events = POLLIN};
    int64_t left = (until_us - proc_mono_us()) / 1000;
    if (left <= 0 || poll(&f, 1, (int)left) == 0) fail_msg("the probe says nothing");
    ssize_t n = read(c->out, c->buf + c->n, OUT_MAX - c->n);
    assert_true(n >= 0);
    c->n += (size_t)n;
    return n > 0;
}

static void parse(struct str line, struct probe_report *ret)
{
    struct err err = {0};
    if (wire_parse(&wire_probe_report, line, ret, &err) < 0)
        fail_msg("%s: %s: %.*s", err.field, err.text, (int)line.n, line.p);
}

void child_report(struct child *c, struct probe_report *ret)
{
    int64_t until = proc_mono_us() + CEILING_MS * INT64_C(1000);
    char *end;
    while (!(end = memchr(c->buf, '\n', c->n)))
        if (!more(c, until)) fail_msg("the probe has ended");
    size_t n = (size_t)(end - c->buf);
    parse(str_n(c->buf, n), ret);
    memmove(c->buf, end + 1, c->n - n - 1);
    c->n -= n + 1;
}

void child_until(struct child *c, bool (*is)(const struct probe_report *r, void *arg), void *arg,
                 struct probe_report *ret)
{
    int64_t until = proc_mono_us() + CEILING_MS * INT64_C(1000);
    for (;;) {
        child_report(c, ret);
        if (is(ret, arg)) return;
        report_free(ret);
        if (proc_mono_us() > until) fail_msg("the report that is waited for does not come");
    }
}

int child_wait(struct child *c)
{
    int status = -1;
    while (more(c, proc_mono_us() + CEILING_MS * INT64_C(1000))) continue;
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    mem_free(c->buf);
    (void)close(c->out);
    return status;
}

int child_stop(struct child *c)
{
    (void)kill(c->pid, SIGKILL);
    return child_wait(c);
}

void report_free(struct probe_report *r) { wire_free(&wire_probe_report, r); }

int once(const struct place *p, const char *const *extra, struct probe_report *ret)
{
    struct child c;
    int status = -1;
    start(&c, p, extra, true);
    while (more(&c, proc_mono_us() + CEILING_MS * INT64_C(1000))) continue;
    assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
    assert_true(WIFEXITED(status));
    parse(str_n(c.buf, c.n), ret);
    mem_free(c.buf);
    (void)close(c.out);
    return WEXITSTATUS(status);
}

int once_of(const char *scenario, struct probe_report *ret)
{
    static const char *const flags[] = {"--nvml", FAKE_NVML, NULL};
    struct place p;
    place_make(&p);
    place_scenario(&p, scenario);
    int code = once(&p, flags, ret);
    place_remove(&p);
    return code;
}
