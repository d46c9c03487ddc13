/* host/proc.c - which process is which, and what time it is.  docs/spec/node.md */
#include "host/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"

int proc_boot_id(char ret[PROC_BOOT_ID], struct err *err)
{
    char buf[64];
    size_t n = 0;
    int rc = file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf, sizeof(buf), &n, err);
    if (rc < 0) return rc;
    if (n < PROC_BOOT_ID - 1) return err_set(err, ERR_IO, "the kernel's boot id is too short");
    memcpy(ret, buf, PROC_BOOT_ID - 1);
    ret[PROC_BOOT_ID - 1] = 0;
    return 0;
}

/* The part of /proc/PID/stat behind the command name, which may hold anything. */
static const char *stat_tail(int64_t pid, char *buf, size_t cap)
{
    char path[48];
    text_fmt(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    size_t n = 0;
    if (pid <= 0 || file_read(AT_FDCWD, path, buf, cap, &n, NULL) < 0) return NULL;
    char *end = strrchr(buf, ')');
    return end && end[1] == ' ' ? end + 2 : NULL; /* at field 3, the state */
}

int proc_start_time(int64_t pid, uint64_t *ret, struct err *err)
{
    char buf[1024];
    const char *p = stat_tail(pid, buf, sizeof(buf));
    for (int field = 3; p && field < 22; field++) {
        p = strchr(p, ' ');
        if (p) p++;
    }
    const char *end = p ? strchr(p, ' ') : NULL;
    if (!end || !str_to_u64(str_n(p, (size_t)(end - p)), ret))
        return err_set(err, ERR_NOT_FOUND, "there is no process %lld", (long long)pid);
    return 0;
}

bool proc_is_zombie(int64_t pid)
{
    char buf[1024];
    const char *p = stat_tail(pid, buf, sizeof(buf));
    return p && (*p == 'Z' || *p == 'X');
}

int proc_open_child(int64_t pid, struct err *err)
{
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0)
        return err_sys(err, errno == ESRCH ? ERR_NOT_FOUND : ERR_IO, errno,
                       "cannot open process %lld", (long long)pid);
    return fd;
}

int proc_open(int64_t pid, uint64_t start, struct err *err)
{
    if (pid <= 0) return err_set(err, ERR_NOT_FOUND, "no process was recorded");
    AUTO_FD int fd = proc_open_child(pid, err);
    if (fd < 0) return fd;
    uint64_t now = 0;
    int rc = proc_start_time(pid, &now, err);
    if (rc < 0) return rc;
    if (now != start)
        return err_set(err, ERR_NOT_FOUND, "process %lld is another one now", (long long)pid);
    int ret = fd;
    fd = -1;
    return ret;
}

bool proc_signal(int pidfd, int signum)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signum, NULL, 0) == 0;
}

bool proc_wait_gone(int pidfd, int64_t timeout_ms)
{
    int64_t until = proc_mono_us() / 1000 + timeout_ms;
    for (;;) {
        int64_t left = until - proc_mono_us() / 1000;
        struct pollfd p = {.fd = pidfd, .events = POLLIN};
        int rc = poll(&p, 1, left > 0 ? (int)left : 0);
        if (rc > 0) return true;
        if (rc == 0) return false;
        if (errno != EINTR) return false;
    }
}

static int64_t clock_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t proc_mono_us(void) { return clock_us(CLOCK_MONOTONIC); }
int64_t proc_wall_us(void) { return clock_us(CLOCK_REALTIME); }
int64_t proc_boot_ms(void) { return clock_us(CLOCK_BOOTTIME) / 1000; }
