/* tests/unit/agent/test_crun_limits.c - limits that hold, measured from outside and
 * inside; output under load.  Takes seconds: processor time has to pass. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/mem.h"
#include "crun_rig.h"
#include "net/loop.h"

static void memory_is_limited_and_oom_is_told(void **state)
{
    (void)state;
    /* tail keeps the whole of its input, which has no line */
    struct container_spec s = rig_shell(&rig, "head -c 300m /dev/zero | tail; exit $?");
    struct member_report m = rig_run(&rig, &s);
    assert_int_equal(m.phase, MEMBER_EXITED);
    assert_int_equal(m.end.exit_code, 137);
    assert_true(m.end.oom);
    assert_in_range(rig_memo(&rig, s.ref, "exit", "mem_peak_bytes"), 32 << 20, 64 << 20);
    rig_clean(&rig, s.ref);
    s = rig_shell(&rig, "head -c 30m /dev/zero | tail | wc -c");
    m = rig_run(&rig, &s);
    assert_int_equal(m.end.exit_code, 0);
    assert_false(m.end.oom);
    rig_clean(&rig, s.ref);
}

/* Version 1 kills one process, and what the job makes of that counts; version 2 is
 * told to leave no half of a job behind. */
static void out_of_memory_ends_a_process_or_the_whole(void **state)
{
    (void)state;
    bool whole = rig_v2(&rig) && !rig_engine(); /* which asks for no such thing */
    struct container_spec s = rig_shell(&rig, "head -c 300m /dev/zero | tail; exit 0");
    struct member_report m = rig_run(&rig, &s);
    assert_int_equal(m.end.exit_code, whole ? 137 : 0);
    assert_int_equal(m.end.oom, whole);
    rig_clean(&rig, s.ref);
}

static void processes_are_limited(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(
        &rig, "n=0; while [ $n -lt 40 ]; do sleep 30 & n=$((n+1)); done; echo all");
    s.pids_max = 16;
    rig_run(&rig, &s);
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n), *err = rig_output(&rig, s.ref, 'e', &n);
    assert_null(strstr(out, "all"));
    assert_non_null(strstr(err, "fork"));
    mem_free(out);
    mem_free(err);
    rig_clean(&rig, s.ref);
}

static void processor_time_is_limited(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig, "while :; do :; done");
    s.cpu_milli = 200;
    s.limit_ms = rig_ms(1000);
    s.grace_ms = 0;
    struct member_report m = rig_run(&rig, &s);
    assert_true(m.end.timed_out);
    /* 200 ms in one second, and one period of 20 ms more or less at each end; the
     * runtime's own work is in it. */
    assert_in_range(rig_memo(&rig, s.ref, "exit", "cpu_us"), rig_ms(100000), rig_ms(300000));
    rig_clean(&rig, s.ref);
}

static void shared_memory_has_its_size(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(
        &rig, "head -c 4m /dev/zero > /dev/shm/a && echo fits; "
              "head -c 4m /dev/zero > /dev/shm/b 2>/dev/null || echo full");
    s.shm_bytes = 6 << 20;
    rig_run(&rig, &s);
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n);
    assert_string_equal(out, "fits\nfull\n");
    mem_free(out);
    rig_clean(&rig, s.ref);
}

/* 10,000 numbered lines of 100 bytes in about a second, on both streams. */
static void output_is_whole_at_ten_thousand_lines_a_second(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(
        &rig, "pad=$(printf '%090d' 0); i=0; while [ $i -lt 10000 ]; do "
              "echo \"$i $pad\"; [ $((i % 100)) = 0 ] && { echo $i >&2; sleep 0.005; }; "
              "i=$((i+1)); done");
    rig_run(&rig, &s);
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n), *p = out;
    for (int i = 0; i < 10000; i++) {
        char *end;
        assert_int_equal(strtol(p, &end, 10), i);
        assert_int_equal(strcspn(end, "\n"), 91);
        p = end + 92;
    }
    assert_int_equal(*p, 0);
    mem_free(out);
    char *err = rig_output(&rig, s.ref, 'e', &n);
    p = err;
    for (int i = 0; i < 10000; i += 100) {
        assert_int_equal(strtol(p, &p, 10), i);
        p++;
    }
    mem_free(err);
    rig_clean(&rig, s.ref);
}

static void a_flood_rotates_and_keeps_counting(void **state)
{
    (void)state;
    /* 24 MB in long lines without end: parts of 16 KiB, two files */
    struct container_spec s = rig_shell(&rig,
                                        "head -c 24000000 /dev/zero | tr '\\0' x; echo; echo last");
    s.mem_bytes = 256 << 20;
    rig_run(&rig, &s);
    assert_int_equal(rig_memo(&rig, s.ref, "exit", "status"), 0);
    char path[256], first[300];
    assert_true(rig.driver.ops->log_dir(rig.driver.self, s.ref, path, sizeof(path)));
    text_fmt(first, sizeof(first), "%s/log.000000000001", path);
    assert_int_equal(access(first, F_OK), 0);
    rig_clean(&rig, s.ref);
    assert_true(rig.driver.ops->log_dir(rig.driver.self, s.ref, path, sizeof(path)));
    text_fmt(first, sizeof(first), "%s/log.000000000001", path);
    assert_int_equal(access(first, F_OK), 0);
}

int main(void)
{
    if (!rig_possible()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_limited_and_oom_is_told),
        cmocka_unit_test(out_of_memory_ends_a_process_or_the_whole),
        cmocka_unit_test(processes_are_limited),
        cmocka_unit_test(processor_time_is_limited),
        cmocka_unit_test(shared_memory_has_its_size),
        cmocka_unit_test(output_is_whole_at_ten_thousand_lines_a_second),
        cmocka_unit_test(a_flood_rotates_and_keeps_counting),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
