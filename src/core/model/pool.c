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

/* ---- families */

struct family_key { /* without padding: it is compared as bytes */
    uint64_t group, one_choice, n_roles, strategy, node;
    uint64_t user, project; /* with reservations */
    char gpu_models[48], labels[96], arch[16];
    struct { int64_t count; struct slots slots; } roles[SESSION_ROLES_MAX];
};

static bool one_choice(const struct session *s) { return s->one_node || s->members == 1; }

/* Members of several shapes are placed one after the other: nothing smaller is known to fit
 * nowhere because something larger does. */
static bool amounts_in_key(const struct session *s) { return !one_choice(s) && s->n_roles > 1; }

static struct slots choice_of(const struct session *s)
{
    struct slots total = s->roles[0].slots;
    if (!one_choice(s)) return total;
    bool sane = session_total(s, &total);
    CHECK(sane); /* submission refused sums that overflow */
    return total;
}

static struct str family_key(const struct world *w, const struct session *s,
                             struct family_key *k)
{
    CHECK(s->n_roles >= 1);
    CHECK(s->n_roles <= SESSION_ROLES_MAX);
    *k = (struct family_key){.group = s->group, .one_choice = one_choice(s), .n_roles = 1};
    if (!s->where.node_preferred) k->node = s->where.node;
    VEC_EACH(r, &w->reservations) { /* who sees more room than others learns for itself */
        if (!reservation_admits(r, s)) continue;
        k->user = r->user > 0 ? r->user : k->user;
        k->project = r->project > 0 ? r->project : k->project;
    }
    TEXT_CLIP(k->gpu_models, str_of(s->where.gpu_models));
    TEXT_CLIP(k->labels, str_of(s->where.labels));
    TEXT_CLIP(k->arch, str_of(s->where.arch));
    if (!amounts_in_key(s)) {
        k->roles[0].count = one_choice(s) ? 1 : s->members;
        k->roles[0].slots.v[SLOT_GPU] = choice_of(s).v[SLOT_GPU];
        return str_n((const char *)k, sizeof(*k));
    }
    k->n_roles = s->n_roles;
    k->strategy = s->strategy;
    for (uint32_t i = 0; i < s->n_roles; i++) {
        k->roles[i].count = s->roles[i].count;
        k->roles[i].slots = s->roles[i].slots;
    }
    return str_n((const char *)k, sizeof(*k));
}

static struct family family_of(const struct session *s)
{
    struct family f = {.group = s->group, .n_demands = 1};
    if (!amounts_in_key(s)) {
        f.demands[0].v[SLOT_GPU] = choice_of(s).v[SLOT_GPU];
        return f;
    }
    f.n_demands = s->n_roles;
    for (uint32_t i = 0; i < s->n_roles; i++) f.demands[i] = s->roles[i].slots;
    return f;
}

static uint32_t family_take(struct world *w, const struct session *s)
{
    struct family_key bytes;
    struct str key = family_key(w, s, &bytes);
    uint32_t id = map_str_get(&w->family_by_key, key);
    if (id == MAP_NONE) {
        if (w->free_families.n > 0) {
            id = VEC_POP(&w->free_families);
        } else {
            id = w->families.n;
            (void)VEC_ADD(&w->families);
            (void)VEC_ADD(&w->stamps);
        }
        struct family was = w->families.v[id];
        w->families.v[id] = family_of(s);
        w->families.v[id].listed = was.listed;
        w->families.v[id].version = was.version + 1;
        map_str_put(&w->family_by_key, key, id);
    }
    w->families.v[id].pending++;
    return id;
}

static void family_give(struct world *w, const struct session *s, uint32_t id)
{
    CHECK(id < w->families.n);
    CHECK(w->families.v[id].pending > 0);
    if (--w->families.v[id].pending > 0) return;
    struct family_key bytes;
    bool known = map_str_del(&w->family_by_key, family_key(w, s, &bytes));
    CHECK(known);
    w->families.v[id].n_now = w->families.v[id].n_ever = 0;
    w->stamps.v[id] = 0;
    VEC_PUSH(&w->free_families, id);
}

/* ---- order */

static int64_t limit_of(const struct session *s)
{
    return s->time_limit_ms > 0 ? s->time_limit_ms : INT64_MAX;
}

/* Time limit x cpu of all members, or the most that can be said. */
static int64_t size_of(const struct session *s)
{
    struct slots total;
    int64_t size;
    bool sane = session_total(s, &total);
    CHECK(sane);
    return __builtin_mul_overflow(limit_of(s), total.v[SLOT_CPU], &size) ? INT64_MAX : size;
}

static int64_t rank_of(const struct world *w, const struct session *s)
{
    CHECK(s->id <= INT64_MAX);
    switch (w->groups.v[s->group - 1].order) {
    case ORDER_FIFO: return 0;
    case ORDER_LIFO: return -(int64_t)s->id;
    case ORDER_SHORTEST: return limit_of(s);
    case ORDER_SMALLEST: return size_of(s);
    case ORDER_LONGEST: return -limit_of(s);
    case QUEUE_ORDERS: break;
    }
    UNREACHABLE();
}

bool pool_before(const struct queue_entry *a, const struct queue_entry *b)
{
    if (a->priority != b->priority) return a->priority > b->priority;
    if (a->rank != b->rank) return a->rank < b->rank;
    return a->seq < b->seq;
}

struct queue_entry pool_entry_of(const struct world *w, const struct session *s)
{
    struct slots choice = choice_of(s);
    bool plain = !amounts_in_key(s);
    return (struct queue_entry){.priority = session_order_priority(s),
                                .slot = (uint32_t)(s - w->sessions.v),
                                .seq = s->id,
                                .rank = rank_of(w, s),
                                .limit_ms = limit_of(s),
                                .cpu = plain ? choice.v[SLOT_CPU] : 0,
                                .mem = plain ? choice.v[SLOT_MEM] : 0,
                                .family = MAP_NONE};
}

/* How many entries come before it. */
static uint32_t entries_before(const struct pool_queue *q, const struct queue_entry *e)
{
    uint32_t low = 0, high = q->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (pool_before(&q->v[q->first + mid], e)) low = mid + 1;
        else high = mid;
    }
    return low;
}

static void move(struct pool_queue *q, uint32_t to, uint32_t from, uint32_t n)
{
    memmove(&q->v[to], &q->v[from], n * sizeof(*q->v));
    memmove(&q->marks[to], &q->marks[from], n * sizeof(*q->marks));
}

static void grow(struct pool_queue *q)
{
    uint32_t cap = q->cap;
    q->v = vec_grow_(q->v, &q->cap, cap + 1, sizeof(*q->v));
    q->marks = vec_grow_(q->marks, &cap, q->cap, sizeof(*q->marks));
    CHECK(cap >= q->cap);
}

/* Opens a gap at rank `at`, moving the shorter side. */
static void insert(struct pool_queue *q, uint32_t at, const struct queue_entry *e)
{
    CHECK(at <= q->n);
    if (q->first > 0 && at < q->n / 2) {
        q->first--;
        move(q, q->first, q->first + 1, at);
    } else {
        if (q->first + q->n == q->cap && q->first > q->n) { /* more gap than content */
            move(q, 0, q->first, q->n);
            q->first = 0;
        }
        if (q->first + q->n == q->cap) grow(q);
        move(q, q->first + at + 1, q->first + at, q->n - at);
    }
    q->n++;
    q->v[q->first + at] = *e;
    q->marks[q->first + at] = (struct queue_mark){e->family, MARK_NEW};
}

static void close_gap(struct pool_queue *q, uint32_t at)
{
    CHECK(at < q->n);
    q->n--;
    if (at < q->n / 2) {
        move(q, q->first + 1, q->first, at);
        q->first++;
    } else {
        move(q, q->first + at, q->first + at + 1, q->n - at);
    }
}

/* A pass must look at the entry and at those behind. */
static void due_from(struct world *w, struct pool_queue *q, uint32_t at)
{
    if (!q->due || at < q->from) q->from = at;
    q->due = true;
    w->pass_due = true;
}

void pool_add(struct world *w, struct session *s)
{
    CHECK(s->state == SESSION_PENDING);
    struct queue_entry e = pool_entry_of(w, s);
    e.family = family_take(w, s);
    struct pool_queue *q = queue_of(w, s->group);
    uint32_t at = entries_before(q, &e);
    CHECK(at == q->n || q->v[q->first + at].seq != s->id);
    insert(q, at, &e);
    if (s->array_limit > 0) q->unpark = true; /* it may have come back from work */
    if (q->shut == 0 || at < q->shut) due_from(w, q, at); /* else those ahead hold it back */
}

static uint32_t index_of(const struct world *w, const struct pool_queue *q,
                         const struct session *s)
{
    struct queue_entry e = pool_entry_of(w, s);
    uint32_t at = entries_before(q, &e);
    CHECK(at < q->n);
    CHECK(q->v[q->first + at].seq == s->id);
    return at;
}

const struct queue_entry *pool_entry(const struct world *w, const struct session *s)
{
    const struct pool_queue *q = queue_of(w, s->group);
    return &q->v[q->first + index_of(w, q, s)];
}

void pool_remove(struct world *w, struct session *s)
{
    struct pool_queue *q = queue_of(w, s->group);
    uint32_t at = index_of(w, q, s);
    family_give(w, s, q->v[q->first + at].family);
    close_gap(q, at);
    VEC_PUSH(&w->left, ((struct pool_left){s->id, s->group}));
    if (q->due && at < q->from) q->from--;
    due_from(w, q, at); /* whom it blocked may be tried */
}

void pool_resort(struct world *w, uint32_t group)
{
    struct pool_queue *q = queue_of(w, group);
    struct pool_queue old = *q;
    *q = (struct pool_queue){0};
    for (uint32_t i = 0; i < old.n; i++) {
        const struct queue_entry *was = &old.v[old.first + i];
        struct queue_entry e = pool_entry_of(w, &w->sessions.v[was->slot]);
        e.family = was->family;
        insert(q, entries_before(q, &e), &e);
    }
    CHECK(q->n == old.n);
    pool_queue_done(&old);
    pool_due(w, group);
}

const struct queue_entry *pool_entries(const struct world *w, uint32_t group, uint32_t *ret_n)
{
    const struct pool_queue *q = queue_of(w, group);
    *ret_n = q->n;
    return q->n > 0 ? &q->v[q->first] : NULL;
}

uint32_t pool_place(const struct world *w, const struct session *s)
{
    return index_of(w, queue_of(w, s->group), s) + 1;
}

/* ---- what a pass needs to know */

void pool_due(struct world *w, uint32_t group) { due_from(w, queue_of(w, group), 0); }

void pool_freed(struct world *w, const struct node *n)
{
    VEC_PUSH(&w->freed, n->id - 1);
    if (n->name[0] != '\0') pool_due(w, n->group);
}

void pool_park(struct world *w, const struct session *s)
{
    struct pool_queue *q = queue_of(w, s->group);
    q->v[q->first + index_of(w, q, s)].parked = true;
}

void pool_wake(struct world *w, const struct session *s)
{
    struct pool_queue *q = queue_of(w, s->group);
    uint32_t at = index_of(w, q, s);
    q->v[q->first + at].parked = false;
    q->marks[q->first + at].stamp = MARK_NEW;
    due_from(w, q, at);
}

void pool_queue_done(struct pool_queue *q)
{
    mem_free(q->v);
    mem_free(q->marks);
    *q = (struct pool_queue){0};
}
