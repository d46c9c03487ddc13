/* core/model/meter.c - see meter.h. */
#include "core/model/meter.h"

#include "base/check.h"

void meter_put(struct meter_ring *r, struct meter_point p)
{
    CHECK(r->cap > 0);
    CHECK(r->n <= r->cap);
    if (r->n > 0 && p.at_ms <= meter_at(r, r->n - 1).at_ms) return;
    r->v[r->next] = p;
    r->next = (r->next + 1) % r->cap;
    if (r->n < r->cap) r->n++;
}

struct meter_point meter_at(const struct meter_ring *r, uint32_t i)
{
    CHECK(i < r->n);
    return r->v[(r->next + r->cap - r->n + i) % r->cap];
}

/* Microseconds of CPU in milliseconds of time are thousandths of a core. */
static struct reading rate(struct meter_point from, struct meter_point to)
{
    struct reading unknown = {0};
    CHECK(to.at_ms > from.at_ms);
    if (from.cpu_us < 0 || to.cpu_us < from.cpu_us) return unknown;
    return READING((to.cpu_us - from.cpu_us) / (to.at_ms - from.at_ms));
}

/* The last point that is not later than the window's begin. */
static bool begin_of(const struct meter_ring *r, const struct meter_window *w, uint32_t *ret)
{
    uint32_t lo = 0, hi = r->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (meter_at(r, mid).at_ms <= w->now_ms - w->window_ms) lo = mid + 1;
        else hi = mid;
    }
    if (lo == 0) return false;
    *ret = lo - 1;
    return true;
}

struct reading meter_cpu_milli(const struct meter_ring *r, struct meter_window w)
{
    struct reading unknown = {0};
    uint32_t first;
    CHECK(w.window_ms > 0);
    CHECK(w.gap_ms > 0);
    if (r->n < 2 || !begin_of(r, &w, &first) || first == r->n - 1) return unknown;
    struct meter_point from = meter_at(r, first), last = from;
    for (uint32_t i = first + 1; i < r->n; i++) {
        struct meter_point p = meter_at(r, i);
        if (!rate(last, p).known || p.at_ms - last.at_ms > w.gap_ms) return unknown;
        last = p;
    }
    if (w.now_ms - last.at_ms > w.gap_ms) return unknown;
    return rate(from, last);
}

enum fact meter_idle(const struct meter_ring *r, struct meter_window w, int64_t milli)
{
    struct reading used = meter_cpu_milli(r, w);
    if (!used.known) return FACT_UNKNOWN;
    return used.v < milli ? FACT_YES : FACT_NO;
}

struct reading meter_cpu_peak_milli(const struct meter_ring *r, struct meter_window w)
{
    struct reading most = {0};
    for (uint32_t i = 1; i < r->n; i++) {
        struct meter_point from = meter_at(r, i - 1), to = meter_at(r, i);
        if (from.at_ms < w.now_ms - w.window_ms) continue;
        struct reading one = rate(from, to);
        if (!one.known) return (struct reading){0};
        if (!most.known || one.v > most.v) most = one;
    }
    return most;
}
