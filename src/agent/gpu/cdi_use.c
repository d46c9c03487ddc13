/* agent/gpu/cdi_use.c - the files of this machine, and what of them one container gets. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "agent/gpu/cdi.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"

/* ---- loading */

static void remark(struct cdi *c, const struct err *err)
{
    if (c->why[0] == 0) TEXT_CLIP(c->why, str_of(err->text));
}

static bool wanted(const char *name)
{
    struct str s = str_of(name);
    return name[0] != '.' && s.n < CDI_NAME &&
           (str_ends(s, STR(".json")) || str_ends(s, STR(".yaml")) || str_ends(s, STR(".yml")));
}

/* Whoever may write it may give away this machine: then it must be its root, or who we are. */
static int read_spec(int dir, const char *name, char *buf, size_t *ret_n, struct err *err)
{
    struct stat st;
    AUTO_FD int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "%s", name);
    if (fstat(fd, &st) < 0) return err_sys(err, ERR_IO, errno, "%s", name);
    if (!S_ISREG(st.st_mode)) return err_set(err, ERR_INVALID, "%s is no file", name);
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022) != 0)
        return err_set(err, ERR_DENIED, "%s may be written by others than root", name);
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n <= CDI_FILE_MAX; n += (size_t)got) {
        got = read(fd, buf + n, CDI_FILE_MAX + 1 - n);
        if (got < 0) return err_sys(err, ERR_IO, errno, "%s", name);
        if (n + (size_t)got > CDI_FILE_MAX)
            return err_set(err, ERR_LIMIT, "%s is larger than %d KiB", name, CDI_FILE_MAX / 1024);
    }
    *ret_n = n;
    return 0;
}

static int name_order(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int name_wanted(const struct dirent *e) { return wanted(e->d_name); }

static void load_dir(struct cdi *c, uint32_t at, const char *path, char *buf)
{
    struct dirent **names = NULL;
    AUTO_FD int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int found = dir < 0 ? 0 : scandirat(dir, ".", &names, name_wanted, name_order);
    for (int i = 0; i < found; i++) {
        struct err err = {0};
        struct cdi_spec spec;
        size_t n = 0;
        const char *name = names[i]->d_name;
        int rc = i < CDI_FILES_MAX ? read_spec(dir, name, buf, &n, &err)
                                   : err_set(&err, ERR_LIMIT, "%s: more than %d files", path,
                                             CDI_FILES_MAX);
        if (rc == 0) rc = cdi_parse(name, str_n(buf, n), &spec, &err);
        if (rc < 0) {
            remark(c, &err);
        } else {
            struct cdi_file *f = VEC_ADD(&c->files);
            *f = (struct cdi_file){.dir = at, .spec = spec};
            TEXT_CLIP(f->name, str_of(name));
        }
        free(names[i]);
    }
    free(names);
}

void cdi_load(struct cdi *c, const char *const dirs[CDI_DIRS])
{
    AUTO_FREE char *buf = mem_alloc(CDI_FILE_MAX + 1);
    *c = (struct cdi){0};
    for (uint32_t i = 0; i < CDI_DIRS; i++) load_dir(c, i, dirs[i], buf);
}

void cdi_done(struct cdi *c)
{
    VEC_EACH(f, &c->files) cdi_spec_done(&f->spec);
    VEC_DONE(&c->files);
    *c = (struct cdi){0};
}

/* ---- finding */

int cdi_find(const struct cdi *c, const char *kind, const char *name,
             const struct cdi_file **ret_file, const struct cdi_item **ret_item, struct err *err)
{
    const struct cdi_file *file = NULL, *other = NULL;
    const struct cdi_item *item = NULL;
    VEC_EACH(f, &c->files) {
        if (strcmp(f->spec.kind, kind) != 0) continue;
        VEC_EACH(d, &f->spec.devices) {
            if (strcmp(d->name, name) != 0) continue;
            if (file && f->dir < file->dir) continue;
            other = file && f->dir == file->dir ? file : NULL;
            file = f;
            item = d;
        }
    }
    if (!file) return err_set(err, ERR_NOT_FOUND, "no CDI file names %s=%s", kind, name);
    if (other)
        return err_set(err, ERR_CONFLICT, "two CDI files name %s=%s: %s and %s", kind, name,
                       other->name, file->name);
    *ret_file = file;
    *ret_item = item;
    return 0;
}

/* ---- applying */

int cdi_look(int root, const char *path, struct grant_node *ret, struct err *err)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    struct stat st;
    AUTO_FD int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "device %s", path);
    if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is no device", path);
    ret->block = S_ISBLK(st.st_mode);
    ret->major = major(st.st_rdev);
    ret->minor = minor(st.st_rdev);
    return 0;
}

static int apply_node(const struct cdi_node *n, const struct cdi_rules *rules, struct grant *g,
                      struct err *err)
{
    struct grant_node out = {.mode = n->mode >= 0 ? (uint32_t)n->mode & 0777 : 0666,
                             .uid = n->uid > 0 ? (uint32_t)n->uid : 0,
                             .gid = n->gid > 0 ? (uint32_t)n->gid : 0};
    TEXT_SET(out.path, str_of(n->path));
    TEXT_SET(out.host, str_of(n->host[0] ? n->host : n->path));
    TEXT_SET(out.access, str_of(n->access[0] ? n->access : "rwm"));
    int rc = cdi_look(rules->root, out.host, &out, err);
    if (rc < 0) return rc;
    bool typed = n->type[0] == 0 || (n->type[0] == 'b') == out.block;
    bool same = (n->major <= 0 || n->major == out.major) &&
                (n->major <= 0 || n->minor < 0 || n->minor == out.minor);
    if (!typed || !same)
        return err_set(err, ERR_CONFLICT, "%s is %u:%u, not what its CDI file says: make it anew",
                       out.host, out.major, out.minor);
    return grant_add_node(g, &out, err);
}

static int apply_mount(const struct cdi_mount *m, struct grant *g, struct err *err)
{
    static const char *const ignored[] = {"ro", "bind", "nosuid", "nodev", "exec", "private",
                                          "rprivate", "slave", "rslave", "relatime", "noatime"};
    struct grant_mount out = {0};
    TEXT_SET(out.from, str_of(m->from));
    TEXT_SET(out.to, str_of(m->to));
    for (uint32_t i = 0; i < m->options.n; i++) {
        const char *o = m->options.v[i];
        bool known = false;
        for (size_t k = 0; k < ARRAY_LEN(ignored); k++) known = known || !strcmp(o, ignored[k]);
        if (strcmp(o, "rw") == 0) out.writable = known = true;
        if (strcmp(o, "noexec") == 0) out.noexec = known = true;
        if (strcmp(o, "rbind") == 0) out.deep = known = true;
        if (!known)
            return err_set(err, ERR_DENIED, "mount on %s: option \"%.20s\" is not given", m->to, o);
        if (strcmp(o, "ro") == 0) out.writable = false;
    }
    return grant_add_mount(g, &out, err);
}

static bool hook_allowed(const struct cdi_rules *rules, const char *path)
{
    for (uint32_t i = 0; rules->hooks && rules->hooks[i]; i++)
        if (strcmp(rules->hooks[i], path) == 0) return true;
    return false;
}

/* What nvidia-ctk's hook would do to the loader's cache is a variable instead. */
static int replace_hook(const struct cdi_hook *h, struct grant *g, struct err *err)
{
    bool cache = false;
    int rc = 0;
    for (uint32_t i = 0; i < h->args.n; i++)
        cache = cache || strcmp(h->args.v[i], "update-ldcache") == 0;
    for (uint32_t i = 0; cache && i + 1 < h->args.n && rc == 0; i++)
        if (strcmp(h->args.v[i], "--folder") == 0) rc = grant_add_libs(g, h->args.v[i + 1], err);
    return rc;
}

static int apply_hook(const struct cdi_hook *h, const struct cdi_rules *rules, struct grant *g,
                      struct err *err)
{
    if (!hook_allowed(rules, h->path)) return replace_hook(h, g, err);
    if (g->hooks.n == GRANT_HOOKS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d hooks", GRANT_HOOKS_MAX);
    struct grant_hook *out = VEC_ADD(&g->hooks);
    *out = (struct grant_hook){.timeout_s = h->timeout_s};
    TEXT_SET(out->stage, str_of(h->stage));
    TEXT_SET(out->path, str_of(h->path));
    for (uint32_t i = 0; i < h->args.n; i++) wire_texts_add(&out->args, str_of(h->args.v[i]));
    for (uint32_t i = 0; i < h->env.n; i++) wire_texts_add(&out->env, str_of(h->env.v[i]));
    return 0;
}

static int apply_gid(const char *digits, struct grant *g, struct err *err)
{
    uint64_t gid;
    if (!str_to_u64(str_of(digits), &gid) || gid >= UINT32_MAX)
        return err_set(err, ERR_INVALID, "\"%.20s\" is no group's number", digits);
    return grant_add_gid(g, (uint32_t)gid, err);
}

int cdi_apply(const struct cdi_edits *e, const struct cdi_rules *rules, struct grant *g,
              struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < e->env.n && rc == 0; i++) rc = grant_add_env(g, e->env.v[i], err);
    for (uint32_t i = 0; i < e->nodes.n && rc == 0; i++)
        rc = apply_node(&e->nodes.v[i], rules, g, err);
    for (uint32_t i = 0; i < e->mounts.n && rc == 0; i++) rc = apply_mount(&e->mounts.v[i], g, err);
    for (uint32_t i = 0; i < e->hooks.n && rc == 0; i++)
        rc = apply_hook(&e->hooks.v[i], rules, g, err);
    for (uint32_t i = 0; i < e->gids.n && rc == 0; i++) rc = apply_gid(e->gids.v[i], g, err);
    const struct cdi_rdt *r = &e->rdt;
    if (rc == 0 && (r->clos[0] || r->l3[0] || r->mem_bw[0] || r->cmt || r->mbm)) {
        g->rdt = (struct grant_rdt){.set = true, .cmt = r->cmt, .mbm = r->mbm};
        TEXT_SET(g->rdt.clos, str_of(r->clos));
        TEXT_SET(g->rdt.l3, str_of(r->l3));
        TEXT_SET(g->rdt.mem_bw, str_of(r->mem_bw));
    }
    return rc;
}
