/* probe/tree.c - reading below a directory that stands for the root. */
#include "probe/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/str.h"
#include "host/file.h"

static int open_below(int root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int code_of(int e)
{
    return e == ENOENT || e == ENOTDIR || e == ENODEV ? ERR_NOT_FOUND : ERR_IO;
}

static int open_root(const char *path, int *ret, struct err *err)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return err_sys(err, code_of(errno), errno, "cannot open the directory %s", path);
    *ret = fd;
    return 0;
}

int tree_open(struct tree *ret, const char *proc, const char *sys, const char *dev,
              struct err *err)
{
    struct tree t = {-1, -1, -1};
    int rc = open_root(proc, &t.proc, err);
    if (rc == 0) rc = open_root(sys, &t.sys, err);
    if (rc == 0) rc = open_root(dev, &t.dev, err);
    if (rc == 0) *ret = t;
    else tree_close(&t);
    return rc;
}

void tree_close(struct tree *t)
{
    file_close(&t->proc);
    file_close(&t->sys);
    file_close(&t->dev);
}

int tree_read(int root, const char *path, char *buf, size_t cap)
{
    buf[0] = '\0';
    AUTO_FD int fd = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return code_of(errno);
    size_t n = 0;
    while (n < cap - 1) {
        ssize_t got = read(fd, buf + n, cap - 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            buf[0] = '\0';
            return code_of(errno);
        }
        if (got == 0) break;
        n += (size_t)got;
    }
    n = strnlen(buf, n); /* a NUL ends it */
    while (n > 0 && strchr(" \t\n", buf[n - 1])) n--;
    buf[n] = '\0';
    return (int)n;
}

static bool from_hex(struct str s, int64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0 || s.n > 15) return false;
    for (size_t i = 0; i < s.n; i++) {
        const char *digits = "0123456789abcdef", *at = memchr(digits, s.p[i] | 0x20, 16);
        if (!at) return false;
        v = v << 4 | (uint64_t)(at - digits);
    }
    *ret = (int64_t)v;
    return true;
}

bool tree_number(int root, const char *path, int64_t *ret)
{
    char buf[64];
    int n = tree_read(root, path, buf, sizeof(buf));
    if (n <= 0) return false;
    struct str s = str_n(buf, (size_t)n);
    if (str_starts(s, STR("0x"))) return from_hex(str_n(s.p + 2, s.n - 2), ret);
    return str_to_i64(s, ret);
}

bool tree_exists(int root, const char *path)
{
    AUTO_FD int fd = open_below(root, path, O_PATH);
    return fd >= 0;
}

bool tree_device(int root, const char *path, uint32_t *ret_major, uint32_t *ret_minor)
{
    struct stat st;
    AUTO_FD int fd = open_below(root, path, O_PATH);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode)) return false;
    *ret_major = major(st.st_rdev);
    *ret_minor = minor(st.st_rdev);
    return true;
}

bool tree_target(int root, const char *path, char *ret, size_t cap)
{
    char to[1024];
    AUTO_FD int fd = open_below(root, path, O_PATH | O_NOFOLLOW);
    if (fd < 0) return false;
    ssize_t n = readlinkat(fd, "", to, sizeof(to));
    return n > 0 && (size_t)n < sizeof(to) && text_set(ret, cap, str_n(to, (size_t)n));
}

bool tree_link(int root, const char *path, char *ret, size_t cap)
{
    char to[1024];
    if (!tree_target(root, path, to, sizeof(to))) return false;
    const char *slash = strrchr(to, '/');
    return text_set(ret, cap, str_of(slash ? slash + 1 : to));
}

static int natural(const void *a, const void *b)
{
    return str_natural_cmp(str_of(a), str_of(b));
}

int tree_list(int root, const char *path, const char *prefix, struct tree_names *ret)
{
    ret->n = 0;
    int fd = open_below(root, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return code_of(errno);
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return ERR_IO;
    }
    int rc = 0;
    for (struct dirent *e = readdir(d); e && rc == 0; e = readdir(d)) {
        struct str name = str_of(e->d_name);
        if (e->d_name[0] == '.' || !str_starts(name, str_of(prefix))) continue;
        if (ret->n == TREE_NAMES_MAX) rc = ERR_LIMIT;
        else if (text_set(ret->v[ret->n], TREE_NAME, name)) ret->n++;
    }
    (void)closedir(d);
    qsort(ret->v, ret->n, sizeof(ret->v[0]), natural);
    return rc;
}
