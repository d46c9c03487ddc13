/* agent/clean.c - the end of a container's traces.  docs/spec/node.md */
#include "agent/clean.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/claim.h"
#include "agent/docker/host.h"
#include "base/mem.h"
#include "base/vec.h"
#include "host/file.h"
#include "host/proc.h"
#include "wire/shim.h"

#define KILL_MS 10000
#define LEAVE_MS 4000 /* what a supervisor gets to write its record and go */

/* Keeps the first failure. */
static void note(int rc, const struct err *now, int *first, struct err *err)
{
    if (rc >= 0 || *first < 0) return;
    *first = rc;
    if (err) *err = *now;
}

/* ---- bury ---- */

static void kill_shim(int dir)
{
    struct memo_life l;
    if (memo_read_life(dir, &l, NULL) < 0) return;
    AUTO_FD int fd = proc_open(l.shim_pid, (uint64_t)l.shim_start, NULL);
    if (fd < 0) return;
    proc_signal(fd, SIGKILL);
    proc_wait_gone(fd, 1000);
}

/* Kills on until the lock is free: the runtime's child may enter its groups late. */
static int wait_lock(int dir, const struct cgroup_set *groups, struct err *err)
{
    int64_t until = proc_mono_us() + LEAVE_MS * 1000;
    bool told = false;
    for (int wait_ms = 1;; wait_ms = wait_ms < 20 ? wait_ms * 2 : 20) {
        int rc = cgroup_kill(groups, KILL_MS, err);
        if (rc < 0) return rc;
        int lock = crun_node_lock(dir, err);
        if (lock != ERR_CONFLICT) return lock;
        if (proc_mono_us() >= until) {
            if (told) return err_set(err, ERR_TIMEOUT, "the supervisor does not end");
            kill_shim(dir);
            told = true;
            until = proc_mono_us() + 1000000;
        }
        poll(NULL, 0, wait_ms);
    }
}

/* Nobody saw the end: say what is known, and never guess. */
static int write_end(const struct crun_node *n, int dir, const char *why, struct err *err)
{
    struct memo_exit e = {.mem_peak_bytes = -1, .cpu_us = -1};
    if (memo_read_exit(dir, &e, NULL) == 0) return 0;
    struct memo_life l;
    int status = 0;
    e = (struct memo_exit){.mem_peak_bytes = -1, .cpu_us = -1, .ended_wall_us = proc_wall_us()};
    e.ran = memo_went(dir, n->boot_id) || file_exists(dir, "go");
    if (memo_read_life(dir, &l, NULL) == 0) {
        e.started_wall_us = l.started_wall_us;
        e.timed_out = l.timed_out;
    }
    if (e.ran && memo_read_status(dir, &status, &e.fenced, NULL) == 0) {
        e.known = true;
        e.status = status;
    }
    TEXT_CLIP(e.text, e.fenced ? STR(MEMO_FENCED_TEXT) : str_of(why));
    return memo_write_exit(dir, &e, err);
}

static void release_network(const struct crun_node *n, int dir, const char *name)
{
    char path[MEMO_PATH * 2];
    text_fmt(path, sizeof(path), "%s/containers/%s", n->state_dir, name);
    netns_release(n->net, dir, path);
}

int clean_groups(const struct crun_node *n, const char *name, struct cgroup_set *ret,
                 struct err *err)
{
    if (!n->docker) return cgroup_of(&n->cgroups, name, ret, err);
    AUTO_FREE struct memo_conf *conf = mem_alloc(sizeof(*conf));
    AUTO_FD int dir = file_open_dir(n->containers, name, NULL);
    *ret = (struct cgroup_set){0};
    if (dir >= 0 && memo_read_conf(dir, conf, NULL) == 0) *ret = conf->cgroups;
    return 0;
}

int clean_bury(const struct crun_node *n, const char *name, const char *why, struct err *err)
{
    struct cgroup_set groups;
    struct err e = {0};
    int first = 0;
    int rc = clean_groups(n, name, &groups, err);
    if (rc < 0) return rc;
    AUTO_FD int dir = file_open_dir(n->containers, name, err);
    AUTO_FD int lock = -1;
    if (dir >= 0) lock = rc = wait_lock(dir, &groups, err);
    else rc = dir == ERR_NOT_FOUND ? cgroup_kill(&groups, KILL_MS, err) : dir;
    if (rc < 0) {
        err_prefix(err, "not proved gone");
        return ERR_UNAVAILABLE;
    }
    if (n->docker) { /* only its own word counts; its groups are its own to remove */
        rc = docker_bury(n, name, err);
        if (rc < 0) return rc;
        groups.n = 0;
    }
    note(file_remove_tree(n->runtime, name, &e), &e, &first, err);
    note(cgroup_remove(&groups, &e), &e, &first, err);
    if (dir >= 0) release_network(n, dir, name);
    if (dir >= 0 && file_exists(dir, "claim")) note(write_end(n, dir, why, &e), &e, &first, err);
    return first;
}

/* ---- clean ---- */

static bool is_log(const char *name)
{
    return strncmp(name, SHIM_LOG_PREFIX, sizeof(SHIM_LOG_PREFIX) - 1) == 0;
}

/* Links every log file of one directory into another.  Where that cannot be, they
 * are moved; a rename of what is linked already does nothing. */
static int link_logs(int from, int to, struct err *err)
{
    int rc = 0;
    int own = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) return err_sys(err, ERR_IO, errno, "cannot read the container's directory");
    const struct dirent *e;
    while ((e = readdir(d)) != NULL) {
        if (!is_log(e->d_name) || linkat(from, e->d_name, to, e->d_name, 0) == 0) continue;
        if (errno != ENOENT && renameat(from, e->d_name, to, e->d_name) < 0)
            rc = err_sys(err, ERR_IO, errno, "cannot keep %s", e->d_name);
    }
    closedir(d);
    return rc;
}

/* At every moment one of the two directories has all the files: the kept one
 * appears whole, by a rename, before the container's own goes.  It may be there
 * already: of a first try that never ran, or of this very cleaning before a crash. */
static int keep_logs(const struct crun_node *n, int dir, const char *name, int64_t *ret_bytes,
                     struct err *err)
{
    char part[MEMO_NAME + 16];
    bool again = file_exists(n->logs, name);
    text_fmt(part, sizeof(part), CLEAN_TRASH "%s", name);
    int rc = file_remove_tree(n->logs, part, err);
    if (rc == 0 && !again) rc = file_mkdir(n->logs, part, 0700, err);
    if (rc < 0) return rc;
    AUTO_FD int to = file_open_dir(n->logs, again ? name : part, err);
    if (to < 0) return to;
    rc = link_logs(dir, to, err);
    *ret_bytes = file_dir_bytes(to);
    if (!again && renameat(n->logs, part, n->logs, name) < 0 && rc == 0)
        rc = err_sys(err, ERR_IO, errno, "cannot keep the logs of %s", name);
    return rc;
}

/* The sum is kept, and all are looked at only when it is over; then a tenth is
 * made free, so that not every end does it again. */
static int limit_logs(const struct crun_node *n, int64_t added, struct err *err)
{
    int64_t left = 0;
    if (atomic_fetch_add(n->kept_bytes, added) + added <= n->log_keep_bytes) return 0;
    int rc = clean_logs(n->logs, n->log_keep_bytes - n->log_keep_bytes / 10, &left, err);
    if (rc == 0) atomic_store(n->kept_bytes, left);
    return rc;
}

int clean_all(const struct crun_node *n, const char *name, struct err *err)
{
    struct err e = {0};
    char trash[MEMO_NAME + 16];
    int first = 0;
    int64_t kept = 0;
    int rc = clean_bury(n, name, "cleaned away", err);
    if (rc < 0) return rc;
    text_fmt(trash, sizeof(trash), CLEAN_TRASH "%s", name);
    AUTO_FD int dir = file_open_dir(n->containers, name, NULL);
    if (dir >= 0) {
        note(keep_logs(n, dir, name, &kept, &e), &e, &first, err);
        /* A new attempt has another name, so that trash of this name is old. */
        note(file_remove_tree(n->containers, trash, &e), &e, &first, err);
        if (renameat(n->containers, name, n->containers, trash) < 0)
            note(err_sys(&e, ERR_IO, errno, "cannot set %s aside", name), &e, &first, err);
    }
    note(file_remove_tree(n->containers, trash, &e), &e, &first, err);
    note(limit_logs(n, kept, &e), &e, &first, err);
    return first;
}

/* ---- kept logs ---- */

struct kept { char name[MEMO_NAME]; int64_t bytes, mtime_ns; };

static int kept_cmp(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    if (x->mtime_ns != y->mtime_ns) return x->mtime_ns < y->mtime_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

int clean_logs(int logs, int64_t keep_bytes, int64_t *ret_bytes, struct err *err)
{
    VEC(struct kept) all = {0};
    int64_t sum = 0;
    int rc = 0;
    int own = openat(logs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) return err_sys(err, ERR_IO, errno, "cannot read the directory of logs");
    const struct dirent *e;
    while ((e = readdir(d)) != NULL) {
        struct kept k = {0};
        struct stat st;
        if (e->d_name[0] == '.' || !TEXT_SET(k.name, str_of(e->d_name))) continue;
        AUTO_FD int one = file_open_dir(logs, e->d_name, NULL);
        if (one < 0 || fstat(one, &st) < 0) continue;
        k.bytes = file_dir_bytes(one);
        k.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        sum += k.bytes;
        VEC_PUSH(&all, k);
    }
    closedir(d);
    if (all.n) qsort(all.v, all.n, sizeof(*all.v), kept_cmp);
    for (uint32_t i = 0; i < all.n && sum > keep_bytes; i++) {
        rc = file_remove_tree(logs, all.v[i].name, err);
        if (rc == 0) sum -= all.v[i].bytes;
    }
    VEC_DONE(&all);
    if (rc == 0) *ret_bytes = sum;
    return rc;
}

/* ---- strays ---- */

struct strays { const struct crun_node *n; };

/* The name may be of a claim that lives: then it is somebody's. */
static void stray(void *arg, const char *name)
{
    const struct strays *s = arg;
    if (strlen(name) >= MEMO_NAME || file_exists(s->n->containers, name)) return;
    clean_bury(s->n, name, "", NULL);
}

static void each_entry(int parent, void (*found)(void *arg, const char *name), void *arg)
{
    int own = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) {
        file_close(&own);
        return;
    }
    const struct dirent *e;
    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) found(arg, e->d_name);
    closedir(d);
}

static void trash(void *arg, const char *name)
{
    const struct strays *s = arg;
    if (strncmp(name, CLEAN_TRASH, sizeof(CLEAN_TRASH) - 1) == 0)
        file_remove_tree(s->n->containers, name, NULL);
}

void clean_strays(const struct crun_node *n)
{
    struct strays s = {n};
    each_entry(n->containers, trash, &s);
    cgroup_each(&n->cgroups, stray, &s);
    each_entry(n->runtime, stray, &s);
    int64_t kept = 0;
    if (clean_logs(n->logs, n->log_keep_bytes, &kept, NULL) == 0) atomic_store(n->kept_bytes, kept);
}
