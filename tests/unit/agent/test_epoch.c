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
        cmocka_unit_test(a_second_agent_is_refused),
        cmocka_unit_test(a_lock_that_goes_soon_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
