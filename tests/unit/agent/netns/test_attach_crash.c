/* tests/unit/agent/netns/test_attach_crash.c - an agent that is killed at any step of
 * wiring a container: the next one wires it, and what ended leaves nothing.
 *
 * The agent is a child that is traced and killed at the k-th stop of its system calls,
 * for every k until it gets through.  The machine is a network namespace. */
#include "../test.h"
#include "agent/netns/enter.h"
#include "agent/netns/netns.h"
#include "agent/netns/veth.h"
#include "agent/netns/wall.h"
#include "host/file.h"
#include "host/proc.h"
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STOPS_MAX 2000
#define WAIT_MS 10000

static char top[64], run_dir[96];
static struct netns_node node;

struct container { pid_t pid; int pidfd, dir; char path[128]; };

static void container_new(struct container *c, uint32_t k)
{
    struct wiring plan = {.mode = NETWORK_OUTBOUND, .members = 2, .vni = 5000 + k};
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    c->pid = fork();
    if (c->pid == 0) {
        dup2(ready[1], 3); /* nothing else of ours, least of all a lock */
        close_range(4, ~0U, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNET) < 0 || write(3, "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    assert_true(c->pidfd >= 0);
    text_fmt(c->path, sizeof(c->path), "%s/c%u", top, k);
    assert_int_equal(mkdir(c->path, 0700), 0);
    c->dir = file_open_dir(AT_FDCWD, c->path, NULL);
    assert_int_equal(wiring_write(c->dir, &plan, NULL), 0);
}

static void container_end(struct container *c)
{
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    netns_release(&node, c->dir, c->path);
    file_close(&c->pidfd);
    file_close(&c->dir);
    test_dir_free(c->path);
}

/* False: it got through before its k-th stop. */
static bool killed_at(const struct container *c, uint32_t k)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) _exit(1);
        raise(SIGSTOP);
        _exit(netns_attach(&node, c->dir, c->path, c->pidfd, NULL) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (uint32_t i = 0; i < k; i++) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            return false;
        }
        assert_true(WIFSTOPPED(status));
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return true;
}

static int look_inside(void *arg, struct err *err)
{
    (void)arg, (void)err;
    return if_nametoindex(VETH_INSIDE) > 0 && if_nametoindex(WIRING_GANG_LINK) > 0 ? 0 : -1;
}

static uint32_t links(void)
{
    struct if_nameindex *all = if_nameindex();
    uint32_t n = 0;
    for (const struct if_nameindex *i = all; i && i->if_index; i++)
        n += strncmp(i->if_name, WALL_PREFIX, strlen(WALL_PREFIX)) == 0;
    if_freenameindex(all);
    return n;
}

static void nothing_is_left(void)
{
    int64_t until = proc_boot_ms() + WAIT_MS; /* the kernel takes namespaces apart later */
    while (links() > 0) {
        assert_true(proc_boot_ms() < until);
        usleep(2000);
    }
    addr_pool_collect(&node.pool); /* taken, and not yet written down */
    assert_int_equal(addr_pool_taken(&node.pool), 0);
}

static void killed_at_each_step(void **state)
{
    (void)state;
    uint32_t k = 1;
    for (bool more = true; more; k++) {
        struct container c;
        struct err err = {0};
        assert_true(k < STOPS_MAX);
        container_new(&c, k);
        more = killed_at(&c, k);
        if (k % 2 == 0) { /* the next agent finds it living; at odd ones it has ended meanwhile */
            if (netns_attach(&node, c.dir, c.path, c.pidfd, &err) != 0)
                fail_msg("killed at stop %u: %s", k, err.text);
            assert_int_equal(enter_run(c.pidfd, look_inside, NULL, &err), 0);
        }
        container_end(&c);
    }
    print_message("killed at %u stops\n", k);
    assert_true(k > 100);
    nothing_is_left();
}

static int setup(void **state)
{
    (void)state;
    test_dir_new(top);
    text_fmt(run_dir, sizeof(run_dir), "%s/run", top);
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    struct netns_config c = {.on = true, .run_dir = run_dir};
    netns_open(&c, &node);
    assert_string_equal(node.note, "");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    netns_close(&node);
    test_dir_free(top);
    return 0;
}

int main(void)
{
    if (geteuid() != 0) {
        puts("skipped: network namespaces need root");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_at_each_step)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
