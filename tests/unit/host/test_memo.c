/* tests/unit/host/test_memo.c - the records that agent and supervisor keep. */
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
#include "host/file.h"
#include "host/memo.h"

static char root[64];
static int dir;

static int open_dir(void **state)
{
    (void)state;
    text_fmt(root, sizeof(root), "/tmp/test-host-XXXXXX");
    assert_non_null(mkdtemp(root));
    dir = file_open_dir(AT_FDCWD, root, NULL);
    return dir < 0;
}

static int close_dir(void **state)
{
    (void)state;
    file_close(&dir);
    return file_remove_tree(AT_FDCWD, root, NULL);
}

static void put(const char *name, const char *text)
{
    assert_int_equal(file_write(dir, name, text, strlen(text), FILE_ORDERED, NULL), 0);
}

static void a_configuration_comes_back_whole(void **state)
{
    static struct memo_conf c, back;
    (void)state;
    memset(&back, 0x55, sizeof(back));
    TEXT_SET(c.name, STR("17.2.0"));
    TEXT_SET(c.crun, STR("/usr/bin/crun"));
    TEXT_SET(c.crun_root, STR("/a path/with spaces"));
    TEXT_SET(c.lower, STR("/"));
    c.tty = c.slow = true;
    c.limit_ms = INT64_MAX;
    c.grace_ms = 30000;
    c.cgroups.version = CGROUP_V1;
    c.cgroups.n = 2;
    TEXT_SET(c.cgroups.at[0].name, STR("cpu,cpuacct"));
    TEXT_SET(c.cgroups.at[0].dir, STR("/sys/fs/cgroup/cpu/rota/x y"));
    TEXT_SET(c.cgroups.at[1].name, STR("memory"));
    TEXT_SET(c.cgroups.at[1].dir, STR("/sys/fs/cgroup/memory/rota"));
    assert_int_equal(memo_write_conf(dir, &c, NULL), 0);
    assert_int_equal(memo_read_conf(dir, &back, NULL), 0);
    assert_memory_equal(&c, &back, sizeof(c));
    TEXT_SET(c.crun, STR("two\nlines"));
    assert_int_equal(memo_write_conf(dir, &c, NULL), ERR_INVALID);
}

static void an_end_and_a_life_come_back_whole(void **state)
{
    struct memo_exit e = {.ran = true,
                          .known = true,
                          .status = 0x700,
                          .oom = true,
                          .mem_peak_bytes = -1,
                          .cpu_us = 12,
                          .ended_wall_us = 5,
                          .text = "of age"},
                     e2;
    struct memo_life l = {.boot_id = "b", .shim_pid = 3, .shim_start = 4, .pid = 5, .start = 6,
                          .signal_done = 7, .limit_boot_ms = 8, .timed_out = true}, l2;
    (void)state;
    memset(&e2, 0, sizeof(e2));
    assert_int_equal(memo_write_exit(dir, &e, NULL), 0);
    assert_int_equal(memo_read_exit(dir, &e2, NULL), 0);
    assert_true(e2.ran && e2.known && e2.oom && !e2.fatal && !e2.timed_out);
    assert_int_equal(e2.status, 0x700);
    assert_int_equal(e2.mem_peak_bytes, -1);
    assert_string_equal(e2.text, "of age");
    assert_int_equal(memo_write_life(dir, &l, NULL), 0);
    assert_int_equal(memo_read_life(dir, &l2, NULL), 0);
    assert_int_equal(l2.limit_boot_ms, 8);
    assert_true(l2.timed_out);
}

static void damage_is_found_and_nothing_is_taken(void **state)
{
    static const struct { const char *text; int rc; } cases[] = {
        {"pid 5\n", 0},
        {"pid 5\nof_a_later_version 9\n", 0},
        {"", 0},
        {"pid 5\npid 6\n", ERR_CORRUPT},
        {"pid 5", ERR_CORRUPT},
        {"pid\n", ERR_CORRUPT},
        {"pid x\n", ERR_CORRUPT},
        {"pid 99999999999999999999\n", ERR_CORRUPT},
        {"pid  5\n", ERR_CORRUPT},
        {"timed_out maybe\n", ERR_CORRUPT},
        {"boot_id 0123456789012345678901234567890123456789\n", ERR_CORRUPT},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct memo_life l = {.pid = -7};
        put("life", cases[i].text);
        assert_int_equal(memo_read_life(dir, &l, NULL), cases[i].rc);
        if (cases[i].rc < 0) assert_int_equal(l.pid, -7);
    }
    struct memo_exit e = {.status = -7};
    put("exit", ""); /* a power cut between its name and its bytes */
    assert_int_equal(memo_read_exit(dir, &e, NULL), ERR_CORRUPT);
    assert_int_equal(e.status, -7);
    struct memo_conf c;
    put("conf", "name x\n"); /* a configuration is complete or corrupt */
    assert_int_equal(memo_read_conf(dir, &c, NULL), ERR_CORRUPT);
}

static void a_status_is_eight_digits_or_unreadable(void **state)
{
    static const struct { const char *text; int rc, status; } cases[] = {
        {"", ERR_NOT_FOUND, 0},          {"00000700\n", 0, 0x700},
        {"0000000b\n", 0, 11},           {"00000700", ERR_CORRUPT, 0},
        {"0000070G\n", ERR_CORRUPT, 0},  {"0000700\n", ERR_CORRUPT, 0},
        {"00000700\n\n", ERR_CORRUPT, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int status = -1;
        bool fenced = true;
        put("status", cases[i].text);
        assert_int_equal(memo_read_status(dir, &status, &fenced, NULL), cases[i].rc);
        if (cases[i].rc == 0) assert_int_equal(status, cases[i].status);
        assert_int_equal(fenced, cases[i].rc != 0);
    }
    char text[MEMO_STATUS_LEN + 1] = "";
    memo_format_status(0x8b, text);
    assert_string_equal(text, "0000008b\n");
}

static void go_counts_in_its_boot_alone(void **state)
{
    (void)state;
    unlinkat(dir, "go", 0);
    assert_false(memo_went(dir, "boot-1"));
    assert_int_equal(memo_write_go(dir, "boot-1", NULL), 0);
    assert_true(memo_went(dir, "boot-1"));
    assert_false(memo_went(dir, "boot-2"));
    put("go", "boot"); /* cut off */
    assert_false(memo_went(dir, "boot-1"));
}

static void a_process_is_more_than_its_number(void **state)
{
    uint64_t start = 0;
    (void)state;
    assert_int_equal(proc_start_time(getpid(), &start, NULL), 0);
    int fd = proc_open(getpid(), start, NULL);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(proc_open(getpid(), start + 1, NULL), ERR_NOT_FOUND);
    assert_int_equal(proc_open(0, start, NULL), ERR_NOT_FOUND);
    assert_int_equal(proc_open(INT32_MAX, start, NULL), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_comes_back_whole),
        cmocka_unit_test(an_end_and_a_life_come_back_whole),
        cmocka_unit_test(damage_is_found_and_nothing_is_taken),
        cmocka_unit_test(a_status_is_eight_digits_or_unreadable),
        cmocka_unit_test(go_counts_in_its_boot_alone),
        cmocka_unit_test(a_process_is_more_than_its_number),
    };
    return cmocka_run_group_tests(tests, open_dir, close_dir);
}
