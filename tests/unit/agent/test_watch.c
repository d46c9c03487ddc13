/* A probe that speaks, falls silent, babbles, or is killed.  Each probe is a small shell. */
#include "test.h"

#include <signal.h>

#include "agent/gpu/watch.h"

#define LONG_MS 30000

#define REPORT "{\"seq\":1,\"complete\":true,\"devices\":[]}"

struct rig {
    struct net_loop *loop;
    struct watch *w;
    const char *argv[4];
    uint32_t reports, silences;
    char why[96];
    bool enough;
    uint32_t want_reports, want_silences;
};

static void judge(struct rig *g)
{
    g->enough = g->reports >= g->want_reports && g->silences >= g->want_silences;
}

static void on_report(void *arg, const struct probe_report *r)
{
    struct rig *g = arg;
    assert_true(r->complete);
    g->reports++;
    judge(g);
}

static void on_silent(void *arg, const char *why)
{
    struct rig *g = arg;
    g->silences++;
    TEXT_CLIP(g->why, str_of(why));
    judge(g);
}

static void begin(struct rig *g, const char *script, int64_t first_ms, int64_t silent_ms)
{
    *g = (struct rig){.loop = net_loop_new(), .argv = {"/bin/sh", "-c", script, NULL}};
    g->w = watch_new(g->loop, &(struct watch_opts){.argv = g->argv, .first_ms = first_ms,
                                                   .silent_ms = silent_ms, .pause_ms = 1,
                                                   .on_report = on_report, .on_silent = on_silent,
                                                   .arg = g});
}

static void until(struct rig *g, uint32_t reports, uint32_t silences)
{
    g->want_reports = reports;
    g->want_silences = silences;
    judge(g);
    if (!net_loop_run_until(g->loop, &g->enough, LONG_MS))
        fail_msg("%u reports, %u silences: %s", g->reports, g->silences, g->why);
}

static void end(struct rig *g)
{
    watch_free(g->w);
    net_loop_free(g->loop);
}

static void a_silent_probe_is_replaced(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, "echo '" REPORT "'; exec sleep 1000", LONG_MS, 50);
    until(&g, 1, 0);
    int64_t first = watch_pid(g.w);
    until(&g, 3, 2); /* each says one thing, hangs, and is told of once */
    assert_string_equal(g.why, "the probe hangs");
    assert_true(watch_pid(g.w) != first);
    end(&g);
}

static void one_that_never_speaks_is_told_of_once(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, "exec sleep 1000", 20, LONG_MS);
    until(&g, 0, 1);
    bool never = false;
    net_loop_run_until(g.loop, &never, 200); /* others come and go meanwhile */
    assert_int_equal(g.silences, 1);
    assert_int_equal(g.reports, 0);
    end(&g);
}

static void a_killed_probe_is_replaced(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, "echo '" REPORT "'; exec sleep 1000", LONG_MS, LONG_MS);
    until(&g, 1, 0);
    assert_int_equal(kill((pid_t)watch_pid(g.w), SIGKILL), 0);
    until(&g, 2, 1);
    assert_string_equal(g.why, "the probe ended with code 137");
    end(&g);
}

static void nonsense_is_not_believed(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "echo nonsense; echo '" REPORT "'; exec sleep 1000",
        "echo '{\"seq\":1}'; echo '" REPORT "'; exec sleep 1000",
        "head -c 3000000 /dev/zero; echo '" REPORT "'; exec sleep 1000", /* a line without end */
        "exit 3",
    };
    for (size_t i = 0; i < 4; i++) {
        struct rig g;
        begin(&g, scripts[i], LONG_MS, LONG_MS);
        until(&g, 0, 1);
        assert_int_equal(g.reports, 0);
        end(&g);
    }
}

static void a_missing_program_is_told(void **state)
{
    (void)state;
    struct rig g = {.loop = net_loop_new(), .argv = {"/nonexistent/probe", NULL}};
    g.w = watch_new(g.loop, &(struct watch_opts){.argv = g.argv, .on_report = on_report,
                                                 .on_silent = on_silent, .arg = &g});
    until(&g, 0, 1);
    assert_string_equal(g.why, "the probe cannot be started");
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_probe_is_replaced),
        cmocka_unit_test(one_that_never_speaks_is_told_of_once),
        cmocka_unit_test(a_killed_probe_is_replaced),
        cmocka_unit_test(nonsense_is_not_believed),
        cmocka_unit_test(a_missing_program_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
