/* agent/crun_probe.c - before anything is run for anybody: one container that
 * looks at its own walls.
 *
 * Shortcuts around the runtime's documented ways are taken only when seen to
 * work on this very machine; else the slow way is tried, and the node says so.
 * docs/spec/node.md */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/clean.h"
#include "agent/crun_impl.h"
#include "agent/docker/host.h"
#include "base/mem.h"
#include "host/file.h"

#define STEP_MS 15000
#define ENGINE_STEP_MS 60000 /* a daemon on a busy machine */
#define NOBODY 65534

/* Waits for one of two kinds of message; the other is a failure. */
static int await(const struct prepare *p, enum shim_kind good, char *buf, size_t cap,
                 struct err *err)
{
    const int sock = p->sock;
    int64_t until = net_now_ms() + (p->conf.engine ? ENGINE_STEP_MS : STEP_MS);
    for (;;) {
        int64_t left = until - net_now_ms();
        struct pollfd in = {.fd = sock, .events = POLLIN};
        if (left <= 0 || poll(&in, 1, (int)left) == 0)
            return err_set(err, ERR_TIMEOUT, "the probe container does not answer");
        ssize_t n = recv(sock, buf, cap - 1, MSG_DONTWAIT);
        if (n < 0) continue;
        if (n == 0) return err_set(err, ERR_IO, "the probe's supervisor died");
        buf[n] = 0;
        if (buf[0] == SHIM_FAILED) return err_set(err, ERR_UNSUPPORTED, "%s", buf + 1);
        if (buf[0] == (char)good) return 0;
    }
}

/* "key value" among what the probe printed. */
static bool said(const char *log, const char *line)
{
    struct str rest = str_of(log), one;
    struct shim_log_record r;
    while (str_cut(&rest, '\n', &one))
        if (shim_log_parse(one.p, one.n, &r) && str_eq(str_n(r.text, r.n), str_of(line)))
            return true;
    return false;
}

/* What an engine was asked for and what it says it did are two things: read it back. */
static int judge_limits(int dir, struct err *err)
{
    AUTO_FREE struct memo_conf *c = mem_alloc(sizeof(*c));
    int rc = memo_read_conf(dir, c, err);
    if (rc < 0) return rc;
    bool v2 = c->cgroups.version == CGROUP_V2;
    const struct { const char *controller, *file, *text; } wanted[] = {
        {"memory", v2 ? "memory.max" : "memory.limit_in_bytes", "67108864\n"},
        {"pids", "pids.max", "32\n"},
        {"cpu", v2 ? "cpu.max" : "cpu.cfs_quota_us", v2 ? "100000 100000\n" : "100000\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        char path[CGROUP_PATH + 64], text[64] = "";
        size_t n = 0;
        const char *at = cgroup_dir(&c->cgroups, wanted[i].controller);
        text_fmt(path, sizeof(path), "%s/%s", at ? at : "", wanted[i].file);
        if (at && file_read(AT_FDCWD, path, text, sizeof(text), &n, NULL) == 0 &&
            strcmp(text, wanted[i].text) == 0)
            continue;
        return err_set(err, ERR_UNSUPPORTED, "the engine sets no limit of %s",
                       wanted[i].controller);
    }
    return 0;
}

static int judge(const struct prepare *p, int dir, struct err *err)
{
    /* The last two are of image `host`, and of a device that is put there on purpose. */
    static const char *const promises[] = {"seccomp 2", "no_new_privs 1", "capabilities 0",
                                           "uid 65534", "device refused", "hidden yes"};
    const size_t n_promises = p->conf.engine ? 4 : ARRAY_LEN(promises);
    char log[8192];
    size_t n = 0;
    int rc = file_read(dir, SHIM_LOG_PREFIX "000000000001", log, sizeof(log), &n, err);
    if (rc < 0) return rc;
    for (size_t i = 0; i < n_promises; i++)
        if (!said(log, promises[i]))
            return err_set(err, ERR_UNSUPPORTED, "the probe container did not see '%s'",
                           promises[i]);
    return 0;
}

static int converse(struct crun *c, struct prepare *p, int dir, struct err *err)
{
    char buf[SHIM_MSG_MAX];
    struct shim_created made;
    struct memo_exit e;
    char go = SHIM_GO;
    int rc = await(p, SHIM_CREATED, buf, sizeof(buf), err);
    if (rc < 0) return rc;
    memcpy(&made, buf + 1, sizeof(made));
    rc = p->conf.engine ? judge_limits(dir, err) : 0;
    if (rc < 0) return rc;
    if (!p->conf.engine && !cgroup_holds(&c->node.cgroups, p->conf.name, made.pid))
        return err_set(err, ERR_UNSUPPORTED, "the probe container is outside its control groups");
    if (send(p->sock, &go, 1, MSG_NOSIGNAL) != 1)
        return err_set(err, ERR_IO, "the probe's supervisor died");
    rc = await(p, SHIM_EXIT, buf, sizeof(buf), err);
    if (rc == 0) rc = memo_read_exit(dir, &e, err);
    if (rc == 0 && (!e.known || e.status != 0))
        rc = err_set(err, ERR_UNSUPPORTED, "the probe container failed with status %d",
                     (int)e.status);
    return rc < 0 ? rc : judge(p, dir, err);
}

static int probe_in(struct crun *c, int dir, struct err *err)
{
    const char *const argv[] = {BUNDLE_INIT, "probe", NULL};
    const char *const envp[] = {"PATH=/usr/bin:/bin", NULL};
    struct container_spec s = {.image = "host", .argv = argv, .envp = envp, .hostname = "probe",
                               .uid = NOBODY, .gid = NOBODY, .cpu_milli = 1000,
                               .mem_bytes = 64 * 1048576, .pids_max = 32, .shm_bytes = 1048576};
    if (c->node.docker) s.image = DOCKER_PROBE;
    struct prepare p;
    int rc = prepare_init(&p, &c->node, &s, dir, err);
    if (rc < 0) return rc;
    p.probe = true;
    rc = prepare_run(&p, dir, err);
    if (rc == 0) {
        rc = converse(c, &p, dir, err);
        if (rc < 0) proc_signal(p.pidfd, SIGKILL);
        proc_wait_gone(p.pidfd, STEP_MS);
        waitpid(p.pid, NULL, WNOHANG);
    }
    prepare_done(&p);
    return rc;
}

static int probe_once(struct crun *c, struct err *err)
{
    char name[MEMO_NAME];
    struct container_claim claim = {.uid = NOBODY, .gid = NOBODY};
    claim_name((struct member_ref){0}, name); /* no session has this number */
    TEXT_SET(claim.boot_id, str_of(c->node.boot_id));
    clean_all(&c->node, name, NULL);
    AUTO_FD int dir = claim_make(c->node.containers, name, &claim, err);
    if (dir < 0) return dir;
    int rc = probe_in(c, dir, err);
    int cleaned = clean_all(&c->node, name, rc < 0 ? NULL : err);
    file_remove_tree(c->node.logs, name, NULL);
    return rc < 0 ? rc : cleaned;
}

int crun_probe_docker(struct crun *c, struct err *err)
{
    int rc = probe_once(c, err);
    if (rc < 0) err_prefix(err, "it does not run containers as promised");
    return rc;
}

int crun_probe(struct crun *c, struct err *err)
{
    struct err fast = {0};
    const char *groups = cgroup_host_text(&c->node.cgroups);
    int rc = probe_once(c, &fast);
    if (rc < 0) {
        crun_node_slow(&c->node);
        rc = probe_once(c, err);
    }
    if (rc < 0) {
        err_prefix(err, "this machine cannot run containers as promised");
        return rc;
    }
    c->proved = true;
    const char *pins = cgroup_host_pins(&c->node.cgroups) ? "" : "; no CPU pinning";
    if (!c->node.slow) text_fmt(c->note, sizeof(c->note), "%s%s; fast start", groups, pins);
    else text_fmt(c->note, sizeof(c->note), "%s%s; slow start: %s", groups, pins, fast.text);
    return 0;
}
