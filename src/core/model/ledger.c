/* core/model/ledger.c - rows, and the two chains that each is in.
 *
 * A session's chain is short and a row leaves it by walking; a node's is not, and
 * is linked both ways.  Nothing depends on a chain's order. */
#include "core/model/ledger.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/model/usage.h"

_Static_assert(sizeof(struct alloc) <= 104, "one a container: bench/schedule, bytes");

uint32_t ledger_slot(const struct world *w, const struct alloc *a)
{
    CHECK(a >= w->allocs.v);
    CHECK(a < w->allocs.v + w->allocs.n);
    return (uint32_t)(a - w->allocs.v);
}

void ledger_link(struct world *w, uint32_t slot)
{
    CHECK(slot < w->allocs.n);
    struct alloc *a = &w->allocs.v[slot];
    struct node *n = world_node(w, a->node);
    struct session *s = world_session(w, a->ref.session);
    CHECK(a->live);
    CHECK(n != NULL);
    a->next_of_node = n->first_alloc;
    a->prev_of_node = MAP_NONE;
    if (n->first_alloc != MAP_NONE) w->allocs.v[n->first_alloc].prev_of_node = slot;
    n->first_alloc = slot;
    a->next_of_session = MAP_NONE;
    if (s) {
        a->next_of_session = s->first_alloc;
        s->first_alloc = slot;
    } else {
        CHECK(a->revoked);
    }
}

struct alloc *ledger_add(struct world *w, const struct alloc *row)
{
    uint32_t slot;
    if (w->free_allocs.n > 0) {
        slot = VEC_POP(&w->free_allocs);
    } else {
        slot = w->allocs.n;
        (void)VEC_ADD(&w->allocs);
    }
    struct alloc *a = &w->allocs.v[slot];
    CHECK(!a->live);
    *a = *row;
    a->live = true;
    CHECK((int64_t)bits_count(a->devices) == a->slots.v[SLOT_GPU]);
    ledger_link(w, slot);
    node_take(w, world_node(w, a->node), a);
    if (!a->revoked) usage_take(w, a);
    return a;
}

static void unlink_from_node(struct world *w, struct node *n, uint32_t slot)
{
    const struct alloc *a = &w->allocs.v[slot];
    if (a->prev_of_node == MAP_NONE) {
        CHECK(n->first_alloc == slot);
        n->first_alloc = a->next_of_node;
    } else {
        CHECK(w->allocs.v[a->prev_of_node].next_of_node == slot);
        w->allocs.v[a->prev_of_node].next_of_node = a->next_of_node;
    }
    if (a->next_of_node != MAP_NONE) {
        w->allocs.v[a->next_of_node].prev_of_node = a->prev_of_node;
    }
}

static void unlink_from_session(struct world *w, struct session *s, uint32_t slot)
{
    uint32_t *at = &s->first_alloc;
    while (*at != slot) {
        CHECK(*at != MAP_NONE);
        at = &w->allocs.v[*at].next_of_session;
    }
    *at = w->allocs.v[slot].next_of_session;
}

void ledger_release(struct world *w, struct alloc *a)
{
    CHECK(a->live);
    uint32_t slot = ledger_slot(w, a);
    struct node *n = world_node(w, a->node);
    struct session *s = world_session(w, a->ref.session);
    CHECK(n != NULL);
    if (!a->revoked) usage_give(w, a);
    unlink_from_node(w, n, slot);
    if (s) unlink_from_session(w, s, slot);
    node_give(w, n, a);
    *a = (struct alloc){.next_of_session = MAP_NONE, .next_of_node = MAP_NONE,
                        .prev_of_node = MAP_NONE};
    VEC_PUSH(&w->free_allocs, slot);
}

void ledger_orphan(struct world *w, struct session *s)
{
    while (s->first_alloc != MAP_NONE) {
        struct alloc *a = &w->allocs.v[s->first_alloc];
        CHECK(a->live);
        CHECK(a->revoked);
        s->first_alloc = a->next_of_session;
        a->next_of_session = MAP_NONE;
    }
}

int64_t ledger_end(const struct session *s, const struct alloc *a)
{
    if (!s || a->revoked) return LEDGER_SOON;
    if (s->state == SESSION_STOPPING) return s->since_ms + s->grace_ms;
    if (s->time_limit_ms == 0) return INT64_MAX;
    if (s->state == SESSION_RUNNING && s->deadline_ms > 0) return s->deadline_ms;
    return s->since_ms + s->time_limit_ms; /* it has not begun to count */
}

void ledger_date(struct world *w, const struct session *s)
{
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        int64_t end_ms = ledger_end(s, a);
        if (a->end_ms == end_ms) continue;
        a->end_ms = end_ms;
        VEC_PUSH(&w->changed, a->node - 1);
    }
}
