/* programs/dev_stop.c - what was started on this machine is ended on it.
 *
 * Order: no live session, no container of the agent, no role, no folder.  A step
 * that does not finish in its time stops the whole, so that nothing is removed
 * under something that still runs. */
#include "agent/netns/netns.h"
#include "programs/dev_stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "programs/roles.h"

enum { STEP_MS = 50, CLEAN_MS = 20000, MARGIN_MS = 40000, ROLES_MS = 20000 };

struct stop {
    struct dev_options o;
    struct net_loop *loop;
    struct roles *roles; /* ours, when none ran */
    struct api *api;
    int64_t grace_ms;
    int64_t pid;         /* of the dev that runs; 0: none */
    int lock;
    bool purge;
};

static void pause_ms(struct stop *s, int64_t ms)
{
    bool never = false;
    (void)net_loop_run_until(s->loop, &never, ms);
}

/* Asks for the end of every live session; how many there are, or negative. */
static int64_t stop_live(struct stop *s, struct err *err)
{
    struct session_list list;
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 64 * 1024 * 1024);
    struct api_request rq = {.target = "/api/v1/sessions?state=live&limit=1000",
                             .patience_ms = 10000};
    int rc = api_call(s->api, &rq, &body, NULL, err);
    if (rc == 0) rc = api_parse(&wire_session_list, strbuf_str(&body), &list, err);
    if (rc < 0) return rc;
    int64_t live = list.items.n;
    VEC_EACH (v, &list.items) {
        char target[96], order[48];
        if (v->state == SESSION_STOPPING) continue;
        text_fmt(target, sizeof(target), "/api/v1/sessions/%s/stop", v->id);
        text_fmt(order, sizeof(order), "{\"grace_ms\":%lld}", (long long)s->grace_ms);
        struct api_request stop = {.method = "POST", .target = target, .body = str_of(order)};
        (void)api_call(s->api, &stop, NULL, NULL, NULL); /* it may have ended; asked again */
    }
    wire_free(&wire_session_list, &list);
    return live;
}

static int end_sessions(struct stop *s, struct err *err)
{
    int64_t until = net_now_ms() + s->grace_ms + MARGIN_MS;
    for (;;) {
        int64_t live = stop_live(s, err);
        if (live <= 0) return (int)live;
        if (net_now_ms() > until)
            return err_set(err, ERR_TIMEOUT, "%lld sessions do not end: see `rota ps`",
                           (long long)live);
        pause_ms(s, STEP_MS);
    }
}

/* Entries of DIR/agent/containers; 0 when there is no such folder. */
static uint32_t containers(const struct dev_options *o)
{
    char path[DEV_PATH_MAX + 64];
    dev_path(o, "agent/containers", path);
    DIR *d = opendir(path);
    if (!d) return 0;
    uint32_t n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* What an earlier store ordered: who removes the folder wants it gone, too. */
static void end_orphans(struct stop *s)
{
    struct orphan_list list;
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 4 * 1024 * 1024);
    struct api_request rq = {.target = "/api/v1/admin/orphans"};
    if (api_call(s->api, &rq, &body, NULL, NULL) < 0) return; /* asked again */
    if (api_parse(&wire_orphan_list, strbuf_str(&body), &list, NULL) < 0) return;
    VEC_EACH(v, &list.items) {
        char target[128], order[80];
        text_fmt(target, sizeof(target), "/api/v1/nodes/%s/orphans", v->node);
        text_fmt(order, sizeof(order), "{\"ref\":\"%s\"}", v->ref);
        struct api_request end = {.method = "POST", .target = target, .body = str_of(order)};
        if (!v->ending) (void)api_call(s->api, &end, NULL, NULL, NULL);
    }
    wire_free(&wire_orphan_list, &list);
}

static int wait_clean(struct stop *s, struct err *err)
{
    int64_t until = net_now_ms() + CLEAN_MS;
    while (containers(&s->o) > 0) {
        if (s->purge) end_orphans(s);
        if (net_now_ms() > until)
            return err_set(err, ERR_TIMEOUT, "the agent still cleans containers: look into "
                           "%.100s/run/agent.log, then try again", s->o.dir);
        pause_ms(s, STEP_MS);
    }
    return 0;
}

static int end_other(struct stop *s, struct err *err)
{
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)s->pid, 0);
    if (fd < 0) return errno == ESRCH ? 0 : err_sys(err, ERR_IO, errno, "process %d", (int)s->pid);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int rc = (int)syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
    if (rc == 0 && poll(&p, 1, ROLES_MS) == 0) {
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0); /* children go with it */
        (void)poll(&p, 1, ROLES_MS);
    }
    close(fd);
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    int rc = kind == FTW_DP || kind == FTW_D || kind == FTW_DNR ? rmdir(path) : unlink(path);
    return rc < 0 && errno != ENOENT ? errno : 0;
}

/* The agent's folders in the control groups; another agent of this machine has its own. */
static void remove_cgroups(const struct dev_options *o)
{
    char state[DEV_PATH_MAX + 64];
    struct cgroup_host h;
    dev_path(o, "agent", state);
    if (cgroup_host_open(state, "", &h, NULL) == 0) cgroup_host_remove(&h);
}

static int remove_all(const struct dev_options *o, struct err *err)
{
    int problem = nftw(o->dir, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (problem > 0) return err_sys(err, ERR_IO, problem, "cannot remove %s", o->dir);
    if (problem < 0 && errno != ENOENT)
        return err_sys(err, ERR_IO, errno, "cannot remove %s", o->dir);
    if (strcmp(o->driver, "fake") == 0) return 0;
    remove_cgroups(o);
    return netns_purge(NULL, err);
}

static int end_everything(struct stop *s, struct err *err)
{
    bool running = s->pid > 0;
    int rc = 0;
    if (running) {
        s->api = roles_connect(s->loop, &s->o, err);
        rc = s->api ? 0 : ERR_UNAVAILABLE;
    } else if (containers(&s->o) > 0) {
        s->roles = roles_start(s->loop, &s->o, err);
        if (s->roles) s->api = roles_api(s->roles);
        rc = s->roles ? 0 : ERR_UNAVAILABLE;
    }
    if (rc == 0 && s->api) rc = end_sessions(s, err);
    if (rc == 0 && s->api) rc = wait_clean(s, err);
    if (s->roles) roles_stop(s->roles);
    else api_close(s->api);
    if (rc == 0 && running) rc = end_other(s, err);
    return rc;
}

int dev_stop(const char *dir, bool purge, int64_t grace_ms)
{
    struct stop s = {.grace_ms = grace_ms, .lock = -1, .purge = purge};
    struct err err = {0};
    int rc = dev_load(dir, &s.o, &err);
    if (rc == ERR_NOT_FOUND) {
        dev_say("nothing of `rotad dev` is in %s", dir);
        return 0;
    }
    if (rc == 0) rc = dev_lock(&s.o, &s.lock, &s.pid, &err);
    if (rc == ERR_CONFLICT && s.pid > 0) rc = 0;
    if (rc == 0) {
        s.loop = net_loop_new();
        rc = end_everything(&s, &err);
        net_loop_free(s.loop);
    }
    if (rc == 0 && purge) rc = remove_all(&s.o, &err);
    if (rc < 0) {
        (void)fprintf(stderr, "rotad dev stop: %s\n", err.text);
        return 1;
    }
    dev_say("rotad dev in %s has ended%s", dir, purge ? ", and the folder is gone" : "");
    return 0;
}
