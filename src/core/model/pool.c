/* core/model/pool.c - a sorted array that is cheap at both ends.
 *
 * Most arrivals go to the back and most starts leave from the front, so the
 * shorter side is moved and the array may begin at an offset. */
#include "core/model/pool.h"

#include "base/check.h"
#include "core/model/order.h"

static struct pool_queue *queue_of(const struct world *w, uint32_t group)
{
    CHECK(group > 0);
    CHECK(group <= w->queues.n);
    return &w->queues.v[group - 1];
}

/* ---- shapes */

struct shape_key { /* without padding: it is compared as bytes */
    uint64_t group, one_node, n_roles;
    struct { int64_t count; struct slots slots; } roles[SESSION_ROLES_MAX];
    uint64_t strategy, node, preferred, n_failed_on;
    char gpu_models[48], labels[96], arch[16];
    struct failed_start failed_on[SESSION_FAILED_NODES];
};

static struct str shape_key(const struct session *s, struct shape_key *k)
{
    CHECK(s->n_roles >= 1);
    CHECK(s->n_roles <= SESSION_ROLES_MAX);
    *k = (struct shape_key){.group = s->group, .one_node = s->one_node, .n_roles = s->n_roles};
    for (uint32_t i = 0; i < s->n_roles; i++) {
        k->roles[i].count = s->roles[i].count;
        k->roles[i].slots = s->roles[i].slots;
    }
    const struct constraint *c = &s->where;
    k->strategy = (uint64_t)s->strategy;
    k->node = c->node;
    k->preferred = c->node_preferred;
    k->n_failed_on = s->n_failed_on;
    TEXT_CLIP(k->gpu_models, str_of(c->gpu_models));
    TEXT_CLIP(k->labels, str_of(c->labels));
    TEXT_CLIP(k->arch, str_of(c->arch));
    for (uint32_t i = 0; i < s->n_failed_on; i++) k->failed_on[i] = s->failed_on[i];
    return str_n((const char *)k, sizeof(*k));
}

static struct shape shape_of(const struct session *s)
{
    struct shape shape = {.group = s->group, .n_demands = 1};
    if (s->one_node) {
        bool sane = session_total(s, &shape.demands[0]);
        CHECK(sane); /* submission refused sums that overflow */
        return shape;
    }
    shape.n_demands = s->n_roles;
    for (uint32_t i = 0; i < s->n_roles; i++) shape.demands[i] = s->roles[i].slots;
    return shape;
}

static uint32_t shape_take(struct world *w, const struct session *s)
{
    struct shape_key bytes;
    struct str key = shape_key(s, &bytes);
    uint32_t id = map_str_get(&w->shape_by_key, key);
    if (id == MAP_NONE) {
        if (w->free_shapes.n > 0) {
            id = VEC_POP(&w->free_shapes);
        } else {
            id = w->shapes.n;
            (void)VEC_ADD(&w->shapes);
        }
        w->shapes.v[id] = shape_of(s);
        map_str_put(&w->shape_by_key, key, id);
    }
    w->shapes.v[id].pending++;
    return id;
}

static void shape_give(struct world *w, const struct session *s, uint32_t id)
{
    CHECK(id < w->shapes.n);
    CHECK(w->shapes.v[id].pending > 0);
    if (--w->shapes.v[id].pending > 0) return;
    struct shape_key bytes;
    bool known = map_str_del(&w->shape_by_key, shape_key(s, &bytes));
    CHECK(known);
    VEC_PUSH(&w->free_shapes, id);
}

/* ---- order */

static bool before(const struct queue_entry *a, int32_t priority, uint64_t seq)
{
    if (a->priority != priority) return a->priority > priority;
    return a->seq < seq;
}

/* How many entries come before (priority, seq). */
static uint32_t rank(const struct pool_queue *q, int32_t priority, uint64_t seq)
{
    uint32_t low = 0, high = q->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (before(&q->v[q->first + mid], priority, seq)) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* Opens a gap at rank `at`, moving the shorter side. */
static struct queue_entry *open_gap(struct pool_queue *q, uint32_t at)
{
    CHECK(at <= q->n);
    if (q->first > 0 && at < q->n / 2) {
        q->first--;
        memmove(&q->v[q->first], &q->v[q->first + 1], at * sizeof(*q->v));
    } else {
        if (q->first + q->n == q->cap && q->first > q->n) { /* more gap than content */
            memmove(q->v, &q->v[q->first], q->n * sizeof(*q->v));
            q->first = 0;
        }
        if (q->first + q->n == q->cap) q->v = vec_grow_(q->v, &q->cap, q->cap + 1, sizeof(*q->v));
        memmove(&q->v[q->first + at + 1], &q->v[q->first + at], (q->n - at) * sizeof(*q->v));
    }
    q->n++;
    return &q->v[q->first + at];
}

static void close_gap(struct pool_queue *q, uint32_t at)
{
    CHECK(at < q->n);
    q->n--;
    if (at < q->n / 2) {
        memmove(&q->v[q->first + 1], &q->v[q->first], at * sizeof(*q->v));
        q->first++;
    } else {
        memmove(&q->v[q->first + at], &q->v[q->first + at + 1], (q->n - at) * sizeof(*q->v));
    }
}

void pool_add(struct world *w, struct session *s)
{
    CHECK(s->state == SESSION_PENDING);
    uint32_t shape = shape_take(w, s);
    struct pool_queue *q = queue_of(w, s->group);
    uint32_t at = rank(q, s->priority, s->id);
    CHECK(at == q->n || q->v[q->first + at].seq != s->id);
    *open_gap(q, at) = (struct queue_entry){.priority = s->priority,
                                            .slot = (uint32_t)(s - w->sessions.v),
                                            .seq = s->id,
                                            .shape = shape};
    if (!w->shapes.v[shape].refused) q->open++;
    CHECK(q->open <= q->n);
    if (q->shut == 0 || at < q->shut) pool_due(w, s->group); /* else those ahead hold it back */
}

const struct queue_entry *pool_entry(const struct world *w, const struct session *s)
{
    const struct pool_queue *q = queue_of(w, s->group);
    uint32_t at = rank(q, s->priority, s->id);
    CHECK(at < q->n);
    CHECK(q->v[q->first + at].seq == s->id);
    return &q->v[q->first + at];
}

void pool_remove(struct world *w, struct session *s)
{
    struct pool_queue *q = queue_of(w, s->group);
    uint32_t at = rank(q, s->priority, s->id);
    CHECK(at < q->n);
    CHECK(q->v[q->first + at].seq == s->id);
    uint32_t shape = q->v[q->first + at].shape;
    if (!w->shapes.v[shape].refused) {
        CHECK(q->open > 0);
        q->open--;
    }
    close_gap(q, at);
    shape_give(w, s, shape);
    pool_due(w, s->group); /* whom it blocked may be tried */
}

const struct queue_entry *pool_entries(const struct world *w, uint32_t group, uint32_t *ret_n)
{
    const struct pool_queue *q = queue_of(w, group);
    *ret_n = q->n;
    return q->n > 0 ? &q->v[q->first] : NULL;
}

uint32_t pool_place(const struct world *w, const struct session *s)
{
    const struct pool_queue *q = queue_of(w, s->group);
    return (uint32_t)(pool_entry(w, s) - &q->v[q->first]) + 1;
}

/* ---- what a pass needs to know */

void pool_due(struct world *w, uint32_t group)
{
    queue_of(w, group)->due = true;
    w->pass_due = true;
}

void pool_freed(struct world *w, const struct node *n)
{
    VEC_PUSH(&w->freed, n->id - 1);
    if (n->name[0] != '\0') pool_due(w, n->group);
}

static bool could_use(const struct shape *s, const struct room *r)
{
    if (s->group != r->group) return false;
    for (uint32_t i = 0; i < s->n_demands; i++) {
        if (slots_fit(&s->demands[i], &r->free)) return true;
    }
    return false;
}

void pool_reopen(struct world *w)
{
    w->openings++;
    VEC_CLEAR(&w->opened);
    w->freed.n = order_unique(w->freed.v, w->freed.n);
    for (uint32_t i = 0; i < w->freed.n; i++) {
        const struct room *r = &w->rooms.v[w->freed.v[i]];
        if (!r->usable) continue;
        VEC_PUSH(&w->opened, w->freed.v[i]);
        VEC_EACH(s, &w->shapes) {
            if (s->pending == 0 || !s->refused || !could_use(s, r)) continue;
            s->refused = false;
            s->reopened = w->openings;
            queue_of(w, s->group)->open += s->pending;
        }
    }
    VEC_CLEAR(&w->freed);
}

bool pool_hopeless(const struct world *w, uint32_t shape)
{
    CHECK(shape < w->shapes.n);
    const struct shape *s = &w->shapes.v[shape];
    CHECK(!s->refused);
    if (s->reopened != w->openings) return false;
    VEC_EACH(at, &w->opened) {
        if (could_use(s, &w->rooms.v[*at])) return false;
    }
    return true;
}

void pool_refuse(struct world *w, uint32_t shape)
{
    CHECK(shape < w->shapes.n);
    struct shape *s = &w->shapes.v[shape];
    struct pool_queue *q = queue_of(w, s->group);
    CHECK(!s->refused);
    CHECK(s->pending <= q->open);
    s->refused = true;
    q->open -= s->pending;
}

bool pool_refused(const struct world *w, uint32_t shape)
{
    CHECK(shape < w->shapes.n);
    return w->shapes.v[shape].refused;
}

void pool_queue_done(struct pool_queue *q)
{
    mem_free(q->v);
    *q = (struct pool_queue){0};
}
