/* One agent at a time, and each start is a higher number. */
#include "test.h"

#include <sys/file.h>
#include <sys/wait.h>

#include "agent/epoch.h"

static void rises_with_every_start(void **state)
{
    char dir[64];
    struct err err;
    uint64_t epoch = 0;
    int lock = -1;
    (void)state;
    test_dir_new(dir);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), 0);
        assert_int_equal(epoch, i);
        close(lock);
    }
    test_file(dir, "epoch", "many\n");
    assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), ERR_CORRUPT);
    test_file(dir, "epoch", "9223372036854775807\n");
    assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), ERR_CORRUPT);
    assert_int_equal(epoch, 3);
    test_dir_free(dir);
    assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), ERR_IO);
}

/* A directory made anew goes on above what the lost one had come to. */
static void goes_on_after_a_lost_directory(void **state)
{
    static const struct { uint64_t last, now; } steps[] = {
        {0, 1}, {1, 2}, {1, 2}, {41, 42}, {7, 42},
    };
    char dir[64];
    struct err err;
    uint64_t epoch = 0;
    int lock = -1;
    (void)state;
    test_dir_new(dir);
    assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        assert_int_equal(epoch_after(dir, steps[i].last, &epoch, &err), 0);
        assert_int_equal(epoch, steps[i].now);
    }
    close(lock);
    assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), 0); /* it was stored */
    assert_int_equal(epoch, 43);
    assert_int_equal(epoch_after(dir, INT64_MAX, &epoch, &err), ERR_LIMIT);
    assert_int_equal(epoch, 43);
    close(lock);
    test_dir_free(dir);
}

static void a_second_agent_is_refused(void **state)
{
    char dir[64];
    struct err err = {0};
    uint64_t epoch = 0;
    int lock = -1, second = -1;
    (void)state;
    test_dir_new(dir);
    assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), 0);
    assert_int_equal(epoch_begin(dir, &epoch, &second, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "another agent is running"));
    assert_int_equal(epoch, 1);
    assert_int_equal(second, -1);
    close(lock);
    test_dir_free(dir);
}

/* The lock of an agent that was killed stays with a child of it for a moment. */
static void a_lock_that_goes_soon_is_waited_for(void **state)
{
    char dir[64];
    struct err err = {0};
    uint64_t epoch = 0;
    int lock = -1, ready[2];
    (void)state;
    test_dir_new(dir);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (epoch_begin(dir, &epoch, &lock, &err) != 0) _exit(1);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        usleep(60000);
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(epoch_begin(dir, &epoch, &lock, &err), 0);
    assert_int_equal(epoch, 2);
    waitpid(pid, NULL, 0);
    close(lock);
    close(ready[0]);
    close(ready[1]);
    test_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rises_with_every_start),
        cmocka_unit_test(goes_on_after_a_lost_directory),
        cmocka_unit_test(a_second_agent_is_refused),
        cmocka_unit_test(a_lock_that_goes_soon_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
