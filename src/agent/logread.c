/* agent/logread.c - see logread.h.
 *
 * Invariants: `fd` is the file whose number is `file` (or -1 before the first);
 * buf[at, n) is what was read from it and not handed out; `want_seq` is the number
 * that the next record should carry. */
#include "agent/logread.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

/* Holds the longest record and leaves room for a good read. */
#define BUF_BYTES (128 * 1024)
#define NAME_DIGITS 12
#define BACK_BLOCK 65536

struct logread {
    int dir_fd, fd;
    uint64_t file;
    bool any;      /* a file was opened: `file` means something */
    bool started;  /* want_seq is known */
    bool over_long; /* a line without an end: dropped up to its newline */
    uint64_t want_seq;
    size_t at, n;
    char buf[BUF_BYTES];
};

struct numbers { VEC(uint64_t) v; };

static bool name_parse(const char *name, uint64_t *ret)
{
    struct str s = str_of(name);
    if (!str_starts(s, STR(SHIM_LOG_PREFIX))) return false;
    s.p += sizeof(SHIM_LOG_PREFIX) - 1;
    s.n -= sizeof(SHIM_LOG_PREFIX) - 1;
    return s.n == NAME_DIGITS && shim_log_hex(s.p, s.n, ret);
}

static int number_cmp(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The numbers of all log files, rising.  An unreadable directory has none. */
static void list_files(const struct logread *r, struct numbers *out)
{
    /* Its own open description: the position of dir_fd is shared by every dup. */
    int fd = openat(r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    DIR *d = fdopendir(fd);
    if (d == NULL) {
        close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        uint64_t no;
        if (name_parse(e->d_name, &no)) VEC_PUSH(&out->v, no);
    }
    closedir(d);
    if (out->v.n > 1) qsort(out->v.v, out->v.n, sizeof(uint64_t), number_cmp);
}

static int open_number(const struct logread *r, uint64_t no)
{
    char name[32];
    text_fmt(name, sizeof(name), SHIM_LOG_PREFIX "%012llx", (unsigned long long)no);
    return openat(r->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static void use_file(struct logread *r, int fd, uint64_t no)
{
    if (r->fd >= 0) close(r->fd);
    r->fd = fd;
    r->file = no;
    r->any = true;
    r->over_long = false;
    r->at = r->n = 0;
}

int logread_open(const char *dir, struct logread **ret, struct err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "open logs %s", dir);
    }
    struct logread *r = mem_alloc(sizeof(*r));
    r->dir_fd = fd;
    r->fd = -1;
    *ret = r;
    return 0;
}

void logread_free(struct logread *r)
{
    if (r == NULL) return;
    if (r->fd >= 0) close(r->fd);
    close(r->dir_fd);
    mem_free(r);
}

int logread_move(struct logread *r, const char *dir, struct err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "open logs %s", dir);
    }
    close(r->dir_fd);
    r->dir_fd = fd;
    return 0;
}

/* ---- going back from the end ---- */

struct back {
    int fd;
    off_t block_at; /* offset of block[0] */
    size_t n;
    char block[BACK_BLOCK];
};

static bool back_load(struct back *b, off_t end)
{
    size_t want = end < BACK_BLOCK ? (size_t)end : BACK_BLOCK;
    b->block_at = end - (off_t)want;
    ssize_t got = pread(b->fd, b->block, want, b->block_at);
    b->n = got > 0 ? (size_t)got : 0;
    return b->n == want && want > 0;
}

/* Offset of the last newline before `end`, or -1. */
static off_t back_newline(struct back *b, off_t end)
{
    while (end > 0) {
        if (end <= b->block_at || end > b->block_at + (off_t)b->n) {
            if (!back_load(b, end)) return -1;
        }
        const char *p = memrchr(b->block, '\n', (size_t)(end - b->block_at));
        if (p != NULL) return b->block_at + (p - b->block);
        end = b->block_at;
    }
    return -1;
}

static bool ends_line(int fd, off_t start)
{
    char head[SHIM_LOG_HEAD];
    struct shim_log_record rec;
    if (pread(fd, head, sizeof(head), start) != (ssize_t)sizeof(head)) return false;
    return shim_log_parse(head, sizeof(head), &rec) && rec.newline;
}

/* Where to begin so that *lines lines follow in this file; counts them off. */
static off_t back_lines(int fd, uint64_t *lines)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return 0;
    struct back *b = mem_alloc(sizeof(*b));
    b->fd = fd;
    off_t end = back_newline(b, st.st_size); /* a torn last line is not counted */
    off_t start = end + 1;
    while (end >= 0) {
        off_t before = back_newline(b, end);
        if (ends_line(fd, before + 1)) {
            if (*lines == 0) break;
            (*lines)--;
        }
        start = before + 1;
        end = before;
    }
    mem_free(b);
    return start;
}

void logread_tail(struct logread *r, uint64_t lines)
{
    CHECK(!r->any && !r->started);
    if (lines > LOGREAD_TAIL_MAX) lines = LOGREAD_TAIL_MAX;
    struct numbers files = {0};
    list_files(r, &files);
    for (uint32_t i = files.v.n; i-- > 0;) {
        int fd = open_number(r, files.v.v[i]);
        if (fd < 0) continue; /* rotated away: the newer ones are what counts */
        off_t at = back_lines(fd, &lines);
        if (lseek(fd, at, SEEK_SET) < 0) {
            close(fd);
            continue;
        }
        use_file(r, fd, files.v.v[i]);
        if (at > 0) break; /* enough: there is more before it */
    }
    VEC_DONE(&files.v);
}

/* ---- going forward ---- */

/* Opens the oldest file newer than the present one.  False: there is none. */
static bool next_file(struct logread *r)
{
    struct numbers files = {0};
    bool found = false;
    list_files(r, &files);
    for (uint32_t i = 0; i < files.v.n && !found; i++) {
        if (r->any && files.v.v[i] <= r->file) continue;
        int fd = open_number(r, files.v.v[i]);
        if (fd < 0) continue;
        use_file(r, fd, files.v.v[i]);
        found = true;
    }
    VEC_DONE(&files.v);
    return found;
}

static bool newer_exists(const struct logread *r)
{
    struct numbers files = {0};
    list_files(r, &files);
    bool yes = files.v.n > 0 && (!r->any || files.v.v[files.v.n - 1] > r->file);
    VEC_DONE(&files.v);
    return yes;
}

/* Reads more of the present file.  False at its end. */
static bool refill(struct logread *r)
{
    if (r->at > 0) {
        memmove(r->buf, r->buf + r->at, r->n - r->at);
        r->n -= r->at;
        r->at = 0;
    }
    if (r->n == sizeof(r->buf)) { /* no record is that long: damage */
        r->n = 0;
        r->over_long = true;
    }
    ssize_t got = r->fd < 0 ? 0 : read(r->fd, r->buf + r->n, sizeof(r->buf) - r->n);
    if (got <= 0) return false;
    r->n += (size_t)got;
    return true;
}

/* A whole record from the buffer.  False: the buffer holds none. */
static bool take(struct logread *r, struct shim_log_record *ret)
{
    while (r->at < r->n) {
        const char *line = r->buf + r->at;
        const char *nl = memchr(line, '\n', r->n - r->at);
        if (nl == NULL) return false;
        r->at += (size_t)(nl - line) + 1;
        bool tail_of_damage = r->over_long;
        r->over_long = false;
        if (!tail_of_damage && shim_log_parse(line, (size_t)(nl - line), ret)) return true;
    }
    return false;
}

static bool fetch(struct logread *r, struct shim_log_record *ret)
{
    for (;;) {
        if (take(r, ret)) return true;
        if (refill(r)) continue;
        /* The end, for now.  The writer begins a new file only after its last write
         * to this one, so: see the new file first, then read this one once more. */
        if (!newer_exists(r)) return false;
        if (refill(r)) continue;
        if (!next_file(r)) return false;
    }
}

bool logread_next(struct logread *r, struct shim_log_record *ret, uint64_t *ret_lost)
{
    struct shim_log_record rec;
    while (fetch(r, &rec)) {
        if (r->started && rec.seq < r->want_seq) continue; /* a replaced supervisor's echo */
        *ret_lost = r->started ? rec.seq - r->want_seq : 0;
        r->started = true;
        r->want_seq = rec.seq + 1;
        *ret = rec;
        return true;
    }
    return false;
}
