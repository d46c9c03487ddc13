/* agent/bundle.c - the runtime's configuration of one container, as JSON.
 * docs/spec/node.md */
#include "agent/bundle.h"
#include <string.h>
#include "agent/netns/wiring.h"
#include "agent/gpu/grant.h"
#include "base/mem.h"

static const char *const masked_paths[] = {
    "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
    "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
    "/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware",
};
static const char *const read_only_paths[] = {
    "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
};
/* The first is left out of those in the host's network. */
static const char *const namespaces[] = {"network", "pid", "ipc", "uts", "mount", "cgroup"};

static void put_text(struct strbuf *b, const char *c) { strbuf_json(b, str_of(c)); }

static void put_list(struct strbuf *b, const char *const *v, size_t n)
{
    strbuf_putc(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) strbuf_putc(b, ',');
        put_text(b, v[i]);
    }
    strbuf_putc(b, ']');
}

static size_t count(const char *const *v)
{
    size_t n = 0;
    while (v[n]) n++;
    return n;
}

static void put_user(struct strbuf *b, const struct bundle_process *p)
{
    uint32_t n = p->grant ? p->grant->gids.n : 0;
    strbuf_fmt(b, "\"user\":{\"uid\":%u,\"gid\":%u,\"umask\":18", p->uid, p->gid);
    for (uint32_t i = 0; i < n; i++)
        strbuf_fmt(b, "%s%u", i ? "," : ",\"additionalGids\":[", p->grant->gids.v[i]);
    strbuf_puts(b, n > 0 ? "]}" : "}");
}

bool bundle_is_ours(const char *dir) { return strcmp(dir, "/") == 0 || strcmp(dir, "/tmp") == 0; }

void bundle_command(struct strbuf *b, const char *workdir, const char *const *argv)
{
    const char *const into[] = {BUNDLE_INIT, "into", workdir, "--"};
    bool go = workdir && !bundle_is_ours(workdir);
    for (size_t i = 0; go && i < ARRAY_LEN(into); i++) {
        if (b->p[b->n - 1] != '[') strbuf_putc(b, ',');
        put_text(b, into[i]);
    }
    for (size_t i = 0; argv[i]; i++) {
        if (b->p[b->n - 1] != '[') strbuf_putc(b, ',');
        put_text(b, argv[i]);
    }
    strbuf_putc(b, ']');
}

/* Everything of a process but its arguments. */
static void put_process(struct strbuf *b, const struct bundle_host *h,
                        const struct bundle_process *p)
{
    strbuf_fmt(b, "\"terminal\":%s,", p->tty ? "true" : "false");
    put_user(b, p);
    strbuf_puts(b, ",\"env\":");
    put_list(b, p->envp, count(p->envp));
    strbuf_puts(b, ",\"cwd\":");
    put_text(b, p->workdir && bundle_is_ours(p->workdir) ? p->workdir : "/");
    strbuf_puts(b, ",\"capabilities\":{\"bounding\":[],\"effective\":[],\"inheritable\":[],"
                   "\"permitted\":[],\"ambient\":[]},\"noNewPrivileges\":true");
    strbuf_fmt(b, ",\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"hard\":%llu,\"soft\":%llu}"
                  ",{\"type\":\"RLIMIT_CORE\",\"hard\":0,\"soft\":0}",
               (unsigned long long)h->nofile, (unsigned long long)h->nofile);
    if (p->grant && p->grant->memlock)
        strbuf_fmt(b, ",{\"type\":\"RLIMIT_MEMLOCK\",\"hard\":%llu,\"soft\":%llu}",
                   (unsigned long long)h->memlock, (unsigned long long)h->memlock);
    strbuf_putc(b, ']');
}

/* `options` is JSON already.  The first mount comes right behind the bracket. */
static void put_mount(struct strbuf *b, const char *to, const char *type, const char *from,
                      const char *options)
{
    if (b->n && b->p[b->n - 1] != '[') strbuf_putc(b, ',');
    strbuf_puts(b, "{\"destination\":");
    put_text(b, to);
    strbuf_fmt(b, ",\"type\":\"%s\",\"source\":", type);
    put_text(b, from);
    strbuf_fmt(b, ",\"options\":[%s]}", options);
}

static void put_granted(struct strbuf *b, const struct grant *g)
{
    char options[96];
    VEC_EACH(m, &g->mounts) {
        text_fmt(options, sizeof(options), "\"%s\",\"%s\",\"nosuid\",\"nodev\"%s",
                 m->deep ? "rbind" : "bind", m->writable ? "rw" : "ro",
                 m->noexec ? ",\"noexec\"" : "");
        put_mount(b, m->to, "bind", m->from, options);
    }
}

static void put_mounts(struct strbuf *b, const struct bundle_host *h,
                       const struct container_spec *spec)
{
    char shm[128];
    text_fmt(shm, sizeof(shm), "\"nosuid\",\"nodev\",\"mode=1777\",\"size=%lld\"",
             (long long)spec->shm_bytes);
    strbuf_puts(b, ",\"mounts\":[");
    put_mount(b, "/proc", "proc", "proc", "\"nosuid\",\"noexec\",\"nodev\"");
    put_mount(b, "/dev", "tmpfs", "tmpfs",
              "\"nosuid\",\"noexec\",\"strictatime\",\"mode=755\",\"size=1m\"");
    put_mount(b, "/dev/pts", "devpts", "devpts",
              "\"nosuid\",\"noexec\",\"newinstance\",\"ptmxmode=0666\",\"mode=0620\",\"gid=5\"");
    put_mount(b, "/dev/shm", "tmpfs", "shm", shm);
    put_mount(b, "/dev/mqueue", "mqueue", "mqueue", "\"nosuid\",\"noexec\",\"nodev\"");
    put_mount(b, "/sys", "sysfs", "sysfs", "\"nosuid\",\"noexec\",\"nodev\",\"ro\"");
    bool host = strcmp(spec->image, "host") == 0; /* of which submounts show, too */
    for (uint32_t i = 0; host && i < h->rootfs->binds.n; i++)
        put_mount(b, h->rootfs->binds.v[i].path, "bind", h->rootfs->binds.v[i].path,
                  "\"bind\",\"ro\",\"nosuid\",\"nodev\"");
    put_mount(b, BUNDLE_INIT, "bind", h->shim_path, "\"bind\",\"ro\",\"nosuid\",\"nodev\"");
    if (spec->grant) put_granted(b, spec->grant);
    strbuf_putc(b, ']');
}

static void put_devices(struct strbuf *b, const struct grant *g)
{
    strbuf_puts(b, ",\"devices\":[");
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const struct grant_node *n = &g->nodes.v[i];
        strbuf_puts(b, i ? ",{\"path\":" : "{\"path\":");
        put_text(b, n->path);
        strbuf_fmt(b, ",\"type\":\"%s\",\"major\":%u,\"minor\":%u,\"fileMode\":%u,\"uid\":%u,"
                      "\"gid\":%u}", n->block ? "b" : "c", n->major, n->minor, n->mode, n->uid,
                   n->gid);
    }
    strbuf_putc(b, ']');
}

static void put_rdt(struct strbuf *b, const struct grant_rdt *r)
{
    strbuf_fmt(b, ",\"intelRdt\":{\"enableCMT\":%s,\"enableMBM\":%s", r->cmt ? "true" : "false",
               r->mbm ? "true" : "false");
    const struct { const char *key, *value; } texts[] = {
        {"closID", r->clos}, {"l3CacheSchema", r->l3}, {"memBwSchema", r->mem_bw}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!texts[i].value[0]) continue;
        strbuf_fmt(b, ",\"%s\":", texts[i].key);
        put_text(b, texts[i].value);
    }
    strbuf_putc(b, '}');
}

static void put_hook(struct strbuf *b, const struct grant_hook *h)
{
    strbuf_puts(b, "{\"path\":");
    put_text(b, h->path);
    strbuf_puts(b, ",\"args\":");
    put_list(b, (const char *const *)h->args.v, h->args.n);
    strbuf_puts(b, ",\"env\":");
    put_list(b, (const char *const *)h->env.v, h->env.n);
    if (h->timeout_s > 0) strbuf_fmt(b, ",\"timeout\":%d", h->timeout_s);
    strbuf_putc(b, '}');
}

/* By stage, in the order given. */
static void put_hooks(struct strbuf *b, const struct grant *g)
{
    uint32_t stages = 0;
    strbuf_puts(b, ",\"hooks\":{");
    for (uint32_t i = 0; i < g->hooks.n; i++) {
        const char *stage = g->hooks.v[i].stage;
        bool again = false;
        for (uint32_t k = 0; k < i; k++) again = again || !strcmp(g->hooks.v[k].stage, stage);
        if (again) continue;
        if (stages++ > 0) strbuf_putc(b, ',');
        put_text(b, stage);
        strbuf_puts(b, ":[");
        put_hook(b, &g->hooks.v[i]);
        for (uint32_t k = i + 1; k < g->hooks.n; k++) {
            if (strcmp(g->hooks.v[k].stage, stage) != 0) continue;
            strbuf_putc(b, ',');
            put_hook(b, &g->hooks.v[k]);
        }
        strbuf_putc(b, ']');
    }
    strbuf_putc(b, '}');
}

static void put_linux(struct strbuf *b, const struct bundle_host *h,
                      const struct container_spec *spec)
{
    const struct grant *g = spec->grant;
    bool host_network = spec->wiring && spec->wiring->mode == NETWORK_HOST;
    strbuf_puts(b, ",\"linux\":{\"namespaces\":[");
    for (size_t i = host_network; i < ARRAY_LEN(namespaces); i++)
        strbuf_fmt(b, "%s{\"type\":\"%s\"}", i > host_network ? "," : "", namespaces[i]);
    strbuf_puts(b, "],\"maskedPaths\":");
    put_list(b, masked_paths, ARRAY_LEN(masked_paths));
    strbuf_puts(b, ",\"readonlyPaths\":");
    put_list(b, read_only_paths, ARRAY_LEN(read_only_paths));
    if (g && g->nodes.n > 0) put_devices(b, g);
    if (g && g->rdt.set) put_rdt(b, &g->rdt);
    if (!h->filter_base64) {
        strbuf_puts(b, ",\"seccomp\":");
        strbuf_puts(b, h->filter_json);
    }
    strbuf_putc(b, '}');
    if (h->filter_base64)
        strbuf_fmt(b, ",\"annotations\":{\"run.oci.seccomp_bpf_data\":\"%s\"}", h->filter_base64);
}

static int finish(const struct strbuf *b, struct err *err)
{
    if (b->full) return err_set(err, ERR_LIMIT, "command and environment are too long");
    return 0;
}

int bundle_config(const struct bundle_host *h, const struct container_spec *spec,
                  const char *root, struct strbuf *b, struct err *err)
{
    struct bundle_process p = {.uid = spec->uid, .gid = spec->gid, .workdir = spec->workdir,
                               .envp = spec->envp, .tty = spec->tty, .grant = spec->grant};
    strbuf_puts(b, "{\"ociVersion\":\"1.0.2\",\"process\":{");
    put_process(b, h, &p);
    strbuf_fmt(b, ",\"args\":[\"%s\",\"init\"", BUNDLE_INIT);
    if (spec->fence_ms > 0) strbuf_fmt(b, ",\"--fence\",\"%lld\"", (long long)spec->fence_ms);
    strbuf_puts(b, ",\"--\"");
    bundle_command(b, spec->workdir, spec->argv);
    strbuf_puts(b, "},\"root\":{\"path\":");
    put_text(b, root);
    strbuf_puts(b, "},\"hostname\":");
    put_text(b, spec->hostname);
    put_mounts(b, h, spec);
    put_linux(b, h, spec);
    if (spec->grant && spec->grant->hooks.n > 0) put_hooks(b, spec->grant);
    strbuf_putc(b, '}');
    return finish(b, err);
}

int bundle_exec(const struct bundle_host *h, const struct bundle_process *p, struct strbuf *b,
                struct err *err)
{
    strbuf_putc(b, '{');
    put_process(b, h, p);
    strbuf_puts(b, ",\"args\":[");
    bundle_command(b, p->workdir, p->argv);
    strbuf_putc(b, '}');
    return finish(b, err);
}
