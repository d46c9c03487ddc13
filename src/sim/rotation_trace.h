/* sim/rotation_trace.h - requests of one hour, tiled over days under a daily curve.
 *
 * The form is that of the Azure LLM inference traces: TIMESTAMP,ContextTokens,
 * GeneratedTokens.  Lines may be out of order and the last may lack its end. */
#ifndef SIM_ROTATION_TRACE_H
#define SIM_ROTATION_TRACE_H
#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"

struct rotation_row { int64_t at_ms; uint32_t seq, context, generated; };

struct rotation_trace { /* sorted by (at_ms, seq); the first row is at 0 */
    VEC(struct rotation_row) rows;
    int64_t span_ms; /* the next tile begins here */
};

#define ROTATION_TRACE_ROWS_MAX 10000000u
#define ROTATION_TOKENS_MAX 10000000u
#define ROTATION_NEVER_MS INT64_C(86400000000) /* a thousand days: nothing comes any more */

/* ERR_INVALID names the line; ret is untouched then. */
int rotation_trace_parse(struct str csv, struct rotation_trace *ret, struct err *err);
/* An hour that goes on and off as the real one does, for when there is no file. */
void rotation_trace_make(struct rotation_trace *t, uint64_t seed);
void rotation_trace_done(struct rotation_trace *t);

/* How much of the traffic there is at a time of the day, in thousandths of the
 * trace's own: next to nothing at night, all of it in the working hours. */
uint32_t rotation_trace_curve(int64_t time_ms);

struct rotation_request { /* one that comes */
    int64_t at_ms;
    uint32_t pool, context, generated;
};

struct rotation_arrivals {
    const struct rotation_trace *trace;
    struct rng rng;
    uint32_t pools, next;
    int64_t tile_ms, clock_ms; /* clock_ms: time of the day at 0 */
};

void rotation_arrivals_init(struct rotation_arrivals *a, const struct rotation_trace *trace,
                            uint32_t pools, uint64_t seed, int64_t clock_ms);
/* The next request: each row goes to a pool by lot and is kept by the curve of
 * that pool's own time of day; the days of the pools are shifted.  At ROTATION_NEVER_MS
 * when there is none. */
struct rotation_request rotation_arrivals_next(struct rotation_arrivals *a);

#endif
