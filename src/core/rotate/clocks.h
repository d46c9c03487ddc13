/* core/rotate/clocks.h - the four clocks of a rotor, and when an engine is quiet.
 *
 * Times are monotonic milliseconds of the rotor's node; no wall clock decides
 * anything.  Every clock passes at >= its window.  What cannot be known is not a
 * short time but an unknown one, and decides like the shortest.
 * docs/spec/rotation.md, "Four clocks" and "When is an engine quiet?" */
#ifndef CORE_ROTATE_CLOCKS_H
#define CORE_ROTATE_CLOCKS_H
#include "base/fact.h"

struct rotate_limits { /* configuration, per node */
    int64_t idle_ms;    /* idle before switching pools */
    int64_t dwell_ms;   /* the floor between two moves */
    int64_t quiet_ms;   /* engine quiet before training */
    int64_t release_ms; /* training pool release */
    int64_t stale_ms;   /* older than this, a reading is unknown */
    int64_t gap_ms;     /* a longer hole between samples needs a cumulative proof */
    int64_t stuck_ms;   /* a gauge above zero over a flat counter is shown after this */
};
#define ROTATE_LIMITS_DEFAULT \
    ((struct rotate_limits){300000, 60000, 1200000, 900000, 30000, 60000, 600000})
/* NULL when the limits can be decided with, else what is wrong, for a person.
 * Configuration is asked this once; the deciders CHECK it. */
const char *rotate_limits_wrong(const struct rotate_limits *lim);

/* A reading that is older than stale_ms, or of the future, is not one. */
enum fact clocks_fresh(const struct rotate_limits *lim, enum fact f, int64_t age_ms);

/* ---- the clocks ---- */

struct clock_anchors { /* when it last happened; what never happened has the time of the bind */
    struct reading bound_ms;   /* the bind was ready; also a restore */
    struct reading event_ms;   /* arrival or completion of the own or a co-resident pool */
    struct reading engine_ms;  /* struct quiet's anchor: direct traffic counts */
    struct reading moved_ms;   /* the last move was over, whether it succeeded; also a restore */
    struct reading run_end_ms; /* the last run here ended (training pool) */
};
/* Since the last of bound, event and engine.  Unknown when one of them is. */
struct reading clocks_idle(const struct clock_anchors *a, int64_t now_ms);
/* Since the later of bound and run end: a training pool's idle clock. */
struct reading clocks_release(const struct clock_anchors *a, int64_t now_ms);
struct reading clocks_dwell(const struct clock_anchors *a, int64_t now_ms);

/* Known and at least the window. */
bool clocks_pass(struct reading clock, int64_t window_ms);
/* How long until it can pass if nothing resets it; 0: it has; unknown with the clock. */
struct reading clocks_left(struct reading clock, int64_t window_ms);
/* The pause after so many failures in a row (0: none): first, doubled, at most `most`. */
int64_t clocks_backoff_ms(uint32_t failures, int64_t first_ms, int64_t most_ms);
#define CLOCKS_BIND_BACKOFF_FIRST_MS INT64_C(60000)
#define CLOCKS_BIND_BACKOFF_MOST_MS INT64_C(1800000)

/* ---- is the engine quiet? ---- */

/* What the engine's profile promises.  A promised value that is missing from a
 * sample makes it a failed read; {0} promises nothing, so that all reads fail. */
struct quiet_profile {
    bool counter;  /* a cumulative count of work (or of bytes on the port) */
    bool gauge;    /* requests running and waiting now */
};

struct quiet_sample {
    int64_t at_ms;
    bool failed;             /* the engine could not be read */
    bool loading;            /* a model or an adapter is being loaded: busy */
    struct reading start;    /* identity of the process: its start time */
    struct reading counter;  /* any unit: only changes count */
    struct reading gauge;    /* any unit: above zero is busy, below is unreadable */
};

/* The clock of one engine, kept over an agent's restart on the same boot.
 * {0}: never sampled. */
struct quiet {
    bool sampled;            /* there is a good sample */
    bool failed;             /* the last sample failed */
    bool active;             /* the last good sample proved activity, or could not exclude it */
    int64_t anchor_ms;       /* last provable activity, or the first sample */
    int64_t last_ms;         /* last good sample */
    struct reading start, counter, gauge; /* of the last good sample */
    struct reading flat_ms;  /* since when a gauge has been above zero over a flat counter */
};

/* Takes one sample.  Never goes back: a sample older than the last starts anew. */
void quiet_add(const struct rotate_limits *lim, const struct quiet_profile *p, struct quiet *q,
               const struct quiet_sample *s);
/* After an agent's restart: what no cumulative counter and identity can bridge is forgotten. */
void quiet_resume(struct quiet *q);
/* Last good sample minus anchor, never now minus anchor.  Unknown when the last
 * sample failed, is older than stale_ms, or there is none. */
struct reading quiet_span(const struct rotate_limits *lim, const struct quiet *q, int64_t now_ms);
/* YES: quiet at the last sample.  NO: active.  UNKNOWN as quiet_span. */
enum fact quiet_now(const struct rotate_limits *lim, const struct quiet *q, int64_t now_ms);
/* The anchor, for clock_anchors; unknown when never sampled. */
struct reading quiet_anchor(const struct quiet *q);
/* A stuck signal, for people to see: it refuses all the same. */
bool quiet_stuck(const struct rotate_limits *lim, const struct quiet *q, int64_t now_ms);

#endif
