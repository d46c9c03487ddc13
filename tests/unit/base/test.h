/* What every unit test of base includes: cmocka with the headers it forgets,
 * and a way to see that a process ends itself. */
#ifndef TEST_BASE_TEST_H
#define TEST_BASE_TEST_H
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"

#define RUN(tests) cmocka_run_group_tests((tests), NULL, NULL)

/* Names the row of a table that failed; `name` is a C string. */
#define ROW_TRUE(name, cond) \
    do { \
        if (!(cond)) fail_msg("row \"%s\": %s", (name), #cond); \
    } while (0)

/* Runs f in a child; whether it was ended by abort().  What the child says on
 * fd 2 is kept in `said` when that is not NULL. */
static inline bool test_aborts(void (*f)(void), char *said, size_t cap)
{
    int out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(out[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        f();
        _exit(0);
    }
    close(out[1]);
    size_t n = 0;
    char text[1024];
    for (;;) {
        ssize_t got = read(out[0], text + n, sizeof(text) - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    close(out[0]);
    if (said) text_clip(said, cap, str_n(text, n));
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
