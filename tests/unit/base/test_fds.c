/* Tests of base/fds.c: whichever of the three are closed, none is free afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fds.h"

/* In a child, because a test says its results there.  0, or the line that failed. */
static int try_closed(unsigned closed)
{
    char byte;
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(null, fd) != fd) return __LINE__;
    for (int fd = 0; fd < 3; fd++)
        if (closed & (1u << fd)) close(fd);
    if (fds_take_standard() != 0) return __LINE__;
    for (int fd = 0; fd < 3; fd++) {
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0) return __LINE__;
        bool kept = (flags & O_ACCMODE) == O_RDWR;
        if (kept == (closed >> fd & 1)) return __LINE__;
    }
    if ((closed & 1) && read(0, &byte, 1) != 0) return __LINE__;
    if ((closed & 2) && write(1, "x", 1) != -1) return __LINE__;
    return open("/dev/null", O_RDWR) == null + 1 ? 0 : __LINE__; /* none is left open */
}

static void every_combination(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 8; closed++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) _exit(try_closed(closed));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0) fail_msg("closed %x: line %d", closed, WEXITSTATUS(status));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
