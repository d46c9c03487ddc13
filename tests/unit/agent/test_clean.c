/* tests/unit/agent/test_clean.c - kept logs stay within their bytes. */
#include "test.h"
#include "agent/clean.h"
#include "host/file.h"

static void keep(int logs, const char *name, size_t bytes, int64_t age_s)
{
    struct timespec times[2] = {{.tv_sec = 1000000 - age_s}, {.tv_sec = 1000000 - age_s}};
    AUTO_FREE char *data = mem_alloc(bytes + 1);
    assert_int_equal(file_mkdir(logs, name, 0700, NULL), 0);
    int dir = file_open_dir(logs, name, NULL);
    assert_int_equal(file_write(dir, "log.000000000001", data, bytes, FILE_ORDERED, NULL), 0);
    assert_int_equal(utimensat(logs, name, times, 0), 0);
    close(dir);
}

static void the_oldest_logs_go_first(void **state)
{
    static const struct { int64_t keep; const char *left;
    } cases[] = {
        {10000, "abc"}, {700, "abc"}, {699, "bc"}, {600, "bc"},
        {399, "c"},     {300, "c"},   {299, ""},   {0, ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char dir[64], left[8] = "";
        test_dir_new(dir);
        int logs = file_open_dir(AT_FDCWD, dir, NULL);
        keep(logs, "b", 200, 20);
        keep(logs, "a", 200, 30); /* oldest, though made later */
        keep(logs, "c", 300, 10);
        int64_t bytes = -1;
        assert_int_equal(clean_logs(logs, cases[i].keep, &bytes, NULL), 0);
        for (char c = 'a'; c <= 'c'; c++)
            if (file_exists(logs, (char[]){c, 0})) left[strlen(left)] = c;
        assert_string_equal(left, cases[i].left);
        assert_int_equal(bytes, (strchr(left, 'a') ? 200 : 0) + (strchr(left, 'b') ? 200 : 0) +
                                    (strchr(left, 'c') ? 300 : 0));
        close(logs);
        test_dir_free(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_logs_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
