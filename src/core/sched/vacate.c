/* core/sched/vacate.c - the book, and what it means for the rooms of nodes.
 *
 * A node's `kept` is the sum of what is promised there, its `leaving` the sum of the rows
 * of those who are leaving: both are counted anew for a node whenever the book or its rows
 * change.  docs/spec/scheduling.md, "Preemption" */
#include "core/sched/vacate.h"

#include "base/check.h"
#include "core/model/order.h"
#include "core/model/pool.h"
#include "core/sched/leaving.h"
#include "core/sched/plan.h"
#include "core/sched/sched.h"

static const struct vacates NONE;

static const struct vacates *book_read(const struct world *w)
{
    return w->sched && w->sched->vacates ? w->sched->vacates : &NONE;
}

static struct vacates *book_write(struct world *w)
{
    struct sched *sched = sched_of(w);
    if (!sched->vacates) sched->vacates = mem_alloc(sizeof(*sched->vacates));
    return sched->vacates;
}

static struct vacate *find(const struct world *w, uint64_t session)
{
    VEC_EACH(v, &book_read(w)->v) if (v->session == session) return v;
    return NULL;
}

const struct vacate *vacate_of(const struct world *w, uint64_t session)
{
    return find(w, session);
}

uint64_t vacate_at(const struct world *w, uint32_t i)
{
    const struct vacates *book = book_read(w);
    return i < book->v.n ? book->v.v[i].session : 0;
}

/* ---- nodes */

static void count_kept(struct world *w, struct node *n)
{
    n->kept = (struct slots){{0}};
    n->kept_devices = 0;
    VEC_EACH(v, &book_read(w)->v) {
        const struct session *s = world_session(w, v->session);
        for (uint32_t m = 0; m < v->picks.n; m++) {
            const struct place_pick *pick = &v->picks.v[m];
            if (pick->node != n->id) continue;
            CHECK(s != NULL);
            bool sane = slots_add(&n->kept, &session_role_of(s, m)->slots, &n->kept);
            CHECK(sane);
            CHECK((n->kept_devices & pick->devices) == 0);
            n->kept_devices |= pick->devices;
        }
    }
}

static void count_leaving(const struct world *w, struct node *n)
{
    n->leaving = (struct slots){{0}};
    if (slots_zero(&n->kept)) return;
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        if (!leaving_row(w, a)) continue;
        bool sane = slots_add(&n->leaving, &a->slots, &n->leaving);
        CHECK(sane);
    }
}

/* The book changed on the node, or its rows did. */
static void count_node(struct world *w, uint32_t node)
{
    struct node *n = world_node(w, node);
    if (!n) return; /* forgotten: what was promised there is void */
    struct slots was = n->kept;
    count_kept(w, n);
    count_leaving(w, n);
    node_refresh(w, n);
    if (!slots_fit(&was, &n->kept)) pool_freed(w, n); /* less is kept than was */
}

static void count_nodes(struct world *w, const struct place_pick *picks, uint32_t n)
{
    VEC(uint32_t) nodes = {0};
    for (uint32_t i = 0; i < n; i++) VEC_PUSH(&nodes, picks[i].node);
    nodes.n = order_unique(nodes.v, nodes.n);
    VEC_EACH(node, &nodes) count_node(w, *node);
    VEC_DONE(&nodes);
}

/* ---- the book */

static bool comes_before(const struct session *a, const struct session *b)
{
    int32_t pa = session_order_priority(a), pb = session_order_priority(b);
    return pa != pb ? pa > pb : a->id < b->id;
}

void vacate_add(struct world *w, const struct session *s)
{
    struct vacates *book = book_write(w);
    uint32_t at = 0;
    CHECK(s->state == SESSION_RESERVED);
    CHECK(find(w, s->id) == NULL);
    while (at < book->v.n) {
        const struct session *other = world_session(w, book->v.v[at].session);
        CHECK(other != NULL);
        if (comes_before(s, other)) break;
        at++;
    }
    VEC_INSERT(&book->v, at, ((struct vacate){.session = s->id}));
    book->due = true;
}

void vacate_open(struct world *w, uint64_t session)
{
    struct vacate *v = find(w, session);
    struct vacate was;
    CHECK(v != NULL);
    was = *v;
    memset(&v->picks, 0, sizeof(v->picks));
    count_nodes(w, was.picks.v, was.picks.n);
    VEC_DONE(&was.picks);
}

void vacate_remove(struct world *w, uint64_t session)
{
    struct vacate *v = find(w, session);
    if (!v) return;
    vacate_open(w, session);
    struct vacates *book = book_write(w);
    VEC_REMOVE(&book->v, (uint32_t)(v - book->v.v));
}

void vacate_keep(struct world *w, uint64_t session, const struct place_pick *picks, uint32_t n)
{
    struct vacate *v = find(w, session);
    CHECK(v != NULL);
    CHECK(v->picks.n == 0);
    for (uint32_t i = 0; i < n; i++) VEC_PUSH(&v->picks, picks[i]);
    count_nodes(w, picks, n);
}

bool vacate_take_due(struct world *w)
{
    if (book_read(w)->v.n == 0) return false;
    struct vacates *book = book_write(w);
    bool due = book->due;
    book->due = false;
    return due;
}

void vacate_sync(struct world *w)
{
    if (book_read(w)->v.n == 0 || w->changed.n == 0) return;
    book_write(w)->due = true;
    uint32_t n = w->changed.n; /* counting a node adds it again */
    for (uint32_t i = 0; i < n; i++) {
        struct node *node = world_node(w, w->changed.v[i] + 1);
        if (node && !slots_zero(&node->kept)) count_node(w, node->id);
    }
}

/* ---- what will be free */

static bool same_again(const struct world *w, const struct leaving *l, const struct session *s,
                       const struct vacate *was)
{
    bool fits = was->picks.n == s->members;
    VEC(struct room) rooms = {0};
    VEC_RESERVE(&rooms, w->rooms.n);
    rooms.n = w->rooms.n;
    for (uint32_t m = 0; m < was->picks.n; m++) {
        uint32_t at = was->picks.v[m].node - 1;
        leaving_room(l, w, at, &rooms.v[at]);
    }
    for (uint32_t m = 0; fits && m < was->picks.n; m++) {
        const struct place_pick *pick = &was->picks.v[m];
        struct room *r = &rooms.v[pick->node - 1];
        fits = r->usable && r->group == s->group && (pick->devices & ~r->devices) == 0 &&
               slots_sub(&r->free, &session_role_of(s, m)->slots, &r->free);
        r->devices &= ~pick->devices;
    }
    VEC_DONE(&rooms);
    return fits;
}

/* The very same search, in rooms without those who leave. */
static bool anew(const struct world *w, const struct leaving *l, const struct session *s,
                 struct place *ret)
{
    struct world dry = *w;
    dry.rooms.v = mem_array(w->rooms.n, sizeof(struct room));
    dry.sched = NULL;
    for (uint32_t at = 0; at < w->rooms.n; at++) {
        leaving_room(l, w, at, &dry.rooms.v[at]);
        if (plan_promised(w, at + 1)) dry.rooms.v[at].usable = false;
    }
    bool fits = place_decide(&dry, s, PLACE_NOW, ret);
    mem_free(dry.rooms.v);
    return fits;
}

bool vacate_derive(struct world *w, const struct session *s, const struct vacate *was)
{
    struct leaving l = {0};
    struct place place = {0};
    leaving_collect(&l, w);
    bool fits = same_again(w, &l, s, was);
    if (fits) {
        vacate_keep(w, s->id, was->picks.v, was->picks.n);
    } else {
        fits = anew(w, &l, s, &place);
        if (fits) vacate_keep(w, s->id, place.picks.v, place.picks.n);
    }
    place_done(&place);
    leaving_done(&l);
    return fits;
}

void vacate_hold(const struct world *w, uint32_t node, uint64_t own, struct timeline *t)
{
    const struct node *n = world_node(w, node);
    if (!n || slots_zero(&n->kept)) return;
    VEC_EACH(v, &book_read(w)->v) {
        const struct session *s = world_session(w, v->session);
        for (uint32_t m = 0; v->session != own && m < v->picks.n; m++) {
            if (v->picks.v[m].node != node) continue;
            CHECK(s != NULL);
            struct hold hold = {.from_ms = w->now_ms,
                                .until_ms = timeline_end(s->deadline_ms, s->time_limit_ms),
                                .slots = session_role_of(s, m)->slots,
                                .devices = v->picks.v[m].devices};
            if (hold.until_ms <= w->now_ms) hold.until_ms = w->now_ms + 1;
            timeline_hold(t, &hold);
        }
    }
}

void vacate_free(struct world *w)
{
    if (!w->sched || !w->sched->vacates) return;
    VEC_EACH(v, &w->sched->vacates->v) VEC_DONE(&v->picks);
    VEC_DONE(&w->sched->vacates->v);
    mem_free(w->sched->vacates);
    w->sched->vacates = NULL;
}
