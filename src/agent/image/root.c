/* agent/image/root.c - what a container's upper layer holds over an image.
 * docs/spec/node.md, "Images" */
#include "agent/image/root.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"

#define NAMES_MAX (256 * 1024)

/* Over every image: directories that are mounted on, and those that programs expect. */
static const struct { const char *path; mode_t mode; } made[] = {
    {"proc", 0755}, {"sys", 0755}, {"dev", 0755}, {"run", 0755}, {"etc", 0755}, {"tmp", 01777},
};

enum found { FOUND_NOTHING = 0, FOUND_DIR, FOUND_FILE, FOUND_OTHER };
enum in_layer { IN_BELOW = 0, IN_HERE, IN_GONE };

struct thing {
    enum found kind;
    struct stat st;
    int fd; /* of a file, to be read; else -1 */
};

static bool is_opaque(int dir)
{
    char v[4];
    return fgetxattr(dir, "trusted.overlay.opaque", v, sizeof(v)) == 1 && v[0] == 'y';
}

static enum in_layer take(int dir, const char *name, struct thing *t)
{
    if (fstatat(dir, name, &t->st, AT_SYMLINK_NOFOLLOW) < 0) return IN_BELOW;
    if (S_ISCHR(t->st.st_mode)) return IN_GONE;
    t->kind = S_ISDIR(t->st.st_mode)   ? FOUND_DIR
              : S_ISREG(t->st.st_mode) ? FOUND_FILE
                                       : FOUND_OTHER;
    if (t->kind == FOUND_FILE) t->fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return IN_HERE;
}

/* Whether one layer decides what the path is. */
static enum in_layer look_in(int fs, struct str path, struct thing *t)
{
    AUTO_FD int at = openat(fs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct str part;
    char name[256];
    bool opaque = false;
    while (at >= 0) {
        bool more = str_cut(&path, '/', &part);
        if (!TEXT_SET(name, part)) return IN_GONE;
        opaque = opaque || is_opaque(at);
        struct thing step = {.fd = -1};
        enum in_layer here = take(at, name, &step);
        if (here != IN_HERE) return here == IN_BELOW && !opaque ? IN_BELOW : IN_GONE;
        if (!more) {
            *t = step;
            return IN_HERE;
        }
        file_close(&step.fd);
        if (step.kind != FOUND_DIR) { /* a link perhaps: what is behind it is not ours to say */
            t->kind = FOUND_OTHER;
            return IN_HERE;
        }
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(at);
        at = next;
    }
    return IN_GONE;
}

/* What the image has there, the topmost layer that says so first. */
static struct thing look(const struct image_store *s, const struct image_record *r,
                         const char *path)
{
    struct thing t = {.fd = -1};
    for (uint32_t i = r->layers.n; i-- > 0;) {
        char name[DIGEST_HEX + 16], hex[DIGEST_HEX];
        digest_hex(r->layers.v[i].digest, hex);
        text_fmt(name, sizeof(name), "sha256-%s/fs", hex);
        AUTO_FD int fs = openat(s->layers, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fs >= 0 && look_in(fs, str_of(path), &t) != IN_BELOW) break;
    }
    return t;
}

/* ---- names ---- */

static char *read_names(const struct image_store *s, const struct image_record *r,
                        const char *path)
{
    char *buf = mem_alloc(NAMES_MAX + 1);
    struct thing t = look(s, r, path);
    ssize_t n = t.kind == FOUND_FILE && t.fd >= 0 ? read(t.fd, buf, NAMES_MAX) : 0;
    buf[n > 0 ? n : 0] = '\0';
    file_close(&t.fd);
    return buf;
}

/* ---- directories of the user's own ---- */

struct walk {
    const struct image_store *s;
    const struct image_record *r;
    const struct rootfs_user *u;
    int at;    /* in the upper layer */
    bool own;  /* nothing of the image is there any more */
};

/* One part of a path: 1 to go on below, 0 when the image's own is used from here. */
static int walk_step(struct walk *w, const char *path, const char *name, struct err *err)
{
    struct stat st;
    struct thing t = {.fd = -1};
    bool there = fstatat(w->at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && !w->own) t = look(w->s, w->r, path);
    file_close(&t.fd);
    if (t.kind == FOUND_FILE || t.kind == FOUND_OTHER) return 0;
    mode_t mode = t.kind == FOUND_DIR ? t.st.st_mode & 01777 : 0755;
    uid_t uid = t.kind == FOUND_DIR ? t.st.st_uid : w->u->uid;
    gid_t gid = t.kind == FOUND_DIR ? t.st.st_gid : w->u->gid;
    w->own = w->own || (!there && t.kind == FOUND_NOTHING);
    if (!there && (mkdirat(w->at, name, 0700) < 0 || fchownat(w->at, name, uid, gid, 0) < 0 ||
                   fchmodat(w->at, name, mode, 0) < 0))
        return err_sys(err, ERR_IO, errno, "cannot make %s for the container", path);
    int next = openat(w->at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return err_sys(err, ERR_IO, errno, "cannot open %s of the container", path);
    close(w->at);
    w->at = next;
    return 1;
}

static int put_own_dir(struct walk *w, const char *upper, const char *path, struct err *err)
{
    char part[ROOTFS_PATH] = "";
    struct str rest = str_of(path), name;
    size_t n = 0;
    int rc = w->at = file_open_dir(AT_FDCWD, upper, err);
    w->own = false;
    for (bool more = true; rc >= 0 && more;) {
        char one[256];
        more = str_cut(&rest, '/', &name);
        if (name.n == 0) continue;
        if (name.n + n + 2 > sizeof(part) || str_eq(name, STR("..")) || str_eq(name, STR(".")) ||
            !TEXT_SET(one, name))
            rc = err_set(err, ERR_INVALID, "'%.100s' is not a plain absolute path", path);
        if (rc < 0) break;
        n += (size_t)text_fmt(part + n, sizeof(part) - n, "%s%s", n ? "/" : "", one);
        rc = walk_step(w, part, one, err);
        if (rc == 0) break;
    }
    file_close(&w->at);
    return rc < 0 ? rc : 0;
}

int image_root_fill(const struct image_store *s, const struct image_record *r, const char *upper,
                    const struct rootfs_user *u, struct str resolv, struct err *err)
{
    struct walk w = {.s = s, .r = r, .u = u, .at = -1};
    AUTO_FD int dir = file_open_dir(AT_FDCWD, upper, err);
    if (dir < 0) return dir;
    for (size_t i = 0; i < ARRAY_LEN(made); i++)
        if (mkdirat(dir, made[i].path, 0700) < 0 ||
            fchmodat(dir, made[i].path, made[i].mode, 0) < 0)
            return err_sys(err, ERR_IO, errno, "cannot make /%s for the container", made[i].path);
    AUTO_FREE char *passwd = read_names(s, r, "etc/passwd");
    AUTO_FREE char *group = read_names(s, r, "etc/group");
    const struct rootfs_names names = {str_of(passwd), str_of(group), resolv};
    int rc = rootfs_put_names(upper, u, &names, err);
    if (rc == 0 && u->workdir) rc = put_own_dir(&w, upper, u->workdir, err);
    if (rc == 0 && u->home && u->home[0] == '/') rc = put_own_dir(&w, upper, u->home, err);
    return rc;
}
