/* agent/capacity.c - see capacity.h.  Unreadable limits do not limit: only what
 * was read counts; an unreadable total is an error. */
#include "agent/capacity.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/fmt.h"
#include "base/mem.h"
#include "base/str.h"

#define TEXT_MAX 16384
#define PATH_BYTES 1024
#define RESERVE_MIN (512 * FMT_MIB)
#define RESERVE_PERCENT 5

static bool read_text(const char *path, char ret[TEXT_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, ret, TEXT_MAX - 1);
    close(fd);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static struct str first_line(const char *text)
{
    struct str line, rest = str_of(text);
    str_cut(&rest, '\n', &line);
    return str_trim(line);
}

/* "MemTotal:       24576000 kB" */
static bool mem_total(const char *proc, int64_t *ret_bytes)
{
    char path[PATH_BYTES], text[TEXT_MAX];
    text_fmt(path, sizeof(path), "%s/meminfo", proc);
    if (!read_text(path, text)) return false;
    struct str line, rest = str_of(text);
    while (str_cut(&rest, '\n', &line) || line.n > 0) {
        if (!str_starts(line, STR("MemTotal:"))) continue;
        struct str number, unit = str_trim(str_n(line.p + 9, line.n - 9));
        uint64_t kib;
        str_cut(&unit, ' ', &number);
        if (!str_to_u64(number, &kib) || kib > (uint64_t)SLOT_MAX / 1024) return false;
        *ret_bytes = (int64_t)kib * 1024;
        return true;
    }
    return false;
}

static void lower(int64_t *limit, int64_t to)
{
    if (to > 0 && to < *limit) *limit = to;
}

/* One directory of a hierarchy: its files may tighten what we have. */
static void limits_of_dir(const char *dir, struct capacity *c)
{
    char path[PATH_BYTES], text[TEXT_MAX];
    uint64_t quota = 0, period = 0, bytes;

    text_fmt(path, sizeof(path), "%s/cpu.max", dir);
    if (read_text(path, text)) {
        struct str q, p = first_line(text);
        str_cut(&p, ' ', &q);
        if (!str_to_u64(q, &quota) || !str_to_u64(p, &period)) quota = 0; /* "max 100000" */
    } else {
        text_fmt(path, sizeof(path), "%s/cpu.cfs_quota_us", dir);
        if (!read_text(path, text) || !str_to_u64(first_line(text), &quota)) quota = 0; /* -1 */
        text_fmt(path, sizeof(path), "%s/cpu.cfs_period_us", dir);
        if (!read_text(path, text) || !str_to_u64(first_line(text), &period)) period = 0;
    }
    if (quota > 0 && quota < UINT32_MAX && period > 0) {
        lower(&c->cpu_milli, (int64_t)(quota * 1000 / period));
    }
    static const char *const files[] = {"memory.max", "memory.limit_in_bytes"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        text_fmt(path, sizeof(path), "%s/%s", dir, files[i]);
        if (read_text(path, text) && str_to_u64(first_line(text), &bytes) &&
            bytes < (uint64_t)SLOT_MAX) {
            lower(&c->mem_bytes, (int64_t)bytes);
        }
    }
}

/* A path and every directory above it: each level's limit holds. */
static void limits_of_path(const char *base, struct str path, struct capacity *c)
{
    char dir[PATH_BYTES];
    for (;;) {
        while (path.n > 0 && path.p[path.n - 1] == '/') path.n--;
        text_fmt(dir, sizeof(dir), "%s%.*s", base, (int)path.n, path.p);
        limits_of_dir(dir, c);
        if (path.n == 0) return;
        while (path.n > 0 && path.p[path.n - 1] != '/') path.n--;
    }
}

/* "4:memory:/a/b" (v1), "0::/a/b" (v2). */
static void limits_of_line(const char *cgroup, struct str line, struct capacity *c)
{
    char base[PATH_BYTES];
    struct str id, controllers, one;
    if (!str_cut(&line, ':', &id) || !str_cut(&line, ':', &controllers)) return;
    if (controllers.n == 0) {
        limits_of_path(cgroup, line, c);
        return;
    }
    do {
        str_cut(&controllers, ',', &one);
        if (!str_eq(one, STR("cpu")) && !str_eq(one, STR("memory"))) continue;
        text_fmt(base, sizeof(base), "%s/%.*s", cgroup, (int)one.n, one.p);
        limits_of_path(base, line, c);
    } while (controllers.n > 0);
}

int capacity_measure(const char *proc, const char *cgroup, uint32_t cpus, struct capacity *ret,
                     struct err *err)
{
    char path[PATH_BYTES], text[TEXT_MAX];
    struct capacity c = {.cpu_milli = (int64_t)cpus * 1000};
    if (cpus == 0 || !mem_total(proc, &c.mem_bytes)) {
        return err_set(err, ERR_IO, "cannot tell how much CPU and memory this machine has");
    }
    text_fmt(path, sizeof(path), "%s/self/cgroup", proc);
    if (read_text(path, text)) {
        struct str line, rest = str_of(text);
        while (str_cut(&rest, '\n', &line) || line.n > 0) limits_of_line(cgroup, line, &c);
    }
    *ret = c;
    return 0;
}

int capacity_offer(const struct capacity *have, const struct agent_config *c,
                   struct capacity *ret, struct err *err)
{
    struct capacity offer = *have;
    int64_t reserve = c->reserve.mem_bytes;
    if (reserve == CONFIG_NOT_GIVEN) {
        reserve = have->mem_bytes / 100 * RESERVE_PERCENT;
        if (reserve < RESERVE_MIN) reserve = RESERVE_MIN;
    }
    offer.cpu_milli -= c->reserve.cpu_milli;
    offer.mem_bytes -= reserve;
    if (c->cpu_milli != CONFIG_NOT_GIVEN) offer.cpu_milli = c->cpu_milli;
    if (c->mem_bytes != CONFIG_NOT_GIVEN) offer.mem_bytes = c->mem_bytes;
    if (offer.cpu_milli <= 0 || offer.mem_bytes <= 0) {
        return err_set(err, ERR_INVALID, "the reserve leaves nothing of this machine to offer");
    }
    *ret = offer;
    return 0;
}

uint32_t capacity_cpus(void)
{
    /* Room for machines larger than cpu_set_t. */
    size_t bytes = CPU_ALLOC_SIZE(8192);
    AUTO_FREE cpu_set_t *set = mem_alloc(bytes);
    if (sched_getaffinity(0, bytes, set) != 0) return 0;
    return (uint32_t)CPU_COUNT_S(bytes, set);
}

int capacity_boot_id(const char *proc, char ret[40], struct err *err)
{
    char path[PATH_BYTES], text[TEXT_MAX];
    text_fmt(path, sizeof(path), "%s/sys/kernel/random/boot_id", proc);
    if (!read_text(path, text)) return err_sys(err, ERR_IO, errno, "%s", path);
    struct str line = first_line(text);
    if (line.n > 0 && text_set(ret, 40, line)) return 0;
    return err_set(err, ERR_IO, "%s: no boot id", path);
}
