/* agent/checkup.h - the administrator's program that says whether this node may take work.
 *
 * It runs at the start and then again `every_ms` after it has ended.  Until it has passed
 * once, nobody knows, and the node takes nothing new.  docs/spec/node.md, "Prolog, epilog,
 * health" */
#ifndef AGENT_CHECKUP_H
#define AGENT_CHECKUP_H
#include <stdint.h>
#include "net/loop.h"

struct checkup;

struct checkup_opts {
    const char *path; /* absolute */
    int64_t every_ms, timeout_ms;
    void (*on_change)(void *arg); /* checkup_why says something else */
    void *arg;
};

struct checkup *checkup_new(struct net_loop *loop, const struct checkup_opts *o);
void checkup_free(struct checkup *c); /* NULL is fine */
const char *checkup_why(const struct checkup *c); /* "": it passed; NULL is passed, too */

#endif
