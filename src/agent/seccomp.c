/* agent/seccomp.c - which system calls a container may make.  docs/spec/node.md */
#include "agent/seccomp.h"
#include <errno.h>
#include <seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/mem.h"

/* New namespaces are how a process of a user gets at kernel code meant for root. */
#define NEW_NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)

static const char *const allowed[] = {
    "accept", "accept4", "access", "adjtimex", "alarm", "arch_prctl", "bind", "brk",
    "cachestat", "capget", "capset", "chdir", "chmod", "chown", "clock_adjtime", "clock_getres",
    "clock_gettime", "clock_nanosleep", "close", "close_range", "connect", "copy_file_range",
    "creat", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl",
    "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "execve", "execveat",
    "exit", "exit_group", "faccessat", "faccessat2", "fadvise64", "fallocate",
    "fanotify_mark", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "fcntl",
    "fdatasync", "fgetxattr", "flistxattr", "flock", "fork", "fremovexattr", "fsetxattr",
    "fstat", "fstatfs", "fsync", "ftruncate", "futex", "futex_requeue", "futex_wait",
    "futex_waitv", "futex_wake", "futimesat", "get_mempolicy", "get_robust_list",
    "get_thread_area", "getcpu", "getcwd", "getdents", "getdents64", "getegid", "geteuid",
    "getgid", "getgroups", "getitimer", "getpeername", "getpgid", "getpgrp", "getpid",
    "getppid", "getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage",
    "getsid", "getsockname", "getsockopt", "gettid", "gettimeofday", "getuid", "getxattr",
    "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "io_cancel",
    "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", "ioctl",
    "ioprio_get", "ioprio_set", "kcmp", "kill", "landlock_add_rule",
    "landlock_create_ruleset", "landlock_restrict_self", "lchown", "lgetxattr", "link",
    "linkat", "listen", "listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr",
    "lstat", "madvise", "map_shadow_stack", "mbind", "membarrier", "memfd_create",
    "memfd_secret", "migrate_pages", "mincore", "mkdir", "mkdirat", "mknod", "mknodat",
    "mlock", "mlock2", "mlockall", "mmap", "modify_ldt", "move_pages", "mprotect",
    "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink",
    "mremap", "msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall",
    "munmap", "name_to_handle_at", "nanosleep", "newfstatat", "open", "openat", "openat2",
    "pause", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc",
    "pkey_free", "pkey_mprotect", "poll", "ppoll", "prctl", "pread64", "preadv", "preadv2",
    "prlimit64", "process_madvise", "process_mrelease", "process_vm_readv",
    "process_vm_writev", "pselect6", "ptrace", "pwrite64", "pwritev", "pwritev2", "read",
    "readahead", "readlink", "readlinkat", "readv", "recvfrom", "recvmmsg", "recvmsg",
    "remap_file_pages", "removexattr", "rename", "renameat", "renameat2",
    "restart_syscall", "rmdir", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
    "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
    "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
    "sched_rr_get_interval", "sched_setaffinity", "sched_setattr", "sched_setparam",
    "sched_setscheduler", "sched_yield", "seccomp", "select", "semctl", "semget", "semop",
    "semtimedop", "sendfile", "sendmmsg", "sendmsg", "sendto", "set_mempolicy",
    "set_mempolicy_home_node", "set_robust_list", "set_thread_area", "set_tid_address",
    "setfsgid", "setfsuid", "setgid", "setgroups", "setitimer", "setpgid", "setpriority",
    "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setsockopt",
    "setuid", "setxattr", "shmat", "shmctl", "shmdt", "shmget", "shutdown", "sigaltstack",
    "signalfd", "signalfd4", "splice", "stat", "statfs", "statx", "symlink",
    "symlinkat", "sync", "sync_file_range", "syncfs", "sysinfo", "tee", "tgkill", "time",
    "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill", "truncate",
    "umask", "uname", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vfork",
    "vmsplice", "wait4", "waitid", "write", "writev",
};

static const char *const refused[] = {
    "acct", "add_key", "bpf", "chroot", "clock_settime", "delete_module", "fanotify_init",
    "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kexec_file_load", "kexec_load",
    "keyctl", "lookup_dcookie", "mount", "mount_setattr", "move_mount", "nfsservctl",
    "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "quotactl",
    "quotactl_fd", "reboot", "request_key", "setdomainname", "sethostname", "setns",
    "settimeofday", "swapoff", "swapon", "syslog", "umount2", "unshare", "userfaultfd",
    "vhangup",
};

/* The others are seldom used code of the kernel's, some of it loaded by the mere asking. */
static const uint64_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

/* personality(2) values that do no more than ask or name the ordinary ones. */
static const uint64_t personalities[] = {0x0, 0x8, 0x20000, 0x20008, 0xffffffff};

static int add_names(scmp_filter_ctx ctx, uint32_t action, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int nr = seccomp_syscall_resolve_name(names[i]);
        /* A call this library or machine does not know cannot be made either. */
        if (nr == __NR_SCMP_ERROR || nr < 0) continue;
        int rc = seccomp_rule_add(ctx, action, nr, 0);
        if (rc < 0) return rc;
    }
    return 0;
}

static int add_rules(scmp_filter_ctx ctx)
{
    int rc = add_names(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
    if (rc == 0) rc = add_names(ctx, SCMP_ACT_ERRNO(EPERM), refused, ARRAY_LEN(refused));
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0));
    for (size_t i = 0; i < ARRAY_LEN(families) && rc == 0; i++)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_EQ, families[i], 0));
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                              SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
    for (size_t i = 0; i < ARRAY_LEN(personalities) && rc == 0; i++)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1,
                              SCMP_A0(SCMP_CMP_EQ, personalities[i], 0));
    return rc;
}

static void put_base64(struct strbuf *out, const unsigned char *p, size_t n)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16;
        if (i + 1 < n) v |= (unsigned)p[i + 1] << 8;
        if (i + 2 < n) v |= p[i + 2];
        strbuf_putc(out, digits[v >> 18]);
        strbuf_putc(out, digits[v >> 12 & 63]);
        strbuf_putc(out, i + 1 < n ? digits[v >> 6 & 63] : '=');
        strbuf_putc(out, i + 2 < n ? digits[v & 63] : '=');
    }
}

static int export_to(scmp_filter_ctx ctx, struct strbuf *out, struct err *err)
{
    int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot make memory for the filter");
    int rc = seccomp_export_bpf(ctx, fd);
    unsigned char *buf = mem_alloc(65536);
    ssize_t n = rc == 0 ? pread(fd, buf, 65536, 0) : 0;
    if (n > 0 && n < 65536) put_base64(out, buf, (size_t)n);
    mem_free(buf);
    close(fd);
    if (n <= 0 || n == 65536)
        return err_set(err, ERR_UNSUPPORTED, "cannot compile the system call filter");
    return 0;
}

int seccomp_filter_base64(struct strbuf *out, struct err *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (!ctx) return err_set(err, ERR_UNSUPPORTED, "cannot make a system call filter");
    /* The runtime sets no_new_privs itself.  A tree instead of a list where the
     * library can: about nine comparisons a call instead of hundreds. */
    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    int rc = add_rules(ctx);
    if (rc < 0) err_sys(err, ERR_UNSUPPORTED, -rc, "cannot build the system call filter");
    else rc = export_to(ctx, out, err);
    seccomp_release(ctx);
    return rc < 0 ? (rc <= ERR_UNSUPPORTED ? ERR_UNSUPPORTED : rc) : 0;
}

static void put_names(struct strbuf *out, const char *const *names, size_t n)
{
    strbuf_puts(out, "{\"names\":[");
    for (size_t i = 0; i < n; i++) strbuf_fmt(out, "%s\"%s\"", i ? "," : "", names[i]);
    strbuf_putc(out, ']');
}

/* A rule more: allowed where the first argument is this. */
static void put_equal(struct strbuf *out, const char *name, uint64_t value)
{
    strbuf_fmt(out,
               ",{\"names\":[\"%s\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,"
               "\"value\":%llu,\"op\":\"SCMP_CMP_EQ\"}]}", name, (unsigned long long)value);
}

void seccomp_filter_json(struct strbuf *out)
{
    strbuf_puts(out, "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,\"syscalls\":[");
    put_names(out, allowed, ARRAY_LEN(allowed));
    strbuf_puts(out, ",\"action\":\"SCMP_ACT_ALLOW\"},");
    put_names(out, refused, ARRAY_LEN(refused));
    strbuf_puts(out, ",\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1},");
    strbuf_fmt(out,
               "{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,"
               "\"value\":%u,\"valueTwo\":0,\"op\":\"SCMP_CMP_MASKED_EQ\"}]}",
               (unsigned)NEW_NAMESPACES);
    put_equal(out, "socketpair", AF_UNIX);
    for (size_t i = 0; i < ARRAY_LEN(families); i++) put_equal(out, "socket", families[i]);
    for (size_t i = 0; i < ARRAY_LEN(personalities); i++)
        put_equal(out, "personality", personalities[i]);
    strbuf_puts(out, "]}");
}
