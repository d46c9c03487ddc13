/* agent/image/start.c - from a session's wishes and an image's own to one start.
 * docs/spec/node.md, "Images" */
#include "agent/image/start.h"
#include <string.h>

static struct str name_of(const char *pair)
{
    struct str rest = str_of(pair), name;
    str_cut(&rest, '=', &name);
    return name;
}

static bool has_name(const char *const *envp, size_t from, struct str name)
{
    for (size_t i = 0; envp[i]; i++)
        if (i >= from && str_eq(name_of(envp[i]), name)) return true;
    return false;
}

/* As of a session: names that a job must be able to trust, and devices, are not the image's. */
static bool reserved(struct str name)
{
    return name.n == 0 || str_starts(name, STR("ROTA_")) ||
           str_eq(name, STR("NVIDIA_VISIBLE_DEVICES"));
}

static bool image_has(const struct image_run *run, struct str name)
{
    for (uint32_t i = 0; i < run->env.n; i++)
        if (strchr(run->env.v[i], '=') && str_eq(name_of(run->env.v[i]), name)) return true;
    return false;
}

static void merge_env(const struct image_run *run, const struct container_spec *spec,
                      struct wire_texts *ret)
{
    for (size_t i = 0; spec->envp[i]; i++) {
        bool offered = i < spec->env_defaults;
        if (offered && image_has(run, name_of(spec->envp[i]))) continue;
        wire_texts_add(ret, str_of(spec->envp[i]));
    }
    for (uint32_t i = 0; i < run->env.n; i++) {
        const char *pair = run->env.v[i];
        struct str name = name_of(pair);
        bool later = false; /* of a name twice, the last counts */
        for (uint32_t k = i + 1; k < run->env.n; k++)
            later |= str_eq(name_of(run->env.v[k]), name);
        if (!strchr(pair, '=') || later || reserved(name)) continue;
        if (!has_name(spec->envp, spec->env_defaults, name)) wire_texts_add(ret, str_of(pair));
    }
}

int image_start_make(const struct image_run *run, const struct container_spec *spec,
                     struct image_start *ret, struct err *err)
{
    struct image_start s = {0};
    bool own = spec->argv[0] != NULL;
    for (size_t i = 0; own && spec->argv[i]; i++) wire_texts_add(&s.argv, str_of(spec->argv[i]));
    for (uint32_t i = 0; !own && i < run->entrypoint.n; i++)
        wire_texts_add(&s.argv, str_of(run->entrypoint.v[i]));
    for (uint32_t i = 0; !own && i < run->cmd.n; i++)
        wire_texts_add(&s.argv, str_of(run->cmd.v[i]));
    if (s.argv.n == 0 || !s.argv.v[0][0]) {
        wire_texts_free(&s.argv);
        return err_set(err, ERR_INVALID, "neither the session nor its image names a command");
    }
    merge_env(run, spec, &s.env);
    const char *dir = spec->workdir ? spec->workdir : run->workdir;
    TEXT_CLIP(s.workdir, dir[0] == '/' ? str_of(dir) : STR("/"));
    *ret = s;
    return 0;
}

void image_start_done(struct image_start *s)
{
    wire_texts_free(&s->env);
    wire_texts_free(&s->argv);
}

struct container_spec image_start_spec(const struct container_spec *spec,
                                       const struct image_start *s)
{
    static const char *const none[] = {NULL};
    struct container_spec ret = *spec;
    ret.argv = (const char *const *)s->argv.v;
    ret.envp = s->env.n ? (const char *const *)s->env.v : none;
    ret.workdir = s->workdir;
    return ret;
}
