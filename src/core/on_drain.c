/* core/on_drain.c - nodes that get nothing new, and those that are to become empty.
 *
 * A drained node is a cordoned one with a date: until then who is there may end by
 * himself, then he is stopped with his grace.  docs/spec/node.md, "Taking a node out" */
#include "base/check.h"
#include "core/events.h"
#include "core/model/order.h"
#include "core/model/pool.h"
#include "core/model/timers.h"
#include "core/transition.h"

void on_drain_arm(struct draft *d, struct node *n, int64_t at_ms)
{
    int64_t soon_ms = d->w->now_ms + 1;
    if (n->drain_ms > 0 && n->drain_ms < at_ms) at_ms = n->drain_ms;
    timers_arm_node(d->w, n, at_ms > soon_ms ? at_ms : soon_ms);
}

/* A batch session runs again elsewhere, from its place in the queue; another has ended. */
static void send_away(struct draft *d, struct session *s, const struct node *n)
{
    char text[128];
    text_fmt(text, sizeof(text), "node %s is taken out of service", n->name);
    if (s->state < SESSION_RUNNING) {
        transition_revoke(d, s, text);
        return;
    }
    s->requeue = s->kind == KIND_BATCH;
    transition_finish(d, s, OUTCOME_PREEMPTED, text);
}

void on_drain_due(struct draft *d, struct node *n)
{
    struct world *w = d->w;
    VEC(uint64_t) there = {0};
    if (n->drain_ms == 0 || n->drain_ms > w->now_ms) return;
    n->drain_ms = 0; /* once */
    draft_node(d, n);
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        const struct session *s = world_session(w, a->ref.session);
        if (s && !a->revoked && s->state != SESSION_STOPPING) VEC_PUSH(&there, s->id);
    }
    order_sort(there.v, there.n, sizeof(*there.v), order_cmp_u64);
    for (uint32_t i = 0; i < there.n; i++) {
        if (i == 0 || there.v[i] != there.v[i - 1]) send_away(d, world_session(w, there.v[i]), n);
    }
    struct history *h = draft_node_history(d, HISTORY_NODE_DRAIN, n);
    text_fmt(h->text, sizeof(h->text), "%s: its time is over, %u containers were left", n->name,
             there.n);
    VEC_DONE(&there);
}

static bool sane(struct draft *d, const struct event_cordon *e)
{
    if (e->deadline_ms < 0 || e->deadline_ms > EVENT_TIME_MAX_MS) {
        draft_refuse(d, VERDICT_BAD_VALUE, "deadline_ms", "deadline_ms: expected 0 to %lld",
                     (long long)EVENT_TIME_MAX_MS);
        return false;
    }
    if (memchr(e->reason, '\0', sizeof(e->reason))) return true;
    draft_refuse(d, VERDICT_BAD_VALUE, "reason", "reason: expected at most %zu bytes",
                 sizeof(e->reason) - 1);
    return false;
}

static void close_node(struct draft *d, struct node *n, const struct event_cordon *e)
{
    struct world *w = d->w;
    n->cordoned = true;
    n->draining = e->drain;
    n->drain_ms = e->drain && e->deadline_ms > 0 ? w->now_ms + e->deadline_ms : 0;
    n->cordon_by = d->actor;
    n->cordon_wall_ms = d->ev->wall_ms;
    TEXT_CLIP(n->cordon_reason, str_of(e->reason));
    bool given_up = w->now_ms - n->heard_ms >= NODE_LOST_MS;
    if (n->drain_ms > 0 && !given_up) timers_arm_node(w, n, w->now_ms + 1);
}

static void open_node(struct node *n)
{
    n->cordoned = n->draining = n->quarantined = false;
    n->drain_ms = n->cordon_wall_ms = 0;
    n->cordon_by = 0;
    n->cordon_reason[0] = '\0';
    n->failed_row = 0;
    memset(n->failed_by, 0, sizeof(n->failed_by));
}

void on_cordon(struct draft *d)
{
    const struct event_cordon *e = &d->ev->u.cordon;
    struct node *n = world_node(d->w, e->node);
    if (!n) {
        draft_refuse(d, VERDICT_NOT_FOUND, "node", "there is no such node");
        return;
    }
    if (!sane(d, e)) return;
    d->out->node = n->id;
    bool news = e->on ? !n->cordoned || e->drain || e->reason[0] != '\0'
                      : n->cordoned || n->quarantined; /* whoever opens it knows */
    if (!news) return;
    if (e->on) close_node(d, n, e);
    else open_node(n);
    node_refresh(d->w, n);
    draft_node(d, n);
    struct history *h = draft_node_history(d, HISTORY_NODE_CORDON, n);
    text_fmt(h->text, sizeof(h->text), "%s: %s%s%s", n->name,
             !e->on ? "open again" : e->drain ? "draining" : "cordoned",
             e->on && e->reason[0] ? ": " : "", e->on ? e->reason : "");
    if (!e->on) pool_freed(d->w, n);
}
