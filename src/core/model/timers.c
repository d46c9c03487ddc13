/* core/model/timers.c - deadlines of sessions, silence of nodes. */
#include "core/model/timers.h"

#include "base/check.h"

#define NODE_TIE (UINT64_C(1) << 63) /* sessions never have this bit: ids are counted up */

static bool item_valid(const struct world *w, const struct heap_item *item)
{
    if (item->tie & NODE_TIE) {
        CHECK(item->slot < w->nodes.n);
        const struct node *n = &w->nodes.v[item->slot];
        return n->name[0] != '\0' && n->timer_stamp == item->stamp;
    }
    CHECK(item->slot < w->sessions.n);
    const struct session *s = &w->sessions.v[item->slot];
    return s->id == item->tie && s->timer_stamp == item->stamp && session_live(s);
}

static void drop_stale_tops(struct world *w)
{
    struct heap_item gone;
    while (w->timers.n > 0 && !item_valid(w, heap_top(&w->timers))) heap_pop(&w->timers, &gone);
}

/* Ended sessions leave items with far deadlines: without this they would pile up. */
static void compact(struct world *w)
{
    uint64_t most = 2 * ((uint64_t)w->n_sessions + w->nodes.n) + 64;
    if (w->timers.n <= most) return;
    struct heap fresh = {0};
    for (uint32_t i = 0; i < w->timers.n; i++) {
        if (item_valid(w, &w->timers.v[i])) heap_push(&fresh, w->timers.v[i]);
    }
    CHECK(fresh.n <= most);
    heap_done(&w->timers);
    w->timers = fresh;
}

void timers_arm_session(struct world *w, struct session *s)
{
    CHECK(s->id < NODE_TIE);
    s->timer_stamp++;
    int64_t at = INT64_MAX;
    if (s->deadline_ms > 0) at = s->deadline_ms;
    if (s->state == SESSION_PENDING) {
        int64_t wake = s->not_before_ms > s->start_after_ms ? s->not_before_ms : s->start_after_ms;
        if (wake > w->now_ms && wake < at) at = wake;
        if (s->blocked_ms > w->now_ms && s->blocked_ms < at) at = s->blocked_ms;
    }
    if (s->state == SESSION_RUNNING && s->preemptible) { /* somebody may wait for just that */
        const struct preempt_policy *p = &world_group(w, s->group)->preempt;
        int64_t wake = s->started_ms + p->min_runtime_ms;
        if (p->enabled && wake > w->now_ms && wake < at) at = wake;
    }
    if (at < INT64_MAX) {
        heap_push(&w->timers, (struct heap_item){.key = at,
                                                 .tie = s->id,
                                                 .slot = (uint32_t)(s - w->sessions.v),
                                                 .stamp = s->timer_stamp});
    }
    compact(w);
    drop_stale_tops(w);
}

void timers_arm_node(struct world *w, struct node *n, int64_t at_ms)
{
    CHECK(n->id > 0);
    CHECK(at_ms > w->now_ms);
    n->timer_stamp++;
    heap_push(&w->timers, (struct heap_item){.key = at_ms,
                                             .tie = NODE_TIE | n->id,
                                             .slot = n->id - 1,
                                             .stamp = n->timer_stamp});
}

bool timers_pop(struct world *w, struct timer_due *ret)
{
    drop_stale_tops(w);
    const struct heap_item *top = heap_top(&w->timers);
    struct heap_item item;
    if (!top || top->key > w->now_ms) return false;
    bool popped = heap_pop(&w->timers, &item);
    CHECK(popped);
    *ret = (struct timer_due){0};
    if (item.tie & NODE_TIE) ret->node = &w->nodes.v[item.slot];
    else ret->session = &w->sessions.v[item.slot];
    drop_stale_tops(w);
    return true;
}

int64_t timers_next(const struct world *w)
{
    const struct heap_item *top = heap_top(&w->timers);
    return top ? top->key : INT64_MAX;
}
