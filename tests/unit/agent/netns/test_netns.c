/* tests/unit/agent/netns/test_netns.c - containers are wired as promised, on machines
 * that are network namespaces: an outside, and three machines on one switch.
 *
 * A container is a process that waits in a namespace of its own. */
#include "../test.h"
#include "agent/netns/enter.h"
#include "agent/netns/netns.h"
#include "agent/netns/veth.h"
#include "agent/netns/wall.h"
#include "host/file.h"
#include "host/proc.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MACHINES 3
#define PORT 4711
#define WAIT_MS 5000
#define SILENCE_MS 300 /* what is dropped never comes: so long it is given */

static char top[64];

/* ---- namespaces ---- */

struct box { pid_t pid; int pidfd; };

static int run(const char *const *argv)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return status;
}
#define IP(...) assert_int_equal(run((const char *const[]){"ip", __VA_ARGS__, NULL}), 0)

static struct box box_new(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    struct box b = {.pid = fork()};
    assert_true(b.pid >= 0);
    if (b.pid == 0) {
        dup2(ready[1], 3); /* nothing else of ours, least of all a lock */
        close_range(4, ~0U, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
        if (unshare(CLONE_NEWNET) < 0) _exit(1);
        /* A new namespace forwards where the machine does, and the test is to see it changed. */
        if (file_put(AT_FDCWD, "/proc/sys/net/ipv4/ip_forward", "0", NULL) < 0) _exit(1);
        run((const char *const[]){"ip", "link", "set", "lo", "up", NULL});
        if (write(3, "x", 1) != 1) _exit(1);
        close(3);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    b.pidfd = (int)syscall(SYS_pidfd_open, b.pid, 0);
    assert_true(b.pidfd >= 0);
    return b;
}

static void box_end(struct box *b)
{
    kill(b->pid, SIGKILL);
    waitpid(b->pid, NULL, 0);
    file_close(&b->pidfd);
}

struct task {
    int (*f)(struct task *t);
    struct netns_node *node;
    const char *addr;
    int fd, type;
    size_t bytes;
};

static int task_in(void *arg, struct err *err)
{
    struct task *t = arg;
    (void)err;
    return t->f(t);
}

static int in_box(const struct box *b, struct task t, struct task *ret)
{
    struct err err = {0};
    int rc = enter_run(b->pidfd, task_in, &t, &err);
    if (ret) *ret = t;
    return rc;
}

/* ---- talking ---- */

static int do_listen(struct task *t)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int one = 1;
    t->fd = socket(AF_INET, t->type | SOCK_CLOEXEC, 0);
    setsockopt(t->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(t->fd, (struct sockaddr *)&a, sizeof(a)) < 0) return -1;
    return t->type == SOCK_STREAM ? listen(t->fd, 8) : 0;
}

static int do_connect(struct task *t)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, t->addr, &a.sin_addr);
    t->fd = socket(AF_INET, t->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(t->fd, (struct sockaddr *)&a, sizeof(a)) == 0 || errno == EINPROGRESS) return 0;
    return -1;
}

static int listener(const struct box *b, int type)
{
    struct task t = {0};
    assert_int_equal(in_box(b, (struct task){.f = do_listen, .type = type}, &t), 0);
    return t.fd;
}

/* Whether a connection from one box to that address is made within `ms`. */
static bool reaches(const struct box *from, const char *addr, int ms)
{
    struct task t = {0};
    if (in_box(from, (struct task){.f = do_connect, .type = SOCK_STREAM, .addr = addr}, &t) < 0) {
        close(t.fd);
        return false;
    }
    struct pollfd p = {.fd = t.fd, .events = POLLOUT};
    int error = 0;
    socklen_t n = sizeof(error);
    bool made = poll(&p, 1, ms) == 1 &&
                getsockopt(t.fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error == 0;
    close(t.fd);
    return made;
}

static void addr_in_box(const struct wiring *p, char ret[INET_ADDRSTRLEN])
{
    inet_ntop(AF_INET, &p->addr, ret, INET_ADDRSTRLEN);
}

/* ---- machines ---- */

struct machine {
    struct box box;
    struct netns_node node;
    char addr[16], run[96];
};
struct container {
    struct machine *machine;
    struct box box;
    int dir;
    char path[128];
};
static struct machine machines[MACHINES];
static struct box outside;

static int open_node(struct task *t)
{
    struct netns_config c = {.on = true, .run_dir = t->addr};
    struct machine *m = (void *)((char *)t->node - offsetof(struct machine, node));
    TEXT_CLIP(c.net_addr, str_of(m->addr));
    netns_open(&c, t->node);
    return 0;
}

static void machine_start(struct machine *m)
{
    in_box(&m->box, (struct task){.f = open_node, .node = &m->node, .addr = m->run}, NULL);
    assert_string_equal(m->node.note, "");
    assert_true(m->node.outbound);
    assert_true(m->node.gangs);
}

static void machine_new(uint32_t i)
{
    struct machine *m = &machines[i];
    char pid[16], up[16], with[24];
    m->box = box_new();
    text_fmt(m->addr, sizeof(m->addr), "10.1.0.%u", i + 1);
    text_fmt(m->run, sizeof(m->run), "%s/run%u", top, i);
    text_fmt(pid, sizeof(pid), "%d", m->box.pid);
    text_fmt(up, sizeof(up), "up%u", i);
    text_fmt(with, sizeof(with), "%s/24", m->addr);
    IP("link", "add", up, "type", "veth", "peer", "name", "eth0", "netns", pid);
    IP("link", "set", up, "master", "switch", "up");
    const char *const sets[][12] = {
        {"nsenter", "-t", pid, "-n", "ip", "addr", "add", with, "dev", "eth0", NULL},
        {"nsenter", "-t", pid, "-n", "ip", "link", "set", "eth0", "up", NULL},
        {"nsenter", "-t", pid, "-n", "ip", "route", "add", "default", "via", "10.1.0.100", NULL},
    };
    for (size_t k = 0; k < ARRAY_LEN(sets); k++) assert_int_equal(run(sets[k]), 0);
    machine_start(m);
}

static struct container container_new(uint32_t machine, const char *name,
                                      const struct wiring *plan)
{
    struct container c = {.machine = &machines[machine], .box = box_new()};
    text_fmt(c.path, sizeof(c.path), "%s/m%u.%s", top, machine, name);
    assert_int_equal(mkdir(c.path, 0700), 0);
    c.dir = file_open_dir(AT_FDCWD, c.path, NULL);
    assert_true(c.dir >= 0);
    assert_int_equal(wiring_write(c.dir, plan, NULL), 0);
    return c;
}

static struct container *attaching;
static struct err attach_err;

static int do_attach(struct task *t)
{
    (void)t;
    memset(&attach_err, 0, sizeof(attach_err));
    return netns_attach(&attaching->machine->node, attaching->dir, attaching->path,
                        attaching->box.pidfd, &attach_err);
}

static int attach(struct container *c)
{
    attaching = c;
    int rc = in_box(&c->machine->box, (struct task){.f = do_attach}, NULL);
    if (rc < 0) print_message("attach: %s\n", attach_err.text);
    return rc;
}

static void container_end(struct container *c)
{
    box_end(&c->box);
    netns_release(&c->machine->node, c->dir, c->path);
    close(c->dir);
    test_dir_free(c->path);
}

static int do_count(struct task *t)
{
    struct if_nameindex *all = if_nameindex();
    int n = 0;
    for (const struct if_nameindex *i = all; i && i->if_index; i++)
        n += strncmp(i->if_name, t->addr, strlen(t->addr)) == 0;
    if_freenameindex(all);
    return n;
}

/* Links of that prefix on a machine. */
static int links(const struct box *b, const char *prefix)
{
    return in_box(b, (struct task){.f = do_count, .addr = prefix}, NULL);
}

static void until_no_links(const struct machine *m)
{
    int64_t until = proc_boot_ms() + WAIT_MS;
    while (links(&m->box, WALL_PREFIX) > 0) {
        assert_true(proc_boot_ms() < until);
        usleep(2000);
    }
    assert_int_equal(addr_pool_taken(&m->node.pool), 0);
}

static int setup(void **state)
{
    (void)state;
    test_dir_new(top);
    assert_int_equal(unshare(CLONE_NEWNET | CLONE_NEWNS), 0);
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    IP("link", "set", "lo", "up");
    IP("link", "add", "switch", "type", "bridge");
    IP("link", "set", "switch", "up");
    IP("addr", "add", "10.1.0.100/24", "dev", "switch");
    IP("addr", "add", "169.254.169.254/32", "dev", "lo"); /* where clouds tell secrets */
    outside = (struct box){.pid = getpid()};
    outside.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    for (uint32_t i = 0; i < MACHINES; i++) machine_new(i);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MACHINES; i++) {
        netns_close(&machines[i].node);
        box_end(&machines[i].box);
    }
    test_dir_free(top);
    return 0;
}

/* ---- outbound ---- */

static void out_and_nowhere_else(void **state)
{
    (void)state;
    struct wiring plan = {0}, told = {0};
    char b_addr[INET_ADDRSTRLEN];
    struct container a = container_new(0, "a", &plan), b = container_new(0, "b", &plan);
    int out = listener(&outside, SOCK_STREAM), host = listener(&machines[0].box, SOCK_STREAM);
    int inside = listener(&b.box, SOCK_STREAM), other = listener(&machines[1].box, SOCK_STREAM);
    assert_false(reaches(&a.box, "10.1.0.100", SILENCE_MS));
    assert_int_equal(attach(&a), 0);
    assert_int_equal(attach(&b), 0);
    assert_int_equal(wiring_read(b.dir, &told, NULL), 0);
    addr_in_box(&told, b_addr);

    assert_true(reaches(&a.box, "10.1.0.100", WAIT_MS)); /* the outside */
    assert_true(reaches(&a.box, "10.1.0.2", WAIT_MS));   /* another machine */
    assert_true(reaches(&b.box, b_addr, WAIT_MS));       /* the listener does listen */
    assert_false(reaches(&a.box, "10.1.0.1", SILENCE_MS)); /* its own machine */
    assert_false(reaches(&a.box, b_addr, SILENCE_MS));     /* another container */
    assert_false(reaches(&a.box, "169.254.169.254", SILENCE_MS));
    assert_false(reaches(&a.box, "169.254.1.1", SILENCE_MS)); /* the next hop */
    assert_false(reaches(&machines[0].box, b_addr, SILENCE_MS)); /* and nobody in */
    assert_false(reaches(&machines[1].box, b_addr, SILENCE_MS));
    assert_true(reaches(&machines[1].box, "10.1.0.1", WAIT_MS)); /* but the machine's own */

    close(out);
    close(host);
    close(inside);
    close(other);
    container_end(&a);
    container_end(&b);
    until_no_links(&machines[0]);
}

static void none_is_loopback_alone(void **state)
{
    (void)state;
    struct wiring plan = {.mode = NETWORK_NONE};
    struct container c = container_new(0, "c", &plan);
    assert_int_equal(attach(&c), 0);
    assert_int_equal(links(&c.box, "eth"), 0);
    assert_int_equal(addr_pool_taken(&machines[0].node.pool), 0);
    container_end(&c);
}

/* An agent that was killed in the middle comes again. */
static void again_is_the_same(void **state)
{
    (void)state;
    struct wiring plan = {.mode = NETWORK_OUTBOUND, .members = 2, .vni = 9};
    struct container c = container_new(0, "c", &plan);
    int out = listener(&outside, SOCK_STREAM);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(attach(&c), 0);
        assert_int_equal(links(&c.box, "eth"), 1);
        assert_int_equal(links(&c.box, WIRING_GANG_LINK), 1);
        assert_int_equal(links(&machines[0].box, WALL_PREFIX), 1);
        assert_int_equal(addr_pool_taken(&machines[0].node.pool), 1);
        assert_true(reaches(&c.box, "10.1.0.100", WAIT_MS));
    }
    close(out);
    container_end(&c);
    until_no_links(&machines[0]);
}

/* SES8: a start that fails gives back everything. */
static void what_fails_leaves_nothing(void **state)
{
    (void)state;
    struct wiring plan = {.members = 2, .vni = 5};
    struct container a = container_new(0, "a", &plan), b = container_new(0, "b", &plan);
    assert_int_equal(attach(&a), 0);
    assert_int_equal(attach(&b), ERR_CONFLICT); /* two members with one number */
    assert_non_null(strstr(attach_err.text, "gang's link"));
    assert_int_equal(links(&b.box, "eth"), 0);
    assert_int_equal(addr_pool_taken(&machines[0].node.pool), 1);
    plan.vni = 6; /* another attempt */
    assert_int_equal(wiring_write(b.dir, &plan, NULL), 0);
    assert_int_equal(attach(&b), 0);
    struct box gone = box_new(); /* and one that died meanwhile */
    kill(gone.pid, SIGKILL);
    waitpid(gone.pid, NULL, 0);
    struct container c = container_new(0, "c", &plan);
    struct box living = c.box;
    c.box = gone;
    assert_int_equal(attach(&c), ERR_NOT_FOUND);
    assert_int_equal(addr_pool_taken(&machines[0].node.pool), 2);
    c.box = living;
    close(gone.pidfd);
    container_end(&a);
    container_end(&b);
    container_end(&c);
    until_no_links(&machines[0]);
}

static int do_purge(struct task *t)
{
    char text[8];
    size_t n = 0;
    assert_int_equal(netns_purge(t->addr, NULL), 0);
    assert_int_equal(file_read(AT_FDCWD, "/proc/sys/net/ipv4/ip_forward", text, 8, &n, NULL), 0);
    return text[0];
}

/* While any agent lives, or a container has an address, all stays. */
static void a_purge_takes_it_from_nobody(void **state)
{
    (void)state;
    struct wiring w = {0};
    struct container c = container_new(0, "c", &w);
    struct machine *m = &machines[0];
    struct task purge = {.f = do_purge, .addr = m->run};
    assert_int_equal(attach(&c), 0);
    assert_int_equal(in_box(&m->box, purge, NULL), '1');
    netns_close(&m->node);
    assert_int_equal(in_box(&m->box, purge, NULL), '1');
    machine_start(m);
    container_end(&c);
    until_no_links(m);
    netns_close(&m->node);
    assert_int_equal(in_box(&m->box, purge, NULL), '0');
    machine_start(m);
}

/* ---- gangs ---- */

/* The kernel takes dead namespaces apart some time later: no gang has the numbers of
 * another. */
static uint32_t first_vni = 1000;

static void gang_plan(const uint32_t *places, uint32_t n, uint32_t member, struct wiring *ret)
{
    *ret = (struct wiring){.mode = NETWORK_NONE, .member = member, .members = n,
                               .vni = first_vni + member};
    for (uint32_t i = 0; i < n; i++) {
        struct wiring_peer e = {.member = i, .vni = first_vni + i};
        const char *at = places[i] == places[member] ? "127.0.0.1" : machines[places[i]].addr;
        inet_pton(AF_INET, at, &e.node);
        if (i != member) VEC_PUSH(&ret->peers, e);
    }
}

static int do_send(struct task *t)
{
    static char zeros[65536];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, t->addr, &a.sin_addr);
    t->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ssize_t n = sendto(t->fd, zeros, t->bytes, 0, (struct sockaddr *)&a, sizeof(a));
    close(t->fd);
    return n == (ssize_t)t->bytes ? 0 : -1;
}

/* A large packet in pieces: the links' MTU leaves room for what is wrapped around. */
static bool carries(const struct container *from, const struct container *to, const char *addr,
                    size_t bytes)
{
    static char buf[65536];
    int fd = listener(&to->box, SOCK_DGRAM);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int rc = in_box(&from->box, (struct task){.f = do_send, .addr = addr, .bytes = bytes}, NULL);
    bool came = rc == 0 && poll(&p, 1, WAIT_MS) == 1 &&
                recv(fd, buf, sizeof(buf), 0) == (ssize_t)bytes;
    close(fd);
    return came;
}

static void members_reach_each_other(const uint32_t *places, uint32_t n)
{
    struct container m[4];
    int on[4];
    first_vni += 10;
    char name[16], addr[INET_ADDRSTRLEN];
    for (uint32_t i = 0; i < n; i++) {
        struct wiring plan;
        gang_plan(places, n, i, &plan);
        text_fmt(name, sizeof(name), "g%u", i);
        m[i] = container_new(places[i], name, &plan);
        assert_int_equal(attach(&m[i]), 0);
        on[i] = listener(&m[i].box, SOCK_STREAM);
        wiring_done(&plan);
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            struct in_addr a = wiring_gang_addr(k);
            inet_ntop(AF_INET, &a, addr, sizeof(addr));
            assert_true(reaches(&m[i].box, addr, WAIT_MS));
            assert_true(carries(&m[i], &m[k], addr, 20000));
        }
    /* Nobody else has a way in. */
    assert_false(reaches(&machines[places[0]].box, "198.18.0.1", SILENCE_MS));
    for (uint32_t i = 0; i < n; i++) {
        close(on[i]);
        container_end(&m[i]);
    }
}

static void a_gang_on_one_machine(void **state)
{
    (void)state;
    members_reach_each_other((const uint32_t[]){0, 0, 0}, 3);
}

static void a_gang_across_machines(void **state)
{
    (void)state;
    members_reach_each_other((const uint32_t[]){0, 1, 2, 1}, 4);
    until_no_links(&machines[0]);
}

/* As before Linux 6.5, where the kernel's short cut between two members of one machine is
 * always taken; without the bridges it leads nowhere, on any kernel. */
static void gangs_without_the_long_way(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MACHINES; i++) machines[i].node.bridged = true;
    members_reach_each_other((const uint32_t[]){0, 0, 0}, 3);
    members_reach_each_other((const uint32_t[]){0, 1, 2, 1}, 4);
    for (uint32_t i = 0; i < MACHINES; i++) machines[i].node.bridged = false;
    until_no_links(&machines[0]);
}

/* Two gangs have the same addresses inside and never meet. */
static void gangs_do_not_meet(void **state)
{
    (void)state;
    struct wiring one = {.mode = NETWORK_NONE, .members = 2, .vni = 200},
                      two = {.mode = NETWORK_NONE, .member = 1, .members = 2, .vni = 301};
    struct wiring_peer to_two = {1, {htonl(INADDR_LOOPBACK)}, 201}; /* of its own gang: absent */
    VEC_PUSH(&one.peers, to_two);
    struct container a = container_new(0, "a", &one), b = container_new(0, "b", &two);
    assert_int_equal(attach(&a), 0);
    assert_int_equal(attach(&b), 0);
    int on = listener(&b.box, SOCK_STREAM);
    assert_true(reaches(&b.box, "198.18.0.2", WAIT_MS));
    assert_false(reaches(&a.box, "198.18.0.2", SILENCE_MS));
    close(on);
    wiring_done(&one);
    container_end(&a);
    container_end(&b);
}

static int do_open_without_nft(struct task *t)
{
    struct netns_config c = {.on = true, .run_dir = t->addr};
    netns_open(&c, t->node);
    return 0;
}

static void without_nft_it_says_so(void **state)
{
    (void)state;
    char none[96], run_dir[96];
    struct netns_node n;
    struct box b = box_new();
    text_fmt(none, sizeof(none), "%s/none", top);
    text_fmt(run_dir, sizeof(run_dir), "%s/bare", top);
    assert_int_equal(mkdir(none, 0700), 0);
    static const char *const places[] = {"/usr/sbin/nft", "/usr/bin/nft"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) /* in our own mount namespace */
        if (access(places[i], F_OK) == 0)
            assert_int_equal(mount("/dev/null", places[i], NULL, MS_BIND, NULL), 0);
    in_box(&b, (struct task){.f = do_open_without_nft, .node = &n, .addr = run_dir}, NULL);
    assert_false(n.outbound);
    assert_non_null(strstr(n.note, "no way out: nft is not installed"));
    struct err err = {0};
    assert_int_equal(netns_check(&n, &(struct wiring){.mode = NETWORK_OUTBOUND}, &err),
                     ERR_UNSUPPORTED);
    assert_int_equal(netns_check(&n, &(struct wiring){.mode = NETWORK_DEFAULT}, NULL), 0);
    netns_close(&n);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) umount2(places[i], MNT_DETACH);
    box_end(&b);
}

int main(void)
{
    if (geteuid() != 0) {
        puts("skipped: network namespaces need root");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_and_nowhere_else),
        cmocka_unit_test(none_is_loopback_alone),
        cmocka_unit_test(again_is_the_same),
        cmocka_unit_test(what_fails_leaves_nothing),
        cmocka_unit_test(a_purge_takes_it_from_nobody),
        cmocka_unit_test(a_gang_on_one_machine),
        cmocka_unit_test(a_gang_across_machines),
        cmocka_unit_test(gangs_without_the_long_way),
        cmocka_unit_test(gangs_do_not_meet),
        cmocka_unit_test(without_nft_it_says_so),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
