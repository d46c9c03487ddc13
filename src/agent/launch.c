/* agent/launch.c - see launch.h.
 *
 * Order of the environment: what Rota gives and people may change (PATH, HOME),
 * the session's own, then what nobody may change (ROTA_*).  Each name once. */
#include "agent/launch.h"
#include "agent/launch_gang.h"
#include "base/check.h"
#include "base/fmt.h"
#include "wire/shim.h"

#define SHM_PER_GPU (8 * FMT_GIB)
#define PIDS_MAX 8192
#define CPU_MIN 10 /* milli-cores: the kernel's smallest quota */
#define MEM_MIN (16 * FMT_MIB)

static const char *const no_command[] = {NULL};

static const struct { const char *name, *value; } defaults[] = {
    {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    {"HOME", "/tmp"}, /* the one writable place that every image has */
    {"LANG", "C.UTF-8"},
};

const struct role_spec *launch_role(const struct session_spec *s, uint32_t member)
{
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (member < s->roles[i].count) return &s->roles[i];
        member -= s->roles[i].count;
    }
    return NULL;
}

static uint32_t mask_of(const struct sync_body *b, uint32_t member)
{
    VEC_EACH(d, &b->devices) {
        if (d->member == member) return d->mask;
    }
    return 0;
}

uint32_t launch_members(const struct session_spec *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_roles; i++) n += s->roles[i].count;
    return n;
}

/* A name is almost a host name already: dots and underscores are not. */
void launch_host_name(const struct body *b, uint32_t member, char ret[64])
{
    char base[56];
    uint32_t members = launch_members(&b->spec);
    if (b->spec.name[0] != '\0') text_clip(base, sizeof(base), str_of(b->spec.name));
    else text_fmt(base, sizeof(base), "s%llu", (unsigned long long)b->sync.session);
    for (char *p = base; *p != '\0'; p++) {
        if (*p == '.' || *p == '_') *p = '-';
    }
    if (members > 1) text_fmt(ret, 64, "%s-%u", base, member);
    else text_fmt(ret, 64, "%s", base);
}

void launch_env(struct wire_texts *env, const char *name, const char *value)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, SPEC_COMMAND_BYTES * 4);
    strbuf_puts(&b, name);
    strbuf_putc(&b, '=');
    strbuf_puts(&b, value);
    wire_texts_add(env, strbuf_str(&b));
}

static void env_num(struct wire_texts *env, const char *name, uint64_t v)
{
    char text[24];
    text_fmt(text, sizeof(text), "%llu", (unsigned long long)v);
    launch_env(env, name, text);
}

static void env_gpus(struct wire_texts *env, uint32_t mask)
{
    char text[128] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < NODE_DEVICES_MAX; i++) {
        if ((mask & (UINT32_C(1) << i)) == 0) continue;
        n += (size_t)text_fmt(text + n, sizeof(text) - n, n > 0 ? ",%u" : "%u", i);
    }
    launch_env(env, "ROTA_GPUS", text);
}

/* Names that the session may not set: a job must be able to trust them. */
static bool reserved(const char *name)
{
    return str_starts(str_of(name), STR("ROTA_")) || strcmp(name, "NVIDIA_VISIBLE_DEVICES") == 0;
}

/* As launch_env, unless the session sets the name itself. */
void launch_offer(struct wire_texts *env, const struct body *b, const char *name,
                      const char *value)
{
    if (wire_map_get(&b->spec.env, str_of(name)) == NULL) launch_env(env, name, value);
}

/* As the manager shows it: a task of an array has its index behind its name. */
static void name_of(const struct body *b, const char *id, char ret[SESSION_NAME_MAX + 16])
{
    if (b->spec.name[0] == '\0') text_fmt(ret, SESSION_NAME_MAX + 16, "%s", id);
    else if (!b->sync.array) text_fmt(ret, SESSION_NAME_MAX + 16, "%s", b->spec.name);
    else text_fmt(ret, SESSION_NAME_MAX + 16, "%s-%u", b->spec.name, b->sync.array_index);
}

static void env_make(const struct body *b, struct member_ref ref, struct launch *o)
{
    char id[24], name[SESSION_NAME_MAX + 16];
    struct wire_texts *env = &o->env;

    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        launch_offer(env, b, defaults[i].name, defaults[i].value);
    }
    launch_offer(env, b, "USER", b->sync.owner);
    if (b->spec.tty) launch_offer(env, b, "TERM", "xterm-256color");
    o->spec.env_defaults = env->n;
    for (uint32_t i = 0; i < b->spec.env.n; i++) {
        if (!reserved(b->spec.env.v[i].name)) {
            launch_env(env, b->spec.env.v[i].name, b->spec.env.v[i].value);
        }
    }
    session_id_format(ref.session, id);
    launch_env(env, "ROTA_SESSION", id);
    name_of(b, id, name);
    launch_env(env, "ROTA_SESSION_NAME", name);
    env_num(env, "ROTA_ATTEMPT", ref.attempt);
    env_num(env, "ROTA_RESTART_COUNT", b->sync.restarts);
    launch_env(env, "ROTA_PREEMPT_DEADLINE", "/dev/" SHIM_PREEMPT_NAME);
    if (b->sync.array) {
        session_id_format(b->sync.array, id);
        launch_env(env, "ROTA_ARRAY", id);
        env_num(env, "ROTA_ARRAY_INDEX", b->sync.array_index);
        env_num(env, "ROTA_ARRAY_COUNT", b->sync.array_count);
    }
    launch_gang_env(b, ref.member, o);
    env_gpus(env, mask_of(&b->sync, ref.member));
    /* Whatever an image says: it grants nothing. */
    launch_env(env, "NVIDIA_VISIBLE_DEVICES", "void");
}

int launch_make(const struct body *b, struct member_ref ref, const char *incarnation,
               struct launch *ret, struct err *err)
{
    const struct role_spec *role = launch_role(&b->spec, ref.member);
    CHECK(ref.attempt > 0);
    if (role == NULL) return err_set(err, ERR_INVALID, "the session has no member %u", ref.member);
    const struct wire_texts *argv = role->command.n > 0 ? &role->command : &b->spec.command;
    /* Another image may have a command of its own. */
    if (argv->n == 0 && strcmp(b->spec.image, "host") == 0)
        return err_set(err, ERR_INVALID, "no command");

    memset(ret, 0, sizeof(*ret));
    int rc = launch_gang_wire(b, ref, incarnation, ret, err);
    if (rc < 0) {
        launch_done(ret);
        return rc;
    }
    env_make(b, ref, ret);
    launch_host_name(b, ref.member, ret->hostname);
    struct container_spec *c = &ret->spec;
    c->ref = ref;
    TEXT_CLIP(c->incarnation, str_of(incarnation));
    c->image = b->spec.image;
    c->argv = argv->n > 0 ? (const char *const *)argv->v : no_command;
    c->envp = (const char *const *)ret->env.v;
    bool host = strcmp(b->spec.image, "host") == 0;
    c->workdir = b->spec.workdir != NULL ? b->spec.workdir : host ? "/tmp" : NULL;
    c->hostname = ret->hostname;
    c->wiring = &ret->wiring;
    c->hosts = ret->hosts.n > 0 ? ret->hosts.p : NULL;
    c->hostfile = ret->hostfile.n > 0 ? ret->hostfile.p : NULL;
    /* Never as the host's root. */
    c->uid = b->sync.uid == 0 ? LAUNCH_NOBODY : b->sync.uid;
    c->gid = b->sync.gid == 0 ? LAUNCH_NOBODY : b->sync.gid;
    /* Nothing asked is little, not everything. */
    c->cpu_milli = role->cpu_milli > CPU_MIN ? role->cpu_milli : CPU_MIN;
    c->mem_bytes = role->mem_bytes > MEM_MIN ? role->mem_bytes : MEM_MIN;
    c->pids_max = PIDS_MAX;
    int64_t shm = role->gpu > 1 ? role->gpu * SHM_PER_GPU : SHM_PER_GPU;
    c->shm_bytes = c->mem_bytes / 2 < shm ? c->mem_bytes / 2 : shm;
    c->disk_bytes = b->spec.disk_bytes;
    c->limit_ms = b->sync.time_limit_ms;
    c->grace_ms = b->sync.grace_ms;
    c->fence_ms = b->sync.fence_ms;
    c->stdin_open = b->spec.stdin_open;
    c->tty = b->spec.tty;
    c->claim = (struct claim){role->cpu_milli, role->mem_bytes, mask_of(&b->sync, ref.member)};
    ret->ask = (struct inject_ask){.devices = c->claim.devices, .rdma = b->spec.rdma,
                                   .gds = b->spec.gds, .imex = b->spec.imex, .image = c->image,
                                   .cpu_milli = c->cpu_milli, .mem_bytes = c->mem_bytes};
    return 0;
}

/* Sets or replaces one "NAME=value". */
static void env_set(struct wire_texts *env, const char *pair)
{
    size_t n = strcspn(pair, "=") + 1;
    for (uint32_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], pair, n) != 0) continue;
        mem_free(env->v[i]);
        env->v[i] = mem_strndup(pair, strlen(pair));
        return;
    }
    wire_texts_add(env, str_of(pair));
}

/* Behind those that the session names: what it brings itself comes first. */
static void env_libs(struct wire_texts *env, const char *libs)
{
    static const char name[] = "LD_LIBRARY_PATH=";
    const char *have = "";
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, SPEC_COMMAND_BYTES * 4);
    if (libs[0] == '\0') return;
    for (uint32_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], name, strlen(name)) == 0) have = env->v[i] + strlen(name);
    }
    strbuf_fmt(&b, "%s%s%s%s", name, have, have[0] != '\0' ? ":" : "", libs);
    env_set(env, b.p);
}

void launch_grant(struct launch *o, const struct grant *grant)
{
    for (uint32_t i = 0; i < grant->env.n; i++) {
        char name[64];
        text_clip(name, sizeof(name), str_n(grant->env.v[i], strcspn(grant->env.v[i], "=")));
        if (!reserved(name)) env_set(&o->env, grant->env.v[i]);
    }
    env_libs(&o->env, grant->libs);
    o->spec.envp = (const char *const *)o->env.v;
    o->spec.grant = grant;
}

void launch_done(struct launch *o)
{
    wire_texts_free(&o->env);
    wiring_done(&o->wiring);
    strbuf_done(&o->hosts);
    strbuf_done(&o->hostfile);
}
