/* core/sched/leaving.c - sums of rows by node, of those who are on their way out. */
#include "core/sched/leaving.h"

#include "base/check.h"

static void add_row(struct leaving *l, const struct alloc *a)
{
    struct gone *g = &l->nodes.v[a->node - 1];
    bool sane = slots_add(&g->slots, &a->slots, &g->slots);
    CHECK(sane); /* the node's own sum holds it */
    CHECK((g->devices & a->devices) == 0);
    g->devices |= a->devices;
}

/* The row that stands for its session: each has several. */
static const struct alloc *first_row(const struct world *w, const struct session *s)
{
    const struct alloc *a = world_allocs_of_session(w, s);
    while (a && a->revoked) a = world_next_of_session(w, a);
    return a;
}

bool leaving_row(const struct world *w, const struct alloc *a)
{
    if (a->revoked) return true;
    const struct session *s = world_session(w, a->ref.session);
    CHECK(s != NULL);
    return s->state == SESSION_STOPPING && !s->alarm;
}

void leaving_collect(struct leaving *l, const struct world *w)
{
    VEC_CLEAR(&l->sessions);
    VEC_RESERVE(&l->nodes, w->nodes.n);
    l->nodes.n = w->nodes.n;
    if (w->nodes.n > 0) memset(l->nodes.v, 0, w->nodes.n * sizeof(*l->nodes.v));
    VEC_EACH(a, &w->allocs) {
        if (!a->live || !leaving_row(w, a)) continue;
        add_row(l, a);
        if (a->revoked) continue;
        const struct session *s = world_session(w, a->ref.session);
        if (first_row(w, s) == a) VEC_PUSH(&l->sessions, s);
    }
}

void leaving_add(struct leaving *l, const struct world *w, const struct session *s)
{
    VEC_PUSH(&l->sessions, s);
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (!a->revoked) add_row(l, a);
    }
}

void leaving_remove(struct leaving *l, const struct world *w, const struct session *s)
{
    uint32_t i = l->sessions.n;
    while (i > 0 && l->sessions.v[i - 1] != s) i--;
    CHECK(i > 0);
    VEC_REMOVE(&l->sessions, i - 1);
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (a->revoked) continue;
        struct gone *g = &l->nodes.v[a->node - 1];
        bool sane = slots_sub(&g->slots, &a->slots, &g->slots);
        CHECK(sane);
        g->devices &= ~a->devices;
    }
}

bool leaving_has(const struct leaving *l, const struct world *w, const struct alloc *a)
{
    if (a->revoked) return true;
    VEC_EACH(s, &l->sessions) if (world_session(w, a->ref.session) == *s) return true;
    return false;
}

void leaving_room(const struct leaving *l, const struct world *w, uint32_t at, struct room *ret)
{
    const struct gone *g = &l->nodes.v[at];
    node_room_without(&w->nodes.v[at], &g->slots, g->devices, ret);
    ret->usable = w->rooms.v[at].usable; /* a pass may have closed it */
}

int64_t leaving_overdrawn(const struct leaving *l, const struct world *w, uint32_t at,
                          enum slot_kind k)
{
    const struct node *n = &w->nodes.v[at];
    int64_t over = n->used.v[k] - l->nodes.v[at].slots.v[k] + n->kept.v[k] - n->capacity.v[k];
    return over > 0 ? over : 0;
}

void leaving_done(struct leaving *l)
{
    VEC_DONE(&l->nodes);
    VEC_DONE(&l->sessions);
}
