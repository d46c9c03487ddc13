/* core/on_report.c - what a node says is there.
 *
 * A report is the full list.  What it does not name is gone, provided that the
 * node already acted on a list of wishes that knew the row; an older report
 * proves nothing.  Only a proof frees devices. */
#include "base/check.h"
#include "core/events.h"
#include "core/model/order.h"

#define REPORT_MEMBERS_MAX 65536u

static bool report_sane(struct draft *d, const struct node *n, const struct event_report *e)
{
    if (e->epoch < n->epoch || (e->epoch == n->epoch && e->seq <= n->report_seq)) {
        draft_refuse(d, VERDICT_STALE, "seq", "%s already reported %llu.%llu, this is %llu.%llu",
                     n->name, (unsigned long long)n->epoch, (unsigned long long)n->report_seq,
                     (unsigned long long)e->epoch, (unsigned long long)e->seq);
        return false;
    }
    if (e->turn > d->w->turn) { /* it knows more than we: not ours to believe */
        draft_refuse(d, VERDICT_BAD_VALUE, "turn", "%s acted on turn %llu, the last is %llu",
                     n->name, (unsigned long long)e->turn, (unsigned long long)d->w->turn);
        return false;
    }
    if (e->n_members > REPORT_MEMBERS_MAX) {
        draft_refuse(d, VERDICT_BAD_VALUE, "members", "members: expected at most %u, got %u",
                     REPORT_MEMBERS_MAX, e->n_members);
        return false;
    }
    for (uint32_t i = 0; i < e->n_members; i++) {
        const struct member_report *m = &e->members[i];
        bool ordered = i == 0 || member_ref_cmp(m[-1].ref, m->ref) < 0;
        if (ordered && m->phase < MEMBER_PHASES) continue;
        draft_refuse(d, VERDICT_BAD_VALUE, "members", "members: item %u is %s", i,
                     ordered ? "in no known phase" : "out of order");
        return false;
    }
    return true;
}

static const struct member_report *find_member(const struct event_report *e, struct member_ref ref)
{
    uint32_t low = 0, high = e->n_members;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = member_ref_cmp(e->members[mid].ref, ref);
        if (order == 0) return e->members[mid].orphan ? NULL : &e->members[mid];
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return NULL;
}

static struct member_end clean_end(const struct member_end *in)
{
    struct member_end end = *in;
    end.detail[sizeof(end.detail) - 1] = '\0';
    if (end.exit_code < 0 || end.exit_code > 255) end.exit_code = -1;
    if (end.signal < 0 || end.signal > 64) end.signal = 0;
    return end;
}

/* Not listed, and the node knew of it: whether it ever ran decides what that means. */
static void vanish(struct draft *d, struct alloc *a)
{
    bool ran = a->phase >= MEMBER_STARTING; /* perhaps: then it must not run twice */
    CHECK(!alloc_ended(a));
    a->phase = ran ? MEMBER_EXITED : MEMBER_FAILED;
    struct member_end end = {.exit_code = -1, .vanished = true};
    TEXT_CLIP(end.detail, ran ? STR("outcome unknown: the node no longer has it")
                              : STR("the node no longer has it"));
    draft_end(d, a, &end);
}

/* True when the row changed in a way that its session must look at. */
static bool take_row(struct draft *d, const struct event_report *e, struct alloc *a)
{
    const struct member_report *m = find_member(e, a->ref);
    if (!m) {
        uint64_t known_since = a->revoked ? a->revoked_turn : a->turn;
        if (e->turn < known_since) return false;
        vanish(d, a);
        return true;
    }
    bool moved = m->phase != a->phase;
    if (!moved && m->signal_done == a->signal_done) return false;
    a->phase = m->phase;
    a->signal_done = m->signal_done;
    if (alloc_ended(a)) {
        struct member_end end = clean_end(&m->end);
        draft_end(d, a, &end);
    }
    draft_alloc(d, a);
    return moved;
}

static void take_rows(struct draft *d, struct node *n, const struct event_report *e)
{
    struct world *w = d->w;
    VEC(uint64_t) moved = {0};  /* sessions, for all rows of one are judged together */
    VEC(uint32_t) orphans = {0};
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        if (!take_row(d, e, a)) continue;
        if (world_session(w, a->ref.session)) VEC_PUSH(&moved, a->ref.session);
        else if (alloc_ended(a)) VEC_PUSH(&orphans, ledger_slot(w, a));
    }
    order_sort(moved.v, moved.n, sizeof(*moved.v), order_cmp_u64);
    for (uint32_t i = 0; i < moved.n; i++) {
        if (i > 0 && moved.v[i] == moved.v[i - 1]) continue;
        settle_session(d, world_session(w, moved.v[i]));
    }
    for (uint32_t i = 0; i < orphans.n; i++) draft_release(d, &w->allocs.v[orphans.v[i]]);
    VEC_DONE(&moved);
    VEC_DONE(&orphans);
}

void on_report(struct draft *d)
{
    const struct event_report *e = &d->ev->u.report;
    struct node *n = world_node(d->w, e->node);
    if (!n) {
        draft_refuse(d, VERDICT_NOT_FOUND, "node", "there is no such node");
        return;
    }
    if (!report_sane(d, n, e)) return;
    if (e->epoch > n->epoch) {
        n->epoch = e->epoch;
        draft_node(d, n);
    }
    n->report_seq = e->seq;
    n->report_turn = e->turn;
    d->out->node = n->id;
    on_node_heard(d, n);
    take_rows(d, n, e);
}
