/* tests/unit/agent/test_docker_real.c - what is special about another engine's containers: the
 * engine hangs, dies, comes back, loses them.  Run by docker_engine.py, which starts the
 * engine again when it is killed. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/docker/api.h"
#include "agent/docker/spec.h"
#include "agent/crun_impl.h"
#include "agent/docker/host.h"
#include "base/mem.h"
#include "crun_rig.h"
#include "net/loop.h"

static const char ticking[] = "trap 'echo bye; exit 5' TERM; i=0; "
                              "while :; do i=$((i+1)); echo tick$i.; sleep 0.05; done";

static const char *engine(void) { return rig_engine() + sizeof("unix://") - 1; }

static void name_of(struct member_ref ref, char ret[MEMO_NAME])
{
    const struct crun *c = rig.driver.self;
    docker_name(ref, c->node.docker->tag, ret);
}

/* The engine's process may be another after it was killed. */
static pid_t engine_pid(void)
{
    char path[256], text[32] = "";
    text_fmt(path, sizeof(path), "%s.pid", engine());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    int64_t pid = 0;
    assert_true(str_to_i64(str_of(text), &pid) && pid > 1);
    return (pid_t)pid;
}

static struct container_spec start(const char *script)
{
    struct container_spec s = rig_shell(&rig, script);
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    return s;
}

/* It has said more than it had. */
static void expect_progress(struct member_ref ref)
{
    size_t before, now;
    mem_free(rig_output(&rig, ref, 'o', &before));
    for (int64_t until = net_now_ms() + rig_ms(20000); net_now_ms() < until; rig_turn(&rig, 20)) {
        mem_free(rig_output(&rig, ref, 'o', &now));
        if (now > before) return;
    }
    fail_msg("it does not go on");
}

static void agt13_what_somebody_deletes_is_seen_to_end(void **state)
{
    (void)state;
    char name[MEMO_NAME];
    struct err err = {0};
    struct container_spec s = start(ticking);
    name_of(s.ref, name);
    assert_int_equal(docker_remove(engine(), name, &err), 0);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_int_equal(m.phase, MEMBER_EXITED);
    if (m.end.exit_code == -1) assert_non_null(strstr(m.end.detail, "unknown"));
    else assert_int_equal(m.end.exit_code, 137);
    rig_clean(&rig, s.ref);
}

static void ses4_an_engine_that_hangs_holds_no_stop_up(void **state)
{
    (void)state;
    struct container_spec a = start(ticking), b = rig_shell(&rig, "exit 3");
    rig_until_said(&rig, a.ref, "tick2");
    pid_t pid = engine_pid();
    assert_int_equal(kill(pid, SIGSTOP), 0);
    rig_create(&rig, &b); /* waits there */
    rig.driver.ops->go(rig.driver.self, b.ref);
    expect_progress(a.ref);
    int64_t from = net_now_ms();
    rig.driver.ops->stop(rig.driver.self, a.ref, 30000, false);
    struct member_report m = rig_until(&rig, a.ref, MEMBER_EXITED);
    bool soon = net_now_ms() - from < rig_ms(2000);
    rig.driver.ops->clean(rig.driver.self, a.ref);
    rig_turn(&rig, 100);
    bool kept = rig_report(&rig, a.ref, &m); /* not gone before the engine says so */
    kill(pid, SIGCONT);
    assert_true(soon);
    assert_true(kept);
    assert_int_equal(m.end.exit_code, 5);
    rig_until_gone(&rig, a.ref);
    assert_int_equal(rig_until(&rig, b.ref, MEMBER_EXITED).end.exit_code, 3);
    rig_clean(&rig, b.ref);
}

/* The end of one that Docker stops when it comes back: by SIGTERM, which it heeds, or
 * SIGKILL; where it took long to come back, what it would have said was not waited for. */
static bool stopped(const struct member_report *m)
{
    if (m->end.exit_code == -1) return strstr(m->end.detail, "unknown") != NULL;
    return m->end.exit_code == 5 || m->end.exit_code == 137;
}

static void an_engine_that_dies_takes_nothing_along(void **state)
{
    (void)state;
    struct member_report m;
    struct container_spec s = start(ticking);
    pid_t pid = engine_pid();
    rig_until_said(&rig, s.ref, "tick2");
    assert_int_equal(kill(pid, SIGKILL), 0);
    /* Podman's go on; Docker stops them when it is back, and then that is told. */
    for (int64_t until = net_now_ms() + rig_ms(60000); net_now_ms() < until; rig_turn(&rig, 20)) {
        struct docker_version v;
        assert_true(rig_report(&rig, s.ref, &m));
        if (engine_pid() != pid && docker_version(engine(), &v, NULL) == 0) break;
        assert_true(m.phase == MEMBER_RUNNING || (m.phase == MEMBER_EXITED && stopped(&m)));
    }
    rig.driver.ops->stop(rig.driver.self, s.ref, 30000, false);
    m = rig_until(&rig, s.ref, MEMBER_EXITED);
    assert_true(stopped(&m));
    rig_clean(&rig, s.ref);
    struct container_spec again = rig_shell(&rig, "exit 4");
    rig_until_proved(&rig);
    assert_int_equal(rig_run(&rig, &again).end.exit_code, 4);
    rig_clean(&rig, again.ref);
}

static void an_agent_adopts_while_the_engine_hangs(void **state)
{
    (void)state;
    struct container_spec s = start(ticking);
    struct driver_config c = {.state_dir = rig.state_dir, .shim_path = getenv("ROTA_SHIM"),
                              .docker_socket = rig_engine(), .helper_path = getenv("ROTA_ROTAD"),
                              .log_keep_bytes = 64 * 1024 * 1024};
    struct err err = {0};
    rig_until_said(&rig, s.ref, "tick2");
    rig_stop_agent(&rig);
    pid_t pid = engine_pid();
    kill(pid, SIGSTOP);
    int64_t from = net_now_ms();
    int rc = docker_driver_new(rig.loop, &c, &rig.driver, &err);
    int64_t took = net_now_ms() - from;
    rig.driver.ops->set_incarnation(rig.driver.self, "one");
    struct container_spec none = rig_shell(&rig, "true");
    int created = rig.driver.ops->create(rig.driver.self, &none, &err);
    rig.driver.ops->stop(rig.driver.self, s.ref, 30000, false);
    struct member_report m = rig_until(&rig, s.ref, MEMBER_EXITED);
    kill(pid, SIGCONT);
    assert_int_equal(rc, 0);
    assert_true(took < rig_ms(5000));
    assert_int_equal(created, ERR_UNAVAILABLE);
    assert_int_equal(m.end.exit_code, 5);
    rig_clean(&rig, s.ref);
    rig_until_proved(&rig);
}

/* A container is ours by its label and by having no claim; others are not looked at. */
static void strays_of_ours_alone_are_swept(void **state)
{
    (void)state;
    char ours[MEMO_NAME], label[2][300], spec[512];
    struct docker_state st;
    struct err err = {0};
    char image[DOCKER_ID];
    name_of((struct member_ref){999, 1, 0}, ours);
    const char *const names[] = {ours, "rota-s999.1.0.ffffffff"};
    assert_int_equal(docker_image(engine(), DOCKER_PROBE_TAG, image, &err), 0);
    text_fmt(label[0], sizeof(label[0]), "%s", rig.state_dir);
    text_fmt(label[1], sizeof(label[1]), "/another/agent");
    for (int i = 0; i < 2; i++) {
        text_fmt(spec, sizeof(spec),
                 "{\"Image\":\"%s\",\"Cmd\":[\"x\"],\"Labels\":{\"rota.agent\":\"%s\"},"
                 "\"HostConfig\":{\"NetworkMode\":\"none\"}}",
                 image, label[i]);
        if (docker_create(engine(), names[i], str_of(spec), &err) < 0) fail_msg("%s", err.text);
    }
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    for (int64_t until = net_now_ms() + rig_ms(20000); net_now_ms() < until; rig_turn(&rig, 20))
        if (docker_inspect(engine(), ours, &st, &err) == ERR_NOT_FOUND) break;
    assert_int_equal(docker_inspect(engine(), ours, &st, &err), ERR_NOT_FOUND);
    assert_int_equal(docker_inspect(engine(), names[1], &st, &err), 0);
    assert_int_equal(docker_remove(engine(), names[1], &err), 0);
}

static void a_layout_is_an_image_too(void **state)
{
    (void)state;
    char image[300];
    for (int i = 0; i < 2; i++) { /* the second time it is there */
        struct container_spec s = rig_shell(&rig, "echo from the layout");
        text_fmt(image, sizeof(image), "oci:%s", getenv("ROTA_TEST_LAYOUT"));
        s.image = image;
        struct member_report m = rig_run(&rig, &s);
        if (m.end.exit_code != 0) fail_msg("%s", m.end.detail);
        size_t n;
        char *out = rig_output(&rig, s.ref, 'o', &n);
        assert_string_equal(out, "from the layout\n");
        mem_free(out);
        rig_clean(&rig, s.ref);
    }
}

static void an_image_that_is_not_there_is_told(void **state)
{
    (void)state;
    static const struct { const char *image, *says; } cases[] = {
        {"docker://127.0.0.1:1/none:1", "cannot fetch 127.0.0.1:1/none:1"},
        {"oci:/nowhere", "image oci:/nowhere"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct container_spec s = rig_shell(&rig, "true");
        s.image = cases[i].image;
        struct member_report m = rig_run(&rig, &s);
        assert_int_equal(m.phase, MEMBER_FAILED);
        if (!strstr(m.end.detail, cases[i].says)) fail_msg("%s", m.end.detail);
        rig_clean(&rig, s.ref);
    }
}

int main(void)
{
    if (!rig_possible() || !rig_engine()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layout_is_an_image_too),
        cmocka_unit_test(an_image_that_is_not_there_is_told),
        cmocka_unit_test(agt13_what_somebody_deletes_is_seen_to_end),
        cmocka_unit_test(strays_of_ours_alone_are_swept),
        cmocka_unit_test(ses4_an_engine_that_hangs_holds_no_stop_up),
        cmocka_unit_test(an_agent_adopts_while_the_engine_hangs),
        cmocka_unit_test(an_engine_that_dies_takes_nothing_along),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
