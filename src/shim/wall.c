/* shim/wall.c - what the runtime leaves open: it binds the root on itself and forgets the
 * flags that it was mounted with.  Only a process inside can set them again, and it must not
 * share what it enters with our threads: a child does it.  docs/spec/node.md */
#include "shim/wall.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"

/* 0, or an errno: system calls alone, the log's thread may have held a lock. */
static int enter_and_set(int ns, unsigned long flags)
{
    if (setns(ns, CLONE_NEWNS) < 0) return errno;
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0) return errno;
    return 0;
}

int wall_root(pid_t pid, bool devices, struct err *err)
{
    char path[48];
    int status = 0;
    text_fmt(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    AUTO_FD int ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns < 0) return err_sys(err, ERR_IO, errno, "cannot see the container's mounts");
    unsigned long flags = MS_NOSUID | (devices ? 0 : MS_NODEV);
    pid_t child = fork();
    if (child == 0) _exit(enter_and_set(ns, flags));
    if (child < 0) return err_sys(err, ERR_IO, errno, "cannot make a process");
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    return err_sys(err, ERR_IO, WIFEXITED(status) ? WEXITSTATUS(status) : EINTR,
                   "cannot make the root of the container nosuid");
}
