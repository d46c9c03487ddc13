/* The administrator's programs: before a container, after it, and of the node's health. */
#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent/checkup.h"
#include "agent/hooks.h"

#define PATIENCE_MS 30000

struct fixture {
    char dir[64], prolog[128], epilog[128];
    struct net_loop *loop;
    struct hooks *h;
    uint32_t changes;
    bool wanted;
};

static void on_change(void *arg) { ((struct fixture *)arg)->changes++; }

static void program(const char *dir, const char *name, const char *text)
{
    char path[128];
    test_file(dir, name, text);
    text_fmt(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(chmod(path, 0755), 0);
}

static void begin_with(struct fixture *f, int64_t timeout_ms)
{
    struct err err = {0};
    f->loop = net_loop_new();
    struct hooks_opts o = {.dir = f->dir, .prolog = f->prolog, .epilog = f->epilog,
                           .timeout_ms = timeout_ms, .retry_ms = 50, .on_change = on_change,
                           .arg = f};
    if (hooks_open(f->loop, &o, &f->h, &err) != 0) fail_msg("%s", err.text);
    hooks_set_uuid(f->h, 0, "GPU-aa");
    hooks_set_uuid(f->h, 2, "GPU-cc");
}

static void end(struct fixture *f)
{
    hooks_free(f->h);
    net_loop_free(f->loop);
}

static void fixture_init(struct fixture *f, const char *prolog, const char *epilog)
{
    memset(f, 0, sizeof(*f));
    f->wanted = true;
    test_dir_new(f->dir);
    if (prolog != NULL) {
        text_fmt(f->prolog, sizeof(f->prolog), "%s/prolog", f->dir);
        program(f->dir, "prolog", prolog);
    }
    if (epilog != NULL) {
        text_fmt(f->epilog, sizeof(f->epilog), "%s/epilog", f->dir);
        program(f->dir, "epilog", epilog);
    }
}

static void fixture_done(struct fixture *f)
{
    end(f);
    test_dir_free(f->dir);
}

static void turn(struct fixture *f)
{
    static const bool never;
    (void)net_loop_run_until(f->loop, &never, 10);
}

#define UNTIL(f, condition) \
    do { \
        int64_t until_ = net_now_ms() + PATIENCE_MS; \
        while (!(condition)) { \
            if (net_now_ms() > until_) fail_msg("never: %s", #condition); \
            turn(f); \
        } \
    } while (0)

static bool is_wanted(const void *arg, struct member_ref ref)
{
    (void)ref;
    return ((const struct fixture *)arg)->wanted;
}

static void settle(struct fixture *f, uint64_t session, enum member_phase phase)
{
    struct member_report r = {.ref = {session, 1, 0}, .phase = phase};
    hooks_settle(f->h, &r, phase == MEMBER_NONE ? 0 : 1, is_wanted, f);
}

static int ready(struct fixture *f, uint64_t session, uint32_t devices, struct err *err)
{
    struct hooks_ask ask = {{session, 1, 0}, "ann", devices};
    return hooks_ready(f->h, &ask, err);
}

static enum member_phase phase(struct fixture *f, uint64_t session)
{
    AUTO_FREE struct member_report *list = NULL;
    uint32_t n = hooks_list(f->h, &list);
    for (uint32_t i = 0; i < n; i++)
        if (list[i].ref.session == session) return list[i].phase;
    return MEMBER_NONE;
}

static const char *content(const char *dir, const char *name)
{
    static char text[4096];
    char path[128];
    text_fmt(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static uint32_t records(const struct fixture *f)
{
    char path[128];
    uint32_t n = 0;
    static const char *const names[] = {"1.1.0", "1.1.0.lock", "2.1.0", "2.1.0.lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        text_fmt(path, sizeof(path), "%s/hooks/%s", f->dir, names[i]);
        n += access(path, F_OK) == 0;
    }
    return n;
}

static void without_programs_nothing_is_written(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, NULL, NULL);
    begin_with(&f, 5000);
    assert_int_equal(ready(&f, 1, 1, NULL), 0);
    assert_int_equal(phase(&f, 1), MEMBER_NONE);
    assert_int_equal(records(&f), 0);
    fixture_done(&f);
}

static void it_is_told_of_the_member_and_of_nothing_else(void **state)
{
    struct fixture f;
    char text[256];
    (void)state;
    fixture_init(&f, "", NULL);
    text_fmt(text, sizeof(text), "#!/bin/sh\nenv > %s/seen; pwd >> %s/seen\n", f.dir, f.dir);
    program(f.dir, "prolog", text);
    setenv("SECRET_OF_OURS", "x", 1);
    begin_with(&f, PATIENCE_MS);
    struct err err = {0};
    assert_int_equal(ready(&f, 1, 1u | 4u, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "its prolog runs");
    assert_int_equal(phase(&f, 1), MEMBER_PREPARING);
    UNTIL(&f, ready(&f, 1, 1u | 4u, NULL) == 0);
    const char *seen = content(f.dir, "seen");
    static const char *const lines[] = {"ROTA_SESSION=s1\n", "ROTA_ATTEMPT=1\n", "ROTA_MEMBER=0\n",
                                        "ROTA_USER=ann\n", "ROTA_GPUS=GPU-aa,GPU-cc\n",
                                        "ROTA_HOOK=prolog\n", "\n/\n"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (strstr(seen, lines[i]) == NULL) fail_msg("no %s in %s", lines[i], seen);
    assert_null(strstr(seen, "SECRET_OF_OURS"));
    fixture_done(&f);
}

static void a_prolog_that_fails_says_why_after_its_epilog(void **state)
{
    struct fixture f;
    struct err err = {0};
    (void)state;
    fixture_init(&f, "#!/bin/sh\necho starting\necho no /scratch here >&2\nexit 3\n",
                 "#!/bin/sh\ntouch \"${0%epilog}cleaned\"\n");
    begin_with(&f, PATIENCE_MS);
    UNTIL(&f, ready(&f, 1, 1, &err) == ERR_IO);
    assert_string_equal(err.text, "prolog: no /scratch here");
    char path[128];
    text_fmt(path, sizeof(path), "%s/cleaned", f.dir);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(phase(&f, 1), MEMBER_NONE);
    assert_int_equal(records(&f), 0);
    assert_string_equal(hooks_mark(f.h), "");
    fixture_done(&f);
}

static void a_program_that_is_missing_or_late_has_failed(void **state)
{
    struct fixture f;
    struct err err = {0};
    (void)state;
    fixture_init(&f, "#!/bin/sh\nsleep 1000\n", NULL);
    begin_with(&f, 200);
    UNTIL(&f, ready(&f, 1, 1, &err) == ERR_IO);
    assert_string_equal(err.text, "prolog: did not end within 200 ms");
    assert_int_equal(unlink(f.prolog), 0);
    UNTIL(&f, ready(&f, 1, 1, &err) == ERR_IO);
    assert_non_null(strstr(err.text, "No such file"));
    fixture_done(&f);
}

#define WAITING "#!/bin/sh\nd=${0%/*}\necho begin >> $d/log\n" \
    "while [ ! -e $d/go ]; do sleep 0.02; done\necho end >> $d/log\n"

static void devices_are_not_free_before_the_epilog_has_ended(void **state)
{
    struct fixture f;
    struct err err = {0};
    (void)state;
    fixture_init(&f, NULL, WAITING);
    begin_with(&f, PATIENCE_MS);
    assert_int_equal(ready(&f, 1, 1, NULL), 0);
    hooks_made(f.h, (struct member_ref){1, 1, 0});
    settle(&f, 1, MEMBER_RUNNING);
    assert_string_equal(content(f.dir, "log"), "");
    settle(&f, 1, MEMBER_EXITED);
    UNTIL(&f, strcmp(content(f.dir, "log"), "begin\n") == 0);
    settle(&f, 1, MEMBER_EXITED); /* said again: it does not begin again */
    assert_int_equal(ready(&f, 2, 1, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "a device of s1 is not free yet");
    assert_true(hooks_holds(f.h, (struct member_ref){1, 1, 0}));
    test_file(f.dir, "go", "");
    UNTIL(&f, !hooks_holds(f.h, (struct member_ref){1, 1, 0}));
    assert_string_equal(content(f.dir, "log"), "begin\nend\n");
    assert_int_equal(ready(&f, 2, 1, &err), 0);
    assert_true(f.changes > 0);
    fixture_done(&f);
}

static void an_epilog_that_fails_marks_the_node_until_it_passes(void **state)
{
    struct fixture f;
    struct err err = {0};
    (void)state;
    fixture_init(&f, NULL, "#!/bin/sh\n[ -e \"${0%epilog}go\" ] || { echo GPU busy; exit 1; }\n");
    begin_with(&f, PATIENCE_MS);
    assert_int_equal(ready(&f, 1, 1, NULL), 0);
    hooks_made(f.h, (struct member_ref){1, 1, 0});
    settle(&f, 1, MEMBER_EXITED);
    UNTIL(&f, hooks_mark(f.h)[0] != '\0');
    assert_string_equal(hooks_mark(f.h), "epilog of s1: GPU busy");
    assert_false(hooks_holds(f.h, (struct member_ref){1, 1, 0})); /* bounded */
    assert_int_equal(ready(&f, 2, 1, &err), ERR_IO);              /* but not a successor's */
    assert_string_equal(err.text, "the epilog of s1 failed here: GPU busy");
    end(&f); /* the mark outlives a restart */
    begin_with(&f, PATIENCE_MS);
    settle(&f, 1, MEMBER_NONE);
    UNTIL(&f, hooks_mark(f.h)[0] != '\0');
    test_file(f.dir, "go", "");
    UNTIL(&f, hooks_mark(f.h)[0] == '\0');
    assert_int_equal(ready(&f, 2, 1, NULL), 0);
    fixture_done(&f);
}

static void who_is_not_wanted_any_more_gets_no_prolog(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, WAITING, "#!/bin/sh\necho epilog >> \"${0%epilog}log\"\n");
    begin_with(&f, PATIENCE_MS);
    assert_int_equal(ready(&f, 1, 1, NULL), ERR_UNAVAILABLE);
    UNTIL(&f, strcmp(content(f.dir, "log"), "begin\n") == 0);
    f.wanted = false;
    settle(&f, 1, MEMBER_NONE);
    assert_int_equal(phase(&f, 1), MEMBER_STOPPING);
    UNTIL(&f, phase(&f, 1) == MEMBER_NONE);
    assert_string_equal(content(f.dir, "log"), "begin\nepilog\n");
    assert_int_equal(records(&f), 0);
    fixture_done(&f);
}

/* What the program started goes on when agent and program are killed: the next agent's
 * waits for it. */
static void a_killed_agents_epilog_runs_again_and_never_twice_at_once(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, NULL, "#!/bin/sh\nd=${0%/*}\n"
                 "( echo begin >> $d/log; while [ ! -e $d/go ]; do sleep 0.02; done\n"
                 "  echo end >> $d/log ) &\nwait\n");
    pid_t agent = fork();
    assert_true(agent >= 0);
    if (agent == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        begin_with(&f, PATIENCE_MS);
        (void)ready(&f, 1, 1, NULL);
        hooks_made(f.h, (struct member_ref){1, 1, 0});
        settle(&f, 1, MEMBER_EXITED);
        for (;;) turn(&f);
    }
    int64_t until = net_now_ms() + PATIENCE_MS;
    while (strcmp(content(f.dir, "log"), "begin\n") != 0) {
        if (net_now_ms() > until) fail_msg("the epilog did not begin");
        usleep(5000);
    }
    kill(agent, SIGKILL);
    assert_int_equal(waitpid(agent, NULL, 0), agent);
    begin_with(&f, PATIENCE_MS);
    settle(&f, 1, MEMBER_EXITED);
    assert_true(hooks_holds(f.h, (struct member_ref){1, 1, 0}));
    for (int i = 0; i < 80; i++) turn(&f); /* it has looked at the lock, more than once */
    assert_string_equal(content(f.dir, "log"), "begin\n");
    assert_true(hooks_holds(f.h, (struct member_ref){1, 1, 0}));
    test_file(f.dir, "go", "");
    UNTIL(&f, !hooks_holds(f.h, (struct member_ref){1, 1, 0}));
    assert_string_equal(content(f.dir, "log"), "begin\nend\nbegin\nend\n");
    assert_int_equal(records(&f), 0);
    fixture_done(&f);
}

static void health_is_unknown_until_it_passes_and_may_return(void **state)
{
    struct fixture f;
    char path[128];
    (void)state;
    fixture_init(&f, NULL, NULL);
    begin_with(&f, 5000);
    program(f.dir, "health",
            "#!/bin/sh\n[ -e \"${0%health}go\" ] || { echo fan stuck; exit 1; }\n");
    text_fmt(path, sizeof(path), "%s/health", f.dir);
    struct checkup *c = checkup_new(f.loop, &(struct checkup_opts){
        .path = path, .every_ms = 20, .timeout_ms = PATIENCE_MS, .on_change = on_change,
        .arg = &f});
    assert_string_equal(checkup_why(c), "has not passed yet");
    UNTIL(&f, strcmp(checkup_why(c), "fan stuck") == 0);
    test_file(f.dir, "go", "");
    UNTIL(&f, checkup_why(c)[0] == '\0');
    text_fmt(path, sizeof(path), "%s/go", f.dir);
    assert_int_equal(unlink(path), 0);
    UNTIL(&f, strcmp(checkup_why(c), "fan stuck") == 0);
    checkup_free(c);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_programs_nothing_is_written),
        cmocka_unit_test(it_is_told_of_the_member_and_of_nothing_else),
        cmocka_unit_test(a_prolog_that_fails_says_why_after_its_epilog),
        cmocka_unit_test(a_program_that_is_missing_or_late_has_failed),
        cmocka_unit_test(devices_are_not_free_before_the_epilog_has_ended),
        cmocka_unit_test(an_epilog_that_fails_marks_the_node_until_it_passes),
        cmocka_unit_test(who_is_not_wanted_any_more_gets_no_prolog),
        cmocka_unit_test(a_killed_agents_epilog_runs_again_and_never_twice_at_once),
        cmocka_unit_test(health_is_unknown_until_it_passes_and_may_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
