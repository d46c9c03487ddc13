/* tests/unit/agent/test_cgroup.c - which hierarchies a table of mounts means. */
#include "test.h"
#include "agent/cgroup.h"

static const char hybrid[] =
    "23 1 254:0 / / rw - ext4 /dev/vda rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:1 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "34 31 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "35 31 0:32 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
    "36 31 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
    "37 31 0:34 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
    "38 31 0:30 / /mnt/memory-again rw - cgroup cgroup rw,memory\n";
static const char v2[] = "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";

static void hybrid_is_version_1_with_version_2_hidden(void **state)
{
    struct cgroup_host h;
    struct cgroup_set s;
    struct err err = {0};
    (void)state;
    assert_int_equal(cgroup_host_parse(hybrid, "", "tag", &h, &err), 0);
    assert_int_equal(h.parent.version, CGROUP_V1);
    assert_true(h.hybrid);
    assert_string_equal(h.hide, "/sys/fs/cgroup/unified");
    assert_int_equal(h.parent.n, 5); /* the second mount of memory does not count */
    assert_string_equal(cgroup_dir(&h.parent, "cpuacct"), "/sys/fs/cgroup/cpu,cpuacct/rota/tag");
    assert_string_equal(h.parent.at[4].name, "name=systemd");
    assert_int_equal(cgroup_of(&h, "7.1.0", &s, &err), 0);
    assert_string_equal(cgroup_dir(&s, "pids"), "/sys/fs/cgroup/pids/rota/tag/7.1.0");
}

static void version_2_is_one_directory(void **state)
{
    struct cgroup_host h;
    struct err err = {0};
    (void)state;
    assert_int_equal(cgroup_host_parse(v2, "", "tag", &h, &err), 0);
    assert_int_equal(h.parent.version, CGROUP_V2);
    assert_string_equal(h.hide, "");
    assert_int_equal(h.parent.n, 1);
    assert_string_equal(cgroup_dir(&h.parent, "anything"), "/sys/fs/cgroup/rota/tag");
}

static void the_parent_is_what_was_named(void **state)
{
    struct cgroup_host h;
    struct cgroup_set s;
    struct err err = {0};
    (void)state;
    assert_int_equal(cgroup_host_parse(v2, "/rota.slice/x.service", "tag", &h, &err), 0);
    assert_string_equal(h.under, "/rota.slice/x.service");
    assert_string_equal(h.parent.at[0].dir, "/sys/fs/cgroup/rota.slice/x.service/tag");
    assert_string_equal(h.supervisors, "/sys/fs/cgroup/rota.slice/x.service/tag/supervisors");
    assert_int_equal(cgroup_host_parse(hybrid, "/other", "tag", &h, &err), 0);
    assert_string_equal(h.supervisors, "/sys/fs/cgroup/systemd/other/tag/supervisors");
    assert_int_equal(cgroup_of(&h, "7.1.0", &s, &err), 0);
    assert_string_equal(cgroup_dir(&s, "pids"), "/sys/fs/cgroup/pids/other/tag/7.1.0");
}

static void a_bad_parent_is_refused(void **state)
{
    static const char *const bad[] = {"rota", "/", "//", "/a/", "/a//b", "/a/./b", "/../etc",
                                      "/a b", "/a:b", "/a\nb"};
    char longer[CGROUP_PATH];
    struct cgroup_host h = {.hybrid = true};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        assert_false(cgroup_parent_good(bad[i]));
        assert_int_equal(cgroup_host_parse(v2, bad[i], "tag", &h, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "expected /NAME"));
        assert_true(h.hybrid);
    }
    memset(longer, 'x', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = 0;
    assert_false(cgroup_parent_good(longer));
    assert_true(cgroup_parent_good("/rota") && cgroup_parent_good("/rota.slice/a.service"));
}

static void what_cannot_limit_is_refused(void **state)
{
    static const struct { const char *mounts, *says; } cases[] = {
        {"", "no control groups are mounted on this machine"},
        {"32 31 0:29 / /c rw - cgroup cgroup rw,cpu\n",
         "control groups v1 lack one of memory, cpu, pids, devices"},
        {"nonsense\n - \n32 31 0:29\n", "no control groups are mounted on this machine"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cgroup_host h = {.hybrid = true};
        struct err err = {0};
        assert_int_equal(cgroup_host_parse(cases[i].mounts, "", "tag", &h, &err), ERR_UNSUPPORTED);
        assert_string_equal(err.text, cases[i].says);
        assert_true(h.hybrid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid_is_version_1_with_version_2_hidden),
        cmocka_unit_test(version_2_is_one_directory),
        cmocka_unit_test(the_parent_is_what_was_named),
        cmocka_unit_test(a_bad_parent_is_refused),
        cmocka_unit_test(what_cannot_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
