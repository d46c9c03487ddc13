/* agent/image/layer_apart.c - unpacking in a process that sees nothing else.
 *
 * Its root is the layer's directory; it has no network, few powers of root, and
 * bounds on memory and time, so that an archive that breaks its reader breaks
 * little.  docs/spec/node.md, "Images" */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/image/layer.h"
#include "host/file.h"

#define MEMORY_MAX (UINT64_C(1) << 30)
#define CPU_MAX_S 3600

struct answer {
    int rc;
    struct layer_size size;
    struct err err;
};

/* Owners, modes, the marks of overlays, and nothing else of root's. */
static int drop_powers(void)
{
    const uint32_t keep = 1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER |
                          1u << CAP_MKNOD | 1u << CAP_SYS_ADMIN;
    struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct d[2] = {{.effective = keep, .permitted = keep}};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : (int)syscall(SYS_capset, &h, d);
}

static int go_apart(int root, struct err *err)
{
    struct rlimit cpu = {CPU_MAX_S, CPU_MAX_S};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setlocale(LC_CTYPE, "C.UTF-8"); /* names are texts */
    if (unshare(CLONE_NEWNET | CLONE_NEWIPC) < 0 || fchdir(root) < 0 || chroot(".") < 0 ||
        setrlimit(RLIMIT_CPU, &cpu) < 0 || drop_powers() < 0)
        return err_sys(err, ERR_IO, errno, "cannot set the unpacker apart");
#if !defined(__SANITIZE_ADDRESS__)
    struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};
    if (setrlimit(RLIMIT_AS, &memory) < 0)
        return err_sys(err, ERR_IO, errno, "cannot bound the unpacker");
#endif
    return 0;
}

int layer_unpack_apart(int blob, const char *digest, int root, const struct layer_size *most,
                       struct layer_size *ret, struct err *err)
{
    struct answer a = {0};
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0) return err_sys(err, ERR_IO, errno, "cannot make a pipe");
    AUTO_FD int in = pipes[0];
    AUTO_FD int out = pipes[1];
    pid_t pid = fork();
    if (pid < 0) return err_sys(err, ERR_IO, errno, "cannot start the unpacker");
    if (pid == 0) {
        a.rc = go_apart(root, &a.err);
        if (a.rc == 0) a.rc = layer_unpack(blob, digest, root, most, &a.size, &a.err);
        _exit(write(out, &a, sizeof(a)) == (ssize_t)sizeof(a) ? 0 : 1);
    }
    file_close(&out);
    ssize_t n;
    do n = read(in, &a, sizeof(a));
    while (n < 0 && errno == EINTR);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (n != (ssize_t)sizeof(a))
        return err_set(err, ERR_INVALID, "a layer broke its unpacker (status %d)", status);
    if (a.rc < 0) {
        if (err) *err = a.err;
        return a.rc;
    }
    *ret = a.size;
    return 0;
}
