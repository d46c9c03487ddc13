/* agent/adopt.h - what a container without a known supervisor is, and what to do.
 *
 * The same judgement when an agent starts and when a supervisor is lost under
 * one: facts from files, the lock and the control groups; then a table.
 * docs/spec/node.md */
#ifndef AGENT_ADOPT_H
#define AGENT_ADOPT_H
#include <stdbool.h>
#include "agent/crun_node.h"
#include "base/fact.h"

struct adopt_facts {
    bool claim;         /* it was begun */
    bool this_boot;     /* ... since this machine started */
    bool exit;          /* the record of its end is there */
    bool locked;        /* a supervisor lives, or is being born */
    bool silent;        /* ... and has not answered for long enough */
    bool went;          /* the barrier was opened */
    bool spent;         /* new supervisors were tried in vain */
};

enum adopt_verdict {
    ADOPT_REMOVE = 1, /* never begun: remove the directory */
    ADOPT_REBOOTED,   /* the machine restarted under it: end unknown */
    ADOPT_ENDED,      /* report what the record says */
    ADOPT_CONNECT,    /* a supervisor is there: talk to it */
    ADOPT_KILL,       /* beyond help: kill, and say that the end is unknown */
    ADOPT_AGAIN,      /* never ran: prove it gone and say so, another attempt may */
    ADOPT_RESUME,     /* it runs or ran: a new supervisor goes on or finds the end */
};

enum adopt_verdict adopt_decide(const struct adopt_facts *f);
/* Reads the facts of one directory; silent and spent are the caller's. */
struct adopt_facts adopt_look(const struct crun_node *n, int dir);

#endif
