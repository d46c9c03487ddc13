/* agent/image/layer_path.c - names inside a layer that is being unpacked.
 * docs/spec/node.md, "Images" */
#include "agent/image/layer_path.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"

#define DEPTH_MAX 256
#define GONE ".wh."
#define OPAQUE ".wh..wh..opq"

int layer_path_parse(const char *text, struct layer_path *ret, struct err *err)
{
    struct str rest = str_of(text), part;
    size_t n = 0, depth = 0;
    bool more = true;
    ret->text[0] = '\0';
    ret->name = ret->text;
    while (more) {
        more = str_cut(&rest, '/', &part);
        if (part.n == 0 || str_eq(part, STR("."))) continue;
        if (str_eq(part, STR("..")))
            return err_set(err, ERR_INVALID, "'%.100s' leads out of the layer", text);
        if (part.n > 255 || n + part.n + 2 > sizeof(ret->text) || ++depth > DEPTH_MAX)
            return err_set(err, ERR_INVALID, "a name in the layer is longer than any real one");
        if (n) ret->text[n++] = '/';
        ret->name = ret->text + n;
        memcpy(ret->text + n, part.p, part.n);
        n += part.n;
        ret->text[n] = '\0';
    }
    return 0;
}

enum layer_mark layer_mark_of(const char *name, const char **ret_name)
{
    if (strncmp(name, GONE, sizeof(GONE) - 1) != 0) return LAYER_PLAIN;
    if (strcmp(name, OPAQUE) == 0) return LAYER_OPAQUE;
    name += sizeof(GONE) - 1;
    /* Others of that kind are the affair of a file system that is no more. */
    if (strncmp(name, GONE, sizeof(GONE) - 1) == 0 || strcmp(name, "") == 0 ||
        strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return LAYER_IGNORE;
    *ret_name = name;
    return LAYER_GONE;
}

/* As if the layer were the root: links inside lead nowhere else. */
static int open_in(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
    return (int)syscall(SYS_openat2, root, path[0] ? path : ".", &how, sizeof(how));
}

/* One directory after the other: what is missing belongs to root, as in a layer
 * that did not care to say. */
static int make_parents(int root, const char *dir, struct err *err)
{
    char part[LAYER_PATH];
    int at = open_in(root, "");
    for (const char *end = dir; at >= 0 && *end;) {
        const char *from = end + (*end == '/');
        end = strchrnul(from, '/');
        text_clip(part, sizeof(part), str_n(dir, (size_t)(end - dir)));
        int next = open_in(root, part);
        if (next < 0 && errno == ENOENT) {
            char name[256];
            TEXT_CLIP(name, str_n(from, (size_t)(end - from)));
            if (mkdirat(at, name, 0755) == 0) next = open_in(root, part);
        }
        int code = errno;
        close(at);
        at = next;
        errno = code;
    }
    if (at >= 0) return at;
    if (errno == ENOTDIR || errno == ELOOP || errno == EEXIST)
        return err_set(err, ERR_INVALID, "'%.100s' is below what is no directory", dir);
    return err_sys(err, errno == ENOSPC ? ERR_UNAVAILABLE : ERR_IO, errno, "cannot make '%.100s'",
                   dir);
}

int layer_path_parent(int root, const struct layer_path *p, struct err *err)
{
    char dir[LAYER_PATH];
    size_t n = (size_t)(p->name - p->text);
    text_clip(dir, sizeof(dir), str_n(p->text, n ? n - 1 : 0));
    int fd = open_in(root, dir);
    return fd >= 0 ? fd : make_parents(root, dir, err);
}

bool layer_is_gone(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode);
}

int layer_set_gone(int dir, const char *name, struct err *err)
{
    if (mknodat(dir, name, S_IFCHR, makedev(0, 0)) == 0) return 0;
    return err_sys(err, errno == ENOSPC ? ERR_UNAVAILABLE : ERR_IO, errno,
                   "cannot mark '%.100s' as gone", name);
}

int layer_set_opaque(int dir, struct err *err)
{
    /* It may be open as a path alone. */
    AUTO_FD int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0) == 0) return 0;
    return err_sys(err, ERR_IO, errno, "cannot hide what is below a directory");
}
