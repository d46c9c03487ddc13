/* agent/cgroup.c - makes a container's control groups and sets their limits.
 * docs/spec/node.md */
#include "agent/cgroup.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/devices.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"

#define MOUNTINFO_MAX (1024 * 1024)
#define NAME_ROOM 72 /* for a container's name behind the parent's path */
#define SUPERVISORS "supervisors"
#define CPU_PERIOD_US 100000
#define CPU_QUOTA_MIN_US 1000 /* the kernel takes no less */

/* Devices that every container has; the runtime makes their nodes. */
static const char *const standard_devices[] = {
    "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm",
    "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm",
};

/* ---- finding the hierarchies ---- */

static bool controller_known(struct str name)
{
    static const char *const known[] = {"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer",
                                        "blkio", "pids", "net_cls", "net_prio", "perf_event",
                                        "hugetlb", "rdma", "misc", "name=systemd"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(name, str_of(known[i]))) return true;
    return false;
}

/* "rw,cpu,cpuacct" -> "cpu,cpuacct" */
static void controllers_of(struct str options, char *ret, size_t cap)
{
    struct str one;
    bool more = true;
    size_t n = 0;
    ret[0] = 0;
    while (more) {
        more = str_cut(&options, ',', &one);
        if (!controller_known(one) || n + one.n + 2 > cap) continue;
        n += (size_t)text_fmt(ret + n, cap - n, "%s%.*s", n ? "," : "", (int)one.n, one.p);
    }
}

/* "36 31 0:33 / /sys/fs/cgroup/devices rw shared:1 - cgroup cgroup rw,devices" */
static int take_mount(struct str line, const char *tag, struct cgroup_host *h, struct err *err)
{
    struct str field[10], head, tail = line;
    const char *dash = memmem(line.p, line.n, " - ", 3);
    if (!dash) return 0;
    head = str_n(line.p, (size_t)(dash - line.p));
    tail = str_n(dash + 3, line.n - (size_t)(dash + 3 - line.p));
    for (int i = 0; i < 5; i++) str_cut(&head, ' ', &field[i]);
    for (int i = 5; i < 8; i++) str_cut(&tail, ' ', &field[i]);
    struct str where = field[4], type = field[5], options = field[7];
    bool v2 = str_eq(type, STR("cgroup2"));
    if (!v2 && !str_eq(type, STR("cgroup"))) return 0;
    struct cgroup_at at = {0};
    if (!v2) controllers_of(options, at.name, sizeof(at.name));
    if (!v2 && !at.name[0]) return 0;
    if (v2) {
        if (!TEXT_SET(h->hide, where))
            return err_set(err, ERR_LIMIT, "cgroup2 mount path too long");
        return 0;
    }
    size_t n = (size_t)text_fmt(at.dir, sizeof(at.dir), "%.*s%s/%s", (int)where.n, where.p,
                                h->under, tag);
    if (n + NAME_ROOM > sizeof(at.dir) || h->parent.n == CGROUP_MAX)
        return err_set(err, ERR_LIMIT, "too many or too long cgroup mounts");
    for (uint32_t i = 0; i < h->parent.n; i++) /* mounted twice: the first counts */
        if (strcmp(h->parent.at[i].name, at.name) == 0) return 0;
    h->parent.at[h->parent.n++] = at;
    return 0;
}

bool cgroup_parent_good(const char *under)
{
    struct str rest = str_of(under), name;
    if (under[0] != '/' || rest.n > CGROUP_PATH / 2 || under[rest.n - 1] == '/') return false;
    for (size_t i = 0; i < rest.n; i++)
        if ((unsigned char)under[i] <= ' ' || under[i] == ':') return false;
    str_cut(&rest, '/', &name); /* what is before the first slash is nothing */
    for (bool more = true; more;) {
        more = str_cut(&rest, '/', &name);
        if (name.n == 0 || str_eq(name, STR(".")) || str_eq(name, STR(".."))) return false;
    }
    return true;
}

static void set_supervisors(struct cgroup_host *h)
{
    const char *dir = h->parent.version == CGROUP_V2 ? h->parent.at[0].dir
                                                     : cgroup_dir(&h->parent, "name=systemd");
    if (dir) text_fmt(h->supervisors, sizeof(h->supervisors), "%s/" SUPERVISORS, dir);
}

int cgroup_host_parse(const char *mountinfo, const char *under, const char *tag,
                      struct cgroup_host *ret, struct err *err)
{
    struct cgroup_host h = {0};
    struct str rest = str_of(mountinfo), line;
    if (!under[0]) under = CGROUP_PARENT;
    if (!cgroup_parent_good(under))
        return err_set(err, ERR_INVALID, "'%.100s' is no control group: expected /NAME or "
                       "/NAME/NAME, plain and absolute", under);
    TEXT_CLIP(h.under, str_of(under));
    while (str_cut(&rest, '\n', &line)) {
        int rc = take_mount(line, tag, &h, err);
        if (rc < 0) return rc;
    }
    if (h.parent.n == 0 && !h.hide[0])
        return err_set(err, ERR_UNSUPPORTED, "no control groups are mounted on this machine");
    if (h.parent.n > 0) {
        h.parent.version = CGROUP_V1;
        h.hybrid = h.hide[0] != 0;
        if (!cgroup_dir(&h.parent, "memory") || !cgroup_dir(&h.parent, "cpu") ||
            !cgroup_dir(&h.parent, "pids") || !cgroup_dir(&h.parent, "devices"))
            return err_set(err, ERR_UNSUPPORTED,
                           "control groups v1 lack one of memory, cpu, pids, devices");
    } else {
        h.parent.version = CGROUP_V2;
        h.parent.n = 1;
        int n = text_fmt(h.parent.at[0].dir, sizeof(h.parent.at[0].dir), "%s%s/%s", h.hide,
                         h.under, tag);
        if (n + NAME_ROOM > CGROUP_PATH)
            return err_set(err, ERR_LIMIT, "cgroup2 mount path too long");
        h.hide[0] = 0;
    }
    set_supervisors(&h);
    *ret = h;
    return 0;
}

/* ---- the parents ---- */

static int put(const char *dir, const char *file, const char *text, struct err *err)
{
    char path[CGROUP_PATH + 64];
    text_fmt(path, sizeof(path), "%s/%s", dir, file);
    return file_put(AT_FDCWD, path, text, err);
}

/* A new cpuset has no processors and nothing may enter it: as its parent has. */
static int copy_cpuset(const char *dir, struct err *err)
{
    static const char *const files[] = {"cpuset.cpus", "cpuset.mems"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[CGROUP_PATH + 64], buf[1024];
        size_t n = 0;
        text_fmt(path, sizeof(path), "%s/../%s", dir, files[i]);
        int rc = file_read(AT_FDCWD, path, buf, sizeof(buf), &n, err);
        if (rc == 0 && n > 1) rc = put(dir, files[i], buf, err);
        if (rc < 0) return rc;
    }
    return 0;
}

static bool has(const struct cgroup_at *at, const char *controller)
{
    struct cgroup_set one = {.version = CGROUP_V1, .n = 1, .at = {*at}};
    return cgroup_dir(&one, controller) != NULL;
}

static int make_dir(enum cgroup_version version, const struct cgroup_at *at, struct err *err)
{
    if (mkdir(at->dir, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "cannot make %s",
                       at->dir);
    if (version == CGROUP_V1 && has(at, "cpuset")) return copy_cpuset(at->dir, err);
    return 0;
}

/* Children of `dir` may have limits: version 2 asks for each step. */
static int delegate(const char *dir, struct err *err)
{
    put(dir, "cgroup.subtree_control", "+cpuset", NULL); /* welcome, not needed */
    put(dir, "cgroup.subtree_control", "+io", NULL);     /* only counted */
    return put(dir, "cgroup.subtree_control", "+cpu +memory +pids", err);
}

/* From the mount down to `up` itself, which has `cut` bytes of the mount in front. */
static int make_above(const struct cgroup_host *h, const struct cgroup_at *up, size_t cut,
                      struct err *err)
{
    bool v2 = h->parent.version == CGROUP_V2;
    bool kept_for_us = strchr(h->under + 1, '/') != NULL;
    if (v2 && kept_for_us) {
        if (access(up->dir, F_OK) == 0) return 0; /* whoever made it wrote all above it */
        return err_sys(err, ERR_NOT_FOUND, errno,
                       "%s, which --cgroup-parent names; is the unit running that keeps it?",
                       up->dir);
    }
    struct cgroup_at at = *up;
    at.dir[cut] = 0;
    int rc = v2 ? delegate(at.dir, err) : 0;
    for (size_t i = cut; rc == 0 && up->dir[i]; i++) {
        at.dir[i] = up->dir[i];
        at.dir[i + 1] = 0;
        if (up->dir[i + 1] != '/' && up->dir[i + 1] != 0) continue;
        rc = make_dir(h->parent.version, &at, err);
        /* Old kernels count a group's children only when told to. */
        if (rc == 0 && !v2 && has(&at, "memory")) put(at.dir, "memory.use_hierarchy", "1", NULL);
    }
    return rc;
}

int cgroup_host_make(const struct cgroup_host *h, struct err *err)
{
    bool v2 = h->parent.version == CGROUP_V2;
    for (uint32_t i = 0; i < h->parent.n; i++) {
        struct cgroup_at up = h->parent.at[i];
        *strrchr(up.dir, '/') = 0;
        int rc = make_above(h, &up, strlen(up.dir) - strlen(h->under), err);
        if (rc == 0 && v2) rc = delegate(up.dir, err);
        if (rc == 0) rc = make_dir(h->parent.version, &h->parent.at[i], err);
        if (rc == 0 && v2) rc = delegate(h->parent.at[i].dir, err);
        if (rc < 0) return rc;
    }
    if (!h->supervisors[0] || mkdir(h->supervisors, 0755) == 0 || errno == EEXIST) return 0;
    return err_sys(err, ERR_IO, errno, "cannot make %s", h->supervisors);
}

int cgroup_host_open(const char *state_dir, const char *under, struct cgroup_host *ret,
                     struct err *err)
{
    uint32_t hash = 2166136261u; /* FNV-1a: a short name for a path */
    char tag[16];
    for (const char *p = state_dir; *p; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
    text_fmt(tag, sizeof(tag), "%08x", hash);
    AUTO_FREE char *buf = mem_alloc(MOUNTINFO_MAX);
    size_t n = 0;
    int rc = file_read(AT_FDCWD, "/proc/self/mountinfo", buf, MOUNTINFO_MAX, &n, err);
    struct cgroup_host h;
    if (rc == 0) rc = cgroup_host_parse(buf, under, tag, &h, err);
    if (rc == 0) rc = cgroup_host_make(&h, err);
    if (rc < 0) return rc;
    *ret = h;
    return 0;
}

void cgroup_host_remove(const struct cgroup_host *h)
{
    /* Not the level above: another agent may be about to make its own there. */
    if (h->supervisors[0]) rmdir(h->supervisors);
    for (uint32_t i = 0; i < h->parent.n; i++) rmdir(h->parent.at[i].dir);
}

/* ---- one container ---- */

int cgroup_of(const struct cgroup_host *h, const char *name, struct cgroup_set *ret,
              struct err *err)
{
    struct cgroup_set s = h->parent;
    for (uint32_t i = 0; i < s.n; i++)
        if (text_fmt(s.at[i].dir, CGROUP_PATH, "%s/%s", h->parent.at[i].dir, name) >=
            CGROUP_PATH - 1)
            return err_set(err, ERR_LIMIT, "control group path too long");
    *ret = s;
    return 0;
}

static int put_number(const char *dir, const char *file, int64_t v, struct err *err)
{
    char text[32];
    text_fmt(text, sizeof(text), "%lld", (long long)v);
    return put(dir, file, text, err);
}

static int64_t quota_us(int64_t cpu_milli)
{
    int64_t us = cpu_milli * (CPU_PERIOD_US / 1000);
    return us < CPU_QUOTA_MIN_US ? CPU_QUOTA_MIN_US : us;
}

static int limit_cpu_v1(const char *dir, int64_t cpu_milli, struct err *err)
{
    int64_t shares = cpu_milli * 1024 / 1000;
    put_number(dir, "cpu.shares", shares < 2 ? 2 : shares, NULL); /* only weighs */
    int rc = put_number(dir, "cpu.cfs_period_us", CPU_PERIOD_US, err);
    return rc < 0 ? rc : put_number(dir, "cpu.cfs_quota_us", quota_us(cpu_milli), err);
}

static int limit_memory_v1(const char *dir, int64_t bytes, struct err *err)
{
    int rc = put_number(dir, "memory.limit_in_bytes", bytes, err);
    if (rc < 0) return rc;
    char path[CGROUP_PATH + 64];
    text_fmt(path, sizeof(path), "%s/memory.memsw.limit_in_bytes", dir);
    /* Without swap accounting the file is absent; then keep out of swap by wish. */
    if (file_exists(AT_FDCWD, path))
        return put_number(dir, "memory.memsw.limit_in_bytes", bytes, err);
    put(dir, "memory.swappiness", "0", NULL);
    return 0;
}

#define RULE_TEXT 40
#define RULES_MAX (ARRAY_LEN(standard_devices) + CGROUP_DEVICES)
_Static_assert(RULES_MAX <= DEVICES_RULES, "as many as a program takes");

/* Everybody's, then its own.  The runtime makes the nodes from inside the group, so it may
 * always make them; the container has no capability to. */
static uint32_t device_rules(const struct cgroup_limits *l, char text[CGROUP_DEVICES][RULE_TEXT],
                             const char *ret[RULES_MAX])
{
    uint32_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(standard_devices); i++) ret[n++] = standard_devices[i];
    for (uint32_t i = 0; i < l->n_devices; i++) {
        const struct cgroup_device *d = &l->devices[i];
        text_fmt(text[i], RULE_TEXT, "%s %u:%u %s%s", d->block ? "b" : "c", d->major, d->minor,
                 d->access, strchr(d->access, 'm') ? "" : "m");
        ret[n++] = text[i];
    }
    return n;
}

static int limit_devices(const char *dir, bool v2, const struct cgroup_limits *l, struct err *err)
{
    char text[CGROUP_DEVICES][RULE_TEXT];
    const char *rules[RULES_MAX];
    uint32_t n = device_rules(l, text, rules);
    if (v2) return devices_attach(dir, rules, n, err);
    int rc = put(dir, "devices.deny", "a", err);
    for (uint32_t i = 0; i < n && rc == 0; i++) rc = put(dir, "devices.allow", rules[i], err);
    return rc;
}

/* Near its devices, where this machine lets us. */
static void limit_cpuset(const char *dir, const struct cgroup_limits *l)
{
    if (l->cpus[0]) put(dir, "cpuset.cpus", l->cpus, NULL);
    if (l->mems[0]) put(dir, "cpuset.mems", l->mems, NULL);
}

bool cgroup_host_pins(const struct cgroup_host *h)
{
    char path[CGROUP_PATH + 64], text[512];
    size_t n = 0;
    if (h->parent.version == CGROUP_V1) return cgroup_dir(&h->parent, "cpuset") != NULL;
    text_fmt(path, sizeof(path), "%s/cgroup.subtree_control", h->parent.at[0].dir);
    if (file_read(AT_FDCWD, path, text, sizeof(text), &n, NULL) < 0) return false;
    return strstr(text, "cpuset") != NULL;
}

static int limit_v1(const struct cgroup_at *at, const struct cgroup_limits *l, struct err *err)
{
    int rc = 0;
    if (has(at, "cpu")) rc = limit_cpu_v1(at->dir, l->cpu_milli, err);
    if (rc == 0 && has(at, "memory")) rc = limit_memory_v1(at->dir, l->mem_bytes, err);
    if (rc == 0 && has(at, "pids")) rc = put_number(at->dir, "pids.max", l->pids_max, err);
    if (rc == 0 && has(at, "devices")) rc = limit_devices(at->dir, false, l, err);
    if (rc == 0 && has(at, "cpuset")) limit_cpuset(at->dir, l);
    return rc;
}

static int limit_v2(const char *dir, const struct cgroup_limits *l, struct err *err)
{
    char cpu[64];
    text_fmt(cpu, sizeof(cpu), "%lld %d", (long long)quota_us(l->cpu_milli), CPU_PERIOD_US);
    int rc = put(dir, "cpu.max", cpu, err);
    if (rc == 0) rc = put_number(dir, "memory.max", l->mem_bytes, err);
    if (rc == 0) rc = put_number(dir, "pids.max", l->pids_max, err);
    put(dir, "memory.swap.max", "0", NULL); /* absent without swap */
    put(dir, "memory.oom.group", "1", NULL);
    limit_cpuset(dir, l);
    return rc < 0 ? rc : limit_devices(dir, true, l, err);
}

int cgroup_make(const struct cgroup_set *s, const struct cgroup_limits *limits, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->n && rc == 0; i++) {
        rc = make_dir(s->version, &s->at[i], err);
        if (rc == 0)
            rc = s->version == CGROUP_V2 ? limit_v2(s->at[i].dir, limits, err)
                                         : limit_v1(&s->at[i], limits, err);
    }
    if (rc < 0) cgroup_remove(s, NULL);
    return rc;
}

void cgroup_each(const struct cgroup_host *h, void (*found)(void *arg, const char *name), void *arg)
{
    for (uint32_t i = 0; i < h->parent.n; i++) {
        DIR *d = opendir(h->parent.at[i].dir);
        const struct dirent *e;
        while (d && (e = readdir(d)) != NULL)
            if (e->d_type == DT_DIR && e->d_name[0] != '.' && strcmp(e->d_name, SUPERVISORS) != 0)
                found(arg, e->d_name);
        if (d) closedir(d);
    }
}

bool cgroup_holds(const struct cgroup_host *h, const char *name, int64_t pid)
{
    char path[64], buf[8192], want[2 * CGROUP_PATH];
    size_t n = 0;
    text_fmt(path, sizeof(path), "/proc/%lld/cgroup", (long long)pid);
    if (file_read(AT_FDCWD, path, buf, sizeof(buf), &n, NULL) < 0) return false;
    const char *tag = strrchr(h->parent.at[0].dir, '/');
    text_fmt(want, sizeof(want), "%s%s/%s", h->under, tag, name);
    struct str rest = str_n(buf, n), line;
    uint32_t held = 0;
    /* "4:memory:/rota/0123abcd/7.1.0", perhaps below a group we were started in */
    while (str_cut(&rest, '\n', &line)) held += str_ends(line, str_of(want));
    return held >= h->parent.n;
}

const char *cgroup_host_text(const struct cgroup_host *h)
{
    if (h->parent.version == CGROUP_V2) return "control groups v2";
    return h->hybrid ? "control groups v1 beside v2" : "control groups v1";
}
