/* core/sched/plan_node.c - the future of single nodes, as their timelines have it. */
#include "base/bitset.h"
#include "base/check.h"
#include "core/sched/promise.h"

static int64_t when(const struct timeline *t, const struct slots *need, int64_t now_ms,
                    int64_t limit_ms)
{
    return timeline_earliest(t, need, now_ms, limit_ms);
}

int64_t plan_when(const struct world *w, uint32_t node, const struct session *s)
{
    struct promises *book = promises_read(w);
    int64_t first = PLAN_NEVER;
    if (!book) return w->now_ms;
    const struct timeline *t = outlook_line(book, w, node, s);
    if (s->one_node) {
        struct slots total;
        bool sane = session_total(s, &total);
        CHECK(sane);
        return when(t, &total, w->now_ms, s->time_limit_ms);
    }
    for (uint32_t i = 0; i < s->n_roles; i++) {
        int64_t at_ms = when(t, &s->roles[i].slots, w->now_ms, s->time_limit_ms);
        if (at_ms < first) first = at_ms;
    }
    return first;
}

static bool has(const struct segment *seg, uint32_t devices, const struct slots *need)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (k != SLOT_GPU && need->v[k] > seg->left.v[k]) return false;
    }
    return (int64_t)bits_count(devices) >= need->v[SLOT_GPU];
}

int64_t plan_until(const struct world *w, uint32_t node, const struct slots *need)
{
    struct promises *book = promises_read(w);
    /* Who may use a reservation sees more than others. */
    if (!book || book->lines.v[node - 1].reserved.n > 0) return PLAN_NEVER;
    const struct timeline *t = outlook_line(book, w, node, NULL);
    uint32_t devices = UINT32_MAX;
    for (uint32_t i = 0; i < t->segs.n; i++) {
        const struct segment *seg = &t->segs.v[i];
        if (i + 1 < t->segs.n && t->segs.v[i + 1].at_ms <= w->now_ms) continue; /* it is over */
        devices &= seg->devices;
        if (!has(seg, devices, need)) return seg->at_ms > w->now_ms ? seg->at_ms : w->now_ms;
    }
    return PLAN_NEVER;
}

bool plan_ever(const struct world *w, uint32_t node, const struct slots *need, int64_t len_ms)
{
    struct promises *book = promises_read(w);
    if (!book || book->lines.v[node - 1].reserved.n > 0) return true;
    const struct timeline *t = outlook_line(book, w, node, NULL);
    VEC_EACH(p, &book->lines.v[node - 1].promised) {
        if (p->hold.until_ms == PLAN_NEVER) return true;
    }
    return timeline_earliest(t, need, w->now_ms, len_ms) != PLAN_NEVER;
}
