/* core/sched/promise.c - promises by session, and which of them became void.
 *
 * A promise ends with its session's turn: it started, it ended, or somebody drops it.
 * It is void when one of its nodes can no longer keep it. */
#include "core/sched/promise.h"

#include "base/check.h"
#include "core/sched/sched.h"

static const struct promises NO_PROMISES;

/* Its nodes enter or leave the index. */
static void touch(struct world *w, const struct promise *p)
{
    VEC_EACH(pick, &p->picks) VEC_PUSH(&w->changed, pick->node - 1);
}

static const struct promises *book_read(const struct world *w)
{
    return w->sched && w->sched->promises ? w->sched->promises : &NO_PROMISES;
}

static struct promises *book_write(struct world *w)
{
    struct sched *sched = sched_of(w);
    if (!sched->promises) sched->promises = mem_alloc(sizeof(*sched->promises));
    return sched->promises;
}

void promise_done(struct promise *p) { VEC_DONE(&p->picks); }

void plan_free(struct world *w)
{
    if (!w->sched || !w->sched->promises) return;
    VEC_EACH(k, &w->sched->promises->kept) promise_done(&k->p);
    VEC_DONE(&w->sched->promises->kept);
    mem_free(w->sched->promises);
    w->sched->promises = NULL;
}

/* Where the promise of a session is, or would be. */
static uint32_t find(const struct promises *book, uint64_t session, bool *ret_known)
{
    uint32_t from = 0, to = book->kept.n;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (book->kept.v[middle].p.session < session) from = middle + 1;
        else to = middle;
    }
    *ret_known = from < book->kept.n && book->kept.v[from].p.session == session;
    return from;
}

const struct promise *plan_of(const struct world *w, uint64_t session)
{
    bool known;
    const struct promises *book = book_read(w);
    uint32_t at = find(book, session, &known);
    return known ? &book->kept.v[at].p : NULL;
}

void plan_keep(struct world *w, struct promise *p)
{
    struct promises *book = book_write(w);
    const struct session *s = world_session(w, p->session);
    bool known;
    uint32_t at = find(book, p->session, &known);
    CHECK(s != NULL);
    CHECK(!known);
    CHECK(p->picks.n == s->members);
    CHECK(p->at_ms < p->end_ms);
    struct kept k = {.p = *p, .n_roles = s->n_roles};
    memcpy(k.roles, s->roles, sizeof(k.roles));
    if (k.p.first_ms == 0) k.p.first_ms = k.p.at_ms;
    touch(w, p);
    VEC_INSERT(&book->kept, at, k);
    memset(&p->picks, 0, sizeof(p->picks));
}

bool plan_drop(struct world *w, uint64_t session)
{
    bool known;
    if (book_read(w)->kept.n == 0) return false;
    struct promises *book = book_write(w);
    uint32_t at = find(book, session, &known);
    if (!known) return false;
    touch(w, &book->kept.v[at].p);
    promise_done(&book->kept.v[at].p);
    VEC_REMOVE(&book->kept, at);
    return true;
}

static void sooner(const struct world *w, int64_t at_ms, int64_t *ret)
{
    if (at_ms > w->now_ms && at_ms < *ret) *ret = at_ms;
}

int64_t plan_next_ms(const struct world *w)
{
    int64_t next = PLAN_NEVER;
    VEC_EACH(k, &book_read(w)->kept) sooner(w, k->p.at_ms, &next);
    return next;
}

/* ---- on nodes */

static const struct slots *slots_of(const struct kept *k, uint32_t member)
{
    uint32_t role = 0;
    for (; member >= k->roles[role].count; role++) {
        CHECK(role + 1 < k->n_roles);
        member -= k->roles[role].count;
    }
    return &k->roles[role].slots;
}

static bool on_node(const struct kept *k, uint32_t node)
{
    VEC_EACH(pick, &k->p.picks) if (pick->node == node) return true;
    return false;
}

bool plan_promised(const struct world *w, uint32_t node)
{
    VEC_EACH(k, &book_read(w)->kept) if (on_node(k, node)) return true;
    return false;
}

void promise_gather(const struct world *w, uint32_t node, uint64_t own, struct timeline *ret)
{
    VEC_EACH(k, &book_read(w)->kept) {
        for (uint32_t m = 0; k->p.session != own && m < k->p.picks.n; m++) {
            if (k->p.picks.v[m].node != node) continue;
            VEC_PUSH(&ret->holds, ((struct hold){.from_ms = k->p.at_ms,
                                                 .until_ms = k->p.end_ms,
                                                 .session = k->p.session,
                                                 .devices = k->p.picks.v[m].devices,
                                                 .slots = *slots_of(k, m)}));
        }
    }
}

/* Whether the node can do what it is promised for, were it not for others. */
static bool keeps(const struct world *w, const struct kept *k, uint32_t node)
{
    const struct node *n = world_node(w, node);
    struct slots sum = {{0}};
    if (!n || !w->rooms.v[node - 1].usable) return false;
    for (uint32_t m = 0; m < k->p.picks.n; m++) {
        if (k->p.picks.v[m].node != node) continue;
        if (k->p.picks.v[m].devices & ~node_healthy_devices(n)) return false;
        if (!slots_add(&sum, slots_of(k, m), &sum)) return false;
    }
    return slots_fit(&sum, &n->capacity);
}

static bool is_void(const struct world *w, const struct kept *k)
{
    const struct session *s = world_session(w, k->p.session);
    if (!s || (s->state != SESSION_PENDING && s->state != SESSION_RESERVED)) return true;
    VEC_EACH(pick, &k->p.picks) if (!keeps(w, k, pick->node)) return true;
    return false;
}

void plan_sync(struct world *w)
{
    const struct promises *book = book_read(w);
    for (uint32_t i = book->kept.n; i > 0; i--) {
        if (is_void(w, &book->kept.v[i - 1])) plan_drop(w, book->kept.v[i - 1].p.session);
    }
}
