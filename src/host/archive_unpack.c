/* host/archive_unpack.c - the stream into files and folders, none of them elsewhere.
 *
 * Every step is one plain name below a folder that is open already, and follows no
 * link: neither the stream nor whoever writes into the folder meanwhile can lead out. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"
#include "host/archive_impl.h"
#include "host/file.h"

struct level { /* a folder that is being filled */
    int fd;
    unsigned mode;
    int64_t mtime;
    size_t path_n; /* of its path, the first so many bytes of unpack.path */
};

struct unpack {
    struct archive *a;
    int top;                 /* the folder into which all of it goes */
    char leaf[NAME_MAX + 1]; /* as this; "": the content of a folder into top itself */
    bool begun;
    char path[ARCHIVE_PATH];
    struct level levels[ARCHIVE_DEPTH];
    int depth;
    struct tar_entry e;
};

static bool plain(const char *name)
{
    return name[0] && strlen(name) <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static int fail(const struct unpack *u, const char *what, struct err *err)
{
    const char *path = u->e.path[0] == '.' && u->e.path[1] == '/' ? u->e.path + 2 : u->leaf;
    return err_sys(err, errno == EACCES || errno == EPERM ? ERR_DENIED : ERR_IO, errno,
                   "cannot %s %s", what, tar_shown(path));
}

/* What a folder shall be in the end would stand in the way before. */
static void leave(struct unpack *u)
{
    struct level *l = &u->levels[--u->depth];
    struct timespec times[2] = {{.tv_sec = l->mtime}, {.tv_sec = l->mtime}};
    if (u->depth > 0 || u->leaf[0]) {
        (void)fchmod(l->fd, l->mode);
        (void)futimens(l->fd, times);
    }
    file_close(&l->fd);
}

/* The folder of this entry, among those being filled; and the name in it. */
static int locate(struct unpack *u, int *ret_dir, const char **ret_leaf, struct err *err)
{
    const char *path = u->e.path, *slash = strrchr(path, '/');
    if (!u->begun && (strcmp(path, ".") == 0 || strcmp(path, "./") == 0)) {
        u->begun = true;
        *ret_dir = u->top;
        *ret_leaf = u->leaf;
        return 0;
    }
    if (!slash || !plain(slash + 1))
        return err_set(err, ERR_DENIED, "the stream names %s: expected a path below its folder",
                       tar_shown(path));
    size_t n = (size_t)(slash - path);
    while (u->depth > 0) {
        const struct level *l = &u->levels[u->depth - 1];
        if (l->path_n == n && memcmp(u->path, path, n) == 0) {
            *ret_dir = l->fd;
            *ret_leaf = slash + 1;
            return 0;
        }
        leave(u);
    }
    return err_set(err, ERR_DENIED, "the stream names %s: expected its folder before it",
                   tar_shown(path));
}

static int copy(struct unpack *u, int to, struct err *err)
{
    char chunk[TAR_CHUNK];
    uint64_t left = u->e.size;
    while (left > 0) {
        size_t n = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
        int r = tar_read(u->a->fd, chunk, n, err);
        if (r < 0) return r;
        for (size_t at = 0; at < n;) {
            ssize_t w = write(to, chunk + at, n - at);
            if (w < 0 && errno == EINTR) continue;
            if (w < 0) return fail(u, "write", err);
            at += (size_t)w;
        }
        left -= n;
    }
    return tar_read(u->a->fd, chunk, tar_padding(u->e.size), err);
}

static int settle(struct unpack *u, int dir, int fd, const char *from, const char *leaf)
{
    struct timespec times[2] = {{.tv_sec = u->e.mtime}, {.tv_sec = u->e.mtime}};
    struct stat st;
    if (fchmod(fd, u->e.mode) < 0) return -1;
    (void)futimens(fd, times);
    if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode)) {
        errno = EEXIST; /* a link, a device: not ours to replace */
        return -1;
    }
    return renameat(dir, from, dir, leaf);
}

static int place_file(struct unpack *u, int dir, const char *leaf, struct err *err)
{
    char name[64];
    uint64_t random = 0; /* others may copy into the same folder */
    (void)!getrandom(&random, sizeof(random), 0);
    text_fmt(name, sizeof(name), ".rota-cp-%016llx", (unsigned long long)random);
    AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return fail(u, "write", err);
    int r = copy(u, fd, err);
    if (r == 0 && settle(u, dir, fd, name, leaf) < 0) r = fail(u, "write", err);
    if (r < 0) (void)unlinkat(dir, name, 0);
    return r;
}

static int place_folder(struct unpack *u, int dir, const char *leaf, struct err *err)
{
    if (u->depth == ARCHIVE_DEPTH)
        return err_set(err, ERR_LIMIT, "%s is in more than %d folders", tar_shown(u->e.path),
                       ARCHIVE_DEPTH);
    if (leaf[0] && mkdirat(dir, leaf, 0700) < 0 && errno != EEXIST) return fail(u, "make", err);
    int fd = openat(dir, leaf[0] ? leaf : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return fail(u, "make the folder", err);
    size_t n = strlen(u->e.path);
    if (n == 2) n = 1; /* "./" */
    memcpy(u->path, u->e.path, n);
    u->levels[u->depth++] = (struct level){fd, u->e.mode, u->e.mtime, n};
    return 0;
}

/* Relative, with ".." in front alone and no further up than the folder that is copied:
 * then it ends inside, also through other links of which each does. */
static bool stays_inside(const char *link, int depth)
{
    if (link[0] == '/' || !link[0]) return false;
    bool down = false;
    while (*link) {
        size_t n = strcspn(link, "/");
        bool up = n == 2 && memcmp(link, "..", 2) == 0;
        if (up && (down || depth-- <= 1)) return false;
        if (!up && n > 0 && !(n == 1 && link[0] == '.')) down = true;
        link += n + strspn(link + n, "/");
    }
    return true;
}

static int place_link(struct unpack *u, int dir, const char *leaf, struct err *err)
{
    struct stat st;
    if (u->depth == 0 || !stays_inside(u->e.link, u->depth)) {
        char text[512];
        u->a->skipped++;
        text_fmt(text, sizeof(text), "left out %s: a link that leads out of what is copied",
                 tar_shown(u->e.path));
        u->a->note(u->a->arg, text);
        return 0;
    }
    if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) &&
        unlinkat(dir, leaf, 0) < 0)
        return fail(u, "replace", err);
    return symlinkat(u->e.link, dir, leaf) < 0 ? fail(u, "link", err) : 0;
}

static int place(struct unpack *u, struct err *err)
{
    int dir = -1;
    const char *leaf = NULL;
    int r = locate(u, &dir, &leaf, err);
    if (r < 0) return r;
    if (u->e.type == TAR_FOLDER) return place_folder(u, dir, leaf, err);
    if (!leaf[0])
        return err_set(err, ERR_INVALID, "a single file needs a name: give one at the target");
    return u->e.type == TAR_LINK ? place_link(u, dir, leaf, err) : place_file(u, dir, leaf, err);
}

/* What is named by whoever copies may lead anywhere, links included. */
static int open_target(struct unpack *u, const char *path, const char *name, struct err *err)
{
    char parent[ARCHIVE_PATH];
    if (name[0] && !plain(name))
        return err_set(err, ERR_INVALID, "%s: expected a name without /", tar_shown(name));
    u->top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->top >= 0) {
        text_fmt(u->leaf, sizeof(u->leaf), "%s", name);
        return 0;
    }
    const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
    if ((errno != ENOENT && errno != ENOTDIR) || !plain(leaf) || strlen(path) >= sizeof(parent))
        return err_sys(err, ERR_IO, errno, "cannot write to the folder %s", tar_shown(path));
    text_fmt(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path + 1) : 1,
             slash ? path : ".");
    text_fmt(u->leaf, sizeof(u->leaf), "%s", leaf);
    u->top = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->top < 0) return err_sys(err, ERR_IO, errno, "cannot write to %s", tar_shown(parent));
    return 0;
}

int archive_unpack(struct archive *a, const char *path, const char *name, struct err *err)
{
    struct unpack u = {.a = a, .top = -1};
    int r = open_target(&u, path, name, err);
    while (r == 0 && (r = tar_next(a->fd, &u.e, err)) > 0) r = place(&u, err);
    while (u.depth > 0) leave(&u);
    if (r == 0 && !u.begun) r = err_set(err, ERR_INVALID, "the stream is empty");
    file_close(&u.top);
    return r;
}
