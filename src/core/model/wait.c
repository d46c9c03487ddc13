/* core/model/wait.c - two small indexes: arrays at work, and who depends on whom. */
#include "core/model/wait.h"

#include "base/check.h"
#include "core/model/order.h"

static const char *const NAMES[] = {
    [WAIT_NONE] = "",       [WAIT_HOLD] = "hold",       [WAIT_DEPENDENCY] = "dependency",
    [WAIT_START] = "start", [WAIT_BACKOFF] = "backoff", [WAIT_PROOF] = "proof",
    [WAIT_ARRAY] = "array",
};
_Static_assert(ARRAY_LEN(NAMES) == WAIT_KINDS, "one name a kind");

const char *wait_kind_name(enum wait_kind k)
{
    CHECK(k < WAIT_KINDS);
    return NAMES[k];
}

/* ---- arrays */

static struct array_work *array_at(const struct world *w, uint64_t array)
{
    uint32_t slot = map_u64_get(&w->array_by_id, array);
    if (slot == MAP_NONE) return NULL;
    CHECK(w->arrays.v[slot].array == array);
    return &w->arrays.v[slot];
}

static struct array_work *array_made(struct world *w, uint64_t array)
{
    struct array_work *have = array_at(w, array);
    if (have) return have;
    uint32_t slot;
    if (w->free_arrays.n > 0) {
        slot = VEC_POP(&w->free_arrays);
    } else {
        slot = w->arrays.n;
        (void)VEC_ADD(&w->arrays);
    }
    w->arrays.v[slot] = (struct array_work){.array = array};
    map_u64_put(&w->array_by_id, array, slot);
    return &w->arrays.v[slot];
}

static void array_left(struct world *w, struct array_work *a)
{
    CHECK(a->live > 0);
    if (--a->live > 0) return;
    CHECK(a->active == 0);
    bool known = map_u64_del(&w->array_by_id, a->array);
    CHECK(known);
    VEC_PUSH(&w->free_arrays, (uint32_t)(a - w->arrays.v));
    *a = (struct array_work){0};
}

static bool at_work(enum session_state s) { return s > SESSION_PENDING && s < SESSION_ENDED; }

uint32_t wait_array_active(const struct world *w, const struct session *s)
{
    const struct array_work *a = array_at(w, s->array);
    return a ? a->active : 0;
}

/* ---- dependencies */

static void depend_link(struct world *w, uint64_t on, uint64_t session)
{
    uint32_t slot;
    if (w->free_dependents.n > 0) {
        slot = VEC_POP(&w->free_dependents);
    } else {
        slot = w->dependents.n;
        (void)VEC_ADD(&w->dependents);
    }
    w->dependents.v[slot] =
        (struct dependent){.session = session, .next = map_u64_get(&w->dependents_by_id, on)};
    map_u64_put(&w->dependents_by_id, on, slot);
}

void wait_take_dependents(struct world *w, uint64_t id, struct wait_ids *ret)
{
    uint32_t slot = map_u64_get(&w->dependents_by_id, id);
    VEC_CLEAR(&ret->v);
    if (slot == MAP_NONE) return;
    (void)map_u64_del(&w->dependents_by_id, id);
    while (slot != MAP_NONE) {
        struct dependent *d = &w->dependents.v[slot];
        CHECK(d->session > id);
        VEC_PUSH(&ret->v, d->session);
        VEC_PUSH(&w->free_dependents, slot);
        slot = d->next;
        *d = (struct dependent){.next = MAP_NONE};
    }
    order_sort(ret->v.v, ret->v.n, sizeof(*ret->v.v), order_cmp_u64);
}

bool wait_met(enum depend_on on, enum session_outcome outcome)
{
    CHECK(outcome != OUTCOME_NONE);
    switch (on) {
    case DEPEND_SUCCESS: return outcome == OUTCOME_SUCCEEDED;
    case DEPEND_FAILURE: return outcome != OUTCOME_SUCCEEDED;
    case DEPEND_END: return true;
    case DEPEND_KINDS: break;
    }
    UNREACHABLE();
}

/* ---- together */

enum wait_kind wait_of(const struct world *w, const struct session *s)
{
    CHECK(s->state == SESSION_PENDING);
    if (s->hold) return WAIT_HOLD;
    if (s->n_depends > 0) return WAIT_DEPENDENCY;
    if (s->start_after_ms > w->now_ms) return WAIT_START;
    if (s->not_before_ms > w->now_ms) return WAIT_BACKOFF;
    if (s->unproved) return WAIT_PROOF;
    if (s->array_limit > 0 && wait_array_active(w, s) >= s->array_limit) return WAIT_ARRAY;
    return WAIT_NONE;
}

void wait_added(struct world *w, const struct session *s)
{
    CHECK(s->id > 0);
    for (uint32_t i = 0; i < s->n_depends; i++) depend_link(w, s->depends[i].session, s->id);
    if (s->array == 0) return;
    struct array_work *a = array_made(w, s->array);
    a->live++;
    if (at_work(s->state)) a->active++;
}

void wait_moved(struct world *w, const struct session *s, enum session_state from,
                enum session_state to)
{
    if (s->array == 0) return;
    struct array_work *a = array_at(w, s->array);
    CHECK(a != NULL);
    if (at_work(to) && !at_work(from)) a->active++;
    if (!at_work(to) && at_work(from)) {
        CHECK(a->active > 0);
        a->active--;
    }
    CHECK(a->active <= a->live);
    if (to == SESSION_ENDED) array_left(w, a);
}

void wait_free(struct world *w)
{
    map_u64_done(&w->array_by_id);
    map_u64_done(&w->dependents_by_id);
    VEC_DONE(&w->arrays);
    VEC_DONE(&w->dependents);
    VEC_DONE(&w->free_arrays);
    VEC_DONE(&w->free_dependents);
}

static bool listed(const struct world *w, uint64_t on, uint64_t session)
{
    uint32_t slot = map_u64_get(&w->dependents_by_id, on);
    for (; slot != MAP_NONE; slot = w->dependents.v[slot].next) {
        if (w->dependents.v[slot].session == session) return true;
    }
    return false;
}

const char *wait_audit(const struct world *w)
{
    uint32_t live = 0, active = 0, known_live = 0, known_active = 0;
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->id == 0) continue;
        if (s->n_depends > 0 && s->state != SESSION_PENDING) return "it ran before its turn";
        for (uint32_t k = 0; k < s->n_depends; k++) {
            uint64_t on = s->depends[k].session;
            if (!world_session(w, on)) return "a session depends on one that has ended";
            if (!listed(w, on, s->id)) return "a dependency is not known";
        }
        if (s->array == 0) continue;
        live++;
        active += at_work(s->state);
        if (!array_at(w, s->array)) return "an array is not known";
        if (s->array_limit > 0 && wait_array_active(w, s) > s->array_limit)
            return "more tasks of an array run than may";
    }
    for (uint32_t i = 0; i < w->arrays.n; i++) {
        known_live += w->arrays.v[i].live;
        known_active += w->arrays.v[i].active;
    }
    if (live != known_live || active != known_active) return "an array miscounts its tasks";
    return NULL;
}
