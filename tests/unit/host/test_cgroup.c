/* tests/unit/host/test_cgroup.c - reading control groups, on directories that only
 * look like them; killing is tested with containers. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/mem.h"
#include "base/str.h"
#include "host/cgroup.h"
#include "host/file.h"

static char root[64];

static int open_dir(void **state)
{
    (void)state;
    text_fmt(root, sizeof(root), "/tmp/test-host-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int close_dir(void **state)
{
    (void)state;
    return file_remove_tree(AT_FDCWD, root, NULL);
}

static void put(const char *dir, const char *name, const char *text)
{
    char path[CGROUP_PATH + 64];
    text_fmt(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(file_write(AT_FDCWD, path, text, strlen(text), FILE_ORDERED, NULL), 0);
}

static void add(struct cgroup_set *s, const char *name)
{
    struct cgroup_at *at = &s->at[s->n++];
    TEXT_SET(at->name, str_of(name));
    text_fmt(at->dir, sizeof(at->dir), "%s/%u", root, s->n);
    assert_int_equal(file_mkdir(AT_FDCWD, at->dir, 0700, NULL), 0);
}

static void a_controller_is_found_by_its_whole_name(void **state)
{
    struct cgroup_set s = {.version = CGROUP_V1};
    (void)state;
    add(&s, "cpuset");
    add(&s, "cpu,cpuacct");
    add(&s, "name=systemd");
    assert_ptr_equal(cgroup_dir(&s, "cpu"), s.at[1].dir);
    assert_ptr_equal(cgroup_dir(&s, "cpuacct"), s.at[1].dir);
    assert_ptr_equal(cgroup_dir(&s, "cpuset"), s.at[0].dir);
    assert_null(cgroup_dir(&s, "memory"));
    assert_null(cgroup_dir(&s, "systemd"));
}

static void figures_are_read_or_unknown(void **state)
{
    struct cgroup_set s = {.version = CGROUP_V1};
    struct cgroup_usage u;
    (void)state;
    add(&s, "memory");
    add(&s, "cpuacct");
    cgroup_read(&s, &u);
    assert_int_equal(u.mem_peak_bytes, -1);
    assert_int_equal(u.cpu_us, -1);
    assert_int_equal(u.oom_kills, -1);
    put(s.at[0].dir, "memory.max_usage_in_bytes", "1048576\n");
    put(s.at[0].dir, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    put(s.at[1].dir, "cpuacct.usage", "5000999\n");
    cgroup_read(&s, &u);
    assert_int_equal(u.mem_peak_bytes, 1048576);
    assert_int_equal(u.cpu_us, 5000);
    assert_int_equal(u.oom_kills, 2);
    put(s.at[1].dir, "cpuacct.usage", "many\n");
    cgroup_read(&s, &u);
    assert_int_equal(u.cpu_us, -1);
    struct cgroup_set v2 = {.version = CGROUP_V2};
    add(&v2, "");
    put(v2.at[0].dir, "memory.peak", "7\n");
    put(v2.at[0].dir, "memory.events", "low 0\noom 1\noom_kill 3\n");
    put(v2.at[0].dir, "cpu.stat", "usage_usec 42\nuser_usec 40\n");
    cgroup_read(&v2, &u);
    assert_int_equal(u.mem_peak_bytes, 7);
    assert_int_equal(u.oom_kills, 3);
    assert_int_equal(u.cpu_us, 42);
}

static void empty_living_and_unknown_are_three(void **state)
{
    struct cgroup_set s = {.version = CGROUP_V1}, none = {0};
    (void)state;
    assert_int_equal(cgroup_living(&none), CGROUP_LIVE_UNKNOWN);
    add(&s, "freezer");
    put(s.at[0].dir, "cgroup.procs", "");
    assert_int_equal(cgroup_living(&s), CGROUP_EMPTY);
    put(s.at[0].dir, "cgroup.procs", "123\n");
    assert_int_equal(cgroup_living(&s), CGROUP_LIVING);
    assert_int_equal(file_remove_tree(AT_FDCWD, s.at[0].dir, NULL), 0);
    assert_int_equal(cgroup_living(&s), CGROUP_EMPTY); /* an absent group holds nobody */
    assert_int_equal(cgroup_remove(&s, NULL), 0);
    struct cgroup_set v2 = {.version = CGROUP_V2};
    add(&v2, "");
    assert_int_equal(cgroup_living(&v2), CGROUP_LIVE_UNKNOWN);
    put(v2.at[0].dir, "cgroup.events", "populated 1\nfrozen 0\n");
    assert_int_equal(cgroup_living(&v2), CGROUP_LIVING);
    put(v2.at[0].dir, "cgroup.events", "populated 0\nfrozen 0\n");
    assert_int_equal(cgroup_living(&v2), CGROUP_EMPTY);
    put(v2.at[0].dir, "cgroup.events", "populated maybe\n");
    assert_int_equal(cgroup_living(&v2), CGROUP_LIVE_UNKNOWN);
    assert_int_equal(file_remove_tree(AT_FDCWD, v2.at[0].dir, NULL), 0);
    assert_int_equal(cgroup_living(&v2), CGROUP_EMPTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_controller_is_found_by_its_whole_name, open_dir,
                                        close_dir),
        cmocka_unit_test_setup_teardown(figures_are_read_or_unknown, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(empty_living_and_unknown_are_three, open_dir, close_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
