/* agent/docker/spec.c - what an engine is told about one container, as JSON.
 * docs/spec/node.md, "Engines" */
#include "agent/docker/spec.h"
#include <string.h>
#include "agent/bundle.h"
#include "agent/gpu/grant.h"

#define GUEST_CTL "/run/rota" /* the directory of shim/guest.h's socket */

/* A reference becomes part of a URL and of a file's name: no blank, no control byte. */
static bool plain(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 127) return false;
    return true;
}

int docker_source_of(const char *image, enum docker_source *ret, const char **ret_ref,
                     struct err *err)
{
    static const struct { struct str prefix; enum docker_source from; } known[] = {
        {STR("docker://"), DOCKER_FROM_REGISTRY}, {STR("oci:"), DOCKER_FROM_LAYOUT}};
    if (strcmp(image, "host") == 0)
        return err_set(err, ERR_UNSUPPORTED, "image 'host' needs the crun driver: a container "
                       "engine takes images alone, docker://REFERENCE or oci:DIRECTORY");
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        const char *ref = image + known[i].prefix.n;
        if (!str_starts(str_of(image), known[i].prefix)) continue;
        if (!*ref || strlen(ref) >= DOCKER_IMAGE_MAX || !plain(ref)) break;
        if (known[i].from == DOCKER_FROM_LAYOUT && ref[0] != '/')
            return err_set(err, ERR_INVALID, "image '%.100s': the directory is not absolute",
                           image);
        *ret = known[i].from;
        *ret_ref = ref;
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "image '%.100s' is unknown here; an image is "
                   "docker://REFERENCE or oci:DIRECTORY[:TAG]", image);
}

void docker_name(struct member_ref ref, const char *tag, char ret[MEMO_NAME])
{
    text_fmt(ret, MEMO_NAME, "rota-s%llu.%u.%u.%.8s", (unsigned long long)ref.session, ref.attempt,
             ref.member, tag);
}

static void put_text(struct strbuf *b, const char *key, const char *value)
{
    strbuf_fmt(b, ",\"%s\":", key);
    strbuf_json(b, str_of(value));
}

static void put_number(struct strbuf *b, const char *key, int64_t v)
{
    strbuf_fmt(b, ",\"%s\":%lld", key, (long long)v);
}

static void put_items(struct strbuf *b, const char *const *v)
{
    for (size_t i = 0; v[i]; i++) {
        if (b->p[b->n - 1] != '[') strbuf_putc(b, ',');
        strbuf_json(b, str_of(v[i]));
    }
    strbuf_putc(b, ']');
}

static void put_labels(struct strbuf *b, const struct docker_frame *f,
                       const struct container_spec *s)
{
    strbuf_puts(b, ",\"Labels\":{\"" DOCKER_LABEL_AGENT "\":");
    strbuf_json(b, str_of(f->agent));
    put_text(b, "rota.incarnation", s->incarnation);
    strbuf_fmt(b, ",\"rota.session\":\"s%llu\",\"rota.attempt\":\"%u\",\"rota.member\":\"%u\"}",
               (unsigned long long)s->ref.session, s->ref.attempt, s->ref.member);
}

static void put_ulimit(struct strbuf *b, const char *name, uint64_t v, bool first)
{
    strbuf_fmt(b, "%s{\"Name\":\"%s\",\"Soft\":%llu,\"Hard\":%llu}", first ? "" : ",", name,
               (unsigned long long)v, (unsigned long long)v);
}

static void put_security(struct strbuf *b, const struct docker_frame *f)
{
    AUTO_STRBUF struct strbuf filter;
    strbuf_init(&filter, 1024 * 1024);
    strbuf_puts(&filter, "seccomp=");
    strbuf_puts(&filter, f->kind == DOCKER_PODMAN ? f->filter_path : f->filter_json);
    strbuf_puts(b, ",\"Privileged\":false,\"CapDrop\":[\"ALL\"],\"SecurityOpt\":"
                   "[\"no-new-privileges\",");
    strbuf_json(b, strbuf_str(&filter));
    strbuf_putc(b, ']');
}

static void put_mount(struct strbuf *b, const char *from, const char *to, bool writable)
{
    if (b->p[b->n - 1] != '[') strbuf_putc(b, ',');
    strbuf_fmt(b, "{\"Type\":\"bind\",\"ReadOnly\":%s,\"Source\":", writable ? "false" : "true");
    strbuf_json(b, str_of(from));
    put_text(b, "Target", to);
    strbuf_putc(b, '}');
}

/* Devices, and where the container is best run. */
static void put_grant(struct strbuf *b, const struct grant *g)
{
    strbuf_puts(b, ",\"Devices\":[");
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        strbuf_fmt(b, "%s{\"PathOnHost\":", i ? "," : "");
        strbuf_json(b, str_of(g->nodes.v[i].host));
        put_text(b, "PathInContainer", g->nodes.v[i].path);
        put_text(b, "CgroupPermissions", g->nodes.v[i].access);
        strbuf_putc(b, '}');
    }
    strbuf_puts(b, "],\"GroupAdd\":[");
    for (uint32_t i = 0; i < g->gids.n; i++)
        strbuf_fmt(b, "%s\"%u\"", i ? "," : "", g->gids.v[i]);
    strbuf_putc(b, ']');
    if (g->cpus[0]) put_text(b, "CpusetCpus", g->cpus);
    if (g->mems[0]) put_text(b, "CpusetMems", g->mems);
}

static void put_host(struct strbuf *b, const struct docker_frame *f, const struct container_spec *s,
                     const char *ctl)
{
    strbuf_puts(b, ",\"HostConfig\":{\"NetworkMode\":\"none\",\"IpcMode\":\"private\""
                   ",\"CgroupnsMode\":\"private\",\"AutoRemove\":false"
                   ",\"RestartPolicy\":{\"Name\":\"no\"},\"LogConfig\":{\"Type\":\"none\"}");
    put_number(b, "Memory", s->mem_bytes);
    put_number(b, "MemorySwap", s->mem_bytes); /* memory and swap together: none */
    put_number(b, "NanoCpus", s->cpu_milli * 1000000);
    put_number(b, "PidsLimit", s->pids_max);
    put_number(b, "ShmSize", s->shm_bytes ? s->shm_bytes : s->mem_bytes / 2);
    strbuf_puts(b, ",\"Ulimits\":[");
    put_ulimit(b, "nofile", f->nofile, true);
    put_ulimit(b, "nproc", f->nproc, false); /* unset, Podman asks for more than it may give */
    put_ulimit(b, "core", 0, false);
    if (s->grant && s->grant->memlock)
        strbuf_puts(b, ",{\"Name\":\"memlock\",\"Soft\":-1,\"Hard\":-1}");
    strbuf_puts(b, "],\"Mounts\":[");
    put_mount(b, f->shim_path, BUNDLE_INIT, false);
    put_mount(b, ctl, GUEST_CTL, false);
    for (uint32_t i = 0; s->grant && i < s->grant->mounts.n; i++)
        put_mount(b, s->grant->mounts.v[i].from, s->grant->mounts.v[i].to,
                  s->grant->mounts.v[i].writable);
    strbuf_putc(b, ']');
    if (s->grant) put_grant(b, s->grant);
    put_security(b, f);
    strbuf_putc(b, '}');
}

int docker_spec(const struct docker_frame *f, const struct container_spec *s, const char *ctl,
                struct strbuf *b, struct err *err)
{
    static const char *const none[] = {NULL};
    strbuf_puts(b, "{\"Tty\":false,\"OpenStdin\":false,\"AttachStdin\":false"
                   ",\"AttachStdout\":false,\"AttachStderr\":false");
    strbuf_fmt(b, ",\"User\":\"%u:%u\"", s->uid, s->gid);
    put_text(b, "Hostname", s->hostname);
    put_text(b, "WorkingDir", "/"); /* engines differ about a missing one: init goes there */
    strbuf_puts(b, ",\"Entrypoint\":[\"" BUNDLE_INIT "\",\"guest\",");
    strbuf_json(b, str_of(s->workdir ? s->workdir : "/"));
    strbuf_fmt(b, ",\"%lld\"", (long long)s->fence_ms);
    put_items(b, none);
    strbuf_puts(b, ",\"Cmd\":[");
    put_items(b, s->argv);
    strbuf_puts(b, ",\"Env\":[");
    put_items(b, s->envp);
    put_labels(b, f, s);
    put_host(b, f, s, ctl);
    strbuf_putc(b, '}');
    if (b->full) return err_set(err, ERR_LIMIT, "command and environment are too long");
    return 0;
}

void docker_spec_with_image(struct str spec, const char *image, struct strbuf *b)
{
    strbuf_puts(b, "{\"Image\":");
    strbuf_json(b, str_of(image));
    strbuf_putc(b, ',');
    strbuf_put(b, str_n(spec.p + 1, spec.n - 1)); /* behind its brace */
}

int docker_exec_spec(const struct docker_exec_spec *s, struct strbuf *b, struct err *err)
{
    strbuf_fmt(b, "{\"AttachStdin\":true,\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":%s",
               s->tty ? "true" : "false");
    strbuf_fmt(b, ",\"User\":\"%u:%u\"", s->uid, s->gid);
    const char *dir = s->workdir && s->workdir[0] ? s->workdir : "/";
    put_text(b, "WorkingDir", bundle_is_ours(dir) ? dir : "/");
    strbuf_puts(b, ",\"Cmd\":[");
    bundle_command(b, dir, s->argv);
    strbuf_puts(b, ",\"Env\":[");
    put_items(b, s->envp);
    strbuf_putc(b, '}');
    if (b->full) return err_set(err, ERR_LIMIT, "command and environment are too long");
    return 0;
}
