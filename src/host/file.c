/* host/file.c - small files that outlive a crash, and directory trees.
 *
 * Removal keeps few descriptors open however deep the tree is: below a fixed
 * depth a directory is first moved up beside the top.  docs/spec/node.md */
#include "host/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"

#define DEPTH_MAX 32

void file_close(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return -1;
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

int file_write(int dir, const char *name, const void *data, size_t n, enum file_sync sync,
               struct err *err)
{
    char tmp[300];
    text_fmt(tmp, sizeof(tmp), "%s.tmp", name);
    AUTO_FD int fd =
        openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot create %s", tmp);
    if (write_all(fd, data, n) < 0 || (sync == FILE_DURABLE && fdatasync(fd) < 0) ||
        renameat(dir, tmp, dir, name) < 0) {
        int code = errno;
        unlinkat(dir, tmp, 0);
        return err_sys(err, ERR_IO, code, "cannot write %s", name);
    }
    /* After the rename, one commit of the journal takes both along. */
    if (sync == FILE_DURABLE_NEW && fsync(fd) < 0)
        return err_sys(err, ERR_UNKNOWN, errno, "cannot sync %s", name);
    if (sync != FILE_ORDERED && fsync(dir) < 0)
        return err_sys(err, ERR_UNKNOWN, errno, "cannot sync the directory of %s", name);
    return 0;
}

int file_read(int dir, const char *name, char *buf, size_t cap, size_t *ret_n, struct err *err)
{
    AUTO_FD int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) return err_set(err, ERR_NOT_FOUND, "there is no %s", name);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open %s", name);
    size_t n = 0;
    for (;;) {
        ssize_t r = read(fd, buf + n, cap - n);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return err_sys(err, ERR_IO, errno, "cannot read %s", name);
        if (r == 0) break;
        n += (size_t)r;
        if (n == cap) return err_set(err, ERR_LIMIT, "%s is longer than %zu bytes", name, cap - 1);
    }
    buf[n] = 0;
    *ret_n = n;
    return 0;
}

int file_put(int dir, const char *name, const char *text, struct err *err)
{
    AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open %s", name);
    size_t n = strlen(text);
    ssize_t w = write(fd, text, n);
    if (w != (ssize_t)n)
        return err_sys(err, ERR_IO, w < 0 ? errno : EIO, "cannot write '%s' to %s", text, name);
    return 0;
}

bool file_exists(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int file_mkdir(int dir, const char *name, unsigned mode, struct err *err)
{
    if (mkdirat(dir, name, (mode_t)mode) == 0 || errno == EEXIST) return 0;
    return err_sys(err, ERR_IO, errno, "cannot make directory %s", name);
}

int file_open_dir(int dir, const char *name, struct err *err)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) return fd;
    return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
                   "cannot open directory %s", name);
}

struct removal {
    int top;         /* directory that holds the tree: deep parts are moved up here */
    unsigned moved;  /* how many were */
    const char *name;
    int failed;      /* errno of the first failure */
};

static void removal_fail(struct removal *r)
{
    if (r->failed == 0 && errno != ENOENT) r->failed = errno;
}

static void removal_name(const struct removal *r, unsigned i, char *ret, size_t cap)
{
    text_fmt(ret, cap, "%.200s.deep%u", r->name, i);
}

static void remove_at(struct removal *r, int dir, const char *name, unsigned depth);

static void remove_entries(struct removal *r, int fd, unsigned depth)
{
    int own = dup(fd);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) {
        removal_fail(r);
        file_close(&own);
        return;
    }
    const struct dirent *e;
    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_at(r, fd, e->d_name, depth);
    closedir(d);
}

static void remove_at(struct removal *r, int dir, const char *name, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) return;
    if (errno != EISDIR && errno != EPERM) {
        removal_fail(r);
        return;
    }
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0) return;
    if (depth >= DEPTH_MAX) {
        char moved[256];
        removal_name(r, r->moved, moved, sizeof(moved));
        if (renameat(dir, name, r->top, moved) < 0) removal_fail(r);
        else r->moved++;
        return;
    }
    AUTO_FD int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        removal_fail(r);
        return;
    }
    remove_entries(r, fd, depth + 1);
    if (unlinkat(dir, name, AT_REMOVEDIR) < 0) removal_fail(r);
}

int file_remove_tree(int dir, const char *name, struct err *err)
{
    struct removal r = {.top = dir, .name = name};
    remove_at(&r, dir, name, 0);
    for (unsigned done = 0; done < r.moved; done++) {
        char moved[256];
        removal_name(&r, done, moved, sizeof(moved));
        remove_at(&r, dir, moved, 0);
    }
    if (r.failed) return err_sys(err, ERR_IO, r.failed, "cannot remove %s", name);
    return 0;
}

int64_t file_dir_bytes(int dir)
{
    int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) {
        file_close(&own);
        return 0;
    }
    int64_t sum = 0;
    const struct dirent *e;
    while ((e = readdir(d)) != NULL) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            sum += st.st_size;
    }
    closedir(d);
    return sum;
}
