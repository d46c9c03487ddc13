/* tests/unit/agent/test_crun_fence.c - a container that is to end when its node is cut off
 * ends by itself, whoever else lives or not, and not before. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/mem.h"
#include "crun_rig.h"
#include "host/proc.h"
#include "net/loop.h"

#define FENCE_MS rig_ms(700)

static void answered(void) { rig.driver.ops->answered(rig.driver.self, proc_boot_ms()); }

static struct container_spec start(const char *script)
{
    struct container_spec s = rig_shell(&rig, script);
    s.fence_ms = FENCE_MS;
    answered();
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "ready");
    return s;
}

static bool alive(int64_t pid)
{
    uint64_t since;
    return proc_start_time(pid, &since, NULL) == 0 && !proc_is_zombie(pid);
}

/* It is gone within the time, by the machine's own word. */
static void expect_gone(int64_t pid, int64_t within_ms)
{
    int64_t until = proc_boot_ms() + within_ms;
    while (alive(pid) && proc_boot_ms() < until) usleep(5000);
    assert_false(alive(pid));
}

static void expect_fenced(struct member_ref ref)
{
    struct member_report m = rig_until(&rig, ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_EXITED);
    assert_true(m.end.fenced);
    assert_string_equal(m.end.detail, "it ended by itself: this node was cut off");
    rig_clean(&rig, ref);
}

/* For several times its fence, as long as somebody answers. */
static void answers_keep_it(void **state)
{
    (void)state;
    struct container_spec s = start("echo ready; exec sleep 60");
    int64_t until = proc_boot_ms() + 4 * FENCE_MS;
    while (proc_boot_ms() < until) {
        answered();
        rig_turn(&rig, FENCE_MS / 10);
    }
    struct member_report m;
    assert_true(rig_report(&rig, s.ref, &m));
    assert_int_equal(m.phase, MEMBER_RUNNING);
    int64_t last = proc_boot_ms();
    answered();
    expect_fenced(s.ref);
    assert_true(proc_boot_ms() >= last + FENCE_MS);
}

/* AGT7: agent and supervisor killed: it ends all the same, and that is known later. */
static void agt7_nobody_is_needed(void **state)
{
    (void)state;
    for (int killed = 0; killed < 2; killed++) {
        struct container_spec s = start("trap '' TERM; echo ready; while :; do sleep 0.05; done");
        int64_t pid = rig_memo(&rig, s.ref, "life", "pid");
        rig_stop_agent(&rig);
        if (killed) rig_kill_shim(&rig, s.ref);
        assert_true(alive(pid));
        expect_gone(pid, FENCE_MS + rig_ms(3000));
        rig_start_agent(&rig);
        expect_fenced(s.ref);
    }
}

/* Two that were answered last at different times end at their own. */
static void agt7_all_end(void **state)
{
    (void)state;
    struct container_spec a = start("echo ready; exec sleep 60");
    struct container_spec b = start("echo ready; exec sleep 61");
    expect_fenced(a.ref);
    expect_fenced(b.ref);
}

/* A machine that slept: everything stands still, and wakes when its time is over. */
static void asleep_for_longer(void **state)
{
    (void)state;
    struct container_spec s = start("echo ready; while :; do echo on; sleep 0.01; done");
    int64_t pid = rig_memo(&rig, s.ref, "life", "pid");
    answered();
    assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
    rig_turn(&rig, FENCE_MS + 200);
    assert_true(alive(pid)); /* it could not */
    assert_int_equal(kill((pid_t)pid, SIGCONT), 0);
    expect_gone(pid, rig_ms(1000));
    expect_fenced(s.ref);
}

/* Told to go when its time is over: its command never runs. */
static void too_late_to_start(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig, "echo ran");
    s.fence_ms = FENCE_MS;
    answered();
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    rig_turn(&rig, FENCE_MS + 100);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_EXITED);
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n);
    assert_string_equal(out, "");
    mem_free(out);
    expect_fenced(s.ref);
}

/* What a job can reach does not help it: process 1 neither stops nor dies, nor does it listen. */
static void the_job_cannot_prevent_it(void **state)
{
    (void)state;
    struct container_spec s = start(
        "for f in /proc/1/fd/*; do echo 7fffffffffffffff > $f; done 2>/dev/null; "
        "trap '' USR1; kill -9 1; kill -STOP 1; echo ready; while :; do kill -USR1 1; done");
    int64_t pid = rig_memo(&rig, s.ref, "life", "pid");
    expect_gone(pid, FENCE_MS + rig_ms(3000));
    expect_fenced(s.ref);
}

static void no_fence_before_an_answer(void **state)
{
    (void)state;
    struct err err = {0};
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    struct container_spec s = rig_shell(&rig, "true");
    s.fence_ms = FENCE_MS;
    assert_int_equal(rig.driver.ops->create(rig.driver.self, &s, &err), ERR_UNAVAILABLE);
    struct member_report m;
    assert_false(rig_report(&rig, s.ref, &m));
}

/* Another store gives the orders: what an earlier one ordered is not kept alive by it. */
static void another_store_keeps_nothing_alive(void **state)
{
    (void)state;
    struct container_spec s = start("echo ready; exec sleep 60");
    int64_t pid = rig_memo(&rig, s.ref, "life", "pid");
    rig.driver.ops->set_incarnation(rig.driver.self, "two");
    int64_t until = proc_boot_ms() + FENCE_MS + rig_ms(3000);
    while (alive(pid) && proc_boot_ms() < until) {
        answered();
        rig_turn(&rig, 20);
    }
    assert_false(alive(pid));
    rig.driver.ops->set_incarnation(rig.driver.self, "one");
    expect_fenced(s.ref);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_keep_it),
        cmocka_unit_test(agt7_nobody_is_needed),
        cmocka_unit_test(agt7_all_end),
        cmocka_unit_test(asleep_for_longer),
        cmocka_unit_test(too_late_to_start),
        cmocka_unit_test(the_job_cannot_prevent_it),
        cmocka_unit_test(no_fence_before_an_answer),
        cmocka_unit_test(another_store_keeps_nothing_alive),
    };
    if (!rig_possible()) return 77;
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
