/* agent/gpu/grant.c - see grant.h. */
#include "agent/gpu/grant.h"
#include <string.h>
#include "base/str.h"

void grant_done(struct grant *g)
{
    VEC_EACH(h, &g->hooks) {
        wire_texts_free(&h->args);
        wire_texts_free(&h->env);
    }
    VEC_DONE(&g->nodes);
    VEC_DONE(&g->mounts);
    VEC_DONE(&g->hooks);
    VEC_DONE(&g->gids);
    wire_texts_free(&g->env);
    *g = (struct grant){0};
}

bool grant_path_sane(const char *path)
{
    struct str rest = str_of(path), part;
    if (path[0] != '/' || rest.n >= GRANT_PATH || rest.n < 2) return false;
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f) return false;
    rest = str_n(path + 1, rest.n - 1);
    for (bool more = true; more;) {
        more = str_cut(&rest, '/', &part);
        if (part.n == 0 || str_eq(part, STR(".")) || str_eq(part, STR(".."))) return false;
    }
    return true;
}

/* What nobody may put something over: the kernel's own, and ours. */
static bool below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == 0 || path[n] == '/');
}

static bool place_taken(const char *to)
{
    static const char *const ours[] = {"/proc", "/sys", "/run/rota-init", "/dev/pts", "/dev/shm",
                                       "/dev/mqueue"};
    static const char *const whole[] = {"/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64",
                                        "/run", "/tmp", "/home", "/var"};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (below(to, ours[i])) return true;
    for (size_t i = 0; i < ARRAY_LEN(whole); i++)
        if (strcmp(to, whole[i]) == 0) return true;
    return false;
}

static bool access_sane(const char *access)
{
    size_t n = strspn(access, "rwm");
    if (n == 0 || access[n] != 0) return false;
    for (size_t i = 0; i < n; i++)
        if (strchr(access + i + 1, access[i])) return false;
    return true;
}

int grant_add_node(struct grant *g, const struct grant_node *n, struct err *err)
{
    if (!grant_path_sane(n->path) || !grant_path_sane(n->host) || !below(n->path, "/dev") ||
        place_taken(n->path))
        return err_set(err, ERR_INVALID, "\"%.80s\" is no path of a device: expected one "
                       "below /dev", n->path);
    if (!access_sane(n->access))
        return err_set(err, ERR_INVALID, "%.80s: expected permissions of r, w, m, got \"%s\"",
                       n->path, n->access);
    VEC_EACH(have, &g->nodes) {
        if (strcmp(have->path, n->path) != 0) continue;
        if (have->block == n->block && have->major == n->major && have->minor == n->minor) return 0;
        return err_set(err, ERR_CONFLICT, "%.80s is two devices: %u:%u and %u:%u", n->path,
                       have->major, have->minor, n->major, n->minor);
    }
    if (g->nodes.n == GRANT_NODES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d devices for one container", GRANT_NODES_MAX);
    VEC_PUSH(&g->nodes, *n);
    return 0;
}

int grant_add_mount(struct grant *g, const struct grant_mount *m, struct err *err)
{
    if (!grant_path_sane(m->from) || !grant_path_sane(m->to))
        return err_set(err, ERR_INVALID, "mount of \"%.80s\" on \"%.80s\": expected absolute paths "
                       "without \"..\"", m->from, m->to);
    if (place_taken(m->to))
        return err_set(err, ERR_DENIED, "nothing may be mounted on %.80s", m->to);
    VEC_EACH(have, &g->mounts) {
        if (strcmp(have->to, m->to) != 0) continue;
        *have = *m;
        return 0;
    }
    if (g->mounts.n == GRANT_MOUNTS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d mounts for one container", GRANT_MOUNTS_MAX);
    VEC_PUSH(&g->mounts, *m);
    return 0;
}

static bool name_sane(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return name.n > 0;
}

int grant_add_env(struct grant *g, const char *pair, struct err *err)
{
    struct str rest = str_of(pair), name;
    if (!str_cut(&rest, '=', &name) || !name_sane(name))
        return err_set(err, ERR_INVALID, "expected NAME=value, got \"%.60s\"", pair);
    for (uint32_t i = 0; i < g->env.n; i++) {
        if (strncmp(g->env.v[i], pair, name.n + 1) != 0) continue;
        mem_free(g->env.v[i]);
        g->env.v[i] = mem_strndup(pair, strlen(pair));
        return 0;
    }
    if (g->env.n == 256) return err_set(err, ERR_LIMIT, "more than 256 variables");
    wire_texts_add(&g->env, str_of(pair));
    return 0;
}

int grant_add_gid(struct grant *g, uint32_t gid, struct err *err)
{
    if (gid == 0)
        return err_set(err, ERR_DENIED, "no container gets the group of this machine's root");
    VEC_EACH(have, &g->gids)
        if (*have == gid) return 0;
    if (g->gids.n == GRANT_GIDS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d additional groups", GRANT_GIDS_MAX);
    VEC_PUSH(&g->gids, gid);
    return 0;
}

int grant_add_libs(struct grant *g, const char *dir, struct err *err)
{
    struct str rest = str_of(g->libs), one;
    if (!grant_path_sane(dir) || strchr(dir, ':'))
        return err_set(err, ERR_INVALID, "\"%.80s\" is no directory of libraries", dir);
    for (bool more = g->libs[0] != 0; more;) {
        more = str_cut(&rest, ':', &one);
        if (str_eq(one, str_of(dir))) return 0;
    }
    size_t n = strlen(g->libs);
    if (n + strlen(dir) + 2 > sizeof(g->libs))
        return err_set(err, ERR_LIMIT, "too many directories of libraries");
    text_fmt(g->libs + n, sizeof(g->libs) - n, "%s%s", n ? ":" : "", dir);
    return 0;
}
