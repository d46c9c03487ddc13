/* host/memo.c - the small files of a container's directory.  docs/spec/node.md */
#include "host/memo.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "host/file.h"

#define TEXT(s, f) {#f, MEMO_TEXT, offsetof(struct s, f), sizeof(((struct s *)0)->f)}
#define INT(s, f) {#f, MEMO_INT, offsetof(struct s, f), 0}
#define BOOL(s, f) {#f, MEMO_BOOL, offsetof(struct s, f), 0}

static bool put_field(struct strbuf *b, const struct memo_field *f, const char *from)
{
    strbuf_puts(b, f->key);
    strbuf_putc(b, ' ');
    switch (f->type) {
    case MEMO_TEXT:
        if (strchr(from + f->offset, '\n')) return false;
        strbuf_puts(b, from + f->offset);
        break;
    case MEMO_INT: {
        int64_t v;
        memcpy(&v, from + f->offset, sizeof(v));
        strbuf_i64(b, v);
        break;
    }
    case MEMO_BOOL:
        strbuf_puts(b, from[f->offset] ? "yes" : "no");
        break;
    }
    strbuf_putc(b, '\n');
    return true;
}

static bool get_field(const struct memo_field *f, struct str value, char *to)
{
    int64_t v;
    switch (f->type) {
    case MEMO_TEXT:
        return text_set(to + f->offset, f->cap, value);
    case MEMO_INT:
        if (!str_to_i64(value, &v)) return false;
        memcpy(to + f->offset, &v, sizeof(v));
        return true;
    case MEMO_BOOL:
        if (!str_eq(value, STR("yes")) && !str_eq(value, STR("no"))) return false;
        to[f->offset] = str_eq(value, STR("yes"));
        return true;
    }
    UNREACHABLE();
}

static int print_fields(struct strbuf *b, const struct memo_table *t, const void *from,
                        struct err *err)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (!put_field(b, &t->fields[i], from))
            return err_set(err, ERR_INVALID, "%s holds a newline", t->fields[i].key);
    if (b->full) return err_set(err, ERR_LIMIT, "a record is longer than %d bytes", MEMO_MAX);
    return 0;
}

/* Calls take() for each "key value" line. */
static int each_line(const char *name, struct str text,
                     bool (*take)(void *arg, struct str key, struct str value), void *arg,
                     struct err *err)
{
    struct str line, key;
    if (text.n && text.p[text.n - 1] != '\n')
        return err_set(err, ERR_CORRUPT, "%s: the last line is cut off", name);
    while (str_cut(&text, '\n', &line))
        if (!str_cut(&line, ' ', &key) || !take(arg, key, line))
            return err_set(err, ERR_CORRUPT, "%s: bad line '%.*s'", name,
                           (int)(key.n < 40 ? key.n : 40), key.p);
    return 0;
}

struct taking {
    const struct memo_table *table;
    uint64_t seen;
    char *to;
    struct cgroup_set *cgroups; /* or NULL */
};

static bool take_field(struct taking *t, struct str key, struct str value)
{
    for (uint32_t i = 0; i < t->table->n; i++) {
        const struct memo_field *f = &t->table->fields[i];
        if (!str_eq(key, str_of(f->key))) continue;
        if (t->seen >> i & 1) return false;
        t->seen |= UINT64_C(1) << i;
        return get_field(f, value, t->to);
    }
    return true;
}

/* "cgroup NAMES DIR" */
static bool take_cgroup(struct cgroup_set *s, struct str value)
{
    struct str name;
    if (s->n == CGROUP_MAX || !str_cut(&value, ' ', &name)) return false;
    struct cgroup_at *at = &s->at[s->n];
    if (!TEXT_SET(at->name, name) || !TEXT_SET(at->dir, value)) return false;
    s->n++;
    return true;
}

static bool take_line(void *arg, struct str key, struct str value)
{
    struct taking *t = arg;
    if (!t->cgroups) return take_field(t, key, value);
    if (str_eq(key, STR("cgroup"))) return take_cgroup(t->cgroups, value);
    if (!str_eq(key, STR("cgroup_version"))) return take_field(t, key, value);
    if (!str_eq(value, STR("1")) && !str_eq(value, STR("2"))) return false;
    t->cgroups->version = str_eq(value, STR("2")) ? CGROUP_V2 : CGROUP_V1;
    return true;
}

int memo_write(int dir, const struct memo_table *t, const void *from, enum file_sync sync,
               struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, MEMO_MAX - 1);
    int rc = print_fields(&b, t, from, err);
    if (rc < 0) return rc;
    return file_write(dir, t->name, b.p, b.n, sync, err);
}

int memo_read(int dir, const struct memo_table *t, void *to, struct err *err)
{
    CHECK(t->n <= 64);
    AUTO_FREE char *buf = mem_alloc(MEMO_MAX);
    size_t len = 0;
    int rc = file_read(dir, t->name, buf, MEMO_MAX, &len, err);
    if (rc < 0) return rc;
    struct taking take = {.table = t, .to = to};
    return each_line(t->name, str_n(buf, len), take_line, &take, err);
}

static const struct memo_field conf_fields[] = {
    TEXT(memo_conf, name),    TEXT(memo_conf, crun),       TEXT(memo_conf, crun_root),
    TEXT(memo_conf, hide),    TEXT(memo_conf, lower),      BOOL(memo_conf, tty),
    BOOL(memo_conf, stdin_open), BOOL(memo_conf, slow),    INT(memo_conf, limit_ms),
    INT(memo_conf, grace_ms),    BOOL(memo_conf, disk),    TEXT(memo_conf, home),
    INT(memo_conf, fence_ms),    BOOL(memo_conf, engine),
};
#define CONF_OPTIONAL 4 /* of these, the last: files of older agents lack them */
static const struct memo_table conf_table = {"conf", conf_fields, ARRAY_LEN(conf_fields)};

int memo_write_conf(int dir, const struct memo_conf *c, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, MEMO_MAX - 1);
    strbuf_fmt(&b, "cgroup_version %s\n", c->cgroups.version == CGROUP_V2 ? "2" : "1");
    for (uint32_t i = 0; i < c->cgroups.n; i++)
        strbuf_fmt(&b, "cgroup %s %s\n", c->cgroups.at[i].name, c->cgroups.at[i].dir);
    int rc = print_fields(&b, &conf_table, c, err);
    if (rc < 0) return rc;
    return file_write(dir, "conf", b.p, b.n, FILE_ORDERED, err);
}

int memo_read_conf(int dir, struct memo_conf *ret, struct err *err)
{
    AUTO_FREE char *buf = mem_alloc(MEMO_MAX);
    AUTO_FREE struct memo_conf *c = mem_alloc(sizeof(*c));
    size_t len = 0;
    int rc = file_read(dir, "conf", buf, MEMO_MAX, &len, err);
    if (rc < 0) return rc;
    struct taking t = {.table = &conf_table, .to = (char *)c, .cgroups = &c->cgroups};
    rc = each_line("conf", str_n(buf, len), take_line, &t, err);
    if (rc < 0) return rc;
    uint64_t needed = (UINT64_C(1) << (ARRAY_LEN(conf_fields) - CONF_OPTIONAL)) - 1;
    if ((t.seen & needed) != needed || (c->cgroups.n == 0 && !c->engine))
        return err_set(err, ERR_CORRUPT, "conf: a line is missing");
    *ret = *c;
    return 0;
}

static const struct memo_field life_fields[] = {
    TEXT(memo_life, boot_id),      INT(memo_life, shim_pid), INT(memo_life, shim_start),
    INT(memo_life, pid),           INT(memo_life, start),    INT(memo_life, signal_done),
    INT(memo_life, limit_boot_ms), INT(memo_life, started_wall_us),
    BOOL(memo_life, timed_out),
};
static const struct memo_table life_table = {"life", life_fields, ARRAY_LEN(life_fields)};

int memo_write_life(int dir, const struct memo_life *l, struct err *err)
{
    return memo_write(dir, &life_table, l, FILE_ORDERED, err);
}

int memo_read_life(int dir, struct memo_life *ret, struct err *err)
{
    struct memo_life l = {0};
    int rc = memo_read(dir, &life_table, &l, err);
    if (rc < 0) return rc;
    *ret = l;
    return 0;
}

int memo_write_go(int dir, const char *boot_id, struct err *err)
{
    return file_write(dir, "go", boot_id, strlen(boot_id), FILE_ORDERED, err);
}

bool memo_went(int dir, const char *boot_id)
{
    char buf[64];
    size_t n = 0;
    return file_read(dir, "go", buf, sizeof(buf), &n, NULL) == 0 && strcmp(buf, boot_id) == 0;
}

static const char hex_digits[] = "0123456789abcdef";

void memo_format_status(int status, char ret[MEMO_STATUS_LEN])
{
    /* No printf: init has nothing but this to say and stays small. */
    for (int i = 0; i < 8; i++) ret[i] = hex_digits[(unsigned)status >> (28 - 4 * i) & 15];
    ret[8] = '\n';
}

static const char fenced_mark[MEMO_STATUS_LEN + 1] = "cut-off-\n";

void memo_format_fenced(char ret[MEMO_STATUS_LEN]) { memcpy(ret, fenced_mark, MEMO_STATUS_LEN); }

int memo_read_status(int dir, int *ret, bool *ret_fenced, struct err *err)
{
    char buf[16];
    size_t n = 0;
    int rc = file_read(dir, "status", buf, sizeof(buf), &n, err);
    if (rc < 0) return rc;
    if (n == 0) return err_set(err, ERR_NOT_FOUND, "init recorded no status");
    if (n == MEMO_STATUS_LEN && memcmp(buf, fenced_mark, n) == 0) {
        *ret = SIGKILL;
        *ret_fenced = true;
        return 0;
    }
    bool good = n == MEMO_STATUS_LEN;
    unsigned v = 0;
    for (size_t i = 0; i < 8 && good; i++) {
        const char *at = memchr(hex_digits, buf[i], 16);
        good = at != NULL;
        if (good) v = v << 4 | (unsigned)(at - hex_digits);
    }
    if (!good) return err_set(err, ERR_CORRUPT, "init's status is unreadable");
    *ret = (int)v;
    *ret_fenced = false;
    return 0;
}

static const struct memo_field exit_fields[] = {
    BOOL(memo_exit, ran),       BOOL(memo_exit, fatal),
    BOOL(memo_exit, known),     INT(memo_exit, status),
    BOOL(memo_exit, timed_out), BOOL(memo_exit, oom),
    INT(memo_exit, started_wall_us), INT(memo_exit, ended_wall_us),
    INT(memo_exit, mem_peak_bytes),  INT(memo_exit, cpu_us),
    TEXT(memo_exit, text),      BOOL(memo_exit, fenced),
};
static const struct memo_table exit_table = {"exit", exit_fields, ARRAY_LEN(exit_fields)};

int memo_write_exit(int dir, const struct memo_exit *e, struct err *err)
{
    return memo_write(dir, &exit_table, e, FILE_DURABLE_NEW, err);
}

int memo_read_exit(int dir, struct memo_exit *ret, struct err *err)
{
    struct memo_exit e = {0};
    int rc = memo_read(dir, &exit_table, &e, err);
    if (rc < 0) return rc;
    if (e.ended_wall_us <= 0) return err_set(err, ERR_CORRUPT, "exit: cut off");
    *ret = e;
    return 0;
}
