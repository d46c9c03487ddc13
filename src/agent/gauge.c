/* agent/gauge.c - see gauge.h. */
#include "agent/gauge.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"
#include "host/proc.h"

#define TEXT_MAX 8192 /* of one of the kernel's files */

/* ---- texts ---- */

static int64_t number(struct str s)
{
    int64_t v;
    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == ' ')) s.n--;
    return str_to_i64(s, &v) && v >= 0 ? v : METER_UNKNOWN;
}

int64_t gauge_key(struct str text, struct str key)
{
    struct str line, name;
    for (bool more = true; more;) {
        more = str_cut(&text, '\n', &line);
        if (str_cut(&line, ' ', &name) && str_eq(name, key)) return number(line);
    }
    return METER_UNKNOWN;
}

/* Sums that would not be numbers any more stay unknown. */
static void add(int64_t *sum, int64_t v)
{
    if (v < 0 || *sum < 0 || *sum > INT64_MAX - v) *sum = METER_UNKNOWN;
    else *sum += v;
}

void gauge_io_v1(struct str text, struct meter *m)
{
    struct str line, device, what;
    m->io_read_bytes = m->io_write_bytes = 0;
    for (bool more = true; more;) {
        more = str_cut(&text, '\n', &line);
        if (!str_cut(&line, ' ', &device) || !str_cut(&line, ' ', &what)) continue;
        if (str_eq(what, STR("Read"))) add(&m->io_read_bytes, number(line));
        else if (str_eq(what, STR("Write"))) add(&m->io_write_bytes, number(line));
    }
}

void gauge_io_v2(struct str text, struct meter *m)
{
    struct str line, word, key;
    m->io_read_bytes = m->io_write_bytes = 0;
    for (bool more = true; more;) {
        more = str_cut(&text, '\n', &line);
        for (bool words = line.n > 0; words;) {
            words = str_cut(&line, ' ', &word);
            if (!str_cut(&word, '=', &key)) continue;
            if (str_eq(key, STR("rbytes"))) add(&m->io_read_bytes, number(word));
            else if (str_eq(key, STR("wbytes"))) add(&m->io_write_bytes, number(word));
        }
    }
}

/* The n-th number of a line whose columns are filled up with spaces. */
static int64_t column(struct str line, unsigned n)
{
    struct str word = {NULL, 0};
    for (bool more = true; more;) {
        more = str_cut(&line, ' ', &word);
        if (word.n > 0 && n-- == 0) return number(word);
    }
    return METER_UNKNOWN;
}

void gauge_net(struct str text, struct meter *m)
{
    enum { RX_BYTES = 0, TX_BYTES = 8 };
    struct str line, name;
    bool seen = false;
    m->net_rx_bytes = m->net_tx_bytes = 0;
    for (bool more = true; more;) {
        more = str_cut(&text, '\n', &line);
        if (!str_cut(&line, ':', &name)) continue; /* the two lines of titles */
        while (name.n > 0 && name.p[0] == ' ') name = str_n(name.p + 1, name.n - 1);
        seen = true;
        if (str_eq(name, STR("lo"))) continue;
        add(&m->net_rx_bytes, column(line, RX_BYTES));
        add(&m->net_tx_bytes, column(line, TX_BYTES));
    }
    if (!seen) m->net_rx_bytes = m->net_tx_bytes = METER_UNKNOWN;
}

/* ---- files ---- */

static int open_in(const struct cgroup_set *s, const char *controller, const char *file)
{
    char path[CGROUP_PATH + 64];
    const char *dir = cgroup_dir(s, controller);
    if (!dir) return -1;
    text_fmt(path, sizeof(path), "%s/%s", dir, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Opened first and compared after: then it is that process, or nobody for ever. */
static int open_proc(int64_t pid, uint64_t start)
{
    char path[64];
    uint64_t now = 0;
    if (pid <= 0) return -1;
    text_fmt(path, sizeof(path), "/proc/%lld", (long long)pid);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && (proc_start_time(pid, &now, NULL) != 0 || now != start)) file_close(&fd);
    return fd;
}

void gauge_open(struct gauge *g, const struct cgroup_set *groups, int64_t pid, uint64_t start)
{
    bool v2 = groups->version == CGROUP_V2;
    g->version = groups->version;
    g->cpu = open_in(groups, "cpuacct", v2 ? "cpu.stat" : "cpuacct.usage");
    g->mem = open_in(groups, "memory", v2 ? "memory.current" : "memory.usage_in_bytes");
    g->peak = open_in(groups, "memory", v2 ? "memory.peak" : "memory.max_usage_in_bytes");
    g->pids = open_in(groups, "pids", "pids.current");
    g->io = open_in(groups, "blkio", v2 ? "io.stat" : "blkio.throttle.io_service_bytes_recursive");
    if (g->io < 0 && !v2) g->io = open_in(groups, "blkio", "blkio.throttle.io_service_bytes");
    g->proc = open_proc(pid, start);
}

void gauge_close(struct gauge *g)
{
    int *const all[] = {&g->cpu, &g->mem, &g->peak, &g->pids, &g->io, &g->proc};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) file_close(all[i]);
}

/* A text that fills the buffer may have been cut: then it says nothing. */
static bool text_of(int fd, char buf[TEXT_MAX], struct str *ret)
{
    if (fd < 0) return false;
    ssize_t n = pread(fd, buf, TEXT_MAX, 0);
    if (n < 0 || n == TEXT_MAX) return false;
    *ret = str_n(buf, (size_t)n);
    return true;
}

static int64_t number_of(int fd)
{
    char buf[TEXT_MAX];
    struct str text;
    return text_of(fd, buf, &text) ? number(text) : METER_UNKNOWN;
}

static int64_t cpu_of(const struct gauge *g)
{
    char buf[TEXT_MAX];
    struct str text;
    if (g->version == CGROUP_V2)
        return text_of(g->cpu, buf, &text) ? gauge_key(text, STR("usage_usec")) : METER_UNKNOWN;
    int64_t ns = number_of(g->cpu);
    return ns < 0 ? METER_UNKNOWN : ns / 1000;
}

void gauge_read(const struct gauge *g, struct meter *m)
{
    char buf[TEXT_MAX];
    struct str text;
    m->cpu_us = cpu_of(g);
    m->mem_bytes = number_of(g->mem);
    m->mem_peak_bytes = number_of(g->peak);
    m->pids = number_of(g->pids);
    m->io_read_bytes = m->io_write_bytes = METER_UNKNOWN;
    if (!text_of(g->io, buf, &text)) return;
    if (g->version == CGROUP_V2) gauge_io_v2(text, m);
    else gauge_io_v1(text, m);
}

void gauge_read_net(const struct gauge *g, struct meter *m)
{
    char buf[TEXT_MAX];
    struct str text;
    AUTO_FD int fd = g->proc < 0 ? -1 : openat(g->proc, "net/dev", O_RDONLY | O_CLOEXEC);
    m->net_rx_bytes = m->net_tx_bytes = METER_UNKNOWN;
    if (text_of(fd, buf, &text)) gauge_net(text, m);
}
