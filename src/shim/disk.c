/* shim/disk.c - a container's writable layer in a file of bounded size.
 * docs/spec/node.md, "Disk" */
#include "shim/disk.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"

#define TRIES 64   /* others look for a free device, too */
#define DEPTH_MAX 32
#define OPAQUE "trusted.overlay.opaque"

/* A loop device over the file that is gone when nobody uses it any more. */
static int open_loop(int file, char ret_path[32], struct err *err)
{
    AUTO_FD int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0)
        return err_sys(err, ERR_UNSUPPORTED, errno, "a limit of the disk needs loop devices");
    for (int i = 0; i < TRIES; i++) {
        struct loop_config c = {.fd = (uint32_t)file, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
        int no = ioctl(control, LOOP_CTL_GET_FREE);
        text_fmt(ret_path, 32, "/dev/loop%d", no);
        AUTO_FD int fd = no < 0 ? -1 : open(ret_path, O_RDWR | O_CLOEXEC);
        if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open a loop device");
        if (ioctl(fd, LOOP_CONFIGURE, &c) == 0) {
            int ret = fd;
            fd = -1;
            return ret;
        }
        if (errno != EBUSY) break;
    }
    return err_sys(err, ERR_IO, errno, "cannot set up a loop device");
}

static int mount_at_nothing(const char *device, struct err *err)
{
    AUTO_FD int fs = fsopen("ext4", FSOPEN_CLOEXEC);
    /* What mkfs left for later would be written for nothing. */
    if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "source", device, 0) < 0 ||
        fsconfig(fs, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0) < 0 ||
        fsconfig(fs, FSCONFIG_SET_FLAG, "nobarrier", NULL, 0) < 0 ||
        fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return err_sys(err, ERR_IO, errno, "cannot mount the container's disk");
    int fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return fd >= 0 ? fd : err_sys(err, ERR_IO, errno, "cannot mount the container's disk");
}

/* ---- what was prepared ---- */

static int copy_file(int from, int to, const char *name, const struct stat *st)
{
    AUTO_FD int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FD int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (in < 0 || out < 0) return -1;
    for (off_t left = st->st_size; left > 0;) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);
        if (n <= 0) return -1;
        left -= n;
    }
    return fchown(out, st->st_uid, st->st_gid) < 0 ? -1 : fchmod(out, st->st_mode & 07777);
}

static int copy_tree(int from, int to, int depth);

static int copy_dir(int from, int to, const char *name, int depth)
{
    AUTO_FD int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0 || mkdirat(to, name, 0700) < 0) return -1;
    AUTO_FD int out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return out < 0 ? -1 : copy_tree(in, out, depth + 1);
}

static int copy_one(int from, int to, const char *name, int depth)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return -1;
    if (S_ISDIR(st.st_mode)) return copy_dir(from, to, name, depth);
    if (S_ISREG(st.st_mode)) return copy_file(from, to, name, &st);
    /* The mark for "nothing here", or what the probe puts there. */
    if (S_ISCHR(st.st_mode)) return mknodat(to, name, st.st_mode, st.st_rdev);
    errno = EINVAL;
    return -1;
}

/* Few entries, all made by the agent. */
static int copy_tree(int from, int to, int depth)
{
    struct stat st;
    char v[4];
    int own = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    DIR *d = own >= 0 && depth < DEPTH_MAX ? fdopendir(own) : NULL;
    if (!d) {
        file_close(&own);
        return -1;
    }
    const struct dirent *e;
    while (rc == 0 && (e = readdir(d)) != NULL) {
        bool dots = e->d_name[0] == '.' &&
                    (!e->d_name[1] || (e->d_name[1] == '.' && !e->d_name[2]));
        if (!dots) rc = copy_one(from, to, e->d_name, depth);
    }
    closedir(d);
    if (rc < 0 || fstat(from, &st) < 0 || fchown(to, st.st_uid, st.st_gid) < 0 ||
        fchmod(to, st.st_mode & 07777) < 0)
        return -1;
    if (fgetxattr(from, OPAQUE, v, sizeof(v)) != 1) return 0;
    return fsetxattr(to, OPAQUE, v, 1, 0);
}

int disk_open(int dir, struct err *err)
{
    char path[32];
    AUTO_FD int file = openat(dir, "disk", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return err_sys(err, ERR_IO, errno, "cannot open the container's disk");
    AUTO_FD int loop = open_loop(file, path, err);
    if (loop < 0) return loop;
    AUTO_FD int at = mount_at_nothing(path, err);
    if (at < 0) return at;
    AUTO_FD int root = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || mkdirat(root, "w", 0700) < 0 || copy_dir(dir, root, "u", 0) < 0)
        return err_sys(err, ERR_IO, errno, "cannot fill the container's disk");
    int ret = at;
    at = -1;
    return ret;
}
