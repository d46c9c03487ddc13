/* agent/netns/enter.c - see enter.h. */
#include "agent/netns/enter.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include "base/check.h"
#include "host/file.h"

int enter_run(int target, int (*f)(void *arg, struct err *err), void *arg, struct err *err)
{
    AUTO_FD int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0) return err_sys(err, ERR_IO, errno, "cannot open our own network namespace");
    if (setns(target, CLONE_NEWNET) < 0)
        return err_sys(err, errno == ESRCH ? ERR_NOT_FOUND : ERR_IO, errno,
                       "cannot enter the network namespace");
    int rc = f(arg, err);
    int back = setns(home, CLONE_NEWNET);
    CHECK(back == 0);
    return rc;
}
