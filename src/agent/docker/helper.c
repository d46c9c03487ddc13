/* agent/docker/helper.c - `rotad engine`: creates a container, tells its state.
 * docs/spec/node.md, "Engines" */
#include "agent/docker/helper.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/cgroup.h"
#include "agent/claim.h"
#include "agent/docker/api.h"
#include "agent/docker/load.h"
#include "agent/docker/spec.h"
#include "agent/rootfs.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "host/file.h"
#include "host/memo.h"

#define TEXT_MAX (1024 * 1024)
#define FAILED 125
#define STATE_US 10000000

/* ---- the image ---- */

static int find_probe(const struct helper_opts *o, char ret_id[DOCKER_ID], struct err *err)
{
    int rc = docker_image(o->socket, DOCKER_PROBE_TAG, ret_id, err);
    if (rc != ERR_NOT_FOUND) return rc;
    rc = docker_image_empty(o->socket, "rota/probe", "latest", err);
    return rc < 0 ? rc : docker_image(o->socket, DOCKER_PROBE_TAG, ret_id, err);
}

static int find_image(const struct helper_opts *o, char ret_id[DOCKER_ID], struct err *err)
{
    char image[DOCKER_IMAGE_MAX * 2];
    enum docker_source from;
    const char *ref;
    size_t n = 0;
    int rc = file_read(AT_FDCWD, "image", image, sizeof(image), &n, err);
    if (rc == 0 && strcmp(image, DOCKER_PROBE) == 0) return find_probe(o, ret_id, err);
    if (rc == 0) rc = docker_source_of(image, &from, &ref, err);
    if (rc < 0) return rc;
    if (from == DOCKER_FROM_LAYOUT) {
        struct load_image l;
        rc = load_open(ref, &l, err);
        if (rc < 0) return rc;
        rc = load_send(o->socket, &l, ret_id, err);
        load_done(&l);
        return rc;
    }
    rc = docker_image(o->socket, ref, ret_id, err);
    if (rc != ERR_NOT_FOUND) return rc;
    rc = docker_pull(o->socket, ref, err);
    if (rc == 0) rc = docker_image(o->socket, ref, ret_id, err);
    if (rc < 0) err_prefix(err, "cannot fetch %.100s", ref);
    return rc;
}

/* ---- the groups ---- */

/* "cpu,cpuacct" and "cpuacct,cpu" are one hierarchy. */
static const struct cgroup_at *mount_of(const struct cgroup_host *h, struct str controllers)
{
    struct str first;
    bool named = str_starts(controllers, STR("name="));
    str_cut(&controllers, ',', &first);
    for (uint32_t i = 0; i < h->parent.n; i++) {
        struct cgroup_set one = {.version = h->parent.version, .n = 1, .at = {h->parent.at[i]}};
        char text[32];
        if (!TEXT_SET(text, first)) continue;
        if (h->parent.version == CGROUP_V2 || (!named && cgroup_dir(&one, text)))
            return &h->parent.at[i];
    }
    return NULL;
}

int helper_groups(const char *mountinfo, const char *membership, const char *id,
                  struct cgroup_set *ret, struct err *err)
{
    struct cgroup_host h;
    int rc = cgroup_host_parse(mountinfo, "", "x", &h, err);
    if (rc < 0) return rc;
    struct str rest = str_of(membership), line, number, controllers;
    *ret = (struct cgroup_set){.version = h.parent.version};
    while (str_cut(&rest, '\n', &line)) {
        if (!str_cut(&line, ':', &number) || !str_cut(&line, ':', &controllers)) continue;
        bool v2 = controllers.n == 0;
        if (v2 != (h.parent.version == CGROUP_V2)) continue;
        /* Only what is this container's alone may ever be killed. */
        if (!memmem(line.p, line.n, id, strlen(id)) || memmem(line.p, line.n, "..", 2)) continue;
        const struct cgroup_at *at = mount_of(&h, controllers);
        const char *end = at ? strstr(at->dir, "/rota/x") : NULL;
        if (!end || ret->n == CGROUP_MAX) continue;
        struct cgroup_at *mine = &ret->at[ret->n];
        *mine = *at;
        int n = text_fmt(mine->dir, sizeof(mine->dir), "%.*s%.*s", (int)(end - at->dir), at->dir,
                         (int)line.n, line.p);
        if (n < (int)sizeof(mine->dir) - 1) ret->n++;
    }
    if (ret->n == 0)
        return err_set(err, ERR_UNSUPPORTED, "the container has no control groups of its own");
    return 0;
}

static int note_groups(int64_t pid, const char *id, struct err *err)
{
    AUTO_FREE char *mounts = mem_alloc(TEXT_MAX);
    AUTO_FREE struct memo_conf *conf = mem_alloc(sizeof(*conf));
    char path[64], own[16384];
    size_t n = 0;
    AUTO_FD int dir = file_open_dir(AT_FDCWD, ".", err);
    if (dir < 0) return dir;
    text_fmt(path, sizeof(path), "/proc/%lld/cgroup", (long long)pid);
    int rc = file_read(AT_FDCWD, "/proc/self/mountinfo", mounts, TEXT_MAX, &n, err);
    if (rc == 0) rc = file_read(AT_FDCWD, path, own, sizeof(own), &n, err);
    if (rc == 0) rc = memo_read_conf(dir, conf, err);
    if (rc == 0) rc = helper_groups(mounts, own, id, &conf->cgroups, err);
    return rc < 0 ? rc : memo_write_conf(dir, conf, err);
}

/* ---- create ---- */

/* A name that is taken is what an earlier attempt to create this very one has left: it
 * carries the agent's mark and never ran. */
static int make(const struct helper_opts *o, struct str spec, struct err *err)
{
    int rc = docker_create(o->socket, o->name, spec, err);
    if (rc != ERR_CONFLICT) return rc;
    rc = docker_remove(o->socket, o->name, err);
    return rc < 0 ? rc : docker_create(o->socket, o->name, spec, err);
}

/* Where the job begins and where its home is: its user's, as with every driver. */
static int make_places(const struct helper_opts *o, struct err *err)
{
    struct container_claim claim;
    const char **envp = NULL, *home = NULL;
    AUTO_FD int dir = file_open_dir(AT_FDCWD, ".", err);
    int rc = dir < 0 ? dir : claim_read(dir, &claim, err);
    if (rc == 0) rc = claim_read_env(dir, &envp, err);
    if (rc < 0) return rc;
    for (size_t i = 0; envp[i]; i++)
        if (strncmp(envp[i], "HOME=/", 6) == 0) home = envp[i] + 5;
    const char *const places[] = {claim.workdir, home};
    for (size_t i = 0; i < ARRAY_LEN(places) && rc == 0; i++)
        if (places[i] && rootfs_own_path(places[i])) /* the engine makes it as root */
            rc = docker_mkdir(o->socket, o->name, places[i], (uint32_t)claim.uid,
                              (uint32_t)claim.gid, err);
    claim_free_env(envp);
    return rc;
}

static int begin(const struct helper_opts *o, struct docker_state *st, struct err *err)
{
    int rc = docker_start(o->socket, o->name, err);
    if (rc == 0) rc = docker_inspect(o->socket, o->name, st, err);
    if (rc < 0) return rc;
    if (st->running && st->pid > 1) return 0;
    return err_set(err, ERR_IO, "the container ended at once with %lld%s%.150s",
                   (long long)st->exit_code, st->error[0] ? ": " : "", st->error);
}

static int create(const struct helper_opts *o, struct err *err)
{
    AUTO_STRBUF struct strbuf spec;
    AUTO_FREE char *text = mem_alloc(DOCKER_SPEC_MAX);
    char image[DOCKER_ID] = "", pid[32];
    struct docker_state st = {0};
    size_t n = 0;
    strbuf_init(&spec, DOCKER_SPEC_MAX + 512);
    int rc = file_read(AT_FDCWD, "bundle/config.json", text, DOCKER_SPEC_MAX, &n, err);
    if (rc == 0) rc = find_image(o, image, err);
    if (rc < 0) return rc;
    file_write(AT_FDCWD, "image-id", image, strlen(image), FILE_ORDERED, NULL);
    docker_spec_with_image(str_n(text, n), image, &spec);
    rc = make(o, strbuf_str(&spec), err);
    if (rc < 0) return rc;
    rc = make_places(o, err);
    if (rc == 0) rc = begin(o, &st, err);
    if (rc == 0) rc = note_groups(st.pid, st.id, err);
    int len = text_fmt(pid, sizeof(pid), "%lld", (long long)st.pid);
    if (rc == 0) rc = file_write(AT_FDCWD, "pid", pid, (size_t)len, FILE_ORDERED, err);
    if (rc < 0) docker_remove(o->socket, o->name, NULL); /* the agent proves it anyway */
    return rc;
}

/* ---- state ---- */

static int state(const struct helper_opts *o, struct err *err)
{
    struct docker_state st;
    char text[64];
    int64_t until = proc_mono_us() + STATE_US;
    int rc = docker_inspect(o->socket, o->name, &st, err);
    /* The engine may notice the end later than we do, or be about to come back. */
    while ((rc == ERR_UNAVAILABLE || (rc == 0 && st.running)) && proc_mono_us() < until) {
        usleep(100000);
        rc = docker_inspect(o->socket, o->name, &st, err);
    }
    if (rc < 0) return rc;
    if (st.running) return err_set(err, ERR_CONFLICT, "it runs");
    int n = text_fmt(text, sizeof(text), "%lld %s", (long long)st.exit_code,
                     st.oom_killed ? "oom" : "-");
    return file_write(AT_FDCWD, "state", text, (size_t)n, FILE_ORDERED, err);
}

/* ---- the command ---- */

static bool take_option(struct helper_opts *o, const char *arg)
{
    const struct { const char *prefix; const char **to; } known[] = {
        {"--socket=", &o->socket},       {"--log=", &o->log},
        {"--process=", &o->process},     {"--pid-file=", &o->pid_file},
        {"--console-socket=", &o->console},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        size_t n = strlen(known[i].prefix);
        if (strncmp(arg, known[i].prefix, n) != 0) continue;
        *known[i].to = arg + n;
        return true;
    }
    return false;
}

static void complain(const struct helper_opts *o, const struct err *err)
{
    int fd = o->log ? open(o->log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : 2;
    if (fd >= 0) dprintf(fd, "%s\n", err->text);
}

int helper_main(int argc, char **argv)
{
    struct helper_opts o = {0};
    struct err err = {0};
    const char *verb = NULL;
    int code = 0, rc;
    signal(SIGPIPE, SIG_IGN);
    umask(077);
    for (int i = 1; i < argc; i++) {
        if (take_option(&o, argv[i])) continue;
        if (!verb) verb = argv[i];
        else o.name = argv[i];
    }
    if (!verb || !o.socket || !o.name) {
        fputs("rotad engine belongs to the supervisors of the docker driver.\n", stderr);
        return 2;
    }
    if (strcmp(verb, "create") == 0) rc = create(&o, &err);
    else if (strcmp(verb, "state") == 0) rc = state(&o, &err);
    else if (strcmp(verb, "exec") == 0) rc = helper_exec(&o, &code, &err);
    else rc = err_set(&err, ERR_INVALID, "there is no '%s'", verb);
    if (rc == 0) return code;
    complain(&o, &err);
    return FAILED;
}
