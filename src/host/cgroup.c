/* host/cgroup.c - the control groups of one container.  docs/spec/node.md */
#include "host/cgroup.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/check.h"
#include "base/str.h"
#include "host/file.h"
#include "host/proc.h"

/* "cpu,cpuacct" holds "cpu" and "cpuacct", but not "cpus". */
static bool names_hold(const char *names, const char *controller)
{
    struct str rest = str_of(names), one;
    for (;;) {
        bool more = str_cut(&rest, ',', &one);
        if (str_eq(one, str_of(controller))) return true;
        if (!more) return false;
    }
}

const char *cgroup_dir(const struct cgroup_set *s, const char *controller)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->version == CGROUP_V2 || names_hold(s->at[i].name, controller)) return s->at[i].dir;
    return NULL;
}

pid_t cgroup_fork(const struct cgroup_set *s, struct err *err)
{
    AUTO_FD int dir = -1;
    struct clone_args args = {.exit_signal = SIGCHLD};
    if (s->version == CGROUP_V2) {
        dir = open(s->at[0].dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0) return err_sys(err, ERR_IO, errno, "cannot open %s", s->at[0].dir);
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (unsigned)dir;
    }
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0) return err_sys(err, ERR_IO, errno, "cannot fork into the control group");
    return pid;
}

int cgroup_enter(const struct cgroup_set *s, struct err *err)
{
    if (s->version == CGROUP_V2) return 0;
    for (uint32_t i = 0; i < s->n; i++) {
        char path[CGROUP_PATH + 16];
        text_fmt(path, sizeof(path), "%s/tasks", s->at[i].dir);
        int rc = file_put(AT_FDCWD, path, "0", err);
        if (rc < 0) return rc;
    }
    return 0;
}

static int64_t read_number(const char *dir, const char *file)
{
    char path[CGROUP_PATH + 64], buf[64];
    size_t n = 0;
    int64_t v = 0;
    if (!dir) return -1;
    text_fmt(path, sizeof(path), "%s/%s", dir, file);
    if (file_read(AT_FDCWD, path, buf, sizeof(buf), &n, NULL) < 0) return -1;
    if (n > 0 && buf[n - 1] == '\n') n--;
    return str_to_i64(str_n(buf, n), &v) && v >= 0 ? v : -1;
}

/* The number behind "KEY " in a file of such lines. */
static int64_t read_key(const char *dir, const char *file, const char *key)
{
    char path[CGROUP_PATH + 64], buf[4096];
    size_t n = 0;
    if (!dir) return -1;
    text_fmt(path, sizeof(path), "%s/%s", dir, file);
    if (file_read(AT_FDCWD, path, buf, sizeof(buf), &n, NULL) < 0) return -1;
    struct str rest = str_n(buf, n), line;
    bool more = true;
    while (more) {
        more = str_cut(&rest, '\n', &line);
        struct str name;
        int64_t v;
        if (str_cut(&line, ' ', &name) && str_eq(name, str_of(key)) && str_to_i64(line, &v))
            return v;
    }
    return -1;
}

void cgroup_read(const struct cgroup_set *s, struct cgroup_usage *ret)
{
    const char *mem = cgroup_dir(s, "memory"), *cpu = cgroup_dir(s, "cpuacct");
    if (s->version == CGROUP_V2) {
        ret->mem_peak_bytes = read_number(mem, "memory.peak");
        ret->oom_kills = read_key(mem, "memory.events", "oom_kill");
        ret->cpu_us = read_key(cpu, "cpu.stat", "usage_usec");
        return;
    }
    int64_t cpu_ns = read_number(cpu, "cpuacct.usage");
    ret->mem_peak_bytes = read_number(mem, "memory.max_usage_in_bytes");
    ret->oom_kills = read_key(mem, "memory.oom_control", "oom_kill");
    ret->cpu_us = cpu_ns < 0 ? -1 : cpu_ns / 1000;
}

/* The directory whose list of processes is asked: any hierarchy knows them all,
 * and the freezer is the one that can also hold them still. */
static const char *procs_dir(const struct cgroup_set *s)
{
    const char *dir = cgroup_dir(s, "freezer");
    return dir || s->n == 0 ? dir : s->at[0].dir;
}

/* Counts groups below, too: removing would fail as long as somebody is there. */
static enum cgroup_live living_v2(const char *dir)
{
    int64_t populated = read_key(dir, "cgroup.events", "populated");
    if (populated >= 0) return populated ? CGROUP_LIVING : CGROUP_EMPTY;
    return access(dir, F_OK) < 0 && errno == ENOENT ? CGROUP_EMPTY : CGROUP_LIVE_UNKNOWN;
}

enum cgroup_live cgroup_living(const struct cgroup_set *s)
{
    const char *dir = procs_dir(s);
    char path[CGROUP_PATH + 32], buf[32];
    if (!dir) return CGROUP_LIVE_UNKNOWN;
    if (s->version == CGROUP_V2) return living_v2(dir);
    text_fmt(path, sizeof(path), "%s/cgroup.procs", dir);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? CGROUP_EMPTY : CGROUP_LIVE_UNKNOWN;
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n < 0) return errno == ENODEV ? CGROUP_EMPTY : CGROUP_LIVE_UNKNOWN;
    return n == 0 ? CGROUP_EMPTY : CGROUP_LIVING;
}

/* One signal to each member; more than fit are met by the next round. */
static void signal_all(const char *dir)
{
    char path[CGROUP_PATH + 32], buf[16384];
    text_fmt(path, sizeof(path), "%s/cgroup.procs", dir);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, buf, sizeof(buf));
    struct str rest = str_n(buf, n > 0 ? (size_t)n : 0), line;
    uint64_t pid;
    /* The last line may be cut in half: only what ends in a newline counts. */
    while (str_cut(&rest, '\n', &line))
        if (str_to_u64(line, &pid) && pid > 1 && pid < INT32_MAX) kill((pid_t)pid, SIGKILL);
}

static void kill_once(const struct cgroup_set *s, const char *dir)
{
    char path[CGROUP_PATH + 32];
    if (s->version == CGROUP_V2) {
        text_fmt(path, sizeof(path), "%s/cgroup.kill", dir);
        if (file_put(AT_FDCWD, path, "1", NULL) == 0) return;
    }
    const char *freezer = cgroup_dir(s, "freezer");
    bool v1_freezer = s->version == CGROUP_V1 && freezer;
    text_fmt(path, sizeof(path), "%s/freezer.state", freezer ? freezer : "");
    /* Frozen while the list is read, nothing forks away from the signal. */
    if (v1_freezer) file_put(AT_FDCWD, path, "FROZEN", NULL);
    signal_all(dir);
    if (v1_freezer) file_put(AT_FDCWD, path, "THAWED", NULL);
}

int cgroup_kill(const struct cgroup_set *s, int64_t timeout_ms, struct err *err)
{
    const char *dir = procs_dir(s);
    if (!dir) return 0;
    int64_t until = proc_mono_us() + timeout_ms * 1000;
    for (int wait_ms = 1;; wait_ms = wait_ms < 50 ? wait_ms * 2 : 50) {
        if (cgroup_living(s) == CGROUP_EMPTY) return 0;
        kill_once(s, dir);
        if (cgroup_living(s) == CGROUP_EMPTY) return 0;
        if (proc_mono_us() >= until)
            return err_set(err, ERR_TIMEOUT, "processes in %s outlive SIGKILL", dir);
        poll(NULL, 0, wait_ms);
    }
}

int cgroup_remove(const struct cgroup_set *s, struct err *err)
{
    int failed = 0;
    const char *where = "";
    for (uint32_t i = 0; i < s->n; i++) {
        if (rmdir(s->at[i].dir) == 0 || errno == ENOENT || failed) continue;
        failed = errno;
        where = s->at[i].dir;
    }
    if (failed) return err_sys(err, ERR_IO, failed, "cannot remove %s", where);
    return 0;
}
