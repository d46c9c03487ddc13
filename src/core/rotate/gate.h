/* core/rotate/gate.h - may the engine be drained so that a training run can start?
 *
 * Eleven checks, all evaluated, any one refuses; the first is the headline.  A
 * check sees only what is known; check 9 refuses for all that is not.  Uncertainty
 * is never permission.  docs/spec/rotation.md, "The gate" */
#ifndef CORE_ROTATE_GATE_H
#define CORE_ROTATE_GATE_H
#include "base/fact.h"
#include "core/rotate/loop.h"

enum gate_check { /* values are the page's numbers */
    GATE_PINNED = 1,
    GATE_RESERVED,
    GATE_RUN_LIVE,
    GATE_IN_FLIGHT,
    GATE_ENGINE_ACTIVE,
    GATE_QUEUED,
    GATE_NOT_QUIET,
    GATE_NO_POOL,
    GATE_UNREADABLE,
    GATE_DISAGREE,
    GATE_NO_WAY_BACK,
    GATE_CHECKS
};

enum gate_answer {
    GATE_NOT_REACHED = 0, /* the loop did not hand over, or no queued run fits */
    GATE_REFUSE,
    GATE_RECORD, /* ten checks pass: write the way back, read it back, have it acknowledged */
    GATE_DRAIN,  /* all eleven pass on one snapshot */
    GATE_ANSWERS
};

struct gate_facts { /* {0} knows nothing, and so refuses */
    struct rotate_facts here;  /* the very snapshot on which the loop said 9 */
    enum fact run_fits;        /* a queued run fits this rotor */
    enum fact queued;          /* work queued for this rotor: requests held, batch items, and
                                  requests refused for want of a replica */
    struct reading quiet_ms;   /* quiet_span of the engine */
    enum fact demand_manager;  /* for this rotor's pools, as the manager sees it */
    enum fact demand_node;     /* gate_node_demand */
    enum fact epochs_agree;    /* binding epoch of the manager's view and the node's */
    /* UNKNOWN: not tried yet.  YES: written, read back, and acknowledged by the
     * manager, which is the claim on the run.  NO: any of these failed, or was not
     * answered in time, or a live setting cannot be recorded, or an earlier record
     * is kept here. */
    enum fact way_back;
};

struct gate_verdict {
    enum gate_answer answer;
    enum gate_check headline; /* of REFUSE: the first that refuses, else 0 */
    uint32_t refused;         /* all that refuse: bit 1 << check */
};
/* The loop first: asked only when it stays at branch 9 on the same snapshot and a
 * queued run fits. */
struct gate_verdict gate_ask(const struct rotate_limits *lim, const struct gate_facts *f);
/* By itself (train now).  NOT_REACHED only inside a transition. */
struct gate_verdict gate_decide(const struct rotate_limits *lim, const struct gate_facts *f);
/* In DRAINING: checks 4-7, 9 and 10 a second time; DRAIN or REFUSE.  Here the
 * drain itself is the transition, and way_back is not looked at. */
struct gate_verdict gate_again(const struct rotate_limits *lim, const struct gate_facts *f);

struct gate_demand { /* of the last 60 s, as this node saw it by itself */
    enum fact queued;              /* local queue > 0 */
    enum rotate_engine engine;
    struct reading port_bytes;     /* on the engine's port, without ignored sources */
    struct reading device_milli;   /* the highest sample, 1000 = fully used */
};
#define GATE_DEMAND_WINDOW_MS INT64_C(60000)
#define GATE_DEMAND_BYTES 4096
#define GATE_DEMAND_DEVICE_MILLI 20
enum fact gate_node_demand(const struct gate_demand *d);

const char *gate_check_name(enum gate_check c);
const char *gate_check_text(enum gate_check c);
const char *gate_answer_name(enum gate_answer a);

#endif
