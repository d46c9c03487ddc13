/* tests/unit/agent/test_crun_crash.c - whatever is killed, at any moment: no exit
 * code is lost, nothing runs twice, nothing is left behind. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/claim.h"
#include "base/mem.h"
#include "crun_rig.h"
#include "host/file.h"
#include "net/loop.h"

#define KILLS (rig_slow() ? 8 : 25)

static void expect_output(struct member_ref ref, const char *text)
{
    size_t n;
    char *out = rig_output(&rig, ref, 'o', &n);
    assert_string_equal(out, text);
    mem_free(out);
}

static struct container_spec start(const char *script)
{
    struct container_spec s = rig_shell(&rig, script);
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    return s;
}

static const char *const waiting =
    "trap 'echo end; exit 7' TERM; echo ready; while :; do sleep 0.02; done";

/* ---- the agent ---- */

static void an_agent_that_restarts_finds_what_runs(void **state)
{
    (void)state;
    struct container_spec s = start(waiting);
    rig_until_said(&rig, s.ref, "ready");
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    struct member_report m = {0};
    assert_true(rig_report(&rig, s.ref, &m)); /* at once, without a turn of the loop */
    assert_int_equal(m.phase, MEMBER_RUNNING);
    rig.driver.ops->stop(rig.driver.self, s.ref, 30000, false);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.exit_code, 7);
    expect_output(s.ref, "ready\nend\n");
    rig_clean(&rig, s.ref);
}

static void an_agent_that_restarts_finds_what_waits(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig, "echo ran; exit 3");
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_READY).phase, MEMBER_READY);
    rig.driver.ops->go(rig.driver.self, s.ref);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.exit_code, 3);
    expect_output(s.ref, "ran\n");
    rig_clean(&rig, s.ref);
}

static void an_end_without_an_agent_is_not_lost(void **state)
{
    (void)state;
    struct container_spec s = start("echo ready; sleep 0.1; exit 9");
    rig_until_said(&rig, s.ref, "ready");
    int64_t shim = rig_memo(&rig, s.ref, "life", "shim_pid");
    uint64_t since;
    rig_stop_agent(&rig);
    while (proc_start_time(shim, &since, NULL) == 0 && !proc_is_zombie(shim)) usleep(2000);
    rig_start_agent(&rig);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.end.exit_code, 9);
    rig_stop_agent(&rig);
    rig_start_agent(&rig); /* told until it is acknowledged */
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.exit_code, 9);
    rig_clean(&rig, s.ref);
}

static void a_refusal_is_remembered(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig, "true");
    s.image = "nowhere";
    rig_create(&rig, &s);
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_FAILED);
    assert_true(m.end.fatal);
    rig_clean(&rig, s.ref);
}

static void count_change(void *arg) { ++*(int *)arg; }

/* Its owner lets go of everything that it would tell. */
static void a_driver_that_ends_tells_no_more(void **state)
{
    (void)state;
    struct err err = {0};
    struct driver d;
    int changes = 0;
    struct container_spec s = rig_shell(&rig, "true");
    struct driver_config c = {.state_dir = rig.state_dir, .shim_path = getenv("ROTA_SHIM"),
                              .log_keep_bytes = 1024 * 1024, .on_change = count_change,
                              .arg = &changes};
    if (rig_engine()) skip(); /* the same code, and nothing is created before it has answered */
    rig_stop_agent(&rig);
    if (crun_driver_new(rig.loop, &c, &d, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(d.ops->create(d.self, &s, &err), 0);
    d.ops->free(d.self); /* while it has something to tell and a worker prepares */
    rig_turn(&rig, 1);
    assert_int_equal(changes, 0);
    rig_start_agent(&rig);
    rig_until(&rig, s.ref, MEMBER_READY);
    rig_clean(&rig, s.ref);
}

/* From claim to cleaning, as this machine takes it now: kills are spread over it. */
static int64_t whole_way_us(void)
{
    int64_t from = proc_mono_us();
    struct container_spec s = start("exit 6");
    rig_until(&rig, s.ref, MEMBER_EXITED);
    rig_clean(&rig, s.ref);
    return proc_mono_us() - from;
}

/* Another agent in a process of its own, killed after some microseconds of a
 * container's way from claim to cleaning. */
static void agent_until_killed(struct member_ref ref, int64_t delay_us)
{
    const struct timeval delay = {delay_us / 1000000, delay_us % 1000000};
    rig_stop_agent(&rig);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        rig.loop = net_loop_new();
        rig_start_agent(&rig);
        struct container_spec s = rig_shell(&rig, "echo once; exit 6");
        s.ref = ref;
        signal(SIGALRM, SIG_DFL);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        /* dies of it, as suddenly as of SIGKILL */
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value = delay}, NULL);
        rig_create(&rig, &s);
        rig.driver.ops->go(rig.driver.self, ref);
        rig_until(&rig, ref, MEMBER_EXITED);
        rig_clean(&rig, ref);
        for (;;) pause();
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    rig_start_agent(&rig);
}

static void an_agent_killed_at_any_step_leaves_nothing_odd(void **state)
{
    (void)state;
    int64_t way = whole_way_us();
    for (int64_t i = 1; i <= KILLS; i++) {
        int64_t us = way * i * 3 / 2 / KILLS; /* also later than all */
        struct container_spec s = rig_shell(&rig, "echo once; exit 6");
        struct member_report m;
        size_t n;
        agent_until_killed(s.ref, us);
        /* Either it was cleaned or never begun and vanishes, or it ends as it should. */
        rig.driver.ops->go(rig.driver.self, s.ref);
        for (int64_t until = net_now_ms() + rig_ms(10000);; rig_turn(&rig, 1)) {
            if (!rig_report(&rig, s.ref, &m) || m.phase >= MEMBER_EXITED) break;
            if (net_now_ms() > until)
                fail_msg("at %d us: still %s", (int)us, member_phase_name(m.phase));
        }
        if (rig_report(&rig, s.ref, &m)) {
            if (m.phase == MEMBER_EXITED) assert_int_equal(m.end.exit_code, 6);
            char *out = rig_output(&rig, s.ref, 'o', &n);
            assert_string_equal(out, m.phase == MEMBER_EXITED ? "once\n" : "");
            mem_free(out);
            rig_clean(&rig, s.ref);
        }
        rig_check_nothing_left(&rig);
    }
}

/* ---- the supervisor ---- */

static void a_lost_supervisor_of_what_runs_is_replaced(void **state)
{
    (void)state;
    struct container_spec s = start(
        "trap 'echo end; exit 7' TERM; i=0; while :; do echo $i; i=$((i+1)); sleep 0.002; done");
    rig_until_said(&rig, s.ref, "20\n");
    rig_kill_shim(&rig, s.ref);
    rig_until_said(&rig, s.ref, "120\n");
    struct member_report m;
    assert_true(rig_report(&rig, s.ref, &m));
    assert_int_equal(m.phase, MEMBER_RUNNING);
    rig.driver.ops->stop(rig.driver.self, s.ref, 30000, false);
    m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.end.exit_code, 7);
    /* No line is lost but what one read held. */
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n), *p = out;
    long last = -1, lost = 0;
    while (*p >= '0' && *p <= '9') {
        long v = strtol(p, &p, 10);
        assert_true(v > last);
        lost += v - last - 1;
        last = v;
        p++;
    }
    assert_true(lost < 100);
    assert_string_equal(p, "end\n");
    mem_free(out);
    rig_clean(&rig, s.ref);
}

static void a_stop_outlives_the_supervisor_that_heard_it(void **state)
{
    (void)state;
    struct container_spec s = start("trap '' TERM; echo ready; while :; do sleep 0.02; done");
    rig_until_said(&rig, s.ref, "ready");
    rig.driver.ops->stop(rig.driver.self, s.ref, 300, false);
    rig_kill_shim(&rig, s.ref);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    if (m.end.signal != SIGKILL && m.end.exit_code != -1)
        fail_msg("%s, code %d: %s", member_phase_name(m.phase), m.end.exit_code, m.end.detail);
    rig_clean(&rig, s.ref);
}

static void a_supervisor_lost_together_with_the_agent_is_replaced(void **state)
{
    (void)state;
    struct container_spec s = start(waiting);
    rig_until_said(&rig, s.ref, "ready");
    rig_stop_agent(&rig);
    rig_kill_shim(&rig, s.ref);
    rig_start_agent(&rig);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_RUNNING).phase, MEMBER_RUNNING);
    rig.driver.ops->stop(rig.driver.self, s.ref, 30000, false);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.exit_code, 7);
    rig_clean(&rig, s.ref);
}

static void an_end_that_nobody_watched_is_found_in_inits_file(void **state)
{
    (void)state;
    struct container_spec s = start("echo ready; sleep 0.15; exit 11");
    rig_until_said(&rig, s.ref, "ready");
    int64_t pid = rig_memo(&rig, s.ref, "life", "pid");
    uint64_t since;
    rig_stop_agent(&rig);
    rig_kill_shim(&rig, s.ref);
    while (proc_start_time(pid, &since, NULL) == 0 && !proc_is_zombie(pid)) usleep(2000);
    rig_start_agent(&rig);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_EXITED);
    assert_int_equal(m.end.exit_code, 11);
    rig_clean(&rig, s.ref);
}

static void what_cannot_be_known_is_not_guessed(void **state)
{
    (void)state;
    struct container_spec s = start(waiting);
    rig_until_said(&rig, s.ref, "ready");
    int64_t pid = rig_memo(&rig, s.ref, "life", "pid");
    uint64_t since;
    rig_stop_agent(&rig);
    rig_kill_shim(&rig, s.ref);
    kill((pid_t)pid, SIGKILL); /* init writes nothing then */
    while (proc_start_time(pid, &since, NULL) == 0 && !proc_is_zombie(pid)) usleep(2000);
    rig_start_agent(&rig);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_EXITED);
    if (rig_engine()) { /* which has watched */
        assert_int_equal(m.end.exit_code, 137);
    } else {
        assert_int_equal(m.end.exit_code, -1);
        assert_non_null(strstr(m.end.detail, "unknown"));
    }
    rig_clean(&rig, s.ref);
}

static void a_supervisor_lost_before_go_means_it_never_ran(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig, "echo ran");
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    rig_kill_shim(&rig, s.ref);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_FAILED);
    assert_false(m.end.fatal); /* another attempt may well run */
    expect_output(s.ref, "");
    rig_clean(&rig, s.ref);
    rig_check_nothing_left(&rig);
    s.ref.attempt++;
    assert_int_equal(rig_run(&rig, &s).end.exit_code, 0);
    expect_output(s.ref, "ran\n");
    rig_clean(&rig, s.ref);
}

static void a_supervisor_lost_between_its_record_and_the_act_is_completed(void **state)
{
    char name[MEMO_NAME], path[256], boot[PROC_BOOT_ID];
    (void)state;
    struct container_spec s = rig_shell(&rig, "echo ran; exit 5");
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    rig_stop_agent(&rig);
    rig_kill_shim(&rig, s.ref);
    claim_name(s.ref, name);
    text_fmt(path, sizeof(path), "%s/containers/%s/go", rig.state_dir, name);
    assert_int_equal(proc_boot_id(boot, NULL), 0);
    assert_int_equal(file_write(AT_FDCWD, path, boot, strlen(boot), FILE_ORDERED, NULL), 0);
    rig_start_agent(&rig);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.exit_code, 5);
    expect_output(s.ref, "ran\n");
    rig_clean(&rig, s.ref);
}

/* The barrier is gone, so that neither we nor the runtime's own start can open it. */
static void a_start_that_fails_is_told(void **state)
{
    char name[MEMO_NAME], path[256];
    (void)state;
    if (rig_engine()) skip(); /* there the barrier is the supervisor's own */
    struct container_spec s = rig_shell(&rig, "echo ran");
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    claim_name(s.ref, name);
    text_fmt(path, sizeof(path), "%s/runtime/%s/exec.fifo", rig.state_dir, name);
    assert_int_equal(unlink(path), 0);
    rig.driver.ops->go(rig.driver.self, s.ref);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_FAILED);
    assert_true(m.end.detail[0] != '\0');
    expect_output(s.ref, "");
    rig_clean(&rig, s.ref);
    rig_check_nothing_left(&rig);
}

/* False while it has not written who it is, and when it is gone. */
static bool kill_recorded_shim(struct member_ref ref, int signum)
{
    char name[MEMO_NAME], path[256];
    struct memo_life l;
    claim_name(ref, name);
    text_fmt(path, sizeof(path), "%s/containers/%s", rig.state_dir, name);
    int dir = file_open_dir(AT_FDCWD, path, NULL);
    if (dir < 0) return false;
    int fd = memo_read_life(dir, &l, NULL) < 0
                 ? -1
                 : proc_open(l.shim_pid, (uint64_t)l.shim_start, NULL);
    close(dir);
    if (fd < 0) return false;
    bool killed = proc_signal(fd, signum);
    close(fd);
    return killed;
}

static void a_supervisor_killed_at_any_moment_runs_it_at_most_once(void **state)
{
    (void)state;
    int kills = 0;
    int64_t way = whole_way_us();
    for (int64_t i = 0; i < KILLS; i++) {
        int us = (int)(way * i / 2 / KILLS); /* of what follows its birth */
        struct container_spec s = rig_shell(&rig, "echo once; exit 6");
        struct member_report m;
        rig_create(&rig, &s);
        rig.driver.ops->go(rig.driver.self, s.ref);
        while (!kill_recorded_shim(s.ref, 0) && rig_report(&rig, s.ref, &m) &&
               m.phase < MEMBER_EXITED)
            rig_turn(&rig, 0);
        for (int64_t until = proc_mono_us() + us; proc_mono_us() < until;) rig_turn(&rig, 0);
        kills += kill_recorded_shim(s.ref, SIGKILL);
        for (int64_t until = net_now_ms() + rig_ms(10000);; rig_turn(&rig, 1)) {
            if (!rig_report(&rig, s.ref, &m) || m.phase >= MEMBER_EXITED) break;
            if (net_now_ms() > until)
                fail_msg("at %d us: still %s", us, member_phase_name(m.phase));
        }
        if (rig_report(&rig, s.ref, &m)) {
            size_t n;
            char *out = rig_output(&rig, s.ref, 'o', &n);
            if (m.phase == MEMBER_EXITED && m.end.exit_code != 6 && m.end.exit_code != -1)
                fail_msg("at %d us: exit code %d", us, m.end.exit_code);
            /* It may have been lost with the one that read it; never doubled. */
            if (out[0]) assert_string_equal(out, "once\n");
            mem_free(out);
            rig_clean(&rig, s.ref);
        }
        rig_check_nothing_left(&rig);
    }
    assert_true(kills > KILLS / 5);
}

/* ---- the machine ---- */

static void a_restart_of_the_machine_is_told_not_rerun(void **state)
{
    (void)state;
    char name[MEMO_NAME], path[256], buf[4096];
    struct container_spec s = start(waiting);
    size_t n = 0;
    rig_until_said(&rig, s.ref, "ready");
    rig_stop_agent(&rig);
    rig_kill_shim(&rig, s.ref);
    kill((pid_t)rig_memo(&rig, s.ref, "life", "pid"), SIGKILL);
    claim_name(s.ref, name);
    text_fmt(path, sizeof(path), "%s/containers/%s/claim", rig.state_dir, name);
    assert_int_equal(file_read(AT_FDCWD, path, buf, sizeof(buf), &n, NULL), 0);
    char *boot = strstr(buf, "boot_id ");
    assert_non_null(boot);
    boot[8] = boot[8] == '0' ? '1' : '0';
    assert_int_equal(file_write(AT_FDCWD, path, buf, n, FILE_ORDERED, NULL), 0);
    rig_start_agent(&rig);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_EXITED);
    assert_int_equal(m.end.exit_code, -1);
    assert_non_null(strstr(m.end.detail, "restarted"));
    rig_clean(&rig, s.ref);
}

static void what_belongs_to_nobody_is_removed_at_start(void **state)
{
    (void)state;
    static const char *const strays[] = {"containers/.trash-5.1.0/u/deep", "containers/77.1.0/u",
                                         "containers/not-a-name", "runtime/88.1.0"};
    rig_stop_agent(&rig);
    for (size_t i = 0; i < ARRAY_LEN(strays); i++) {
        char path[256];
        text_fmt(path, sizeof(path), "%s/", rig.state_dir);
        for (const char *p = strays[i]; *p; p++) {
            size_t n = strlen(path);
            if (*p == '/') assert_int_equal(file_mkdir(AT_FDCWD, path, 0700, NULL), 0);
            path[n] = *p;
            path[n + 1] = 0;
        }
        assert_int_equal(file_mkdir(AT_FDCWD, path, 0700, NULL), 0);
    }
    rig_start_agent(&rig);
    struct member_ref ref = {77, 1, 0};
    rig_until_gone(&rig, ref);
    rig_check_nothing_left(&rig);
}

static void cleaning_what_runs_ends_it_first(void **state)
{
    (void)state;
    struct container_spec s = start("trap '' TERM; echo ready; sleep 60; sleep 60");
    rig_until_said(&rig, s.ref, "ready");
    rig_clean(&rig, s.ref);
    rig_check_nothing_left(&rig);
    s = start("true");
    rig_clean(&rig, s.ref); /* in the middle of being prepared */
    rig_check_nothing_left(&rig);
}

/* SES4: a supervisor that is there and does nothing holds nobody up. */
static void a_hung_supervisor_is_overruled(void **state)
{
    (void)state;
    struct container_spec s = start(waiting);
    rig_until_said(&rig, s.ref, "ready");
    pid_t shim = (pid_t)rig_memo(&rig, s.ref, "life", "shim_pid");
    assert_int_equal(kill(shim, SIGSTOP), 0);
    rig.driver.ops->stop(rig.driver.self, s.ref, 10, false);
    struct member_report r = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(r.phase, MEMBER_EXITED);
    rig_clean(&rig, s.ref);
    rig_check_nothing_left(&rig);
}

/* The socket takes a new agent's connection though nobody is behind it. */
static void a_supervisor_that_never_greets_counts_as_lost(void **state)
{
    (void)state;
    struct container_spec s = start(waiting);
    rig_until_said(&rig, s.ref, "ready");
    rig_stop_agent(&rig);
    assert_true(kill_recorded_shim(s.ref, SIGSTOP));
    rig_start_agent(&rig);
    struct member_report m;
    /* It gets its seconds to greet, and then what it is spared before it is killed. */
    for (int64_t until = net_now_ms() + rig_ms(30000); net_now_ms() < until; rig_turn(&rig, 20))
        if (rig_report(&rig, s.ref, &m) && m.phase >= MEMBER_EXITED) break;
    m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_EXITED);
    assert_non_null(strstr(m.end.detail, "unknown"));
    rig_clean(&rig, s.ref);
    rig_check_nothing_left(&rig);
}

int main(void)
{
    if (!rig_possible()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_that_restarts_finds_what_runs),
        cmocka_unit_test(an_agent_that_restarts_finds_what_waits),
        cmocka_unit_test(an_end_without_an_agent_is_not_lost),
        cmocka_unit_test(a_refusal_is_remembered),
        cmocka_unit_test(a_driver_that_ends_tells_no_more),
        cmocka_unit_test(an_agent_killed_at_any_step_leaves_nothing_odd),
        cmocka_unit_test(a_lost_supervisor_of_what_runs_is_replaced),
        cmocka_unit_test(a_stop_outlives_the_supervisor_that_heard_it),
        cmocka_unit_test(a_supervisor_lost_together_with_the_agent_is_replaced),
        cmocka_unit_test(an_end_that_nobody_watched_is_found_in_inits_file),
        cmocka_unit_test(what_cannot_be_known_is_not_guessed),
        cmocka_unit_test(a_supervisor_lost_before_go_means_it_never_ran),
        cmocka_unit_test(a_supervisor_lost_between_its_record_and_the_act_is_completed),
        cmocka_unit_test(a_start_that_fails_is_told),
        cmocka_unit_test(a_supervisor_killed_at_any_moment_runs_it_at_most_once),
        cmocka_unit_test(a_restart_of_the_machine_is_told_not_rerun),
        cmocka_unit_test(what_belongs_to_nobody_is_removed_at_start),
        cmocka_unit_test(cleaning_what_runs_ends_it_first),
        cmocka_unit_test(a_hung_supervisor_is_overruled),
        cmocka_unit_test(a_supervisor_that_never_greets_counts_as_lost),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
