/* tests/unit/agent/netns/test_addr_pool.c - no address twice, and none lost. */
#include "../test.h"
#include "agent/netns/addr_pool.h"
#include <arpa/inet.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

static struct addr_pool pool;
static char top[64], run[80];

static void owner_new(const char *name, char ret[128])
{
    text_fmt(ret, 128, "%s/%s", top, name);
    assert_int_equal(mkdir(ret, 0700), 0);
}

static int setup(void **state)
{
    (void)state;
    test_dir_new(top);
    text_fmt(run, sizeof(run), "%s/run/net", top);
    assert_int_equal(addr_pool_open(run, &pool, NULL), 0);
    pool.size = 4;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    addr_pool_close(&pool);
    test_dir_free(top);
    return 0;
}

static void each_container_has_its_own(void **state)
{
    (void)state;
    char a[128], b[128];
    struct in_addr x = {0}, y = {0}, z = {0};
    owner_new("a", a);
    owner_new("b", b);
    assert_int_equal(addr_pool_take(&pool, a, &x, NULL), 0);
    assert_int_equal(addr_pool_take(&pool, b, &y, NULL), 0);
    assert_int_equal(ntohl(x.s_addr), ADDR_POOL_FIRST);
    assert_int_not_equal(x.s_addr, y.s_addr);
    addr_pool_give(&pool, b, x); /* not its own: stays */
    assert_int_equal(addr_pool_taken(&pool), 2);
    addr_pool_give(&pool, a, x);
    assert_int_equal(addr_pool_taken(&pool), 1);
    /* The one given back is not the next: its link may still be going. */
    assert_int_equal(addr_pool_take(&pool, a, &z, NULL), 0);
    assert_int_not_equal(z.s_addr, x.s_addr);
    struct err err = {0};
    assert_int_equal(addr_pool_take(&pool, "relative", &z, &err), ERR_INVALID);
}

static void a_full_pool_says_so_and_collects(void **state)
{
    (void)state;
    char o[4][128], late[128];
    struct in_addr x;
    struct err err = {0};
    for (int i = 0; i < 4; i++) {
        char name[8];
        text_fmt(name, sizeof(name), "o%d", i);
        owner_new(name, o[i]);
        assert_int_equal(addr_pool_take(&pool, o[i], &x, NULL), 0);
    }
    owner_new("late", late);
    assert_int_equal(addr_pool_take(&pool, late, &x, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "all 4 addresses"));
    assert_int_equal(rmdir(o[2]), 0); /* its agent died before it gave it back */
    assert_int_equal(addr_pool_take(&pool, late, &x, NULL), 0);
    assert_int_equal(ntohl(x.s_addr), ADDR_POOL_FIRST + 2);
    assert_int_equal(addr_pool_taken(&pool), 4);
    assert_int_equal(rmdir(o[0]), 0);
    addr_pool_collect(&pool);
    assert_int_equal(addr_pool_taken(&pool), 3);
}

/* Another agent of this machine: takes addresses until it is killed. */
static void other_agent(const char *owner)
{
    struct addr_pool mine;
    struct in_addr x;
    if (addr_pool_open(run, &mine, NULL) < 0) _exit(1);
    for (;;) {
        if (addr_pool_take(&mine, owner, &x, NULL) == 0) addr_pool_give(&mine, owner, x);
    }
}

static void agents_that_are_killed_hold_up_nobody(void **state)
{
    (void)state;
    char theirs[128], ours[128];
    owner_new("theirs", theirs);
    owner_new("ours", ours);
    for (int round = 0; round < 20; round++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) other_agent(theirs);
        struct in_addr v[3];
        for (int i = 0; i < 3; i++) assert_int_equal(addr_pool_take(&pool, ours, &v[i], NULL), 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < i; k++) assert_int_not_equal(v[i].s_addr, v[k].s_addr);
        for (int i = 0; i < 3; i++) addr_pool_give(&pool, ours, v[i]);
        /* What it may have held when it was killed counts as its container's. */
        assert_in_range(addr_pool_taken(&pool), 0, 1);
        assert_int_equal(rmdir(theirs), 0);
        addr_pool_collect(&pool);
        assert_int_equal(addr_pool_taken(&pool), 0);
        assert_int_equal(mkdir(theirs, 0700), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_container_has_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_pool_says_so_and_collects, setup, teardown),
        cmocka_unit_test_setup_teardown(agents_that_are_killed_hold_up_nobody, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
