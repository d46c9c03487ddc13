/* net/child_impl.h - starting and reaping, for child.c and child_watch.c. */
#ifndef NET_CHILD_IMPL_H
#define NET_CHILD_IMPL_H
#include "net/child.h"

struct child_start {
    pid_t pid;
    int pidfd;
    int out[2]; /* read ends of stdout and stderr, -1: not captured */
};

int child_start(const struct child_spec *spec, bool capture, struct child_start *ret,
                struct err *err);
/* False while it runs. */
bool child_reap(int pidfd, struct child_exit *ret);

#endif
