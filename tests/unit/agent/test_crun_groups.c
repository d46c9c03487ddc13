/* tests/unit/agent/test_crun_groups.c - what the kernel shows of a container's
 * control groups: the limits as they were ordered, everything of it inside, and an
 * end also for what is frozen.  Each version has its own files. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/cgroup.h"
#include "agent/claim.h"
#include "base/mem.h"
#include "crun_rig.h"
#include "host/file.h"
#include "host/memo.h"

static struct cgroup_host host;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig);
    return cgroup_host_open(rig.state_dir, "", &host, NULL);
}

static struct cgroup_set groups_of(struct member_ref ref)
{
    char name[MEMO_NAME];
    struct cgroup_set s;
    claim_name(ref, name);
    assert_int_equal(cgroup_of(&host, name, &s, NULL), 0);
    return s;
}

static void file_of(const struct cgroup_set *s, const char *controller, const char *file,
                    char ret[CGROUP_PATH + 64])
{
    const char *dir = cgroup_dir(s, controller);
    assert_non_null(dir);
    text_fmt(ret, CGROUP_PATH + 64, "%s/%s", dir, file);
}

static void limits_are_as_ordered(void **state)
{
    static const struct {
        enum cgroup_version version;
        const char *controller, *file, *text;
    } cases[] = {
        {CGROUP_V1, "cpu", "cpu.cfs_quota_us", "50000\n"},
        {CGROUP_V1, "cpu", "cpu.cfs_period_us", "100000\n"},
        {CGROUP_V1, "memory", "memory.limit_in_bytes", "67108864\n"},
        {CGROUP_V1, "pids", "pids.max", "32\n"},
        {CGROUP_V2, "cpu", "cpu.max", "50000 100000\n"},
        {CGROUP_V2, "memory", "memory.max", "67108864\n"},
        {CGROUP_V2, "memory", "memory.swap.max", "0\n"},
        {CGROUP_V2, "memory", "memory.oom.group", "1\n"},
        {CGROUP_V2, "pids", "pids.max", "32\n"},
    };
    static const char *const argv[] = {"sleep", "60", NULL};
    uint32_t seen = 0;
    (void)state;
    struct container_spec s = rig_spec(&rig, argv);
    s.cpu_milli = 500;
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    struct cgroup_set groups = groups_of(s.ref);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[CGROUP_PATH + 64], buf[256];
        size_t n = 0;
        if (cases[i].version != groups.version) continue;
        file_of(&groups, cases[i].controller, cases[i].file, path);
        assert_int_equal(file_read(AT_FDCWD, path, buf, sizeof(buf), &n, NULL), 0);
        assert_string_equal(buf, cases[i].text);
        seen++;
    }
    assert_in_range(seen, 4, 5);
    rig_clean(&rig, s.ref);
    assert_int_equal(cgroup_living(&groups), CGROUP_EMPTY);
    assert_int_not_equal(access(groups.at[0].dir, F_OK), 0);
}

static void the_container_is_inside_and_its_supervisor_is_not(void **state)
{
    char name[MEMO_NAME];
    static const char *const argv[] = {"sleep", "60", NULL};
    (void)state;
    struct container_spec s = rig_spec(&rig, argv);
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    claim_name(s.ref, name);
    assert_true(cgroup_holds(&host, name, rig_memo(&rig, s.ref, "life", "pid")));
    assert_false(cgroup_holds(&host, name, rig_memo(&rig, s.ref, "life", "shim_pid")));
    struct cgroup_set groups = groups_of(s.ref);
    assert_int_equal(cgroup_living(&groups), CGROUP_LIVING);
    rig_clean(&rig, s.ref);
}

/* So that whoever ends the agent's unit, or limits it, does not reach them. */
static void the_supervisor_leaves_the_group_it_was_born_in(void **state)
{
    static const char *const argv[] = {"sleep", "60", NULL};
    char path[64], buf[8192] = "";
    size_t n = 0;
    (void)state;
    struct container_spec s = rig_spec(&rig, argv);
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    int64_t pid = rig_memo(&rig, s.ref, "life", "shim_pid");
    text_fmt(path, sizeof(path), "/proc/%lld/cgroup", (long long)pid);
    for (int64_t i = 0; i < rig_ms(10000) / 50 && !strstr(buf, "/supervisors\n"); i++) {
        assert_int_equal(file_read(AT_FDCWD, path, buf, sizeof(buf) - 1, &n, NULL), 0);
        buf[n] = 0;
        rig_turn(&rig, 50);
    }
    if (host.supervisors[0]) assert_non_null(strstr(buf, "/supervisors\n"));
    rig_kill_shim(&rig, s.ref); /* the next one goes there too */
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    rig_clean(&rig, s.ref);
}

static void what_is_frozen_ends_too(void **state)
{
    char path[CGROUP_PATH + 64];
    static const char *const argv[] = {"sleep", "60", NULL};
    (void)state;
    struct container_spec s = rig_spec(&rig, argv);
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    struct cgroup_set groups = groups_of(s.ref);
    bool v2 = groups.version == CGROUP_V2;
    file_of(&groups, "freezer", v2 ? "cgroup.freeze" : "freezer.state", path);
    assert_int_equal(file_put(AT_FDCWD, path, v2 ? "1" : "FROZEN", NULL), 0);
    rig.driver.ops->stop(rig.driver.self, s.ref, 0, false);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.signal, SIGKILL);
    rig_clean(&rig, s.ref);
}

int main(void)
{
    if (!rig_possible()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_as_ordered),
        cmocka_unit_test(the_container_is_inside_and_its_supervisor_is_not),
        cmocka_unit_test(the_supervisor_leaves_the_group_it_was_born_in),
        cmocka_unit_test(what_is_frozen_ends_too),
    };
    return cmocka_run_group_tests(tests, open_rig, rig_teardown);
}
