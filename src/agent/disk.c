/* agent/disk.c - a bound on what a container writes to its root.
 * docs/spec/node.md, "Disk" */
#include "agent/disk.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "host/file.h"
#include "net/child.h"

#define MAKE_MS 30000

/* Nothing of it outlives the container: no journal, and tables are left for later. */
static const char *const how[] = {
    "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal,^resize_inode", "-E",
    "lazy_itable_init=1,nodiscard,root_owner=0:0", DISK_FILE, NULL,
};

int disk_make(int dir, int64_t bytes, struct err *err)
{
    AUTO_STRBUF struct strbuf out;
    struct child_exit end;
    char cwd[32];
    AUTO_FD int fd = openat(dir, DISK_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                            0600);
    if (fd < 0 || ftruncate(fd, bytes) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a disk of %lld MiB",
                       (long long)(bytes >> 20));
    static const char *const envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    strbuf_init(&out, 4096);
    text_fmt(cwd, sizeof(cwd), "/proc/self/fd/%d", dir);
    struct child_spec spec = {.path = "/usr/sbin/mkfs.ext4", .argv = how, .envp = envp,
                              .cwd = cwd, .parent_death_signal = SIGKILL};
    int rc = child_run(&spec, MAKE_MS, &out, &end, err);
    if (rc == ERR_NOT_FOUND)
        return err_set(err, ERR_UNSUPPORTED, "a limit of the disk needs mkfs.ext4, which is not "
                       "installed on this node");
    if (rc < 0) return rc;
    if (end.code == 0) return 0;
    return err_set(err, ERR_IO, "cannot make a disk of %lld MiB: %.100s",
                   (long long)(bytes >> 20), out.n ? out.p : "mkfs.ext4 failed");
}
