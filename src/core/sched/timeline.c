/* core/sched/timeline.c - sorted segments, split and joined in place.
 *
 * The room of a window is the least over the segments that it touches, and room comes
 * free only where a segment begins: so the beginnings are all the instants to be tried.
 * docs/spec/scheduling.md, "The plan" */
#include "core/sched/timeline.h"

#include "base/bitset.h"
#include "base/check.h"

/* Every kind but devices, which the mask counts. */
#define EACH_AMOUNT(k) for (int k = 0; k < SLOT_KINDS; k++) if (k != SLOT_GPU)

int64_t timeline_end(int64_t at_ms, int64_t len_ms)
{
    CHECK(at_ms >= 0);
    CHECK(len_ms >= 0);
    if (len_ms == 0 || at_ms >= TIMELINE_NEVER - len_ms) return TIMELINE_NEVER;
    return at_ms + len_ms;
}

void timeline_begin(struct timeline *t, int64_t now_ms, const struct slots *left, uint32_t devices)
{
    VEC_CLEAR(&t->segs);
    t->tangled = false;
    struct segment s = {.at_ms = now_ms, .left = *left, .devices = devices};
    s.left.v[SLOT_GPU] = 0;
    VEC_PUSH(&t->segs, s);
}

void timeline_done(struct timeline *t) { VEC_DONE(&t->segs); }

/* Index of the segment that `at_ms` lies in; what is before the first one lies in it. */
static uint32_t seg_at(const struct timeline *t, int64_t at_ms)
{
    uint32_t from = 0, to = t->segs.n;
    CHECK(t->segs.n > 0);
    while (to - from > 1) {
        uint32_t middle = from + (to - from) / 2;
        if (t->segs.v[middle].at_ms <= at_ms) from = middle;
        else to = middle;
    }
    return from;
}

/* Makes a segment begin there; returns its index. */
static uint32_t split(struct timeline *t, int64_t at_ms)
{
    if (at_ms == TIMELINE_NEVER) return t->segs.n;
    uint32_t i = seg_at(t, at_ms);
    if (t->segs.v[i].at_ms >= at_ms) return i;
    struct segment right = t->segs.v[i];
    right.at_ms = at_ms;
    VEC_INSERT(&t->segs, i + 1, right);
    return i + 1;
}

static void join(struct timeline *t, uint32_t i)
{
    if (i == 0 || i >= t->segs.n) return;
    const struct segment *a = &t->segs.v[i - 1], *b = &t->segs.v[i];
    CHECK(a->at_ms < b->at_ms);
    if (a->devices != b->devices || memcmp(&a->left, &b->left, sizeof(a->left)) != 0) return;
    VEC_REMOVE(&t->segs, i);
}

void timeline_free_from(struct timeline *t, int64_t at_ms, const struct slots *more,
                        uint32_t devices)
{
    struct segment last = t->segs.v[t->segs.n - 1];
    CHECK(at_ms >= last.at_ms);
    if (at_ms > last.at_ms) {
        last.at_ms = at_ms;
        VEC_PUSH(&t->segs, last);
    }
    struct segment *s = &t->segs.v[t->segs.n - 1];
    s->devices |= devices;
    EACH_AMOUNT(k) s->left.v[k] += more->v[k];
    join(t, t->segs.n - 1);
}

void timeline_hold(struct timeline *t, const struct hold *h)
{
    CHECK(h->from_ms < h->until_ms);
    uint32_t from = split(t, h->from_ms), until = split(t, h->until_ms);
    for (uint32_t i = from; i < until; i++) {
        struct segment *s = &t->segs.v[i];
        if (h->devices & ~s->devices) t->tangled = true;
        s->devices &= ~h->devices;
        EACH_AMOUNT(k) s->left.v[k] -= h->slots.v[k];
    }
    join(t, until);
    join(t, from);
}

void timeline_release(struct timeline *t, const struct hold *h)
{
    CHECK(!t->tangled);
    CHECK(h->from_ms < h->until_ms);
    uint32_t from = split(t, h->from_ms), until = split(t, h->until_ms);
    for (uint32_t i = from; i < until; i++) {
        struct segment *s = &t->segs.v[i];
        CHECK((h->devices & s->devices) == 0);
        s->devices |= h->devices;
        EACH_AMOUNT(k) s->left.v[k] += h->slots.v[k];
    }
    join(t, until);
    join(t, from);
}

void timeline_trim(struct timeline *t, int64_t now_ms)
{
    uint32_t past = seg_at(t, now_ms);
    if (past == 0) return;
    memmove(t->segs.v, t->segs.v + past, (t->segs.n - past) * sizeof(*t->segs.v));
    t->segs.n -= past;
}

/* ---- asking */

void timeline_window(const struct timeline *t, const struct window *win, struct slots *ret_free,
                     uint32_t *ret_devices)
{
    CHECK(win->from_ms < win->until_ms);
    uint32_t i = seg_at(t, win->from_ms);
    struct slots free = t->segs.v[i].left;
    uint32_t devices = t->segs.v[i].devices;
    for (i++; i < t->segs.n && t->segs.v[i].at_ms < win->until_ms; i++) {
        const struct segment *s = &t->segs.v[i];
        devices &= s->devices;
        EACH_AMOUNT(k) {
            if (s->left.v[k] < free.v[k]) free.v[k] = s->left.v[k];
        }
    }
    EACH_AMOUNT(k) {
        if (free.v[k] < 0) free.v[k] = 0;
    }
    free.v[SLOT_GPU] = bits_count(devices);
    *ret_free = free;
    *ret_devices = devices;
}

uint32_t timeline_times(const struct timeline *t, const struct window *win,
                        const struct slots *need, uint32_t enough)
{
    struct slots free;
    uint32_t devices;
    int64_t n = enough;
    timeline_window(t, win, &free, &devices);
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > 0 && free.v[k] / need->v[k] < n) n = free.v[k] / need->v[k];
    }
    CHECK(n >= 0);
    return (uint32_t)n;
}

static bool amounts_fit(const struct segment *s, const struct slots *need)
{
    EACH_AMOUNT(k) {
        if (need->v[k] > 0 && need->v[k] > s->left.v[k]) return false;
    }
    return true;
}

/* Where the search goes on when a window that begins in `first` does not hold; 0 when it
 * does.  A lack of amounts rules out every window that touches the segment. */
static uint32_t fails_at(const struct timeline *t, const struct slots *need, uint32_t first,
                         int64_t until_ms)
{
    uint32_t devices = t->segs.v[first].devices;
    for (uint32_t i = first; i < t->segs.n && (i == first || t->segs.v[i].at_ms < until_ms); i++) {
        const struct segment *s = &t->segs.v[i];
        devices &= s->devices;
        if (!amounts_fit(s, need)) return i + 1;
        if ((int64_t)bits_count(devices) < need->v[SLOT_GPU]) return first + 1;
    }
    return 0;
}

int64_t timeline_earliest(const struct timeline *t, const struct slots *need, int64_t from_ms,
                          int64_t len_ms)
{
    uint32_t i = seg_at(t, from_ms);
    while (i < t->segs.n) {
        int64_t at_ms = t->segs.v[i].at_ms > from_ms ? t->segs.v[i].at_ms : from_ms;
        uint32_t next = fails_at(t, need, i, timeline_end(at_ms, len_ms));
        if (next == 0) return at_ms;
        CHECK(next > i);
        i = next;
    }
    return TIMELINE_NEVER;
}

static int64_t at_least_0(int64_t v) { return v > 0 ? v : 0; }

static bool grows(const struct segment *before, const struct segment *s)
{
    if (s->devices & ~before->devices) return true;
    EACH_AMOUNT(k) {
        if (at_least_0(s->left.v[k]) > at_least_0(before->left.v[k])) return true;
    }
    return false;
}

int64_t timeline_next_growth(const struct timeline *t, int64_t after_ms)
{
    for (uint32_t i = seg_at(t, after_ms) + 1; i < t->segs.n; i++) {
        CHECK(t->segs.v[i].at_ms > after_ms);
        if (grows(&t->segs.v[i - 1], &t->segs.v[i])) return t->segs.v[i].at_ms;
    }
    return TIMELINE_NEVER;
}
