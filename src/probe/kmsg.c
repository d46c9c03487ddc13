/* probe/kmsg.c - the kernel's log.
 *
 * /dev/kmsg gives one record at a read and takes its place among many readers; a
 * record that was overwritten before we read it answers EPIPE, and reading goes on
 * after it.  A plain file is for tests and odd machines: lines that are added. */
#include "probe/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/proc.h"
#include "probe/survey.h"

enum { BUFFER = 16384, GIVE_UP = 4096 };

struct kmsg {
    int fd;
    bool polled;       /* a device */
    size_t n, at;      /* of buf: how much there is, how much is used */
    char buf[BUFFER];
};

static bool skip(struct str *s, struct str what)
{
    if (!str_starts(*s, what)) return false;
    *s = str_n(s->p + what.n, s->n - what.n);
    return true;
}

/* "4,1093,72712345,-;", or "[ 72.712345] ". */
static struct str message(struct str line)
{
    const char *end = line.n ? memchr(line.p, ';', line.n) : NULL;
    size_t head = end ? (size_t)(end - line.p) : 0;
    if (end && line.p[0] >= '0' && line.p[0] <= '9' && head < 64 && memchr(line.p, ',', head))
        return str_n(end + 1, line.n - head - 1);
    if (line.n && line.p[0] == '[' && (end = memchr(line.p, ']', line.n < 32 ? line.n : 32)))
        return str_trim(str_n(end + 1, line.n - (size_t)(end + 1 - line.p)));
    return line;
}

static bool take_number(struct str *s, uint32_t *ret)
{
    size_t n = 0;
    uint64_t v;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') n++;
    if (!str_to_u64(str_n(s->p, n), &v) || v == 0 || v > UINT32_MAX) return false;
    *s = str_n(s->p + n, s->n - n);
    *ret = (uint32_t)v;
    return true;
}

bool kmsg_parse(struct str line, struct probe_event *ret)
{
    struct probe_event e = {0};
    struct str s = message(line), where, address;
    if (!skip(&s, STR("NVRM: Xid ("))) return false;
    (void)skip(&s, STR("PCI:"));
    if (!str_cut(&s, ')', &where)) return false;
    (void)str_cut(&where, ' ', &address); /* behind it the instance of a divided GPU */
    if (!survey_pci(address, e.pci)) return false;
    if (!skip(&s, STR(":"))) return false;
    s = str_trim(s);
    if (!take_number(&s, &e.xid)) return false;
    if (s.n > 0 && ((s.p[0] >= 'a' && s.p[0] <= 'z') || (s.p[0] >= 'A' && s.p[0] <= 'Z')))
        return false;
    (void)skip(&s, STR(","));
    TEXT_CLIP(e.text, str_trim(s));
    for (char *c = e.text; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    *ret = e;
    return true;
}

struct kmsg *kmsg_open(const char *path, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int e = errno;
        if (fd >= 0) close(fd);
        err_sys(err, ERR_IO, e, "cannot read %s", path);
        return NULL;
    }
    if (S_ISDIR(st.st_mode)) {
        close(fd);
        err_set(err, ERR_INVALID, "%s is a directory, not the kernel's log", path);
        return NULL;
    }
    (void)lseek(fd, 0, SEEK_END);
    struct kmsg *k = mem_alloc(sizeof(*k));
    k->fd = fd;
    k->polled = S_ISCHR(st.st_mode);
    return k;
}

void kmsg_close(struct kmsg *k)
{
    if (!k) return;
    close(k->fd);
    mem_free(k);
}

int kmsg_fd(const struct kmsg *k) { return k->polled ? k->fd : -1; }

/* A line that is there as a whole.  Longer than the buffer: it is none of ours. */
static bool next_line(struct kmsg *k, struct str *ret)
{
    char *end = memchr(k->buf + k->at, '\n', k->n - k->at);
    if (!end) {
        memmove(k->buf, k->buf + k->at, k->n - k->at);
        k->n -= k->at;
        k->at = 0;
        if (k->n == BUFFER) k->n = 0;
        return false;
    }
    *ret = str_n(k->buf + k->at, (size_t)(end - k->buf) - k->at);
    k->at = (size_t)(end - k->buf) + 1;
    return true;
}

static bool fill(struct kmsg *k)
{
    for (;;) {
        ssize_t n = read(k->fd, k->buf + k->n, BUFFER - k->n);
        if (n > 0) {
            k->n += (size_t)n;
            return true;
        }
        if (n < 0 && (errno == EINTR || errno == EPIPE)) continue;
        /* A record that does not fit behind the rest of another fits alone. */
        if (n < 0 && errno == EINVAL && k->n > 0) {
            k->n = k->at = 0;
            continue;
        }
        return false;
    }
}

bool kmsg_next(struct kmsg *k, struct probe_event *ret)
{
    struct str line;
    for (int i = 0; i < GIVE_UP; i++) { /* a flood of other lines waits for the next time */
        while (next_line(k, &line)) {
            if (!kmsg_parse(line, ret)) continue;
            ret->at_ms = proc_wall_us() / 1000;
            return true;
        }
        if (!fill(k)) return false;
    }
    return false;
}
