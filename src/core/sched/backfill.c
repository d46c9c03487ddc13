/* core/sched/backfill.c - promises of room, kept from pass to pass.
 *
 * A promised session is looked at again only when its start is due or something was freed
 * that could bring it forward.  Only an earlier start replaces a promise.  Who comes
 * before promised sessions is first tried beside all promises; failing that, those behind
 * it are dropped, and made again in their order when their turn comes.
 * docs/spec/scheduling.md, "Backfill" */
#include "base/check.h"
#include "core/model/order.h"
#include "core/model/pool.h"
#include "core/sched/frontier.h"
#include "core/sched/promise.h"
#include "core/sched/sched.h"
#include "core/sched/walk.h"

#define EARLIEST_COST 10u /* searches that one look into the future counts for */

static void took_in(struct walk *walk)
{
    reserve_freed(walk->w);
    frontier_take(walk->w);
}

static bool earliest(struct walk *walk, const struct session *s, struct promise *ret)
{
    uint64_t blocker;
    walk->searches += EARLIEST_COST;
    return plan_earliest(walk->w, s, ret, &blocker);
}

/* ---- what cannot be dated */

struct candidate { uint32_t node, rows; };

static int cmp_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->rows != y->rows) return x->rows < y->rows ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool promised_ahead(const struct walk *walk, uint32_t node)
{
    for (uint32_t i = 0; i < walk->ahead; i++) {
        const struct promise *p = plan_of(walk->w, walk->r->v.v[i].session);
        for (uint32_t m = 0; p && m < p->picks.n; m++) {
            if (p->picks.v[m].node == node) return true;
        }
    }
    return false;
}

/* The nodes where fewest stand in its way, until they could hold it when empty. */
static void choose_nodes(struct walk *walk, const struct session *s)
{
    const struct world *w = walk->w;
    VEC(struct candidate) can = {0};
    struct slots total, room = {{0}};
    bool sane = session_total(s, &total);
    CHECK(sane);
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        const struct room *r = &w->rooms.v[i];
        struct candidate c = {.node = i + 1};
        if (r->group != s->group || !r->usable || !place_hosts_at(w, s, i)) continue;
        if (promised_ahead(walk, c.node)) continue;
        for (struct alloc *a = world_allocs_of_node(w, &w->nodes.v[i]); a;
             a = world_next_of_node(w, a)) {
            c.rows++;
        }
        VEC_PUSH(&can, c);
    }
    order_sort(can.v, can.n, sizeof(*can.v), cmp_candidates);
    for (uint32_t i = 0; i < can.n && !slots_fit(&total, &room); i++) {
        VEC_PUSH(&walk->r->closed, can.v[i].node);
        (void)slots_add(&room, &w->rooms.v[can.v[i].node - 1].capacity, &room);
    }
    if (!slots_fit(&total, &room)) VEC_CLEAR(&walk->r->closed); /* it would help nobody */
    VEC_DONE(&can);
}

/* To all behind, until the walk is over: nothing else is told that they take no work. */
static void close_nodes(struct walk *walk)
{
    struct world *w = walk->w;
    CHECK(!walk->shut);
    walk->shut = true;
    VEC_EACH(node, &walk->r->closed) {
        w->rooms.v[*node - 1].usable = false;
        VEC_PUSH(&w->changed, *node - 1);
    }
    sched_sync(w);
    took_in(walk);
}

/* They are kept for nobody any more. */
static void forget_closed(struct walk *walk)
{
    struct world *w = walk->w;
    VEC_EACH(node, &walk->r->closed) pool_freed(w, &w->nodes.v[*node - 1]);
    VEC_CLEAR(&walk->r->closed);
}

/* Somebody ahead was promised one of them meanwhile: closing it would take that back. */
static bool promised_since(const struct walk *walk)
{
    VEC_EACH(node, &walk->r->closed) if (promised_ahead(walk, *node)) return true;
    return false;
}

void backfill_undated(struct walk *walk, const struct session *s)
{
    struct reserve *r = walk->r;
    const struct world *w = walk->w;
    if (walk->undated != 0) return;
    /* What could not run if nothing else did must not keep others from it. */
    if (!place_possible(w, s, &walk->place)) return;
    walk->undated = s->id;
    if (r->undated != s->id) {
        if (r->closed.n > 0) {
            forget_closed(walk);
            took_in(walk);
            walk->later = walk->again = true;
        }
        r->undated = s->id;
        r->undated_ms = w->now_ms;
        return;
    }
    if (w->now_ms - r->undated_ms < walk->g->undated_ms) return;
    if (promised_since(walk)) {
        forget_closed(walk);
        walk->later = walk->again = true;
    }
    if (r->closed.n == 0) choose_nodes(walk, s);
    if (r->closed.n > 0) close_nodes(walk);
    else r->undated_ms = w->now_ms + PASS_ATTEMPT_MS - walk->g->undated_ms; /* then again */
}

void backfill_end(struct walk *walk, bool whole)
{
    struct world *w = walk->w;
    if (walk->shut) {
        VEC_EACH(node, &walk->r->closed) node_refresh(w, &w->nodes.v[*node - 1]);
        sched_sync(w);
        walk->shut = false;
    }
    if (!whole || walk->undated != 0) return;
    walk->r->undated = 0;
    if (walk->r->closed.n == 0) return;
    forget_closed(walk);
    walk->later = walk->again = true;
}

/* ---- what is promised */

/* Without the promises behind `at`, which are made again in order. */
static bool start_without(struct walk *walk, struct session *s, uint32_t at,
                          struct reserve_taken *taken)
{
    reserve_take(walk->w, walk->r, at, taken);
    return taken->v.n > 0 && walk_start(walk, s);
}

static void undated(struct walk *walk, const struct queue_entry *e, const struct session *s)
{
    if (s->n_failed_on == 0) frontier_add_ever(walk->w, e, &walk->endless);
    backfill_undated(walk, s);
}

enum judgement backfill_reserve(struct walk *walk, const struct queue_entry *e, struct session *s)
{
    struct world *w = walk->w;
    struct reserve_taken taken = {.freed = 0};
    struct promise p = {0};
    CHECK(walk->ahead < walk->depth);
    if (start_without(walk, s, walk->ahead, &taken)) {
        reserve_taken_done(&taken);
        return JUDGED_PLACED;
    }
    if (earliest(walk, s, &p)) {
        reserve_taken_done(&taken);
        took_in(walk);
        reserve_keep(w, walk->r, walk->ahead, &p);
        walk_passed(walk);
        return JUDGED_BLOCKED;
    }
    reserve_put_back(w, walk->r, &taken);
    undated(walk, e, s);
    return JUDGED_BLOCKED;
}

/* Due, and still it does not fit: somebody holds on for longer than he said. */
static enum judgement overdue(struct walk *walk, const struct queue_entry *e, struct session *s)
{
    struct world *w = walk->w;
    struct reserve_taken taken = {.freed = 0};
    struct promise p = {.first_ms = 0};
    bool started = start_without(walk, s, walk->ahead + 1, &taken);
    reserve_taken_done(&taken);
    if (started) return JUDGED_PLACED;
    int64_t first_ms = plan_of(w, s->id)->first_ms;
    bool dated = earliest(walk, s, &p);
    reserve_drop(w, walk->r, walk->ahead);
    took_in(walk);
    if (!dated) {
        undated(walk, e, s);
        return JUDGED_BLOCKED;
    }
    p.first_ms = first_ms;
    bool guess = p.at_ms <= w->now_ms + 1; /* whoever should be gone will be, some time */
    reserve_keep(w, walk->r, walk->ahead, &p);
    if (guess) walk->r->v.v[walk->ahead].retry_ms = w->now_ms + PASS_HUSH_MS;
    walk_passed(walk);
    return JUDGED_BLOCKED;
}

static enum judgement bring_forward(struct walk *walk, const struct session *s, int64_t at_ms)
{
    struct world *w = walk->w;
    struct promise p = {0};
    int64_t first_ms = plan_of(w, s->id)->first_ms;
    if (earliest(walk, s, &p) && p.at_ms < at_ms) {
        p.first_ms = first_ms;
        reserve_drop(w, walk->r, walk->ahead);
        took_in(walk);
        reserve_keep(w, walk->r, walk->ahead, &p);
    } else {
        promise_done(&p);
    }
    walk_passed(walk);
    return JUDGED_BLOCKED;
}

enum judgement backfill_look(struct walk *walk, const struct queue_entry *e, struct session *s)
{
    struct world *w = walk->w;
    const struct promise *p = plan_of(w, s->id);
    CHECK(walk->ahead < walk->r->v.n);
    CHECK(walk->r->v.v[walk->ahead].session == s->id);
    walk->r->v.v[walk->ahead].look = false;
    if (!p || walk->ahead >= walk->depth) { /* void, or the depth became less */
        reserve_drop(w, walk->r, walk->ahead);
        took_in(walk);
        return walk_judge(walk, e);
    }
    int64_t at_ms = p->at_ms;
    if (walk_start(walk, s)) return JUDGED_PLACED;
    return at_ms <= w->now_ms ? overdue(walk, e, s) : bring_forward(walk, s, at_ms);
}

/* ---- shortest first */

static int cmp_limits(const void *a, const void *b)
{
    const struct queue_entry *x = a, *y = b;
    if (x->limit_ms != y->limit_ms) return x->limit_ms < y->limit_ms ? -1 : 1;
    return pool_before(x, y) ? -1 : pool_before(y, x);
}

void backfill_shortest(struct walk *walk)
{
    const struct pool_queue *q = walk->q;
    VEC(struct queue_entry) rest = {0};
    CHECK(walk->ahead >= walk->depth);
    if (walk->r->v.n > walk->ahead) {
        while (walk->r->v.n > walk->ahead) reserve_drop(walk->w, walk->r, walk->ahead);
        took_in(walk);
    }
    for (uint32_t i = walk->at; i < q->n; i++) VEC_PUSH(&rest, q->v[q->first + i]);
    order_sort(rest.v, rest.n, sizeof(*rest.v), cmp_limits);
    for (uint32_t i = 0; i < rest.n; i++) {
        if (rest.v[i].parked) continue;
        struct queue_entry e = rest.v[i];
        (void)walk_judge(walk, &e);
    }
    VEC_DONE(&rest);
}
