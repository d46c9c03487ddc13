/* tests/unit/agent/netns/test_proof.c - walls that hold are seen to, and others too.
 * The machine is a network namespace with one address. */
#include "../test.h"
#include "agent/netns/proof.h"
#include "agent/netns/wall.h"
#include "host/file.h"
#include <net/if.h>
#include <sched.h>
#include <sys/wait.h>

static char dir[64];
static struct addr_pool pool;

static void run(const char *const *argv)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state)
{
    (void)state;
    test_dir_new(dir);
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    RUN("ip", "link", "set", "lo", "up");
    RUN("ip", "link", "add", "d0", "type", "bridge");
    RUN("ip", "addr", "add", "10.9.0.1/24", "dev", "d0");
    RUN("ip", "link", "set", "d0", "up");
    assert_int_equal(file_put(AT_FDCWD, "/proc/sys/net/ipv4/ip_forward", "1", NULL), 0);
    return addr_pool_open(dir, &pool, NULL);
}

static int teardown(void **state)
{
    (void)state;
    addr_pool_close(&pool);
    test_dir_free(dir);
    return 0;
}

static void nothing_is_left(void)
{
    struct if_nameindex *all = if_nameindex();
    for (const struct if_nameindex *i = all; i && i->if_index; i++)
        assert_int_not_equal(strncmp(i->if_name, WALL_PREFIX, strlen(WALL_PREFIX)), 0);
    if_freenameindex(all);
    assert_int_equal(addr_pool_taken(&pool), 0);
}

static void walls_that_hold(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(wall_load(&err), 0);
    for (int i = 0; i < 2; i++) {
        if (proof_walls(&pool, &err) != 0) fail_msg("%s", err.text);
        nothing_is_left();
    }
}

/* Each is missed; what a container sends to its machine is held by two. */
static void walls_that_do_not(void **state)
{
    (void)state;
    static const struct { const char *chain, *also, *says; } cases[] = {
        {"input", "output", "a container reaches its machine at 10.9.0.1"},
        {"output", "output", "the machine reaches a container at 198.19."},
        {"forward", "forward", "a container reaches another at 198.19."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        assert_int_equal(wall_load(&err), 0);
        RUN("nft", "flush", "chain", "inet", WALL_TABLE, cases[i].chain);
        RUN("nft", "flush", "chain", "inet", WALL_TABLE, cases[i].also);
        assert_int_equal(proof_walls(&pool, &err), ERR_DENIED);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].chain, err.text);
        nothing_is_left();
    }
    assert_int_equal(wall_load(NULL), 0);
}

int main(void)
{
    if (geteuid() != 0) {
        puts("skipped: network namespaces need root");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_that_hold),
        cmocka_unit_test(walls_that_do_not),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
