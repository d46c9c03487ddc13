/* shim/notice.c - a file in the container's /dev, which is its own and which the job cannot
 * write: so nothing there leads elsewhere.
 *
 * It is reached through the container's init, whose pidfd proves that the pid is still its.
 * docs/spec/node.md, "Environment" */
#include "shim/notice.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/str.h"
#include "host/file.h"
#include "host/proc.h"
#include "wire/shim.h"

#define FRESH SHIM_PREEMPT_NAME ".new"

static int open_dev(pid_t pid, int pidfd)
{
    char path[64];
    text_fmt(path, sizeof(path), "/proc/%d/root", (int)pid);
    AUTO_FD int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || !proc_signal(pidfd, 0)) return -1;
    return openat(root, "dev", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool notice_preempt(pid_t pid, int pidfd, int64_t until_wall_s)
{
    char text[32];
    int n = text_fmt(text, sizeof(text), "%lld\n", (long long)until_wall_s);
    AUTO_FD int dev = open_dev(pid, pidfd);
    if (dev < 0) return false;
    unlinkat(dev, FRESH, 0);
    AUTO_FD int fd = openat(dev, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    bool whole = fchmod(fd, 0644) == 0 && write(fd, text, (size_t)n) == n;
    if (whole && renameat(dev, FRESH, dev, SHIM_PREEMPT_NAME) == 0) return true;
    unlinkat(dev, FRESH, 0);
    return false;
}
