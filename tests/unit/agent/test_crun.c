/* tests/unit/agent/test_crun.c - the crun driver on real containers: how commands
 * end, what they print, what they may not do. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/crun_impl.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "crun_rig.h"
#include "net/conn.h"
#include "net/loop.h"
#include "wire/carry.h"

static void expect_output(struct member_ref ref, char stream, const char *text)
{
    size_t n;
    char *out = rig_output(&rig, ref, stream, &n);
    assert_string_equal(out, text);
    mem_free(out);
}

/* ---- how it ends ---- */

static void ends_are_told(void **state)
{
    static const struct {
        const char *name, *argv[4];
        int32_t code, signal;
        const char *out, *err;
    } cases[] = {
        {"success", {"/bin/true"}, 0, 0, "", ""},
        {"found by PATH", {"true"}, 0, 0, "", ""},
        {"exit code", {"/bin/sh", "-c", "exit 7"}, 7, 0, "", ""},
        {"signal", {"/bin/sh", "-c", "kill -KILL $$"}, 137, 9, "", ""},
        {"core signal", {"/bin/sh", "-c", "kill -SEGV $$"}, 139, 11, "", ""},
        {"no command",
         {"/no/such"},
         127,
         0,
         "",
         "rota: cannot run /no/such: there is no such command\n"},
        {"not executable",
         {"/etc/hosts"},
         126,
         0,
         "",
         "rota: cannot run /etc/hosts: Permission denied\n"},
        {"both streams",
         {"/bin/sh", "-c", "echo out; echo err >&2; printf end"},
         0,
         0,
         "out\nend",
         "err\n"},
        {"empty lines", {"/bin/sh", "-c", "printf '\\n\\nx\\n'"}, 0, 0, "\n\nx\n", ""},
        {"stdin is empty", {"/bin/cat"}, 0, 0, "", ""},
        {"job outlived by a child", {"/bin/sh", "-c", "sleep 60 & exit 3"}, 3, 0, "", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct container_spec s = rig_spec(&rig, (const char *const *)cases[i].argv);
        struct member_report m = rig_run(&rig, &s);
        if (m.phase != MEMBER_EXITED || m.end.exit_code != cases[i].code ||
            m.end.signal != cases[i].signal)
            fail_msg("%s: %s, code %d, signal %d: %s", cases[i].name, member_phase_name(m.phase),
                     m.end.exit_code, m.end.signal, m.end.detail);
        assert_false(m.end.oom || m.end.timed_out || m.end.fatal);
        expect_output(s.ref, 'o', cases[i].out);
        expect_output(s.ref, 'e', cases[i].err);
        rig_clean(&rig, s.ref);
        expect_output(s.ref, 'o', cases[i].out); /* logs stay */
    }
}

static void what_can_never_run_is_fatal(void **state)
{
    (void)state;
    static const char *const argv[] = {"/bin/true", NULL}, *const none[] = {NULL};
    struct { const char *says; struct container_spec s; } cases[5];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) cases[i].s = rig_spec(&rig, argv);
    cases[0].s.image = rig_engine() ? "host" : "pytorch";
    cases[0].says = rig_engine() ? "image 'host' needs the crun driver: a container engine takes "
                                   "images alone, docker://REFERENCE or oci:DIRECTORY"
                                 : "image 'pytorch' is none that Rota knows; expected host, "
                                   "oci:/DIRECTORY[:TAG] or docker://NAME[:TAG]";
    cases[1].s.uid = 0;
    cases[1].says = "containers never run as this machine's root";
    cases[2].s.argv = none;
    cases[2].says = "the command is empty";
    cases[3].s.mem_bytes = 1024;
    cases[3].says = "a container takes at least 0.01 CPU, 16 MiB of memory, 16 processes";
    cases[4].s.workdir = "not/absolute";
    cases[4].says = "working directory 'not/absolute' is not absolute";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct member_report m = rig_run(&rig, &cases[i].s);
        assert_int_equal(m.phase, MEMBER_FAILED);
        assert_true(m.end.fatal);
        assert_string_equal(m.end.detail, cases[i].says);
        rig_clean(&rig, cases[i].s.ref);
    }
}

static void a_directory_of_no_claim_is_a_conflict_never_taken(void **state)
{
    (void)state;
    static const char *const argv[] = {"/bin/true", NULL};
    struct container_spec s = rig_spec(&rig, argv);
    struct member_report m = rig_run(&rig, &s);
    assert_int_equal(m.phase, MEMBER_EXITED);
    rig_create(&rig, &s); /* known already: nothing happens */
    rig_turn(&rig, 5);
    assert_true(rig_report(&rig, s.ref, &m));
    assert_int_equal(m.phase, MEMBER_EXITED);
    rig_clean(&rig, s.ref);
}

/* ---- stopping ---- */

static void a_bare_sleep_dies_at_once(void **state)
{
    (void)state;
    static const char *const argv[] = {"sleep", "60", NULL};
    struct container_spec s = rig_spec(&rig, argv);
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    int64_t from = net_now_ms();
    rig.driver.ops->stop(rig.driver.self, s.ref, 30000, false);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.end.signal, SIGTERM);
    assert_true(net_now_ms() - from < rig_ms(2000));
    rig_clean(&rig, s.ref);
}

static void a_trap_runs_in_its_grace(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(
        &rig, "trap 'echo saving; exit 5' TERM; echo ready; while :; do sleep 0.05; done");
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "ready");
    rig.driver.ops->stop(rig.driver.self, s.ref, 30000, false);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.end.exit_code, 5);
    expect_output(s.ref, 'o', "ready\nsaving\n");
    rig_clean(&rig, s.ref);
}

static void who_ignores_term_is_killed_at_the_grace(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig,
                                        "trap '' TERM; echo ready; while :; do sleep 0.05; done");
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "ready");
    int64_t from = net_now_ms();
    rig.driver.ops->stop(rig.driver.self, s.ref, 60000, false);
    rig.driver.ops->stop(rig.driver.self, s.ref, 150, false); /* a shorter grace counts */
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.end.signal, SIGKILL);
    assert_in_range(net_now_ms() - from, 150, rig_ms(3000));
    rig_clean(&rig, s.ref);
}

static void a_stop_before_the_start_ends_it_unrun(void **state)
{
    (void)state;
    static const char *const argv[] = {"/bin/true", NULL};
    struct container_spec s = rig_spec(&rig, argv);
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    rig.driver.ops->stop(rig.driver.self, s.ref, 1000, false);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_FAILED);
    assert_string_equal(m.end.detail, "stopped before it started");
    assert_false(m.end.fatal);
    rig_clean(&rig, s.ref);
}

static void nothing_runs_before_go(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig, "echo ran");
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    rig_turn(&rig, 50);
    struct member_report m;
    assert_true(rig_report(&rig, s.ref, &m));
    assert_int_equal(m.phase, MEMBER_READY);
    expect_output(s.ref, 'o', "");
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_EXITED);
    expect_output(s.ref, 'o', "ran\n");
    rig_clean(&rig, s.ref);
}

static void the_time_limit_ends_it_and_is_told(void **state)
{
    (void)state;
    static const char *const argv[] = {"sleep", "60", NULL};
    struct container_spec s = rig_spec(&rig, argv);
    s.limit_ms = 100;
    int64_t from = net_now_ms();
    struct member_report m = rig_run(&rig, &s);
    assert_true(m.end.timed_out);
    assert_int_equal(m.end.signal, SIGTERM);
    assert_in_range(net_now_ms() - from, 100, rig_ms(5000));
    rig_clean(&rig, s.ref);
}

static void a_numbered_signal_comes_once(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(
        &rig, "trap 'echo usr' USR1; trap 'echo end; exit 0' USR2; echo ready; "
              "while :; do sleep 0.02; done");
    struct member_report m = {0};
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "ready");
    rig_until(&rig, s.ref, MEMBER_RUNNING); /* before, it is for the plan to ask again */
    rig.driver.ops->signal(rig.driver.self, s.ref, 3, SIGUSR1);
    rig_until_said(&rig, s.ref, "usr");
    for (int i = 0; i < 3; i++) rig.driver.ops->signal(rig.driver.self, s.ref, 3, SIGUSR1);
    while (m.signal_done < 3) {
        rig_turn(&rig, 1);
        assert_true(rig_report(&rig, s.ref, &m));
    }
    rig.driver.ops->signal(rig.driver.self, s.ref, 4, SIGUSR2);
    m = rig_until(&rig, s.ref, MEMBER_EXITED);
    expect_output(s.ref, 'o', "ready\nusr\nend\n");
    rig_clean(&rig, s.ref);
}

/* ---- walls ---- */

static void it_sees_what_it_should(void **state)
{
    static const struct { const char *script, *out; bool host; } cases[] = {
        {"id -u; id -g", "31337\n31337\n", false},
        {"whoami", "user31337\n", true},
        {"hostname; echo $(cat /etc/hostname)", "box\nbox\n", false},
        {"pwd; cd; pwd; touch x && echo mine", "/\n/home/me\nmine\n", false},
        {"ls /root 2>/dev/null; ls -A /srv /var/log /boot 2>/dev/null; echo done",
         "/srv:\n\n/var/log:\ndone\n", true},
        {"cat /etc/shadow 2>/dev/null || echo no", "no\n", false},
        {"touch /usr/bin/x 2>/dev/null || echo no", "no\n", false},
        {"touch /tmp/x /dev/shm/y && echo yes", "yes\n", false},
        {"cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '", "lo\n", false},
        {"grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'",
         "CapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n", false},
        {"unshare -U true 2>/dev/null || echo no", "no\n", false},
        {"cat /proc/self/cgroup | cut -d: -f3 | sort -u", NULL, false},
        {"ls /proc/1/fd 2>/dev/null || echo closed", "closed\n", false},
        {"echo $$ $PPID", "2 1\n", true}, /* others count on from what their runtime was */
        {"echo $PPID", "1\n", false},
        {"echo $HOME $PATH", "/home/me /usr/bin:/bin\n", false},
        {"cat /proc/sys/kernel/hostname; echo x > /proc/sys/kernel/hostname 2>/dev/null || echo no",
         "box\nno\n", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (cases[i].host && rig_engine()) continue;
        struct container_spec s = rig_shell(&rig, cases[i].script);
        struct member_report m = rig_run(&rig, &s);
        assert_int_equal(m.phase, MEMBER_EXITED);
        size_t n;
        char *out = rig_output(&rig, s.ref, 'o', &n);
        if (cases[i].out && strcmp(out, cases[i].out) != 0)
            fail_msg("%s: said\n%s", cases[i].script, out);
        mem_free(out);
        rig_clean(&rig, s.ref);
    }
}

static void it_starts_where_it_is_told(void **state)
{
    static const char *const dirs[] = {"/jobs/deep/er", "/tmp", "/usr/bin", "/home/me/data"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        char want[64];
        struct container_spec s = rig_shell(&rig, "pwd");
        s.workdir = dirs[i];
        rig_run(&rig, &s);
        text_fmt(want, sizeof(want), "%s\n", dirs[i]);
        expect_output(s.ref, 'o', want);
        rig_clean(&rig, s.ref);
    }
}

/* The node's own claims, also those of an agent before: a device has one holder. */
static void what_lives_here_leaves_no_room(void **state)
{
    static const char *const sleeper[] = {"/bin/sleep", "1000", NULL};
    static const struct { struct claim wanted; int rc; } cases[] = {
        {{500, 64 << 20, 1}, ERR_UNAVAILABLE},  /* device 0 is taken */
        {{501, 64 << 20, 2}, ERR_UNAVAILABLE},  /* not so much CPU is left */
        {{500, 65 << 20, 2}, ERR_UNAVAILABLE},  /* not so much memory */
        {{500, 64 << 20, 4}, ERR_UNAVAILABLE},  /* there is no device 2 */
        {{500, 64 << 20, 2}, 0},
    };
    const struct claim capacity = {1000, 128 << 20, 3};
    struct err err = {0};
    (void)state;
    struct container_spec first = rig_spec(&rig, sleeper);
    first.claim = (struct claim){500, 64 << 20, 1};
    rig_create(&rig, &first);
    rig_until(&rig, first.ref, MEMBER_READY);
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    ((struct crun *)rig.driver.self)->capacity = capacity;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct container_spec s = rig_spec(&rig, sleeper);
        struct member_report r;
        s.claim = cases[i].wanted;
        assert_int_equal(rig.driver.ops->create(rig.driver.self, &s, &err), cases[i].rc);
        assert_int_equal(rig_report(&rig, s.ref, &r), cases[i].rc == 0);
        if (cases[i].rc == 0) rig_clean(&rig, s.ref);
    }
    rig_clean(&rig, first.ref);
    ((struct crun *)rig.driver.self)->capacity = (struct claim){0};
}

/* While it is cleaned its log moves, and is never half there. */
static void the_log_is_whole_at_every_moment(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct container_spec s = rig_shell(&rig, "echo one; echo two");
        struct member_report r;
        rig_run(&rig, &s);
        rig.driver.ops->clean(rig.driver.self, s.ref);
        do { /* the cleaning is on a worker: this looks at its every stage */
            expect_output(s.ref, 'o', "one\ntwo\n");
            rig_turn(&rig, 0);
        } while (rig_report(&rig, s.ref, &r));
        expect_output(s.ref, 'o', "one\ntwo\n");
    }
}

static void another_incarnation_is_an_orphan(void **state)
{
    (void)state;
    static const char *const argv[] = {"/bin/true", NULL};
    struct container_spec s = rig_spec(&rig, argv);
    TEXT_SET(s.incarnation, STR("zero"));
    struct member_report m = rig_run(&rig, &s);
    assert_true(m.orphan);
    rig.driver.ops->set_incarnation(rig.driver.self, "zero");
    assert_true(rig_report(&rig, s.ref, &m));
    assert_false(m.orphan);
    rig.driver.ops->set_incarnation(rig.driver.self, "one");
    rig_clean(&rig, s.ref);
}

static void groups_that_somebody_tidied_away_are_made_again(void **state)
{
    (void)state;
    const struct crun *c = rig.driver.self;
    struct container_spec s = rig_shell(&rig, "exit 6");
    cgroup_host_remove(&c->node.cgroups);
    assert_int_equal(rig_run(&rig, &s).end.exit_code, 6);
    rig_clean(&rig, s.ref);
}

static void many_at_once(void **state)
{
    enum { N = 12 };
    struct member_ref refs[N];
    (void)state;
    for (int i = 0; i < N; i++) {
        struct container_spec s = rig_shell(&rig, "echo $HOME; exit 4");
        refs[i] = s.ref;
        rig_create(&rig, &s);
        rig.driver.ops->go(rig.driver.self, s.ref);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(rig_until(&rig, refs[i], MEMBER_EXITED).end.exit_code, 4);
    for (int i = 0; i < N; i++) rig.driver.ops->clean(rig.driver.self, refs[i]);
    for (int i = 0; i < N; i++) rig_until_gone(&rig, refs[i]);
}

static void the_documented_slow_way_works_too(void **state)
{
    (void)state;
    struct crun *c = rig.driver.self;
    const char *filter = c->node.bundle.filter_base64;
    if (rig_engine()) skip();
    crun_node_slow(&c->node);
    struct container_spec s =
        rig_shell(&rig, "grep Seccomp: /proc/self/status; unshare -U true 2>/dev/null || exit 7");
    struct member_report m = rig_run(&rig, &s);
    assert_int_equal(m.end.exit_code, 7);
    expect_output(s.ref, 'o', "Seccomp:\t2\n");
    rig_clean(&rig, s.ref);
    c->node.slow = false;
    c->node.bundle.filter_base64 = filter;
}

static void the_node_says_what_it_proved(void **state)
{
    struct driver_facts f;
    (void)state;
    rig.driver.ops->facts(rig.driver.self, &f);
    assert_true(f.proved);
    assert_false(f.simulated);
    if (rig_engine()) assert_true(strstr(f.note, "Docker ") || strstr(f.note, "Podman "));
    else assert_non_null(strstr(f.note, "control groups v"));
}

int main(void)
{
    if (!rig_possible()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_told),
        cmocka_unit_test(what_can_never_run_is_fatal),
        cmocka_unit_test(a_directory_of_no_claim_is_a_conflict_never_taken),
        cmocka_unit_test(a_bare_sleep_dies_at_once),
        cmocka_unit_test(a_trap_runs_in_its_grace),
        cmocka_unit_test(who_ignores_term_is_killed_at_the_grace),
        cmocka_unit_test(a_stop_before_the_start_ends_it_unrun),
        cmocka_unit_test(nothing_runs_before_go),
        cmocka_unit_test(the_time_limit_ends_it_and_is_told),
        cmocka_unit_test(a_numbered_signal_comes_once),
        cmocka_unit_test(it_sees_what_it_should),
        cmocka_unit_test(it_starts_where_it_is_told),
        cmocka_unit_test(what_lives_here_leaves_no_room),
        cmocka_unit_test(the_log_is_whole_at_every_moment),
        cmocka_unit_test(another_incarnation_is_an_orphan),
        cmocka_unit_test(groups_that_somebody_tidied_away_are_made_again),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(the_documented_slow_way_works_too),
        cmocka_unit_test(the_node_says_what_it_proved),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
