/* core/model/audit.c - what must hold between any two steps.
 *
 * Recomputes every index from the rows and compares; knows nothing of how step()
 * got there.  Slow on purpose: for tests, the simulator and an operator's doubt. */
#include "base/bitset.h"
#include "base/check.h"
#include "core/model/order.h"
#include "core/model/pool.h"
#include "core/model/usage.h"
#include "core/model/wait.h"
#include "core/model/world.h"

struct sums { struct slots used; uint32_t devices, rows; };

static bool same_slots(const struct slots *a, const struct slots *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static const char *audit_row(const struct world *w, const struct alloc *a)
{
    const struct session *s = world_session(w, a->ref.session);
    if (!world_node(w, a->node)) return "a row names a node that is gone";
    if ((int64_t)bits_count(a->devices) != a->slots.v[SLOT_GPU]) return "a row's devices miscount";
    if (a->end != 0) return "a row keeps its end longer than a step";
    if (alloc_ended(a)) return "a row is held although its container is proved gone";
    if (!s) return a->revoked ? NULL : "a row of no session is not revoked";
    if (a->ref.member >= s->members) return "a row's member is out of range";
    if (a->revoked) return a->revoked_turn >= a->turn ? NULL : "a row was revoked before it was";
    if (a->ref.attempt != s->attempt) return "a row of an old attempt is not revoked";
    if (session_row(s->state)->holds != HOLDS_DEVICES) return "a session holds and must not";
    return NULL;
}

static const char *audit_rows(const struct world *w)
{
    const char *why = NULL;
    struct sums *sums = mem_array(w->nodes.n, sizeof(*sums));
    for (uint32_t i = 0; !why && i < w->allocs.n; i++) {
        const struct alloc *a = &w->allocs.v[i];
        if (!a->live) continue;
        why = audit_row(w, a);
        if (why) break;
        struct sums *sum = &sums[a->node - 1];
        if (sum->devices & a->devices) why = "one device is held twice";
        sum->devices |= a->devices;
        sum->rows++;
        if (!slots_add(&sum->used, &a->slots, &sum->used)) why = "a node's sum overflows";
    }
    for (uint32_t i = 0; !why && i < w->nodes.n; i++) {
        const struct node *n = &w->nodes.v[i];
        uint32_t chained = 0, before = MAP_NONE;
        for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
            if (a->node != n->id || chained > w->allocs.n) return "a node's chain is broken";
            if (a->prev_of_node != before) return "a node's chain leads elsewhere backwards";
            before = ledger_slot(w, a);
            chained++;
        }
        if (chained != sums[i].rows) why = "a node's chain misses rows";
        if (!same_slots(&n->used, &sums[i].used)) why = "a node's sum is not that of its rows";
        if (n->used_devices != sums[i].devices) why = "a node's devices are not its rows'";
    }
    mem_free(sums);
    return why;
}

static const char *audit_room(const struct world *w, const struct node *n)
{
    const struct room *r = &w->rooms.v[n->id - 1];
    bool here = n->name[0] != '\0';
    if (r->group != (here ? n->group : 0)) return "a room is of another group";
    if (r->usable != node_usable(n)) return "a room is open and must not, or the reverse";
    if (r->devices != node_free_devices(n)) return "a room's devices are stale";
    if (!same_slots(&r->capacity, &n->capacity)) return "a room's capacity is stale";
    for (int k = SLOT_CPU; k <= SLOT_MEM; k++) {
        int64_t kept = n->kept.v[k] - n->leaving.v[k];
        int64_t left = n->capacity.v[k] - n->used.v[k] - (kept > 0 ? kept : 0);
        if (r->free.v[k] != (left > 0 ? left : 0)) return "a room's free slots are stale";
    }
    if (here && !world_group(w, n->group)) return "a node's group is unknown";
    if (here && world_node_named(w, str_of(n->name)) != n) return "a node is not found by name";
    if (!here && n->first_alloc != MAP_NONE) return "a forgotten node is held";
    return NULL;
}

static const char *audit_deadline(const struct session *s)
{
    bool wanted = true;
    switch (session_row(s->state)->deadline) {
    case DEADLINE_NONE: wanted = false; break;
    case DEADLINE_PENDING: wanted = s->pending_timeout_ms > 0; break;
    case DEADLINE_TIME_LIMIT: wanted = s->time_limit_ms > 0; break;
    case DEADLINE_GRACE: wanted = !s->alarm; break;
    case DEADLINE_PROMISE:
    case DEADLINE_FIXED:
    case DEADLINE_INHERITED:
    case DEADLINE_RULES: break;
    }
    if (wanted != (s->deadline_ms > 0)) return "a state's deadline is missing, or one too many";
    if (s->alarm && s->state != SESSION_STOPPING) return "an alarm outside of stopping";
    return NULL;
}

static const char *audit_session(const struct world *w, const struct session *s)
{
    uint32_t current = 0, rows = 0;
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (a->ref.session != s->id || rows > w->allocs.n) return "a session's chain is broken";
        if (a->end_ms != ledger_end(s, a)) return "a row knows another end";
        rows++;
        if (!a->revoked) current++;
    }
    if (s->state == SESSION_ENDED) return "an ended session is still in the world";
    if (session_row(s->state)->holds == HOLDS_DEVICES && rows == 0) return "it holds nothing";
    if (s->state != SESSION_STOPPING && current > s->members) return "more rows than members";
    if (s->state == SESSION_ALLOCATED && current != s->members) return "a gang is in parts";
    if ((s->outcome != OUTCOME_NONE) != (s->state == SESSION_STOPPING)) return "cause and state";
    if (s->requeue && s->state != SESSION_STOPPING) return "it is queued again and does not end";
    if ((s->started_ms > 0) && s->state < SESSION_RUNNING) return "started and not running";
    if (world_session(w, s->id) != s) return "a session is not found by id";
    if (world_session_named(w, s->user, str_of(s->name)) != s) return "nor found by name";
    if (s->id > w->last_session) return "an id was never given";
    return audit_deadline(s);
}

static const char *audit_queue(const struct world *w, uint32_t group)
{
    uint32_t n;
    const struct queue_entry *e = pool_entries(w, group, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct session *s = &w->sessions.v[e[i].slot];
        if (s->id != e[i].seq || s->group != group) return "a queue names another session";
        if (s->state != SESSION_PENDING) return "a queue holds what is not pending";
        struct queue_entry now = pool_entry_of(w, s);
        if (now.priority != e[i].priority) return "a queue knows another priority";
        if (now.rank != e[i].rank || now.limit_ms != e[i].limit_ms) return "another rank";
        if (now.cpu != e[i].cpu || now.mem != e[i].mem) return "a queue knows other amounts";
        if (w->families.v[e[i].family].group != group) return "a family is of another group";
        if (i > 0 && !pool_before(&e[i - 1], &e[i])) return "a queue is out of order";
    }
    return NULL;
}

const char *world_audit(const struct world *w)
{
    CHECK(w->ready);
    const char *why = audit_rows(w);
    uint32_t live = 0, pending = 0, queued = 0, chained = 0, held = 0;
    for (uint32_t i = 0; !why && i < w->nodes.n; i++) why = audit_room(w, &w->nodes.v[i]);
    for (uint32_t i = 0; !why && i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->id == 0) continue;
        live++;
        if (s->state == SESSION_PENDING) pending++;
        why = audit_session(w, s);
        for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
            chained++;
        }
    }
    for (uint32_t i = 0; !why && i < w->allocs.n; i++) {
        if (w->allocs.v[i].live && world_session(w, w->allocs.v[i].ref.session)) held++;
    }
    if (!why) why = wait_audit(w);
    if (!why) why = ends_audit(w);
    if (!why) why = reservation_audit(w);
    if (!why && held != chained) why = "a session's chain misses rows";
    for (uint32_t g = 1; !why && g <= w->queues.n; g++) {
        why = audit_queue(w, g);
        queued += w->queues.v[g - 1].n;
    }
    if (!why && pending != queued) why = "a pending session is in no queue";
    if (!why && live != w->n_sessions) why = "the count of sessions is wrong";
    if (!why) why = usage_audit(w);
    if (!why && live != w->session_by_id.n) why = "an ended session is still found";
    return why;
}
