/* tests/unit/host/test_pulse.c - what is written is read, and nothing else is believed. */
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
#include "host/pulse.h"

static char root[64];
static int dir, box;

static int open_dir(void **state)
{
    (void)state;
    text_fmt(root, sizeof(root), "/tmp/test-pulse-XXXXXX");
    assert_non_null(mkdtemp(root));
    dir = file_open_dir(AT_FDCWD, root, NULL);
    if (file_mkdir(dir, "box", 0700, NULL) < 0) return 1;
    box = file_open_dir(dir, "box", NULL);
    return dir < 0 || box < 0;
}

static int close_dir(void **state)
{
    (void)state;
    file_close(&box);
    file_close(&dir);
    return file_remove_tree(AT_FDCWD, root, NULL);
}

static const volatile char *map_box(void)
{
    AUTO_FD int fd = openat(box, PULSE_NAME, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const volatile char *map = pulse_map(fd);
    assert_non_null((const void *)(uintptr_t)map);
    return map;
}

static void the_newest_is_read(void **state)
{
    (void)state;
    struct pulse p = {.fd = -1};
    int64_t ms = 0;
    assert_int_equal(pulse_begin(&p, dir, "one", NULL), 0);
    assert_int_equal(pulse_link(&p, box, NULL), ERR_UNAVAILABLE);
    assert_false(file_exists(dir, "pulse.one"));
    assert_int_equal(pulse_answered(&p, 5, NULL), 0);
    assert_false(file_exists(dir, "pulse.one")); /* nobody needs it */
    assert_int_equal(pulse_link(&p, box, NULL), 0);
    const volatile char *map = map_box();
    assert_true(pulse_read(map, &ms));
    assert_int_equal(ms, 5);
    static const int64_t times[] = {6, 255, 0x7ffffffffff, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        assert_int_equal(pulse_answered(&p, times[i], NULL), 0);
        assert_true(pulse_read(map, &ms));
        assert_int_equal(ms, times[i]);
    }
    assert_int_equal(pulse_answered(&p, 7, NULL), 0); /* the older of two */
    assert_true(pulse_read(map, &ms));
    assert_int_equal(ms, INT64_MAX);
    pulse_done(&p);
}

static void an_agent_that_restarts_goes_on(void **state)
{
    (void)state;
    int64_t ms = 0;
    const volatile char *map = map_box(); /* of the test before */
    struct pulse p = {.fd = -1};
    assert_int_equal(pulse_begin(&p, dir, "one", NULL), 0);
    assert_int_equal(pulse_answered(&p, 77, NULL), 0);
    assert_true(pulse_read(map, &ms));
    assert_int_equal(ms, 77);
    /* Of another store nobody hears here. */
    assert_int_equal(pulse_begin(&p, dir, "two", NULL), 0);
    assert_int_equal(pulse_answered(&p, 99, NULL), 0);
    assert_int_equal(pulse_link(&p, dir, NULL), 0);
    assert_true(pulse_read(map, &ms));
    assert_int_equal(ms, 77);
    assert_false(file_exists(dir, "pulse.one"));
    pulse_done(&p);
}

static void torn_or_strange(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0000000000000005 0000000000000006\n", "000000000000000g 000000000000000g\n",
        "ffffffffffffffff ffffffffffffffff\n", "                                 \n"};
    int64_t ms = 1;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) assert_false(pulse_read(texts[i], &ms));
    assert_int_equal(ms, 1);
    AUTO_FD int small = openat(dir, "small", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_null((const void *)(uintptr_t)pulse_map(small));
    assert_null((const void *)(uintptr_t)pulse_map(dir));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_is_read),
        cmocka_unit_test(an_agent_that_restarts_goes_on),
        cmocka_unit_test(torn_or_strange),
    };
    return cmocka_run_group_tests(tests, open_dir, close_dir);
}
