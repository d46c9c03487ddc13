/* core/nodeplan/health.h - is a device fit to be given, and what of those who hold it?
 *
 * What was read of a device, what happened to it and what an operator said go in; its
 * state, with a reason for people, comes out.  A *fault* is kept: it stays until the
 * device was seen to be reset and reads clean, a test passed, or an operator returned it.
 * What could not be read says nothing: it neither clears a fault nor permits anything.
 * Pure.  docs/spec/node.md, "Devices" */
#ifndef CORE_NODEPLAN_HEALTH_H
#define CORE_NODEPLAN_HEALTH_H
#include <stdbool.h>
#include <stdint.h>
#include "core/nodeplan/device.h"

#define HEALTH_UNKNOWN INT64_C(-1)

/* What the last look at the device found. */
enum health_look {
    LOOK_NONE = 0,   /* nobody looked in time, or the look was not complete */
    LOOK_MISMATCH,   /* the driver's parts do not fit together */
    LOOK_ABSENT,     /* a complete look without it */
    LOOK_SEEN,
    HEALTH_LOOKS
};

/* What is 0 of a device that is fine. */
enum health_count { COUNT_ECC = 0, COUNT_RETIRED, COUNT_REMAP, COUNT_REMAP_FAILED, COUNT_RECOVERY,
                    HEALTH_COUNTS };

/* Counts that could not be read are HEALTH_UNKNOWN. */
struct health_facts {
    enum health_look look;
    bool lost;      /* listed, but off the bus */
    bool shared;    /* split up by the vendor's means: not given as a whole */
    int64_t counts[HEALTH_COUNTS];
    uint64_t era;   /* of the machine and its driver: another one, and all was reset */
};

/* The fault of one device; {0} has none. */
struct health {
    enum device_health fault; /* UNREADABLE: none; else SUSPECT, RECOVERING or QUARANTINED */
    char why[40];
    int64_t since_ms;
    uint64_t era;       /* in which it was last seen; 0: not yet */
    bool was_absent;    /* in that era, and nobody knows why */
    bool ordered;       /* by an operator: nobody else takes it back */
    uint32_t shown_by;  /* the number that raised it, plus 1: 0 again means that it was reset */
};

/* The rule for an Xid of NVIDIA's driver.  share/xid.yaml */
enum xid_act {
    XID_UNKNOWN = 0, /* of no rule: never free */
    XID_APPLICATION, /* its own fault: charged to the session, the device is fine */
    XID_RESET,       /* to be reset once nobody holds it */
    XID_KILL,        /* the same, and whoever holds it has to end */
    XID_QUARANTINE,
    XID_RECOVERY,    /* the driver's recovery action says what */
    XID_ACTS
};

/* What was read, at wall clock now_ms.  True: `h` changed and has to be kept. */
bool health_look(struct health *h, const struct health_facts *f, int64_t now_ms);
/* An Xid came.  True: `h` changed.  Those who hold the device: health_kills. */
bool health_xid(struct health *h, uint32_t xid, enum xid_act act, int64_t now_ms);
static inline bool health_kills(enum xid_act act) { return act == XID_KILL; }
/* An operator's word; `why` may be "". */
bool health_order(struct health *h, enum device_order order, const char *why, int64_t now_ms);
/* Of a test or a reset that Rota ran itself. */
bool health_tested(struct health *h, bool passed, int64_t now_ms);

struct health_state {
    enum device_health health;
    char why[40];
    int64_t since_ms; /* of the fault; 0: none */
};
/* What it is now, by its fault and by the last look. */
void health_state(const struct health *h, const struct health_facts *f, struct health_state *ret);

#endif
