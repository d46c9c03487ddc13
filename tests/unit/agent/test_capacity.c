/* What a machine offers: limits of every level count, the reserve stays. */
#include "test.h"

#include "agent/capacity.h"
#include "base/fmt.h"

#define G FMT_GIB

struct limit_file { const char *name, *text; };

static const struct {
    const char *name, *cgroups;
    struct limit_file files[6];
    uint32_t cpus;
    int64_t cpu, mem;
} measured[] = {
    {"no cgroups at all", NULL, {{0}}, 8, 8000, 16 * G},
    {"v2 without limits", "0::/a/b\n", {{"cg/a/b/cpu.max", "max 100000\n"},
                                        {"cg/a/b/memory.max", "max\n"}}, 4, 4000, 16 * G},
    {"v2 limits", "0::/a/b\n", {{"cg/a/b/cpu.max", "150000 100000\n"},
                                {"cg/a/b/memory.max", "1073741824\n"}}, 4, 1500, G},
    {"v2 limit of a level above", "0::/a/b\n", {{"cg/a/cpu.max", "50000 100000\n"},
                                                {"cg/a/b/cpu.max", "max 100000\n"},
                                                {"cg/memory.max", "2147483648\n"}}, 4, 500, 2 * G},
    {"v2 quota above the machine", "0::/\n", {{"cg/cpu.max", "9900000 100000\n"}}, 4, 4000, 16 * G},
    {"v1 limits", "3:cpu,cpuacct:/x\n2:memory:/y\n1:name=systemd:/z\n0::/\n",
     {{"cg/cpu/x/cpu.cfs_quota_us", "250000\n"}, {"cg/cpu/x/cpu.cfs_period_us", "100000\n"},
      {"cg/memory/y/memory.limit_in_bytes", "4294967296\n"}}, 4, 2500, 4 * G},
    {"v1 without limits", "3:cpu:/\n2:memory:/\n",
     {{"cg/cpu/cpu.cfs_quota_us", "-1\n"}, {"cg/cpu/cpu.cfs_period_us", "100000\n"},
      {"cg/memory/memory.limit_in_bytes", "9223372036854771712\n"}}, 2, 2000, 16 * G},
    {"rubbish does not limit", "nonsense\n0::\n5\n", {{"cg/memory.max", "many\n"}}, 2, 2000,
     16 * G},
};

static void measure(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(measured); i++) {
        char dir[64], proc[96], cg[96];
        struct capacity c;
        struct err err;
        test_dir_new(dir);
        test_file(dir, "proc/meminfo", "MemFree:  1 kB\nMemTotal:       16777216 kB\n");
        if (measured[i].cgroups != NULL) test_file(dir, "proc/self/cgroup", measured[i].cgroups);
        for (size_t k = 0; k < 6 && measured[i].files[k].name != NULL; k++) {
            test_file(dir, measured[i].files[k].name, measured[i].files[k].text);
        }
        text_fmt(proc, sizeof(proc), "%s/proc", dir);
        text_fmt(cg, sizeof(cg), "%s/cg", dir);
        assert_int_equal(capacity_measure(proc, cg, measured[i].cpus, &c, &err), 0);
        if (c.cpu_milli != measured[i].cpu || c.mem_bytes != measured[i].mem) {
            fail_msg("%s: %lld, %lld", measured[i].name, (long long)c.cpu_milli,
                     (long long)c.mem_bytes);
        }
        test_dir_free(dir);
    }
}

static void nothing_known_is_an_error(void **state)
{
    char dir[64];
    struct capacity c = {7, 7};
    struct err err;
    (void)state;
    test_dir_new(dir);
    assert_int_equal(capacity_measure(dir, dir, 4, &c, &err), ERR_IO);
    test_file(dir, "meminfo", "MemTotal: lots\n");
    assert_int_equal(capacity_measure(dir, dir, 4, &c, &err), ERR_IO);
    assert_int_equal(c.cpu_milli, 7);
    test_dir_free(dir);
}

static void offer(void **state)
{
    static const struct {
        struct capacity have;
        int64_t cpu, mem, res_cpu, res_mem;
        int rc;
        struct capacity want;
    } cases[] = {
        {{4000, 100 * G}, -1, -1, 0, -1, 0, {4000, 95 * G}},             /* 5 % */
        {{4000, 2 * G}, -1, -1, 0, -1, 0, {4000, 2 * G - 512 * FMT_MIB}}, /* at least 512 MiB */
        {{4000, 2 * G}, -1, -1, 500, 0, 0, {3500, 2 * G}},
        {{2000, 2 * G}, 4000, 8 * G, 500, -1, 0, {4000, 8 * G}},         /* configured wins */
        {{2000, FMT_MIB}, -1, -1, 0, -1, ERR_INVALID, {0, 0}},
        {{2000, 2 * G}, -1, -1, 2000, -1, ERR_INVALID, {0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_config c = {.cpu_milli = cases[i].cpu, .mem_bytes = cases[i].mem,
                                 .reserve = {cases[i].res_cpu, cases[i].res_mem}};
        struct capacity got = {0, 0};
        struct err err;
        assert_int_equal(capacity_offer(&cases[i].have, &c, &got, &err), cases[i].rc);
        assert_int_equal(got.cpu_milli, cases[i].want.cpu_milli);
        assert_int_equal(got.mem_bytes, cases[i].want.mem_bytes);
    }
}

static void boot_id(void **state)
{
    char dir[64], id[40] = "untouched";
    struct err err;
    (void)state;
    test_dir_new(dir);
    assert_int_equal(capacity_boot_id(dir, id, &err), ERR_IO);
    assert_string_equal(id, "untouched");
    test_file(dir, "sys/kernel/random/boot_id", "0f1e2d3c-0000-4000-8000-000000000001\n");
    assert_int_equal(capacity_boot_id(dir, id, &err), 0);
    assert_string_equal(id, "0f1e2d3c-0000-4000-8000-000000000001");
    assert_true(capacity_cpus() > 0);
    test_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measure),
        cmocka_unit_test(nothing_known_is_an_error),
        cmocka_unit_test(offer),
        cmocka_unit_test(boot_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
