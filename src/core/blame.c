/* core/blame.c - failed starts, counted by session and by node.
 *
 * A node counts different sessions: one that fails there again and again may be at
 * fault itself.  docs/spec/scheduling.md, "Placement" */
#include "core/blame.h"

#include "base/check.h"

static void count_on_session(struct session *s, uint32_t node)
{
    struct failed_start again = {node, 1};
    uint32_t at = 0;
    CHECK(s->n_failed_on <= SESSION_FAILED_NODES);
    while (at < s->n_failed_on && s->failed_on[at].node != node) at++;
    if (at < s->n_failed_on) again.times = s->failed_on[at].times + 1;
    if (at == SESSION_FAILED_NODES) at = 0; /* the oldest is forgotten */
    uint32_t rest = s->n_failed_on > at ? s->n_failed_on - at - 1 : 0;
    memmove(&s->failed_on[at], &s->failed_on[at + 1], rest * sizeof(again));
    if (s->n_failed_on == at + rest) s->n_failed_on++;
    s->failed_on[s->n_failed_on - 1] = again;
    CHECK(s->n_failed_on <= SESSION_FAILED_NODES);
}

static void quarantine(struct draft *d, struct node *n)
{
    CHECK(n->failed_row == NODE_QUARANTINE_AFTER);
    n->quarantined = true;
    node_refresh(d->w, n);
    struct history *h = draft_node_history(d, HISTORY_NODE_QUARANTINED, n);
    text_fmt(h->text, sizeof(h->text), "%s: s%llu, s%llu and s%llu failed to start there in a row",
             n->name, (unsigned long long)n->failed_by[0].session,
             (unsigned long long)n->failed_by[1].session,
             (unsigned long long)n->failed_by[2].session);
}
_Static_assert(NODE_QUARANTINE_AFTER == 3, "the line above names as many");

static void count_on_node(struct draft *d, struct node *n, uint64_t session)
{
    if (n->quarantined) return;
    CHECK(n->failed_row < NODE_QUARANTINE_AFTER);
    for (uint32_t i = 0; i < n->failed_row; i++) {
        if (n->failed_by[i].session == session) return;
    }
    n->failed_by[n->failed_row++].session = session;
    if (n->failed_row == NODE_QUARANTINE_AFTER) quarantine(d, n);
    draft_node(d, n);
}

void blame_node(struct draft *d, struct session *s, uint32_t node)
{
    struct node *n = world_node(d->w, node);
    if (!n) return;
    count_on_session(s, node);
    count_on_node(d, n, s->id);
    draft_session(d, s);
}

void blame_slowest(struct draft *d, struct session *s)
{
    struct world *w = d->w;
    enum member_phase slowest = MEMBER_PHASES;
    uint32_t last = 0;
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (!a->revoked && a->phase < slowest) slowest = a->phase;
    }
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (a->revoked || a->phase != slowest || a->node == last) continue;
        const struct node *n = world_node(w, a->node);
        last = a->node;
        if (n->heard && !n->unreachable) blame_node(d, s, a->node);
    }
}

void blame_forgive(struct draft *d, uint32_t node)
{
    struct node *n = world_node(d->w, node);
    if (!n || n->failed_row == 0 || n->quarantined) return; /* that takes an operator */
    n->failed_row = 0;
    memset(n->failed_by, 0, sizeof(n->failed_by));
    draft_node(d, n);
}

void blame_nobody(struct draft *d, struct session *s)
{
    struct world *w = d->w;
    s->n_failed_on = 0;
    memset(s->failed_on, 0, sizeof(s->failed_on));
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (!a->revoked) blame_forgive(d, a->node);
    }
}
