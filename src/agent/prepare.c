/* agent/prepare.c - from a claim to a living supervisor, or back.
 * docs/spec/node.md */
#include "agent/prepare.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "agent/claim.h"
#include "agent/disk.h"
#include "agent/docker/host.h"
#include "agent/docker/spec.h"
#include "agent/gpu/grant.h"
#include "agent/image/ref.h"
#include "agent/image/root.h"
#include "base/mem.h"
#include "host/file.h"

#define MEM_MIN (16 * INT64_C(1048576)) /* the runtime itself works inside the limits */
#define PIDS_MIN 16
#define PREPARE_HOSTS_MAX (128 * 1024)
#define CPU_MIN_MILLI 10

static bool good_path(const char *path)
{
    return !path || (path[0] == '/' && strlen(path) < MEMO_PATH && !strchr(path, '\n'));
}

int prepare_check(const struct crun_node *node, const struct container_spec *s, struct err *err)
{
    struct image_ref image = {0};
    int rc = node->docker ? docker_check(s, err) : image_ref_parse(s->image, &image, err);
    if (rc < 0) return rc;
    if (s->argv[0] ? !s->argv[0][0] : node->docker || image.kind == IMAGE_HOST)
        return err_set(err, ERR_INVALID, "the command is empty");
    if (s->uid == 0 || s->gid == 0)
        return err_set(err, ERR_DENIED, "containers never run as this machine's root");
    if (!s->hostname[0] || strlen(s->hostname) > 64 || strpbrk(s->hostname, " \n"))
        return err_set(err, ERR_INVALID, "'%.70s' is no host name", s->hostname);
    if (!good_path(s->workdir))
        return err_set(err, ERR_INVALID, "working directory '%.100s' is not absolute", s->workdir);
    if (s->cpu_milli < CPU_MIN_MILLI || s->mem_bytes < MEM_MIN || s->pids_max < PIDS_MIN)
        return err_set(err, ERR_INVALID,
                       "a container takes at least 0.01 CPU, 16 MiB of memory, 16 processes");
    if (s->disk_bytes > 0 && s->disk_bytes < DISK_MIN)
        return err_set(err, ERR_INVALID, "a limit of the disk is 16 MiB or more");
    if (s->cpu_milli > INT32_MAX || s->shm_bytes < 0 || s->limit_ms < 0 || s->grace_ms < 0 ||
        s->fence_ms < 0 || s->fence_ms > INT32_MAX)
        return err_set(err, ERR_INVALID, "a limit of the container is out of range");
    return 0;
}

static const char *find_env(const char *const *envp, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; envp[i]; i++)
        if (strncmp(envp[i], name, n) == 0 && envp[i][n] == '=') return envp[i] + n + 1;
    return NULL;
}

static void fill_granted(struct cgroup_limits *l, const struct grant *g)
{
    TEXT_SET(l->cpus, str_of(g->cpus));
    TEXT_SET(l->mems, str_of(g->mems));
    VEC_EACH(n, &g->nodes) {
        struct cgroup_device *d = &l->devices[l->n_devices++];
        *d = (struct cgroup_device){.block = n->block, .major = n->major, .minor = n->minor};
        TEXT_SET(d->access, str_of(n->access));
    }
}
_Static_assert(GRANT_NODES_MAX <= CGROUP_DEVICES, "a rule for each");

static int fill_conf(struct prepare *p, const struct container_spec *s, struct err *err)
{
    const struct crun_node *n = p->node;
    struct memo_conf *c = &p->conf;
    claim_name(s->ref, c->name);
    TEXT_SET(c->crun, str_of(n->crun));
    TEXT_SET(c->crun_root, str_of(n->crun_root));
    TEXT_SET(c->hide, str_of(n->cgroups.hide));
    TEXT_SET(c->lower, STR("/"));
    TEXT_SET(c->home, str_of(n->cgroups.supervisors));
    c->tty = s->tty;
    c->stdin_open = s->stdin_open;
    c->slow = n->slow;
    c->limit_ms = s->limit_ms;
    c->grace_ms = s->grace_ms;
    c->fence_ms = s->fence_ms;
    p->limits = (struct cgroup_limits){.cpu_milli = s->cpu_milli, .mem_bytes = s->mem_bytes,
                                       .pids_max = s->pids_max};
    if (s->grant) fill_granted(&p->limits, s->grant);
    if (!n->docker) return cgroup_of(&n->cgroups, c->name, &c->cgroups, err);
    c->engine = true; /* its groups are the engine's, and known when it is there */
    docker_name(s->ref, n->docker->tag, c->name);
    return 0;
}

static void take_network(struct prepare *p, const struct container_spec *s)
{
    strbuf_init(&p->hosts, PREPARE_HOSTS_MAX);
    strbuf_init(&p->hostfile, PREPARE_HOSTS_MAX);
    if (s->hosts) strbuf_puts(&p->hosts, s->hosts);
    if (s->hostfile) strbuf_puts(&p->hostfile, s->hostfile);
    p->wired = s->wiring != NULL;
    if (s->wiring) wiring_copy(s->wiring, &p->wiring);
}

int prepare_init(struct prepare *p, const struct crun_node *node, const struct container_spec *spec,
                 int dir, struct err *err)
{
    char root[MEMO_PATH * 2];
    struct container_spec s = *spec;
    enum docker_kind kind = node->docker ? (enum docker_kind)node->docker->kind : DOCKER_UNKNOWN;
    *p = (struct prepare){.node = node, .sock = -1, .pidfd = -1, .uid = s.uid, .gid = s.gid};
    strbuf_init(&p->config, BUNDLE_MAX);
    p->disk_bytes = s.disk_bytes >= 0 ? s.disk_bytes : node->disk_bytes;
    if (node->docker) p->disk_bytes = 0; /* its root is the engine's */
    p->conf.disk = p->disk_bytes > 0;
    take_network(p, spec);
    if (s.shm_bytes == 0) s.shm_bytes = s.mem_bytes / 2;
    TEXT_CLIP(p->hostname, str_of(s.hostname));
    TEXT_SET(p->workdir, str_of(s.workdir ? s.workdir : ""));
    const char *home = find_env(s.envp, "HOME");
    if (home && good_path(home)) TEXT_SET(p->home, str_of(home));
    int rc = fill_conf(p, &s, err);
    text_fmt(root, sizeof(root), "%s/containers/%s/m", node->state_dir, p->conf.name);
    if (rc == 0)
        rc = node->docker ? docker_config(node, kind, &s, dir, &p->config, err)
                          : bundle_config(&node->bundle, &s, root, &p->config, err);
    if (rc == 0) rc = claim_write_env(dir, s.envp, err);
    if (rc < 0) prepare_done(p);
    return rc;
}

void prepare_done(struct prepare *p)
{
    strbuf_done(&p->config);
    wire_free(&image_record_table, &p->image);
    strbuf_done(&p->hosts);
    strbuf_done(&p->hostfile);
    wiring_done(&p->wiring);
    file_close(&p->sock);
    file_close(&p->pidfd);
}

/* What the container finds, over the host or over an image. */
static int fill_root(struct prepare *p, int dir, struct err *err)
{
    const struct crun_node *n = p->node;
    struct rootfs_user user = {.uid = p->uid, .gid = p->gid, .hostname = p->hostname,
                               .home = rootfs_own_path(p->home) ? p->home : NULL,
                               .workdir = rootfs_own_path(p->workdir) ? p->workdir : NULL,
                               .hosts = p->hosts.n ? p->hosts.p : NULL,
                               .hostfile = p->hostfile.n ? p->hostfile.p : NULL,
                               .host_network = p->wiring.mode == NETWORK_HOST};
    const struct strbuf *resolv = user.host_network ? &n->rootfs.resolv_own : &n->rootfs.resolv;
    char upper[MEMO_PATH * 2];
    text_fmt(upper, sizeof(upper), "%s/containers/%s/u", n->state_dir, p->conf.name);
    int rc = p->image.layers.n
                 ? image_root_fill(&n->images, &p->image, upper, &user,
                                   strbuf_str(resolv), err)
                 : rootfs_fill(&n->rootfs, upper, &user, err);
    if (rc == 0 && p->disk_bytes > 0) rc = disk_make(dir, p->disk_bytes, err);
    return rc;
}

static int write_engine_files(struct prepare *p, int dir, struct err *err)
{
    int rc = memo_write_conf(dir, &p->conf, err);
    if (rc == 0) rc = file_mkdir(dir, "bundle", 0700, err);
    /* The container sees this one directory of ours, with the supervisor's socket. */
    if (rc == 0) rc = file_mkdir(dir, "ctl", 0755, err);
    if (rc == 0 && fchmodat(dir, "ctl", 0755, 0) < 0)
        rc = err_sys(err, ERR_IO, errno, "cannot set the mode of a directory");
    if (rc < 0) return rc;
    return file_write(dir, "bundle/config.json", p->config.p, p->config.n, FILE_ORDERED, err);
}

static int write_files(struct prepare *p, int dir, struct err *err)
{
    static const char *const dirs[] = {"bundle", "u", "w", "m", "d"};
    int rc = 0;
    if (p->image.layers.n) /* from here on nobody evicts them */
        rc = image_store_link(&p->node->images, &p->image, dir, p->conf.lower,
                              sizeof(p->conf.lower), err);
    if (rc == 0) rc = memo_write_conf(dir, &p->conf, err);
    for (size_t i = 0; i < ARRAY_LEN(dirs) && rc == 0; i++)
        rc = file_mkdir(dir, dirs[i], 0755, err);
    if (rc == 0 && fchmodat(dir, "u", 0755, 0) < 0) /* it becomes the root directory */
        rc = err_sys(err, ERR_IO, errno, "cannot set the mode of the root directory");
    if (rc == 0)
        rc = file_write(dir, "bundle/config.json", p->config.p, p->config.n, FILE_ORDERED, err);
    if (rc == 0 && p->wired) rc = wiring_write(dir, &p->wiring, err);
    if (rc < 0) return rc;
    rc = fill_root(p, dir, err);
    if (rc == 0 && p->probe &&
        (mknodat(dir, "u/tmp/denied", S_IFCHR | 0666, makedev(10, 229)) < 0 ||
         fchmodat(dir, "u/tmp/denied", 0666, 0) < 0))
        rc = err_sys(err, ERR_IO, errno, "cannot make the probe's device");
    return rc;
}

/* The supervisor with its lock and our end of the first connection. */
static int spawn(struct prepare *p, const char *mode, int dir, struct err *err)
{
    int pair[2];
    AUTO_FD int lock = crun_node_lock(dir, err);
    if (lock < 0) return lock;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a socket pair");
    AUTO_FD int theirs = pair[1];
    AUTO_FD int ours = pair[0];
    struct crun_spawn s = {.mode = mode, .dir = dir, .fd3 = theirs, .fd4 = lock};
    p->pidfd = crun_node_spawn(p->node, &s, &p->pid, err);
    if (p->pidfd < 0) return p->pidfd;
    p->sock = ours;
    ours = -1;
    return 0;
}

int prepare_run(struct prepare *p, int dir, struct err *err)
{
    int rc = p->conf.engine ? write_engine_files(p, dir, err) : write_files(p, dir, err);
    if (rc < 0) return rc; /* files go with the directory */
    if (p->conf.engine) return spawn(p, "run", dir, err);
    rc = cgroup_make(&p->conf.cgroups, &p->limits, err);
    if (rc == ERR_NOT_FOUND && cgroup_host_make(&p->node->cgroups, err) == 0)
        rc = cgroup_make(&p->conf.cgroups, &p->limits, err);
    if (rc < 0) return rc;
    rc = spawn(p, "run", dir, err);
    if (rc < 0) {
        cgroup_kill(&p->conf.cgroups, 1000, NULL);
        cgroup_remove(&p->conf.cgroups, NULL);
    }
    return rc;
}

int prepare_resume(struct prepare *p, const struct crun_node *node, int dir, struct err *err)
{
    p->node = node;
    return spawn(p, "adopt", dir, err);
}
