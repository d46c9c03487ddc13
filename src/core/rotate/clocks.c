/* core/rotate/clocks.c - four clocks, and the proof that an engine is quiet.
 *
 * An anchor only ever moves forward, to a time at which something happened or could
 * not be excluded; a clock is the time since.  docs/spec/rotation.md, "Four clocks"
 * and "When is an engine quiet?" */
#include "core/rotate/clocks.h"
#include <stddef.h>
#include "base/check.h"

#define WINDOW_MOST_MS (INT64_C(365) * 86400 * 1000)

static bool is_window(int64_t ms) { return ms > 0 && ms <= WINDOW_MOST_MS; }

const char *rotate_limits_wrong(const struct rotate_limits *lim)
{
    if (!is_window(lim->idle_ms)) return "the idle window must be above zero, a year at most";
    if (!is_window(lim->dwell_ms)) return "the dwell must be above zero, a year at most";
    if (!is_window(lim->quiet_ms)) return "the quiet window must be above zero, a year at most";
    if (!is_window(lim->release_ms)) return "the release window must be above zero, a year at most";
    if (!is_window(lim->stale_ms)) return "the age of a stale reading must be above zero";
    if (!is_window(lim->gap_ms)) return "the longest hole between samples must be above zero";
    if (!is_window(lim->stuck_ms)) return "the time of a stuck signal must be above zero";
    if (lim->dwell_ms > lim->idle_ms) return "the dwell must not be above the idle window";
    if (lim->idle_ms > lim->quiet_ms) return "the idle window must not be above the quiet window";
    return NULL;
}

enum fact clocks_fresh(const struct rotate_limits *lim, enum fact f, int64_t age_ms)
{
    CHECK(lim->stale_ms > 0);
    return age_ms >= 0 && age_ms <= lim->stale_ms ? f : FACT_UNKNOWN;
}

/* ---- the clocks ---- */

static struct reading later(struct reading a, struct reading b)
{
    if (!a.known || !b.known) return (struct reading){0};
    return a.v >= b.v ? a : b;
}

/* An anchor in the future was written by another clock: nothing follows from it. */
static struct reading since(struct reading anchor, int64_t now_ms)
{
    CHECK(now_ms >= 0);
    if (!anchor.known || anchor.v < 0 || anchor.v > now_ms) return (struct reading){0};
    return READING(now_ms - anchor.v);
}

struct reading clocks_idle(const struct clock_anchors *a, int64_t now_ms)
{
    return since(later(later(a->bound_ms, a->event_ms), a->engine_ms), now_ms);
}

struct reading clocks_release(const struct clock_anchors *a, int64_t now_ms)
{
    return since(later(a->bound_ms, a->run_end_ms), now_ms);
}

struct reading clocks_dwell(const struct clock_anchors *a, int64_t now_ms)
{
    return since(a->moved_ms, now_ms);
}

bool clocks_pass(struct reading clock, int64_t window_ms)
{
    CHECK(window_ms > 0);
    return clock.known && clock.v >= window_ms;
}

struct reading clocks_left(struct reading clock, int64_t window_ms)
{
    CHECK(window_ms > 0);
    if (!clock.known) return clock;
    return READING(clock.v >= window_ms ? 0 : window_ms - clock.v);
}

int64_t clocks_backoff_ms(uint32_t failures, int64_t first_ms, int64_t most_ms)
{
    CHECK(first_ms > 0);
    CHECK(first_ms <= most_ms);
    if (failures == 0) return 0;
    int64_t pause = first_ms;
    for (uint32_t i = 1; i < failures && pause < most_ms; i++) {
        pause = pause > most_ms / 2 ? most_ms : pause * 2;
    }
    CHECK(pause >= first_ms);
    CHECK(pause <= most_ms);
    return pause;
}

/* ---- is the engine quiet? ---- */

/* A missing value is never a zero, and a count of requests below zero is a broken one. */
static bool sample_reads(const struct quiet_profile *p, const struct quiet_sample *s)
{
    if (s->failed || s->at_ms < 0) return false;
    if (!p->counter && !p->gauge) return false;
    if (p->counter && !s->counter.known) return false;
    if (p->gauge && !s->gauge.known) return false;
    return !s->gauge.known || s->gauge.v >= 0;
}

static bool changed(struct reading before, struct reading now)
{
    return before.known != now.known || (now.known && before.v != now.v);
}

/* Whatever happened in a hole shows in a cumulative counter of the same process. */
static bool is_bridged(const struct rotate_limits *lim, const struct quiet *q,
                       const struct quiet_sample *s)
{
    if (s->at_ms - q->last_ms <= lim->gap_ms) return true;
    return s->counter.known && s->start.known;
}

static bool is_busy(const struct quiet_sample *s)
{
    return s->loading || (s->gauge.known && s->gauge.v > 0);
}

/* The anchor's four reasons to move, a model being loaded, and a hole without proof. */
static bool moves_anchor(const struct rotate_limits *lim, const struct quiet *q,
                         const struct quiet_sample *s)
{
    if (!q->sampled) return true;
    if (changed(q->start, s->start)) return true;
    if (changed(q->counter, s->counter)) return true;
    return is_busy(s) || !is_bridged(lim, q, s);
}

/* Since when a gauge says busy while the counter says that nothing is done. */
static struct reading flat_since(const struct quiet *q, const struct quiet_sample *s)
{
    if (!s->counter.known || !s->gauge.known || s->gauge.v == 0) return (struct reading){0};
    bool flat = q->sampled && !changed(q->counter, s->counter) && !changed(q->start, s->start);
    return flat && q->flat_ms.known ? q->flat_ms : READING(s->at_ms);
}

void quiet_add(const struct rotate_limits *lim, const struct quiet_profile *p, struct quiet *q,
               const struct quiet_sample *s)
{
    CHECK(lim->gap_ms > 0);
    if (!sample_reads(p, s)) {
        q->failed = true;
        return;
    }
    if (q->sampled && s->at_ms < q->last_ms) *q = (struct quiet){0};
    struct quiet next = {.sampled = true, .anchor_ms = q->anchor_ms, .last_ms = s->at_ms,
                         .start = s->start, .counter = s->counter, .gauge = s->gauge,
                         .flat_ms = flat_since(q, s), .active = moves_anchor(lim, q, s)};
    if (next.active) next.anchor_ms = s->at_ms;
    *q = next;
    CHECK(q->anchor_ms <= q->last_ms);
}

void quiet_resume(struct quiet *q)
{
    if (!q->counter.known || !q->start.known) *q = (struct quiet){0};
}

struct reading quiet_span(const struct rotate_limits *lim, const struct quiet *q, int64_t now_ms)
{
    CHECK(now_ms >= 0);
    if (!q->sampled || q->failed) return (struct reading){0};
    if (q->last_ms > now_ms || now_ms - q->last_ms > lim->stale_ms) return (struct reading){0};
    CHECK(q->anchor_ms <= q->last_ms);
    return READING(q->last_ms - q->anchor_ms);
}

enum fact quiet_now(const struct rotate_limits *lim, const struct quiet *q, int64_t now_ms)
{
    if (!quiet_span(lim, q, now_ms).known) return FACT_UNKNOWN;
    return q->active ? FACT_NO : FACT_YES;
}

struct reading quiet_anchor(const struct quiet *q)
{
    return q->sampled ? READING(q->anchor_ms) : (struct reading){0};
}

bool quiet_stuck(const struct rotate_limits *lim, const struct quiet *q, int64_t now_ms)
{
    if (!quiet_span(lim, q, now_ms).known || !q->flat_ms.known) return false;
    CHECK(q->flat_ms.v <= q->last_ms);
    return q->last_ms - q->flat_ms.v >= lim->stuck_ms;
}
