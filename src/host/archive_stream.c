/* host/archive_stream.c - blocks read and written; every number checked. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/str.h"
#include "host/archive_impl.h"

int tar_write(int fd, const void *data, size_t n, struct err *err)
{
    const char *p = data;
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0 && errno == EPIPE)
            return err_set(err, ERR_UNAVAILABLE, "the other side takes no more");
        if (w < 0) return err_sys(err, ERR_IO, errno, "cannot write the stream");
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

int tar_read(int fd, void *data, size_t n, struct err *err)
{
    char *p = data;
    while (n > 0) {
        ssize_t r = read(fd, p, n);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return err_sys(err, ERR_IO, errno, "cannot read the stream");
        if (r == 0) return err_set(err, ERR_UNAVAILABLE, "the stream was cut off");
        p += r;
        n -= (size_t)r;
    }
    return 0;
}

unsigned tar_sum(const struct tar_head *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof(*h); i++) {
        size_t at = offsetof(struct tar_head, sum);
        sum += i >= at && i < at + sizeof(h->sum) ? ' ' : p[i];
    }
    return sum;
}

const char *tar_shown(const char *name)
{
    static _Thread_local char shown[160];
    TEXT_CLIP(shown, str_of(name));
    for (char *p = shown; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?';
    return shown;
}

static int octal(const char *p, size_t n, uint64_t *ret, struct err *err)
{
    uint64_t v = 0;
    size_t i = 0;
    while (i < n && p[i] == ' ') i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) v = v * 8 + (uint64_t)(p[i] - '0');
    if (i < n && p[i] != 0 && p[i] != ' ')
        return err_set(err, ERR_INVALID, "the stream is damaged: expected an octal number");
    *ret = v;
    return 0;
}

static void join(char *dst, const struct tar_head *h)
{
    int a = (int)strnlen(h->prefix, sizeof(h->prefix)), b = (int)strnlen(h->name, sizeof(h->name));
    text_fmt(dst, ARCHIVE_PATH, "%.*s%s%.*s", a, h->prefix, a ? "/" : "", b, h->name);
}

static int take_head(const struct tar_head *h, struct tar_entry *e, struct err *err)
{
    uint64_t sum = 0, mode = 0, mtime = 0;
    int r = octal(h->sum, sizeof(h->sum), &sum, err);
    if (r < 0) return r;
    if (memcmp(h->magic, "ustar", 5) != 0 || sum != tar_sum(h))
        return err_set(err, ERR_INVALID, "the stream is damaged: expected a header");
    if ((r = octal(h->mode, sizeof(h->mode), &mode, err)) < 0 ||
        (r = octal(h->size, sizeof(h->size), &e->size, err)) < 0 ||
        (r = octal(h->mtime, sizeof(h->mtime), &mtime, err)) < 0)
        return r;
    e->type = h->type ? h->type : TAR_FILE;
    e->mode = (unsigned)(mode & 0777);
    e->mtime = (int64_t)mtime;
    if (!e->path[0]) join(e->path, h);
    if (!e->link[0])
        text_fmt(e->link, sizeof(e->link), "%.*s", (int)strnlen(h->link, sizeof(h->link)), h->link);
    return 0;
}

/* "LENGTH KEY=VALUE\n", the length counting itself. */
static int take_record(struct str *rest, struct tar_entry *e, uint64_t *size, struct err *err)
{
    static const char damaged[] = "the stream is damaged: expected a pax record";
    const char *space = memchr(rest->p, ' ', rest->n < 8 ? rest->n : 8);
    uint64_t n = 0;
    if (!space || !str_to_u64(str_n(rest->p, (size_t)(space - rest->p)), &n) || n > rest->n ||
        n < (size_t)(space - rest->p) + 3 || rest->p[n - 1] != '\n')
        return err_set(err, ERR_INVALID, damaged);
    const char *end = rest->p + n - 1;
    const char *eq = memchr(space, '=', (size_t)(end - space));
    if (!eq) return err_set(err, ERR_INVALID, damaged);
    struct str key = str_n(space + 1, (size_t)(eq - space - 1));
    struct str value = str_n(eq + 1, (size_t)(end - eq - 1));
    bool path = str_eq(key, STR("path")), link = str_eq(key, STR("linkpath"));
    if ((path || link) && (value.n == 0 || value.n >= ARCHIVE_PATH || memchr(value.p, 0, value.n)))
        return err_set(err, ERR_LIMIT, "a path of %zu bytes: at most %d", value.n,
                       ARCHIVE_PATH - 1);
    if (path || link)
        text_fmt(path ? e->path : e->link, ARCHIVE_PATH, "%.*s", (int)value.n, value.p);
    if (str_eq(key, STR("size")) && !str_to_u64(value, size))
        return err_set(err, ERR_INVALID, damaged);
    *rest = str_n(rest->p + n, rest->n - n);
    return 0;
}

static int take_pax(int fd, struct tar_entry *e, uint64_t *size, struct err *err)
{
    char data[TAR_PAX_MAX], padding[TAR_BLOCK];
    if (e->size == 0 || e->size > sizeof(data))
        return err_set(err, ERR_LIMIT, "pax records of more than %d bytes", TAR_PAX_MAX);
    struct str rest = str_n(data, (size_t)e->size);
    int r = tar_read(fd, data, rest.n, err);
    if (r == 0) r = tar_read(fd, padding, tar_padding(rest.n), err);
    e->path[0] = e->link[0] = 0;
    while (r == 0 && rest.n > 0) r = take_record(&rest, e, size, err);
    return r;
}

int tar_next(int fd, struct tar_entry *e, struct err *err)
{
    static const struct tar_head zero;
    struct tar_head h;
    uint64_t size = UINT64_MAX;
    *e = (struct tar_entry){0};
    int r = tar_read(fd, &h, sizeof(h), err);
    if (r < 0) return r;
    if (memcmp(&h, &zero, sizeof(h)) == 0) {
        r = tar_read(fd, &h, sizeof(h), err);
        if (r == 0 && memcmp(&h, &zero, sizeof(h)) != 0)
            return err_set(err, ERR_INVALID, "the stream is damaged: expected its end");
        return r;
    }
    if ((r = take_head(&h, e, err)) < 0) return r;
    if (e->type == TAR_PAX) {
        if ((r = take_pax(fd, e, &size, err)) < 0 || (r = tar_read(fd, &h, sizeof(h), err)) < 0 ||
            (r = take_head(&h, e, err)) < 0)
            return r;
        if (size != UINT64_MAX) e->size = size;
    }
    if (e->type != TAR_FILE && e->type != TAR_FOLDER && e->type != TAR_LINK)
        return err_set(err, ERR_DENIED, "%s is neither file, folder nor link", tar_shown(e->path));
    if ((e->type != TAR_FILE && e->size > 0) || e->size > INT64_MAX)
        return err_set(err, ERR_INVALID, "%s has an impossible size", tar_shown(e->path));
    return 1;
}
