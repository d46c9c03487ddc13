/* agent/crun_node.c - what all containers of this node have in common.
 * docs/spec/node.md */
#include "agent/crun_node.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/docker/host.h"
#include "agent/seccomp.h"
#include "base/mem.h"
#include "host/file.h"

#define NOFILE_WANTED 65536

static int open_dir(const struct crun_node *n, const char *name, struct err *err)
{
    char path[MEMO_PATH];
    text_fmt(path, sizeof(path), "%s/%s", n->state_dir, name);
    int rc = file_mkdir(AT_FDCWD, path, 0700, err);
    return rc < 0 ? rc : file_open_dir(AT_FDCWD, path, err);
}

static int find_crun(struct crun_node *n, struct err *err)
{
    if (n->docker) {
        TEXT_SET(n->crun, str_of(n->docker->helper));
        return 0;
    }
    static const char *const places[] = {"/usr/bin/crun", "/usr/local/bin/crun", "/usr/sbin/crun"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (access(places[i], X_OK) == 0) {
            TEXT_SET(n->crun, str_of(places[i]));
            return 0;
        }
    return err_set(err, ERR_UNSUPPORTED, "crun is not installed: looked for %s", places[0]);
}

static int take_paths(struct crun_node *n, const struct driver_config *c, struct err *err)
{
    /* The state directory becomes an option of a mount, where these part words. */
    if (c->state_dir[0] != '/' || strpbrk(c->state_dir, ",:\\\n"))
        return err_set(err, ERR_INVALID,
                       "state directory '%s' must be absolute, without comma, colon, backslash",
                       c->state_dir);
    if (!TEXT_SET(n->state_dir, str_of(c->state_dir)) || !TEXT_SET(n->shim, str_of(c->shim_path)))
        return err_set(err, ERR_LIMIT, "state directory or supervisor path too long");
    if (access(n->shim, X_OK) < 0)
        return err_sys(err, ERR_UNSUPPORTED, errno, "cannot run the supervisor %s", n->shim);
    text_fmt(n->crun_root, sizeof(n->crun_root), "%s/runtime", n->state_dir);
    if (n->docker) TEXT_SET(n->crun_root, str_of(n->docker->socket));
    return file_mkdir(AT_FDCWD, n->state_dir, 0700, err);
}

static uint64_t nofile_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) < 0) return 1024;
    return r.rlim_max < NOFILE_WANTED ? r.rlim_max : NOFILE_WANTED;
}

static uint64_t memlock_limit(void)
{
    struct rlimit r;
    return getrlimit(RLIMIT_MEMLOCK, &r) < 0 ? 65536 : r.rlim_max;
}

#define IMAGES_MOST (INT64_C(50) << 30)

/* Whoever can read it can be this node for its registries. */
static int check_auth(const char *path, struct err *err)
{
    struct stat st;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_IO, errno, "credentials of registries, %.150s", path);
    if (S_ISREG(st.st_mode) && st.st_uid == 0 && !(st.st_mode & 077)) return 0;
    return err_set(err, ERR_DENIED, "credentials of registries: expected %.100s to be a file that "
                   "root alone can read (chmod 600)", path);
}

/* Unless told: 50 GiB, or a quarter of the disk where that is less. */
static int open_images(struct crun_node *n, const struct driver_config *c, struct err *err)
{
    struct statvfs fs;
    int64_t limit = c->image_cache_bytes;
    if (limit == 0 && fstatvfs(n->containers, &fs) == 0) {
        uint64_t quarter = (uint64_t)fs.f_frsize * fs.f_blocks / 4;
        limit = quarter < (uint64_t)IMAGES_MOST ? (int64_t)quarter : IMAGES_MOST;
    }
    int rc = c->registry_auth ? check_auth(c->registry_auth, err) : 0;
    if (rc < 0) return rc;
    return image_store_open(n->state_dir, limit > 0 ? limit : IMAGES_MOST, &n->images, err);
}

int crun_node_open(const struct driver_config *config, struct crun_node *n, struct err *err)
{
    *n = (struct crun_node){.containers = -1, .logs = -1, .runtime = -1,
                            .log_keep_bytes = config->log_keep_bytes,
                            .disk_bytes = config->disk_bytes};
    n->images.dir = -1;
    n->kept_bytes = mem_alloc(sizeof(*n->kept_bytes));
    n->net = mem_alloc(sizeof(*n->net));
    netns_open(config->net ? config->net : &(struct netns_config){0}, n->net);
    strbuf_init(&n->filter, 1024 * 1024);
    strbuf_init(&n->filter_json, 1024 * 1024);
    int rc = geteuid() == 0 ? 0 : err_set(err, ERR_DENIED, "containers need the agent to be root");
    if (rc == 0 && config->docker_socket) rc = docker_host_open(config, &n->docker, err);
    if (rc == 0) rc = find_crun(n, err);
    if (rc == 0) rc = take_paths(n, config, err);
    if (rc == 0) rc = proc_boot_id(n->boot_id, err);
    if (rc == 0) rc = n->containers = open_dir(n, "containers", err);
    if (rc >= 0) rc = n->logs = open_dir(n, "logs", err);
    if (rc >= 0) rc = n->runtime = open_dir(n, "runtime", err);
    if (rc >= 0) rc = open_images(n, config, err);
    if (rc >= 0) rc =
            cgroup_host_open(n->state_dir, config->cgroup_parent ? config->cgroup_parent : "",
                             &n->cgroups, err);
    if (rc >= 0 && !n->docker) rc = rootfs_host_open(&n->rootfs, err);
    if (rc >= 0) rc = seccomp_filter_base64(&n->filter, err);
    if (rc < 0) {
        crun_node_close(n);
        return rc;
    }
    seccomp_filter_json(&n->filter_json);
    rc = n->docker ? docker_host_files(n->docker, n, err) : 0;
    if (rc < 0) {
        crun_node_close(n);
        return rc;
    }
    n->bundle = (struct bundle_host){.shim_path = n->shim, .rootfs = &n->rootfs,
                                     .filter_base64 = n->filter.p,
                                     .filter_json = n->filter_json.p, .nofile = nofile_limit(),
                                     .memlock = memlock_limit()};
    return 0;
}

void crun_node_close(struct crun_node *n)
{
    file_close(&n->containers);
    file_close(&n->logs);
    file_close(&n->runtime);
    if (n->images.dir >= 0) image_store_close(&n->images);
    rootfs_host_done(&n->rootfs);
    strbuf_done(&n->filter);
    strbuf_done(&n->filter_json);
    if (n->net) netns_close(n->net);
    mem_free(n->net);
    n->net = NULL;
    docker_host_free(n->docker);
    n->docker = NULL;
    mem_free((void *)n->kept_bytes);
    n->kept_bytes = NULL;
}

void crun_node_slow(struct crun_node *n)
{
    n->slow = true;
    n->bundle.filter_base64 = NULL;
}

/* Between vfork and exec: system calls alone. */
static _Noreturn void become_shim(const char *shim, const char *mode, int dir, const int fds[2])
{
    char *const argv[] = {(char *)(uintptr_t)"rota-shim", (char *)(uintptr_t)mode, NULL};
    char *const envp[] = {NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* Both are above 4 already: one cannot overwrite the other. */
    bool good = fchdir(dir) == 0 && dup2(fds[0], 3) == 3;
    if (good && fds[1] >= 0) good = dup2(fds[1], 4) == 4;
    if (good) execve(shim, argv, envp);
    _exit(127);
}

static pid_t vfork_shim(const char *shim, const char *mode, int dir, const int fds[2])
{
    pid_t pid = vfork();
    if (pid == 0) become_shim(shim, mode, dir, fds);
    return pid;
}

int crun_node_spawn(const struct crun_node *n, const struct crun_spawn *s, pid_t *ret_pid,
                    struct err *err)
{
    AUTO_FD int a = fcntl(s->fd3, F_DUPFD_CLOEXEC, 16);
    AUTO_FD int b = s->fd4 >= 0 ? fcntl(s->fd4, F_DUPFD_CLOEXEC, 16) : -1;
    if (a < 0 || (s->fd4 >= 0 && b < 0))
        return err_sys(err, ERR_IO, errno, "cannot copy a descriptor");
    const int fds[2] = {a, b};
    pid_t pid = vfork_shim(n->shim, s->mode, s->dir, fds);
    if (pid < 0) return err_sys(err, ERR_IO, errno, "cannot start the supervisor");
    int pidfd = proc_open_child(pid, err);
    if (pidfd < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return pidfd;
    }
    *ret_pid = pid;
    return pidfd;
}

int crun_node_connect(int dir, struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    /* The path of a directory may be longer than a socket address. */
    text_fmt(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/sock", dir);
    AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot make a socket");
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        return err_sys(err, ERR_UNAVAILABLE, errno, "the supervisor does not answer");
    int ret = fd;
    fd = -1;
    return ret;
}

int crun_node_lock(int dir, struct err *err)
{
    AUTO_FD int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open the lock");
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_sys(err, errno == EWOULDBLOCK ? ERR_CONFLICT : ERR_IO, errno,
                       "the supervisor lives");
    int ret = fd;
    fd = -1;
    return ret;
}
