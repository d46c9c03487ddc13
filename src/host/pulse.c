/* host/pulse.c - see pulse.h. */
#include "host/pulse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "host/file.h"

/* Sixteen hex digits, a blank, the same again, a newline. */
static void format(int64_t ms, char ret[PULSE_LEN])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++)
        ret[i] = ret[17 + i] = digits[(uint64_t)ms >> (60 - 4 * i) & 15];
    ret[16] = ' ';
    ret[33] = '\n';
}

static int put(struct pulse *p, struct err *err)
{
    char text[PULSE_LEN];
    format(p->sent_ms, text);
    if (pwrite(p->fd, text, sizeof(text), 0) == (ssize_t)sizeof(text)) return 0;
    return err_sys(err, ERR_IO, errno, "cannot write %s", p->name);
}

int pulse_begin(struct pulse *p, int dir, const char *incarnation, struct err *err)
{
    char name[sizeof(p->name)];
    text_fmt(name, sizeof(name), PULSE_NAME ".%s", incarnation);
    if (strcmp(name, p->name) == 0) return 0;
    if (p->name[0]) unlinkat(dir, p->name, 0); /* who is linked to it keeps it */
    file_close(&p->fd);
    *p = (struct pulse){.dir = dir, .fd = -1};
    TEXT_CLIP(p->name, str_of(name));
    p->fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (p->fd >= 0 || errno == ENOENT) return 0;
    return err_sys(err, ERR_IO, errno, "cannot open %s", name);
}

void pulse_done(struct pulse *p) { file_close(&p->fd); }

int pulse_answered(struct pulse *p, int64_t sent_boot_ms, struct err *err)
{
    if (sent_boot_ms <= p->sent_ms) return 0; /* an older one of two under way */
    p->sent_ms = sent_boot_ms;
    return p->fd < 0 ? 0 : put(p, err);
}

/* Whole before it has its name: whoever opens it reads a number. */
static int create(struct pulse *p, struct err *err)
{
    char fresh[sizeof(p->name) + 8];
    text_fmt(fresh, sizeof(fresh), "%s.new", p->name);
    unlinkat(p->dir, fresh, 0);
    p->fd = openat(p->dir, fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (p->fd < 0) return err_sys(err, ERR_IO, errno, "cannot create %s", fresh);
    int rc = put(p, err);
    if (rc == 0 && renameat(p->dir, fresh, p->dir, p->name) < 0)
        rc = err_sys(err, ERR_IO, errno, "cannot name %s", p->name);
    if (rc < 0) file_close(&p->fd);
    return rc;
}

int pulse_link(struct pulse *p, int dir, struct err *err)
{
    if (p->sent_ms == 0) return err_set(err, ERR_UNAVAILABLE, "no beat was answered yet");
    int rc = p->fd < 0 ? create(p, err) : put(p, err);
    if (rc < 0) return rc;
    unlinkat(dir, PULSE_NAME, 0);
    if (linkat(p->dir, p->name, dir, PULSE_NAME, 0) == 0) return 0;
    return err_sys(err, ERR_IO, errno, "cannot link %s", p->name);
}

/* Kept in memory: reading it must not wait for a disk that hangs. */
const volatile char *pulse_map(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < PULSE_LEN) return NULL;
    void *at = mmap(NULL, PULSE_LEN, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return NULL;
    (void)mlock(at, PULSE_LEN); /* better; not a condition */
    return at;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool pulse_read(const volatile char *map, int64_t *ret_boot_ms)
{
    uint64_t first = 0, second = 0;
    for (int i = 0; i < 16; i++) {
        int a = digit(map[i]), b = digit(map[17 + i]);
        if (a < 0 || b < 0) return false;
        first = first << 4 | (uint64_t)a;
        second = second << 4 | (uint64_t)b;
    }
    if (first != second || first > INT64_MAX) return false;
    *ret_boot_ms = (int64_t)first;
    return true;
}
