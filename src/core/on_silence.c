/* core/on_silence.c - nodes that fall silent, and what is released for it.
 *
 * Nothing here ends a container: those of sessions that asked for it have ended
 * by themselves (model/silence.h), and only then are their rows released, as if
 * the node had proved it. */
#include "base/check.h"
#include "core/events.h"
#include "core/model/order.h"
#include "core/model/silence.h"
#include "core/model/timers.h"

static void give_up(struct draft *d, const struct node *n, struct alloc *a)
{
    bool ran = a->phase >= MEMBER_STARTING;
    CHECK(!alloc_ended(a));
    a->phase = ran ? MEMBER_EXITED : MEMBER_FAILED;
    struct member_end end = {.exit_code = -1, .fenced = true};
    text_fmt(end.detail, sizeof(end.detail),
             "node %s was silent: its containers have ended by themselves", n->name);
    draft_end(d, a, &end);
}

/* Judges every row there; returns when to look again, INT64_MAX: not for this. */
static int64_t judge_rows(struct draft *d, struct node *n, bool many)
{
    struct world *w = d->w;
    VEC(uint64_t) moved = {0};
    int64_t again_ms = INT64_MAX;
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        const struct session *s = world_session(w, a->ref.session);
        if (!s) continue; /* lost: given up long ago */
        int64_t at_ms = INT64_MAX;
        switch (silence_judge(w, n, s, many)) {
        case SILENCE_KEEP:
        case SILENCE_HEARD: break;
        case SILENCE_WAIT: at_ms = silence_release_ms(n, s); break;
        case SILENCE_COMMAND: n->fence_asked = true; at_ms = w->now_ms + SILENCE_AGAIN_MS; break;
        case SILENCE_MANY: at_ms = w->now_ms + SILENCE_AGAIN_MS; break;
        case SILENCE_RELEASE:
            give_up(d, n, a);
            VEC_PUSH(&moved, s->id);
            break;
        case SILENCE_VERDICTS: UNREACHABLE();
        }
        if (at_ms < again_ms) again_ms = at_ms;
    }
    order_sort(moved.v, moved.n, sizeof(*moved.v), order_cmp_u64);
    for (uint32_t i = 0; i < moved.n; i++) {
        if (i == 0 || moved.v[i] != moved.v[i - 1])
            settle_session(d, world_session(w, moved.v[i]));
    }
    VEC_DONE(&moved);
    return again_ms;
}

static bool many_silent(struct draft *d)
{
    if (!d->counted_silent) d->many_silent = silence_of_many(d->w);
    d->counted_silent = true;
    return d->many_silent;
}

void on_silence(struct draft *d, struct node *n)
{
    struct world *w = d->w;
    int64_t silent_ms = w->now_ms - n->heard_ms;
    CHECK(silent_ms >= 0);
    on_drain_due(d, n);
    if (silent_ms < NODE_UNREACHABLE_MS) {
        on_drain_arm(d, n, n->heard_ms + NODE_UNREACHABLE_MS);
        return;
    }
    if (!n->unreachable) {
        n->unreachable = true;
        d->counted_silent = false;
        node_refresh(w, n);
        (void)draft_node_history(d, HISTORY_NODE_UNREACHABLE, n);
    }
    int64_t again_ms = judge_rows(d, n, many_silent(d));
    if (silent_ms < NODE_LOST_MS) {
        int64_t lost_ms = n->heard_ms + NODE_LOST_MS;
        on_drain_arm(d, n, again_ms < lost_ms ? again_ms : lost_ms);
        return;
    }
    char text[128]; /* from here on nothing is due until it speaks again */
    text_fmt(text, sizeof(text), "node %s was silent for 24 hours", n->name);
    on_node_lost(d, n, text);
}

/* It may be looked at again at once. */
static void look_soon(struct draft *d, struct node *n)
{
    int64_t lost_ms = n->heard_ms + NODE_LOST_MS, soon_ms = d->w->now_ms + 1;
    if (soon_ms < lost_ms) timers_arm_node(d->w, n, soon_ms);
}

/* An operator says that those who are silent now are down indeed, however many. */
void on_silence_accept(struct draft *d)
{
    struct world *w = d->w;
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < w->nodes.n; i++) {
        struct node *n = &w->nodes.v[i];
        if (n->name[0] == '\0' || !n->unreachable || n->silence_accepted) continue;
        n->silence_accepted = true;
        draft_node(d, n);
        look_soon(d, n);
        accepted++;
    }
    d->out->accepted = accepted;
    if (accepted == 0) return;
    struct history *h = draft_history(d, HISTORY_SILENCE_ACCEPTED);
    text_fmt(h->text, sizeof(h->text), "%u silent node%s taken to be down", accepted,
             accepted == 1 ? " is" : "s are");
}

/* The fence command has succeeded for this very silence. */
void on_fenced(struct draft *d)
{
    const struct event_fenced *e = &d->ev->u.fenced;
    struct node *n = world_node(d->w, e->node);
    if (!n) {
        draft_refuse(d, VERDICT_NOT_FOUND, "node", "there is no such node");
        return;
    }
    if (!n->unreachable || n->heard_ms != e->heard_ms) {
        draft_refuse(d, VERDICT_STALE, "node", "%s was heard since", n->name);
        return;
    }
    d->out->node = n->id;
    n->fence_confirmed = true;
    n->fence_asked = false;
    (void)draft_node_history(d, HISTORY_NODE_FENCED, n);
    look_soon(d, n);
}
