/* core/rotate/wayback.h - the phases of a way-back record, and what each means.
 *
 * A phase is durable before its action; so whatever the agent finds at its start,
 * the phase on disk bounds what may have happened.  Recovery is total: every phase
 * with every observation has exactly one answer, and none starts an engine beside a
 * live run.  docs/spec/rotation.md, "The way-back record and its order" */
#ifndef CORE_ROTATE_WAYBACK_H
#define CORE_ROTATE_WAYBACK_H
#include "base/fact.h"

enum wayback_phase { /* in their order */
    WAYBACK_NONE = 0,  /* no record */
    WAYBACK_TMP,       /* a temporary file only: before the rename */
    WAYBACK_RECORDED,
    WAYBACK_DRAINING,
    WAYBACK_STOPPING,
    WAYBACK_STOPPED,
    WAYBACK_STARTING,
    WAYBACK_LIVE,
    WAYBACK_ENDED,
    WAYBACK_RESTORING,
    WAYBACK_VERIFYING,
    WAYBACK_RESTORED,
    WAYBACK_CORRUPT,   /* its checksum is wrong */
    WAYBACK_PHASES
};

enum wayback_action {
    WAYBACK_WAIT = 0,      /* not enough is known: observe again, touch nothing */
    WAYBACK_NOTHING,       /* there is no record */
    WAYBACK_DISCARD,       /* remove the temporary file */
    WAYBACK_REOPEN,        /* re-arm, open admission, routes back; close as aborted */
    WAYBACK_RESTORE,       /* start the engine from the record, under its idempotent name */
    WAYBACK_ADOPT_RUN,
    WAYBACK_STOP_ENGINE_ADOPT_RUN,
    WAYBACK_REAP_THEN_RESTORE, /* first until no process of the run is left and memory is free */
    WAYBACK_VERIFY,        /* models, adapters, one canary answer */
    WAYBACK_RESTORE_DECLARED,  /* the pool's declared spec; flagged, the record is kept */
    WAYBACK_CLOSE,         /* put back: the record's work is done */
    WAYBACK_QUARANTINE,    /* set the record aside, use the manager's copy, never guess */
    WAYBACK_QUARANTINE_ROTOR, /* what cannot be reaped holds the devices: alarm */
    WAYBACK_ACTIONS
};

struct wayback_seen { /* at agent start, or later; {0} has seen nothing, and so waits */
    enum wayback_phase phase;   /* on disk */
    enum fact engine_alive;
    enum fact engine_healthy;   /* of an engine that is alive */
    enum fact engine_same_start;/* its start time is the one in the record */
    enum fact run_alive;        /* any process of the run, under the record's name and fence */
    enum fact rebooted;         /* the boot id is not the one in the record */
    bool refused;               /* the manager refused STARTING: the run is not this rotor's */
    bool reap_late;             /* the time to reap is over */
    bool verify_spent;          /* verification was tried as often as it may be */
};
enum wayback_action wayback_recover(const struct wayback_seen *seen);
/* The run of a record that is recovered so is reported not started, and queued again. */
bool wayback_requeues(enum wayback_phase phase, enum wayback_action a);

/* ---- forward ---- */

enum wayback_step {
    WAYBACK_HOLD = 0, /* nothing is known, or the manager's answer is awaited */
    WAYBACK_PERSIST,  /* write the phase, read it back */
    WAYBACK_ACT,      /* do the phase's action (again): it is idempotent */
    WAYBACK_NEXT,     /* seen done: wayback_next is to be written */
    WAYBACK_BACK,     /* refused or too late: as wayback_recover says */
    WAYBACK_STEPS
};
struct wayback_progress {
    enum wayback_phase phase;
    enum fact durable; /* the phase is on disk and reads back */
    enum fact acked;   /* the manager acknowledged the phase; NO: refused */
    enum fact done;    /* its action is seen done; NO in DRAINING: the second asking refused */
    bool late;         /* the time for this phase is over; never in LIVE */
};
enum wayback_step wayback_advance(const struct wayback_progress *p);
/* The phase after it; NONE after RESTORED.  TMP to RESTORED only. */
enum wayback_phase wayback_next(enum wayback_phase phase);
/* Through STARTING the manager's acknowledgement is needed; from LIVE on the file suffices. */
bool wayback_needs_ack(enum wayback_phase phase);

const char *wayback_phase_name(enum wayback_phase p);   /* "DRAINING" */
const char *wayback_phase_action(enum wayback_phase p); /* what may have happened, for people */
const char *wayback_action_name(enum wayback_action a); /* "adopt_run" */
const char *wayback_action_text(enum wayback_action a);

#endif
