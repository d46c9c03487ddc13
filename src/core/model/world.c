/* core/model/world.c - the arrays, and how things are found in them.
 *
 * Slots of ended sessions and released rows are used again; ids never are. */
#include "core/model/world.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/model/wait.h"

struct world *world_new(void) { return mem_alloc(sizeof(struct world)); }

void world_free(struct world *w)
{
    if (!w) return;
    for (uint32_t i = 0; i < w->queues.n; i++) pool_queue_done(&w->queues.v[i]);
    VEC_DONE(&w->sessions);
    VEC_DONE(&w->allocs);
    VEC_DONE(&w->nodes);
    VEC_DONE(&w->groups);
    VEC_DONE(&w->domains);
    VEC_DONE(&w->projects);
    VEC_DONE(&w->users);
    VEC_DONE(&w->reservations);
    VEC_DONE(&w->free_sessions);
    VEC_DONE(&w->free_allocs);
    VEC_DONE(&w->free_families);
    VEC_DONE(&w->rooms);
    VEC_DONE(&w->queues);
    VEC_DONE(&w->families);
    VEC_DONE(&w->woken);
    VEC_DONE(&w->stamps);
    VEC_DONE(&w->left);
    VEC_DONE(&w->freed);
    VEC_DONE(&w->opened);
    map_u64_done(&w->session_by_id);
    names_done(&w->names);
    ends_done(&w->ends);
    map_str_done(&w->node_by_name);
    map_str_done(&w->family_by_key);
    heap_done(&w->timers);
    wait_free(w);
    if (w->sched_free) w->sched_free(w);
    VEC_DONE(&w->changed);
    mem_free(w);
}

/* ---- sessions */

struct session *world_session(const struct world *w, uint64_t id)
{
    uint32_t slot = map_u64_get(&w->session_by_id, id);
    if (slot == MAP_NONE) return NULL;
    CHECK(w->sessions.v[slot].id == id);
    return &w->sessions.v[slot];
}

struct session *world_session_named(const struct world *w, uint32_t user, struct str name)
{
    if (name.n == 0 || name.n > SESSION_NAME_MAX) return NULL;
    uint32_t slot = names_find(w, user, name);
    return slot != MAP_NONE ? &w->sessions.v[slot] : NULL;
}

struct session *world_add_session(struct world *w)
{
    uint32_t slot;
    if (w->free_sessions.n > 0) {
        slot = VEC_POP(&w->free_sessions);
    } else {
        slot = w->sessions.n;
        (void)VEC_ADD(&w->sessions);
    }
    struct session *s = &w->sessions.v[slot];
    CHECK(s->id == 0);
    s->first_alloc = MAP_NONE;
    w->n_sessions++;
    return s;
}

void world_index_session(struct world *w, struct session *s)
{
    uint32_t slot = (uint32_t)(s - w->sessions.v);
    CHECK(s->id > 0);
    CHECK(map_u64_get(&w->session_by_id, s->id) == MAP_NONE);
    map_u64_put(&w->session_by_id, s->id, slot);
    names_add(w, slot);
    CHECK(w->session_by_id.n == w->names.n);
}

void world_drop_session(struct world *w, struct session *s)
{
    uint32_t slot = (uint32_t)(s - w->sessions.v);
    CHECK(s->state == SESSION_ENDED);
    CHECK(w->n_sessions > 0);
    ledger_orphan(w, s);
    ends_drop(w, s);
    bool known = map_u64_del(&w->session_by_id, s->id);
    CHECK(known);
    known = names_remove(w, slot);
    CHECK(known);
    /* The stamp lives on: a timer of this session must not wake the next one. */
    *s = (struct session){.first_alloc = MAP_NONE, .timer_stamp = s->timer_stamp};
    VEC_PUSH(&w->free_sessions, slot);
    w->n_sessions--;
}

/* ---- nodes and groups: index = id - 1 */

struct node *world_node(const struct world *w, uint32_t id)
{
    if (id == 0 || id > w->nodes.n || w->nodes.v[id - 1].name[0] == '\0') return NULL;
    return &w->nodes.v[id - 1];
}

struct node *world_node_named(const struct world *w, struct str name)
{
    uint32_t id = map_str_get(&w->node_by_name, name);
    return id != MAP_NONE ? world_node(w, id) : NULL;
}

struct node *world_add_node(struct world *w)
{
    CHECK(w->nodes.n < WORLD_NODES_MAX);
    struct node *n = VEC_ADD(&w->nodes);
    (void)VEC_ADD(&w->rooms);
    n->id = w->nodes.n;
    n->first_alloc = MAP_NONE;
    CHECK(w->rooms.n == w->nodes.n);
    return n;
}

struct group *world_group(const struct world *w, uint32_t id)
{
    if (id == 0 || id > w->groups.n || w->groups.v[id - 1].id == 0) return NULL;
    return &w->groups.v[id - 1];
}

struct group *world_group_named(const struct world *w, struct str name)
{
    for (uint32_t i = 0; i < w->groups.n; i++) {
        struct group *g = &w->groups.v[i];
        if (g->id != 0 && str_eq(str_of(g->name), name)) return g;
    }
    return NULL;
}

struct group *world_add_group(struct world *w)
{
    CHECK(w->groups.n < WORLD_GROUPS_MAX);
    struct group *g = VEC_ADD(&w->groups);
    (void)VEC_ADD(&w->queues);
    CHECK(w->queues.n == w->groups.n);
    return g;
}

/* ---- accounts: few, and mostly numbered from 1 without gaps */

#define FIND_BY_ID(vec, wanted) \
    do { \
        if ((wanted) == 0) return NULL; \
        if ((wanted) <= (vec)->n && (vec)->v[(wanted) - 1].id == (wanted)) \
            return &(vec)->v[(wanted) - 1]; \
        VEC_EACH(item, (vec)) if (item->id == (wanted)) return item; \
        return NULL; \
    } while (0)

#define FIND_BY_NAME(vec, wanted) \
    do { \
        VEC_EACH(item, (vec)) if (str_eq(str_of(item->name), (wanted))) return item; \
        return NULL; \
    } while (0)

struct user *world_user(const struct world *w, uint32_t id) { FIND_BY_ID(&w->users, id); }

struct user *world_user_named(const struct world *w, struct str name)
{
    FIND_BY_NAME(&w->users, name);
}

struct domain *world_domain(const struct world *w, uint32_t id) { FIND_BY_ID(&w->domains, id); }

struct domain *world_domain_named(const struct world *w, struct str name)
{
    FIND_BY_NAME(&w->domains, name);
}

struct project *world_project(const struct world *w, uint32_t id)
{
    FIND_BY_ID(&w->projects, id);
}

struct project *world_project_named(const struct world *w, struct str name)
{
    FIND_BY_NAME(&w->projects, name);
}

/* ---- chains */

static struct alloc *row_at(const struct world *w, uint32_t slot)
{
    if (slot == MAP_NONE) return NULL;
    CHECK(slot < w->allocs.n);
    CHECK(w->allocs.v[slot].live);
    return &w->allocs.v[slot];
}

struct alloc *world_allocs_of_session(const struct world *w, const struct session *s)
{
    return row_at(w, s->first_alloc);
}

struct alloc *world_next_of_session(const struct world *w, const struct alloc *a)
{
    return row_at(w, a->next_of_session);
}

struct alloc *world_allocs_of_node(const struct world *w, const struct node *n)
{
    return row_at(w, n->first_alloc);
}

struct alloc *world_next_of_node(const struct world *w, const struct alloc *a)
{
    return row_at(w, a->next_of_node);
}
