/* core/on_reserve.c - reservations are made, removed, and over.
 *
 * One is made only if it can be kept: nobody holds, or is promised, what it takes at any
 * instant of its window, as far as time limits tell.
 * docs/spec/scheduling.md, "Reservations" */
#include "base/check.h"
#include "base/fmt.h"
#include "core/events.h"
#include "core/model/pool.h"
#include "core/sched/advance.h"

static bool refuse(struct draft *d, const char *field, const char *text)
{
    draft_refuse(d, VERDICT_BAD_VALUE, field, "%s", text);
    return false;
}

static bool known(struct draft *d, const char *field, bool found)
{
    if (!found) draft_refuse(d, VERDICT_NOT_FOUND, field, "there is no such %s", field);
    return found;
}

static bool judge(struct draft *d, const struct event_reserve *in, const struct reservation *r)
{
    const struct world *w = d->w;
    if ((r->user == 0) == (r->project == 0)) {
        return refuse(d, "user", "expected either a user or a project");
    }
    if (!known(d, "group", world_group(w, r->group) != NULL)) return false;
    if (r->user && !known(d, "user", world_user(w, r->user) != NULL)) return false;
    if (r->project && !known(d, "project", world_project(w, r->project) != NULL)) return false;
    const struct node *n = in->node > 0 ? world_node(w, in->node) : NULL;
    if (in->node && !known(d, "node", n && n->group == r->group)) return false;
    if (r->n_parts < 1 || r->n_parts > RESERVATION_PARTS_MAX || (n && r->n_parts > 1)) {
        return refuse(d, "nodes", n ? "expected 1, since the node is named"
                                    : "expected a number of nodes from 1 to 64");
    }
    if (!slots_valid(&r->slots) || slots_zero(&r->slots)) {
        return refuse(d, "gpu", "expected devices, CPU or memory to reserve");
    }
    if (r->start_ms < w->now_ms) return refuse(d, "start", "it lies in the past");
    if (r->start_ms - w->now_ms > RESERVATION_AHEAD_MAX_MS) {
        return refuse(d, "start", "expected within a year");
    }
    if (in->length_ms <= 0 || in->length_ms > RESERVATION_AHEAD_MAX_MS) {
        return refuse(d, "for", "expected a length of up to a year");
    }
    if (w->reservations.n >= WORLD_RESERVATIONS_MAX) {
        draft_refuse(d, VERDICT_FULL, "", "there are %u reservations already",
                     WORLD_RESERVATIONS_MAX);
        return false;
    }
    return true;
}

/* Who stands in the way, in words. */
static void in_the_way(const struct world *w, const struct advance_miss *miss, struct strbuf *b)
{
    char id[24];
    strbuf_fmt(b, "; on %s ", world_node(w, miss->node)->name);
    if (miss->session == 0) {
        strbuf_puts(b, "it is promised or reserved");
        return;
    }
    session_id_format(miss->session, id);
    if (miss->until_ms == INT64_MAX) {
        strbuf_fmt(b, "%s runs without a time limit", id);
    } else if (miss->until_ms <= w->now_ms) {
        strbuf_fmt(b, "%s is not proved gone", id);
    } else {
        strbuf_fmt(b, "%s may still run for ", id);
        fmt_duration(b, miss->until_ms - w->now_ms);
    }
}

static void refuse_place(struct draft *d, const struct reservation *r,
                         const struct advance_miss *miss)
{
    struct strbuf b;
    strbuf_init(&b, 512);
    strbuf_fmt(&b, "it needs %u node%s, and of the %u that may be used %u %s large enough and %u "
               "free in all that time", r->n_parts, r->n_parts == 1 ? "" : "s", miss->nodes,
               miss->able, miss->able == 1 ? "is" : "are", miss->free);
    if (miss->node) in_the_way(d->w, miss, &b);
    draft_refuse(d, VERDICT_IMPOSSIBLE, "", "%.*s", (int)b.n, b.p);
    strbuf_done(&b);
}

static void tell(struct draft *d, enum history_what what, const struct reservation *r)
{
    const struct world *w = d->w;
    const struct user *u = world_user(w, r->user);
    const struct project *p = world_project(w, r->project);
    struct strbuf b;
    strbuf_init(&b, 512);
    strbuf_fmt(&b, "r%u for %s %s: %u node%s", r->id, u ? "user" : "project",
               u ? u->name : p ? p->name : "?", r->n_parts, r->n_parts == 1 ? "" : "s");
    for (int k = SLOT_KINDS - 1; k >= 0; k--) {
        if (r->slots.v[k] == 0) continue;
        strbuf_puts(&b, ", ");
        slot_print(&b, (enum slot_kind)k, r->slots.v[k]);
        strbuf_fmt(&b, " %s", slot_label((enum slot_kind)k));
    }
    struct history *h = draft_history(d, what);
    h->node = r->n_parts == 1 ? r->parts[0].node : 0;
    TEXT_CLIP(h->text, strbuf_str(&b));
    strbuf_done(&b);
}

/* The owner's waiting sessions leave their queue while the list changes: what is known of
 * others will not, or no longer does, hold for them. */
static void owners_leave(struct world *w, const struct reservation *r)
{
    VEC_EACH(s, &w->sessions) {
        if (s->state == SESSION_PENDING && reservation_admits(r, s)) pool_remove(w, s);
    }
}

static void owners_return(struct world *w, const struct reservation *r)
{
    VEC_EACH(s, &w->sessions) {
        if (s->state == SESSION_PENDING && reservation_admits(r, s)) pool_add(w, s);
    }
}

void on_reserve(struct draft *d)
{
    struct world *w = d->w;
    const struct event_reserve *in = &d->ev->u.reserve;
    struct reservation r = in->reservation;
    struct advance_miss miss;
    if (r.start_ms == 0) r.start_ms = w->now_ms;
    if (!judge(d, in, &r)) return;
    r.end_ms = r.start_ms + in->length_ms;
    if (!advance_decide(w, &r, in->node, &miss)) {
        refuse_place(d, &r, &miss);
        return;
    }
    r.id = w->reservations.n > 0 ? w->reservations.v[w->reservations.n - 1].id + 1 : 1;
    r.since = w->last_session;
    owners_leave(w, &r);
    bool put = world_put_reservation(w, &r);
    CHECK(put);
    owners_return(w, &r);
    d->out->reservation = r.id;
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_RESERVATION;
    c->u.reservation = r;
    tell(d, HISTORY_RESERVED, &r);
}

static void remove_it(struct draft *d, const struct reservation *which)
{
    struct world *w = d->w;
    struct reservation r = *which;
    owners_leave(w, &r);
    world_drop_reservation(w, r.id);
    owners_return(w, &r);
    for (uint32_t i = 0; i < r.n_parts; i++) {
        struct node *n = world_node(w, r.parts[i].node);
        if (n) pool_freed(w, n);
    }
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_RESERVATION_GONE;
    c->u.reservation = r;
    tell(d, HISTORY_UNRESERVED, &r);
}

void on_unreserve(struct draft *d)
{
    const struct reservation *r = world_reservation(d->w, d->ev->u.unreserve.reservation);
    if (r) remove_it(d, r);
    else draft_refuse(d, VERDICT_NOT_FOUND, "reservation", "there is no such reservation");
}

void on_reservations_due(struct draft *d)
{
    for (uint32_t i = d->w->reservations.n; i > 0; i--) {
        const struct reservation *r = &d->w->reservations.v[i - 1];
        if (r->end_ms <= d->w->now_ms) remove_it(d, r);
    }
}
