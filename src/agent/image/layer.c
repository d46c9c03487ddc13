/* agent/image/layer.c - one layer of an image, from its archive to a directory.
 *
 * libarchive reads the formats; every file is made here, relative to a directory
 * that the kernel resolved inside the layer.  docs/spec/node.md, "Images" */
#include "agent/image/layer.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/image/digest.h"
#include "agent/image/layer_path.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"

#define BLOCK 4096
#define READ_SIZE (256 * 1024)

struct unpack {
    struct archive *a;
    int root, blob;
    struct layer_size most, sum;
    struct digest_sum digest;
    char *buf;
};

static int disk_error(struct err *err, const char *what, const char *name)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return err_set(err, ERR_UNAVAILABLE, "the disk of this node is full");
    return err_sys(err, ERR_IO, errno, "cannot %s '%.100s' of a layer", what, name);
}

static int charge(struct unpack *u, int64_t bytes, struct err *err)
{
    u->sum.bytes += (bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (u->sum.bytes <= u->most.bytes) return 0;
    return err_set(err, ERR_LIMIT, "a layer unpacks to more than the %lld MiB that the cache of "
                   "images has left", (long long)(u->most.bytes >> 20));
}

/* What is made anew replaces what this same layer said before. */
static int clear_way(int dir, const char *name, struct err *err)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) return 0;
    if (errno == EISDIR) return file_remove_tree(dir, name, err);
    return disk_error(err, "replace", name);
}

/* ---- kinds of entries ---- */

struct entry {
    struct archive_entry *e;
    int dir;          /* that holds it */
    const char *name;
    uid_t uid;
    gid_t gid;
    mode_t mode;      /* without set-user-id and the like */
};

static int write_data(struct unpack *u, int fd, struct err *err)
{
    const void *p;
    size_t n;
    la_int64_t at;
    for (;;) {
        int rc = archive_read_data_block(u->a, &p, &n, &at);
        if (rc == ARCHIVE_EOF) return 0;
        if (rc < ARCHIVE_WARN)
            return err_set(err, ERR_INVALID, "a layer is no good archive: %.150s",
                           archive_error_string(u->a));
        if (at < 0 || at > u->most.bytes)
            return err_set(err, ERR_LIMIT, "a file of a layer is larger than the cache of images");
        rc = charge(u, (int64_t)n, err);
        if (rc < 0) return rc;
        for (const char *c = p; n > 0;) {
            ssize_t w = pwrite(fd, c, n, at);
            if (w < 0 && errno == EINTR) continue;
            if (w < 0) return disk_error(err, "write", "a file");
            c += w;
            at += w;
            n -= (size_t)w;
        }
    }
}

static int make_file(struct unpack *u, const struct entry *e, struct err *err)
{
    la_int64_t size = archive_entry_size_is_set(e->e) ? archive_entry_size(e->e) : 0;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = archive_entry_mtime(e->e)}};
    if (size < 0 || size > u->most.bytes)
        return err_set(err, ERR_LIMIT, "'%.100s' is larger than the cache of images", e->name);
    int rc = clear_way(e->dir, e->name, err);
    if (rc < 0) return rc;
    AUTO_FD int fd = openat(e->dir, e->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            0600);
    if (fd < 0) return disk_error(err, "make", e->name);
    rc = write_data(u, fd, err);
    if (rc < 0) return rc;
    if (ftruncate(fd, size) < 0 || fchown(fd, e->uid, e->gid) < 0 || fchmod(fd, e->mode) < 0)
        return disk_error(err, "set the owner of", e->name);
    futimens(fd, times); /* a date out of range is no reason to fail */
    return 0;
}

static int make_dir(const struct entry *e, struct err *err)
{
    struct stat st;
    bool gone = layer_is_gone(e->dir, e->name);
    bool there = fstatat(e->dir, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    int rc = there ? 0 : clear_way(e->dir, e->name, err);
    if (rc < 0) return rc;
    if (!there && mkdirat(e->dir, e->name, 0700) < 0) return disk_error(err, "make", e->name);
    AUTO_FD int fd = openat(e->dir, e->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchown(fd, e->uid, e->gid) < 0 || fchmod(fd, e->mode) < 0)
        return disk_error(err, "set the owner of", e->name);
    return gone ? layer_set_opaque(fd, err) : 0;
}

static int make_symlink(const struct entry *e, struct err *err)
{
    const char *to = archive_entry_symlink(e->e);
    if (!to || !to[0] || strlen(to) >= LAYER_PATH)
        return err_set(err, ERR_INVALID, "'%.100s' links to nothing", e->name);
    int rc = clear_way(e->dir, e->name, err);
    if (rc < 0) return rc;
    if (symlinkat(to, e->dir, e->name) < 0 ||
        fchownat(e->dir, e->name, e->uid, e->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return disk_error(err, "make", e->name);
    return 0;
}

static int make_link(struct unpack *u, const struct entry *e, const char *target, struct err *err)
{
    AUTO_FREE struct layer_path *p = mem_alloc(sizeof(*p));
    struct stat st;
    int rc = layer_path_parse(target, p, err);
    AUTO_FD int dir = rc < 0 ? -1 : layer_path_parent(u->root, p, err);
    if (dir < 0) return rc < 0 ? rc : dir;
    if (!p->text[0] || fstatat(dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
        return err_set(err, ERR_INVALID, "'%.80s' is another name of '%.80s', which is no file of "
                       "its layer", e->name, target);
    struct stat own;
    if (fstatat(e->dir, e->name, &own, AT_SYMLINK_NOFOLLOW) == 0 && own.st_ino == st.st_ino)
        return 0; /* of itself */
    rc = clear_way(e->dir, e->name, err);
    if (rc < 0) return rc;
    return linkat(dir, p->name, e->dir, e->name, 0) == 0 ? 0 : disk_error(err, "link", e->name);
}

/* What this layer itself has of that name stays; of a directory, what is below does not show. */
static int make_gone(const struct entry *e, const char *name, struct err *err)
{
    struct stat st;
    if (fstatat(e->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return layer_set_gone(e->dir, name, err);
    if (!S_ISDIR(st.st_mode)) return 0;
    AUTO_FD int fd = openat(e->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? disk_error(err, "open", name) : layer_set_opaque(fd, err);
}

static int make_any(struct unpack *u, const struct entry *e, struct err *err)
{
    const char *gone = "", *target = archive_entry_hardlink(e->e);
    switch (layer_mark_of(e->name, &gone)) {
    case LAYER_OPAQUE: return layer_set_opaque(e->dir, err);
    case LAYER_GONE: return make_gone(e, gone, err);
    case LAYER_IGNORE: return 0;
    case LAYER_PLAIN: break;
    }
    if (target) return make_link(u, e, target, err);
    switch (archive_entry_filetype(e->e)) {
    case AE_IFREG: return make_file(u, e, err);
    case AE_IFDIR: return make_dir(e, err);
    case AE_IFLNK: return make_symlink(e, err);
    default: return 0; /* devices, pipes, sockets: a container gets its own or none */
    }
}

static int take_entry(struct unpack *u, struct archive_entry *e, struct err *err)
{
    const char *text = archive_entry_pathname(e);
    la_int64_t uid = archive_entry_uid(e), gid = archive_entry_gid(e);
    if (!text) return err_set(err, ERR_INVALID, "a layer has a name that is no text");
    if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
        return err_set(err, ERR_INVALID, "'%.100s' belongs to nobody who can be", text);
    if (++u->sum.entries > u->most.entries)
        return err_set(err, ERR_LIMIT, "a layer has more than %lld files",
                       (long long)u->most.entries);
    AUTO_FREE struct layer_path *p = mem_alloc(sizeof(*p));
    int rc = layer_path_parse(text, p, err);
    if (rc == 0) rc = charge(u, 1, err);
    if (rc < 0 || !p->text[0]) return rc; /* the root is the container's own */
    AUTO_FD int dir = layer_path_parent(u->root, p, err);
    if (dir < 0) return dir;
    struct entry made = {.e = e, .dir = dir, .name = p->name, .uid = (uid_t)uid,
                         .gid = (gid_t)gid, .mode = archive_entry_perm(e) & 01777};
    return make_any(u, &made, err);
}

/* ---- the archive ---- */

static la_ssize_t on_read(struct archive *a, void *arg, const void **ret)
{
    struct unpack *u = arg;
    ssize_t n;
    do n = read(u->blob, u->buf, READ_SIZE);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        archive_set_error(a, errno, "cannot read it");
        return -1;
    }
    digest_add(&u->digest, u->buf, (size_t)n);
    *ret = u->buf;
    return n;
}

static int take_all(struct unpack *u, struct err *err)
{
    struct archive_entry *e;
    archive_read_support_filter_gzip(u->a);
    archive_read_support_filter_zstd(u->a);
    archive_read_support_format_tar(u->a);
    archive_read_support_format_empty(u->a);
    int rc = archive_read_open(u->a, u, NULL, on_read, NULL);
    while (rc == ARCHIVE_OK) {
        rc = archive_read_next_header(u->a, &e);
        if (rc == ARCHIVE_EOF) return 0;
        if (rc < ARCHIVE_WARN) break;
        rc = take_entry(u, e, err);
        if (rc < 0) return rc;
        rc = ARCHIVE_OK;
    }
    return err_set(err, ERR_INVALID, "a layer is no good archive: %.150s",
                   archive_error_string(u->a));
}

int layer_unpack(int blob, const char *digest, int root, const struct layer_size *most,
                 struct layer_size *ret, struct err *err)
{
    struct unpack u = {.a = archive_read_new(), .root = root, .blob = blob, .most = *most};
    char found[DIGEST_TEXT];
    const void *rest;
    struct err why = {0};
    u.buf = mem_alloc(READ_SIZE);
    digest_begin(&u.digest);
    int rc = take_all(&u, &why);
    /* Whose bytes they are is known when all of them were seen. */
    bool read_all = rc != ERR_LIMIT && rc != ERR_UNAVAILABLE && rc != ERR_IO;
    while (read_all && on_read(u.a, &u, &rest) > 0) continue;
    digest_end(&u.digest, found);
    archive_read_free(u.a);
    mem_free(u.buf);
    if (read_all && strcmp(found, digest) != 0)
        return err_set(err, ERR_CORRUPT, "a layer is not what its digest says: %s", digest);
    if (rc < 0) {
        if (err) *err = why;
        return rc;
    }
    *ret = u.sum;
    return 0;
}
