/* agent/docker/host.c - the engine of this node, as the docker driver knows it.
 * docs/spec/node.md, "Engines" */
#include "agent/docker/host.h"
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "agent/claim.h"
#include "agent/docker/spec.h"
#include "agent/gpu/grant.h"
#include "base/mem.h"
#include "host/file.h"

#define UNIX_PREFIX "unix://"
#define NOFILE_WANTED 65536
#define NPROC_WANTED 32768 /* of a user on the whole machine; a container has its own limit */

/* An engine cannot grant more than its own limit, and ours is the best guess at it. */
static void take_limits(struct docker_host *h)
{
    struct rlimit r = {0};
    h->nofile = NOFILE_WANTED;
    h->nproc = NPROC_WANTED;
    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_max < h->nofile) h->nofile = r.rlim_max;
    if (getrlimit(RLIMIT_NPROC, &r) < 0 || r.rlim_max < h->nproc) h->nproc = r.rlim_max;
}

/* Who we are is our directory: one that is lost and made again is the same agent. */
static void make_tag(const char *state_dir, char ret[16])
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *p = state_dir; *p; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
    text_fmt(ret, 16, "%08x", hash);
}

int docker_host_open(const struct driver_config *config, struct docker_host **ret, struct err *err)
{
    const char *s = config->docker_socket;
    if (!str_starts(str_of(s), STR(UNIX_PREFIX "/")) || strlen(s) >= 100 + sizeof(UNIX_PREFIX))
        return err_set(err, ERR_INVALID, "--docker-socket: expected unix:///PATH of at most 100 "
                       "bytes, got \"%.100s\"", s);
    struct docker_host *h = mem_alloc(sizeof(*h));
    TEXT_SET(h->socket, str_of(s + sizeof(UNIX_PREFIX) - 1));
    take_limits(h);
    make_tag(config->state_dir, h->tag);
    const char *helper = config->helper_path ? config->helper_path : "";
    if (!helper[0] || !TEXT_SET(h->helper, str_of(helper)) || access(helper, X_OK) < 0) {
        docker_host_free(h);
        return err_set(err, ERR_UNSUPPORTED, "cannot run %s, which talks to the engine", helper);
    }
    *ret = h;
    return 0;
}

int docker_host_files(struct docker_host *h, const struct crun_node *n, struct err *err)
{
    text_fmt(h->filter, sizeof(h->filter), "%s/runtime-seccomp.json", n->state_dir);
    return file_write(AT_FDCWD, h->filter, n->filter_json.p, n->filter_json.n, FILE_ORDERED, err);
}

void docker_host_free(struct docker_host *h) { mem_free(h); }

/* ---- one member ---- */

int docker_check(const struct container_spec *s, struct err *err)
{
    enum docker_source from;
    const char *ref;
    if (s->disk_bytes > 0)
        return err_set(err, ERR_UNSUPPORTED, "a limit for the writable root needs the crun driver: "
                       "with an engine the root is the engine's");
    if (s->grant && (s->grant->hooks.n > 0 || s->grant->rdt.set))
        return err_set(err, ERR_UNSUPPORTED, "its devices need hooks or a cache partition, which "
                       "only the crun driver sets up");
    return docker_source_of(s->image, &from, &ref, err);
}

int docker_config(const struct crun_node *n, enum docker_kind kind, const struct container_spec *s,
                  int dir, struct strbuf *b, struct err *err)
{
    char name[MEMO_NAME], ctl[MEMO_PATH * 2];
    const struct docker_host *h = n->docker;
    struct docker_frame f = {.kind = kind, .shim_path = n->shim,
                             .filter_json = n->filter_json.p, .filter_path = h->filter,
                             .nofile = h->nofile, .nproc = h->nproc, .agent = n->state_dir};
    claim_name(s->ref, name);
    text_fmt(ctl, sizeof(ctl), "%s/containers/%s/ctl", n->state_dir, name);
    int rc = docker_spec(&f, s, ctl, b, err);
    if (rc < 0) return rc;
    return file_write(dir, "image", s->image, strlen(s->image), FILE_ORDERED, err);
}

int docker_bury(const struct crun_node *n, const char *name, struct err *err)
{
    char full[MEMO_NAME];
    struct member_ref ref;
    if (!claim_parse_name(str_of(name), &ref)) return 0; /* no name that we would give */
    docker_name(ref, n->docker->tag, full);
    return docker_remove(n->docker->socket, full, err) < 0 ? ERR_UNAVAILABLE : 0;
}

/* "rota-s17.1.0.TAG" of this agent: the name of its claim. */
static bool claim_of(const struct docker_host *h, const char *name, char ret[MEMO_NAME])
{
    struct member_ref ref;
    char again[MEMO_NAME], inner[MEMO_NAME];
    const char *cut = strrchr(name, '.');
    if (!str_starts(str_of(name), STR("rota-s")) || !cut) return false;
    if (!TEXT_SET(inner, str_n(name + 6, (size_t)(cut - name) - 6))) return false;
    if (!claim_parse_name(str_of(inner), &ref)) return false;
    docker_name(ref, h->tag, again);
    text_clip(ret, MEMO_NAME, str_of(inner));
    return strcmp(name, again) == 0;
}

int docker_sweep(const struct crun_node *n, struct err *err)
{
    const struct docker_host *h = n->docker;
    struct docker_list l;
    char label[MEMO_PATH * 2], claim[MEMO_NAME];
    int removed = 0;
    text_fmt(label, sizeof(label), DOCKER_LABEL_AGENT "=%s", n->state_dir);
    int rc = docker_list(h->socket, label, &l, err);
    if (rc < 0) return rc;
    for (uint32_t i = 0; i < l.items.n; i++) {
        const char *name = l.items.v[i].name;
        if (!claim_of(h, name, claim) || file_exists(n->containers, claim)) continue;
        if (docker_remove(h->socket, name, err) == 0) removed++;
    }
    docker_list_done(&l);
    return removed;
}
