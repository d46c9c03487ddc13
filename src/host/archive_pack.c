/* host/archive_pack.c - files and folders into the stream. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"
#include "host/archive_impl.h"
#include "host/file.h"

struct pack {
    struct archive *a;
    const char *top;          /* as it was named, for messages */
    char path[ARCHIVE_PATH];  /* in the stream: "." or "./a/b" */
    size_t n;
    int depth;
};

static void left_out(struct pack *p, const char *why)
{
    char text[512];
    p->a->skipped++;
    text_fmt(text, sizeof(text), "left out %s%s: %s", p->top, tar_shown(p->path + 1), why);
    p->a->note(p->a->arg, text);
}

/* The record's length counts its own digits. */
static size_t add_record(char *dst, size_t cap, const char *key, const char *value)
{
    size_t body = strlen(key) + strlen(value) + 3, n = body + 1, digits = 10;
    for (; n >= digits; digits *= 10) n++;
    text_fmt(dst, cap, "%zu %s=%s\n", n, key, value);
    return strlen(dst);
}

static void fill(struct tar_head *h, char type, unsigned mode, uint64_t size, int64_t mtime)
{
    text_fmt(h->mode, sizeof(h->mode), "%07o", mode & 0777);
    text_fmt(h->uid, sizeof(h->uid), "%07o", 0);
    text_fmt(h->gid, sizeof(h->gid), "%07o", 0);
    text_fmt(h->size, sizeof(h->size), "%011llo", (unsigned long long)size);
    text_fmt(h->mtime, sizeof(h->mtime), "%011llo", mtime < 0 ? 0ull : (unsigned long long)mtime);
    h->type = type;
    memcpy(h->magic, "ustar", 6);
    memcpy(h->version, "00", 2);
    text_fmt(h->sum, sizeof(h->sum), "%06o", tar_sum(h));
    h->sum[7] = ' ';
}

static int put_head(struct pack *p, char type, const struct stat *st, const char *link,
                    struct err *err)
{
    struct tar_head h = {0}, x = {0};
    char records[TAR_PAX_MAX] = "", text[32];
    uint64_t size = type == TAR_FILE ? (uint64_t)st->st_size : 0;
    size_t n = 0, path_n = strlen(p->path), link_n = strlen(link);
    if (path_n > sizeof(h.name)) n += add_record(records, sizeof(records), "path", p->path);
    else memcpy(h.name, p->path, path_n);
    if (link_n > sizeof(h.link))
        n += add_record(records + n, sizeof(records) - n, "linkpath", link);
    else memcpy(h.link, link, link_n);
    if (size > 077777777777) {
        text_fmt(text, sizeof(text), "%llu", (unsigned long long)size);
        n += add_record(records + n, sizeof(records) - n, "size", text);
        size = 0;
    }
    if (n > 0) {
        static const char zero[TAR_BLOCK];
        memcpy(x.name, "pax", 3);
        fill(&x, TAR_PAX, 0600, n, 0);
        int r = tar_write(p->a->fd, &x, sizeof(x), err);
        if (r == 0) r = tar_write(p->a->fd, records, n, err);
        if (r == 0) r = tar_write(p->a->fd, zero, tar_padding(n), err);
        if (r < 0) return r;
    }
    fill(&h, type, st->st_mode, size, st->st_mtime);
    return tar_write(p->a->fd, &h, sizeof(h), err);
}

/* As many bytes as the header says: what grows meanwhile is cut there. */
static int pack_file(struct pack *p, int fd, const struct stat *st, struct err *err)
{
    char chunk[TAR_CHUNK];
    int r = put_head(p, TAR_FILE, st, "", err);
    for (uint64_t left = (uint64_t)st->st_size; r == 0 && left > 0;) {
        ssize_t n = read(fd, chunk, left < sizeof(chunk) ? (size_t)left : sizeof(chunk));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return err_sys(err, ERR_IO, errno, "cannot read %s%s", p->top, tar_shown(p->path + 1));
        if (n == 0)
            return err_set(err, ERR_CONFLICT, "%s%s became shorter while it was read", p->top,
                           tar_shown(p->path + 1));
        r = tar_write(p->a->fd, chunk, (size_t)n, err);
        left -= (uint64_t)n;
    }
    memset(chunk, 0, TAR_BLOCK);
    return r < 0 ? r : tar_write(p->a->fd, chunk, tar_padding((uint64_t)st->st_size), err);
}

static int pack_link(struct pack *p, int dir, const char *leaf, const struct stat *st,
                     struct err *err)
{
    char link[ARCHIVE_PATH];
    ssize_t n = readlinkat(dir, leaf, link, sizeof(link));
    if (n < 0 || n == sizeof(link)) {
        left_out(p, n < 0 ? strerror(errno) : "its target is too long");
        return 0;
    }
    link[n] = 0;
    return put_head(p, TAR_LINK, st, link, err);
}

static int pack_folder(struct pack *p, int fd, const struct stat *st, struct err *err);

static int pack_open(struct pack *p, int fd, struct err *err)
{
    struct stat st = {0};
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) return pack_file(p, fd, &st, err);
    if (S_ISDIR(st.st_mode)) return pack_folder(p, fd, &st, err);
    left_out(p, "it is neither file, folder nor link");
    return 0;
}

static int pack_name(struct pack *p, int dir, const char *leaf, struct err *err)
{
    struct stat st;
    if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT) left_out(p, strerror(errno)); /* gone meanwhile: never seen */
        return 0;
    }
    if (S_ISLNK(st.st_mode)) return pack_link(p, dir, leaf, &st, err);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        left_out(p, "it is neither file, folder nor link");
        return 0;
    }
    AUTO_FD int fd = openat(dir, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        left_out(p, strerror(errno));
        return 0;
    }
    return pack_open(p, fd, err);
}

static int pack_children(struct pack *p, DIR *d, struct err *err)
{
    size_t n = p->n;
    int r = 0;
    while (r == 0) {
        errno = 0;
        struct dirent *e = readdir(d);
        if (!e && errno) left_out(p, strerror(errno));
        if (!e) break;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (n + strlen(e->d_name) + 2 > sizeof(p->path)) {
            left_out(p, "a path in it is too long");
            continue;
        }
        text_fmt(p->path + n, sizeof(p->path) - n, "/%s", e->d_name);
        p->n = strlen(p->path);
        r = pack_name(p, dirfd(d), e->d_name, err);
        p->n = n;
        p->path[n] = 0;
    }
    return r;
}

static int pack_folder(struct pack *p, int fd, const struct stat *st, struct err *err)
{
    if (p->depth >= ARCHIVE_DEPTH) {
        left_out(p, "it is too deep inside other folders");
        return 0;
    }
    int r = put_head(p, TAR_FOLDER, st, "", err);
    int own = r == 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (r == 0 && !d) {
        left_out(p, strerror(errno));
        file_close(&own);
    }
    if (!d) return r;
    p->depth++;
    r = pack_children(p, d, err);
    p->depth--;
    closedir(d);
    return r;
}

int archive_pack(struct archive *a, const char *path, struct err *err)
{
    static const char zero[2 * TAR_BLOCK];
    struct pack p = {.a = a, .top = path, .path = ".", .n = 1};
    AUTO_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_IO, errno, "cannot read %s", tar_shown(path));
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is neither a file nor a folder", tar_shown(path));
    int r = pack_open(&p, fd, err);
    return r < 0 ? r : tar_write(a->fd, zero, sizeof(zero), err);
}
