/* shim/guest.c - the init of a container that another engine has started.
 * docs/spec/node.md, "Engines" */
#include "shim/guest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/str.h"
#include "host/proc.h"
#include "shim/fds.h"
#include "shim/init.h"

#define LINGER_MS 1000
#define LOST_MS 20000 /* for another supervisor to take over */
#define FAILED 125

static int conn = -1; /* to the supervisor */

static bool fetch(int *fds, bool *ret_tty)
{
    char kind[2] = "";
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * GUEST_N)];
    } control;
    struct iovec v = {kind, sizeof(kind)};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    if (recvmsg(conn, &m, MSG_CMSG_CLOEXEC) != sizeof(kind) || kind[0] != GUEST_FDS) return false;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int) * GUEST_N))
        return false;
    memcpy(fds, CMSG_DATA(c), sizeof(int) * GUEST_N);
    *ret_tty = kind[1] == 't';
    return true;
}

static bool send_master(int master)
{
    char kind = GUEST_MASTER;
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec v = {&kind, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &master, sizeof(master));
    return sendmsg(conn, &m, MSG_NOSIGNAL) == 1;
}

/* The container's own terminal takes the place of the three streams. */
static bool make_terminal(int *fds)
{
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), unlock = 0;
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0) return false;
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || !send_master(master)) return false;
    close(master);
    setsid(); /* an engine's process 1 is a leader already */
    ioctl(slave, TIOCSCTTY, 0);
    for (int i = GUEST_IN; i <= GUEST_ERR; i++) {
        close(fds[i]);
        fds[i] = slave;
    }
    return true;
}

/* First all out of the way, then each to its number. */
static bool place(const int *fds)
{
    static const int to[GUEST_N] = {0, 1, 2, INIT_STATUS_FD, INIT_READY_FD,
                                   INIT_PULSE_FD};
    int high[GUEST_N];
    for (int i = 0; i < GUEST_N; i++)
        if ((high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 32)) < 0) return false;
    int kept = fcntl(conn, F_DUPFD_CLOEXEC, 32);
    if (kept < 0) return false;
    close(conn);
    conn = kept;
    for (int i = 0; i < GUEST_N; i++)
        if (dup2(high[i], to[i]) < 0) return false;
    for (int i = 0; i < GUEST_N; i++) close(high[i]);
    return true;
}

/* Missing, it is made where the user may. */
static void go_to(const char *dir)
{
    if (chdir(dir) == 0) return;
    if (mkdir(dir, 0755) < 0 || chdir(dir) < 0) {
        dprintf(STDERR_FILENO, "rota: cannot enter %s: %s\n", dir, strerror(errno));
        init_leave(126 << 8);
    }
}

static bool dial(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = GUEST_SOCKET};
    conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return conn >= 0 && connect(conn, (struct sockaddr *)&a, sizeof(a)) == 0;
}

/* A supervisor that is lost may have written "go" down and not said it: whoever takes its
 * place is asked again.  When nobody comes this container never ran. */
static bool wait_go(void)
{
    for (int64_t until = proc_boot_ms() + LOST_MS;;) {
        char kind = 0;
        if (recv(conn, &kind, 1, 0) == 1) return kind == GUEST_GO;
        do {
            if (proc_boot_ms() >= until) return false;
            close(conn);
            usleep(50000);
        } while (!dial());
    }
}

int guest_main(const char *workdir, int64_t fence_ms, char *const *argv)
{
    int fds[GUEST_N];
    bool tty = false;
    prctl(PR_SET_DUMPABLE, 0);
    if (!dial() || !fetch(fds, &tty) || (tty && !make_terminal(fds)) || !place(fds)) return FAILED;
    if (!wait_go()) return FAILED;
    go_to(workdir);
    if (fence_ms == 0) close(INIT_PULSE_FD);
    return init_main(fence_ms, argv);
}

void guest_linger(void)
{
    char ended = GUEST_ENDED;
    struct pollfd p = {.fd = conn, .events = POLLIN};
    if (conn < 0 || send(conn, &ended, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) return;
    poll(&p, 1, LINGER_MS);
}
