/* shim/log.c - takes a container's output into numbered, rotated files.
 * docs/spec/node.md */
#include "shim/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"
#include "host/proc.h"

#define BATCH 64       /* records in one writev */
#define SMALL 4096     /* a read below this is worth waiting for company */
#define COMPANY_MS 2
#define PARTIAL_MS 20  /* an unfinished line is shown after this silence */

struct batch {
    struct log *log;
    uint64_t mono_us, wall_us;
    uint32_t n;
    int64_t bytes;
    char heads[BATCH][SHIM_LOG_HEAD];
    struct iovec v[BATCH * 3];
};

/* ---- files ---- */

static bool log_name_seq(const char *name, uint64_t *ret)
{
    size_t skip = sizeof(SHIM_LOG_PREFIX) - 1;
    return strlen(name) == skip + 12 && strncmp(name, SHIM_LOG_PREFIX, skip) == 0 &&
           shim_log_hex(name + skip, 12, ret);
}

/* Removes the oldest files until `keep` are left; tells the newest. */
static bool log_prune(int dir, uint32_t keep, uint64_t *ret_newest)
{
    uint64_t seqs[SHIM_LOG_FILES * 4], newest = 0;
    uint32_t n = 0;
    int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) {
        file_close(&own);
        return false;
    }
    const struct dirent *e;
    while ((e = readdir(d)) != NULL)
        if (n < ARRAY_LEN(seqs) && log_name_seq(e->d_name, &seqs[n])) n++;
    closedir(d);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t newer = 0;
        for (uint32_t k = 0; k < n; k++) newer += seqs[k] > seqs[i];
        if (newer == 0) newest = seqs[i];
        if (newer < keep) continue;
        char name[32];
        text_fmt(name, sizeof(name), SHIM_LOG_PREFIX "%012llx", (unsigned long long)seqs[i]);
        unlinkat(dir, name, 0);
    }
    if (n) *ret_newest = newest;
    return n > 0;
}

/* A file of this name already held no whole record: what is in it goes. */
static void log_open(struct log *l, uint64_t first)
{
    char name[32];
    uint64_t newest;
    file_close(&l->fd);
    log_prune(l->dir, SHIM_LOG_FILES - 1, &newest);
    text_fmt(name, sizeof(name), SHIM_LOG_PREFIX "%012llx", (unsigned long long)first);
    l->fd = openat(l->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                   0600);
    l->size = 0;
}

/* The number after the last whole record of a file. */
static uint64_t last_seq(int dir, uint64_t first)
{
    static char buf[2 * SHIM_LOG_TEXT_MAX + 4 * SHIM_LOG_HEAD];
    char name[32];
    text_fmt(name, sizeof(name), SHIM_LOG_PREFIX "%012llx", (unsigned long long)first);
    AUTO_FD int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) return first;
    off_t from = st.st_size > (off_t)sizeof(buf) ? st.st_size - (off_t)sizeof(buf) : 0;
    ssize_t n = pread(fd, buf, sizeof(buf), from);
    uint64_t next = first;
    struct str rest = str_n(buf, n > 0 ? (size_t)n : 0), line;
    struct shim_log_record r;
    /* Text may look like a record: only one that goes on counting is believed. */
    while (str_cut(&rest, '\n', &line))
        if (shim_log_parse(line.p, line.n, &r) && r.seq >= next) next = r.seq + 1;
    return next;
}

/* ---- records ---- */

static void batch_flush(struct batch *b)
{
    struct log *l = b->log;
    if (b->n == 0) return;
    /* Also when there is none: what stood in its way may be gone by now. */
    if (l->fd < 0 || (l->size > 0 && l->size + b->bytes > SHIM_LOG_FILE_MAX))
        log_open(l, l->seq - b->n);
    ssize_t w = l->fd >= 0 ? writev(l->fd, b->v, (int)b->n * 3) : -1;
    if (w == b->bytes) l->size += w;
    /* Half a batch must not stay: take it back, and let the numbers tell. */
    else if (w >= 0 && ftruncate(l->fd, l->size) < 0) log_open(l, l->seq);
    b->n = 0;
    b->bytes = 0;
}

static void hex_put(char *p, int digits, uint64_t v)
{
    for (int i = digits - 1; i >= 0; i--, v >>= 4) p[i] = "0123456789abcdef"[v & 15];
}

static void batch_add(struct batch *b, bool err, bool newline, const char *text, size_t n)
{
    char *h = b->heads[b->n];
    memset(h, ' ', SHIM_LOG_HEAD);
    hex_put(h, 12, b->log->seq++);
    hex_put(h + 13, 12, b->mono_us);
    hex_put(h + 26, 14, b->wall_us);
    h[41] = err ? 'e' : 'o';
    h[43] = newline ? 'F' : 'P';
    struct iovec *v = &b->v[b->n * 3];
    v[0] = (struct iovec){h, SHIM_LOG_HEAD};
    v[1] = (struct iovec){(char *)text, n};
    v[2] = (struct iovec){(char *)"\n", 1};
    b->bytes += (int64_t)(SHIM_LOG_HEAD + n + 1);
    if (++b->n == BATCH) batch_flush(b);
}

/* Records all whole lines of a stream; `all`: the unfinished rest too. */
static void stream_take(struct batch *b, struct log_stream *s, bool err, bool all)
{
    size_t at = 0;
    b->mono_us = (uint64_t)proc_mono_us();
    b->wall_us = (uint64_t)proc_wall_us();
    while (at < s->n) {
        const char *nl = memchr(s->buf + at, '\n', s->n - at);
        if (!nl) break;
        size_t n = (size_t)(nl - (s->buf + at));
        batch_add(b, err, true, s->buf + at, n);
        at += n + 1;
    }
    if (at < s->n && (all || (at == 0 && s->n == sizeof(s->buf)))) {
        batch_add(b, err, false, s->buf + at, s->n - at);
        at = s->n;
    }
    batch_flush(b); /* it points into the buffer that moves now */
    s->n -= (uint32_t)at;
    memmove(s->buf, s->buf + at, s->n);
}

/* Bytes read; 0: nothing now or the end. */
static size_t stream_read(struct log_stream *s)
{
    ssize_t r = read(s->fd, s->buf + s->n, sizeof(s->buf) - s->n);
    if (r > 0) {
        s->n += (uint32_t)r;
        return (size_t)r;
    }
    /* A terminal answers EIO once nobody has it open any more. */
    if (r == 0 || (errno != EAGAIN && errno != EINTR)) file_close(&s->fd);
    return 0;
}

static bool pending(const struct log *l) { return l->in[0].n || l->in[1].n; }

static void *log_thread(void *arg)
{
    struct log *l = arg;
    struct batch *b = calloc(1, sizeof(*b));
    CHECK(b);
    b->log = l;
    int64_t until_us = 0; /* draining ends then; 0: not draining */
    uint64_t drain_ms = 0;
    while (l->in[0].fd >= 0 || l->in[1].fd >= 0) {
        struct pollfd p[3] = {{.fd = l->in[0].fd, .events = POLLIN},
                              {.fd = l->in[1].fd, .events = POLLIN},
                              {.fd = until_us ? -1 : l->wake, .events = POLLIN}};
        int64_t left = until_us ? (until_us - proc_mono_us()) / 1000 : -1;
        if (until_us && left <= 0) break;
        int wait = (int)left;
        if (pending(l) && !until_us) wait = l->prompt ? 0 : PARTIAL_MS;
        int ready = poll(p, 3, wait);
        if (ready < 0 && errno != EINTR) break;
        if (ready == 0)
            for (int i = 0; i < 2; i++) stream_take(b, &l->in[i], i == 1, true);
        size_t got = 0;
        for (int i = 0; i < 2 && ready > 0; i++) {
            if (!p[i].revents) continue;
            got += stream_read(&l->in[i]);
            stream_take(b, &l->in[i], i == 1, l->prompt || l->in[i].fd < 0);
        }
        /* As long as there is something to record, a slow disk is no reason to lose it. */
        bool finish = p[2].revents && read(l->wake, &drain_ms, sizeof(drain_ms)) > 0;
        if (finish || (until_us && got > 0))
            until_us = proc_mono_us() + (int64_t)drain_ms * 1000;
        if (ready > 0 && got > 0 && got < SMALL && !l->prompt && !until_us)
            poll(&p[2], 1, COMPANY_MS);
    }
    for (int i = 0; i < 2; i++) stream_take(b, &l->in[i], i == 1, true);
    free(b);
    return NULL;
}

int log_start(struct log *l, int dir, int out, int err_stream, bool prompt, struct err *err)
{
    *l = (struct log){
        .dir = dir, .fd = -1, .prompt = prompt, .in = {{.fd = out}, {.fd = err_stream}}};
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake < 0) return err_sys(err, ERR_IO, errno, "cannot make an event descriptor");
    uint64_t newest;
    l->seq = log_prune(dir, SHIM_LOG_FILES, &newest) ? last_seq(dir, newest) : 1;
    for (int i = 0; i < 2; i++)
        if (l->in[i].fd >= 0) fcntl(l->in[i].fd, F_SETFL, O_NONBLOCK);
    log_open(l, l->seq);
    if (l->fd < 0) return err_sys(err, ERR_IO, errno, "cannot create a log file");
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    int rc = pthread_create(&l->thread, &attr, log_thread, l);
    pthread_attr_destroy(&attr);
    if (rc) return err_sys(err, ERR_IO, rc, "cannot start the log thread");
    l->running = true;
    return 0;
}

void log_finish(struct log *l, int64_t drain_ms)
{
    if (!l->running) return;
    uint64_t v = (uint64_t)(drain_ms > 0 ? drain_ms : 1);
    ssize_t ignored = write(l->wake, &v, sizeof(v));
    (void)ignored;
    pthread_join(l->thread, NULL);
    l->running = false;
    for (int i = 0; i < 2; i++) file_close(&l->in[i].fd);
    file_close(&l->fd);
    file_close(&l->wake);
}
