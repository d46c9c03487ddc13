/* agent/netns/enter.h - a moment in another network namespace.
 *
 * A thread flips over, does little, and flips back.  One that cannot come back
 * would go on in a container's network for everybody: then the program ends.
 * docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_ENTER_H
#define AGENT_NETNS_ENTER_H
#include "base/err.h"

/* Runs f in the network namespace of `target`, a pidfd or the namespace itself.
 * ERR_NOT_FOUND: nobody is in it any more. */
int enter_run(int target, int (*f)(void *arg, struct err *err), void *arg, struct err *err);

#endif
