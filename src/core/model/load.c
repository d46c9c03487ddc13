/* core/model/load.c - from the store's rows to a world that step() may change.
 *
 * Rows come in any order and are judged one by one; world_ready() judges them
 * together.  Whatever does not fit is refused with a reason: a store that reads
 * back wrong must stop the manager, not be guessed at. */
#include "base/bitset.h"
#include "base/check.h"
#include "core/model/order.h"
#include "core/model/pool.h"
#include "core/model/timers.h"
#include "core/model/usage.h"
#include "core/model/wait.h"
#include "core/model/world.h"

#define LENGTH_MAX_MS (4 * SESSION_TIME_MAX_MS) /* wider than any request */

#define ACCOUNTS_MAX (UINT32_C(1) << 20)

static bool named(const char *name, size_t cap) { return name[0] != '\0' && memchr(name, 0, cap); }

bool world_put_domain(struct world *w, const struct domain *d)
{
    CHECK(!w->ready);
    if (d->id == 0 || !named(d->name, sizeof(d->name))) return false;
    VEC_EACH(have, &w->domains) if (have->id == d->id) return false;
    if (!limits_sane(&d->limits) || w->domains.n >= ACCOUNTS_MAX) return false;
    VEC_PUSH(&w->domains, *d);
    return true;
}

bool world_put_project(struct world *w, const struct project *p)
{
    CHECK(!w->ready);
    if (!named(p->name, sizeof(p->name)) || p->id == 0 || world_project(w, p->id)) return false;
    if (!limits_sane(&p->limits) || w->projects.n >= ACCOUNTS_MAX) return false;
    VEC_PUSH(&w->projects, *p);
    return true;
}

bool world_put_user(struct world *w, const struct user *u)
{
    CHECK(!w->ready);
    if (!named(u->name, sizeof(u->name)) || u->id == 0 || world_user(w, u->id)) return false;
    if (u->role >= ACCOUNT_ROLES || w->users.n >= ACCOUNTS_MAX) return false;
    if (!limits_sane(&u->limits)) return false;
    VEC_PUSH(&w->users, *u);
    return true;
}

bool world_put_group(struct world *w, const struct group *g)
{
    CHECK(!w->ready);
    if (g->id == 0 || g->id > WORLD_GROUPS_MAX || !named(g->name, sizeof(g->name))) return false;
    if (!group_sane(g)) return false;
    if (world_group(w, g->id) || world_group_named(w, str_of(g->name))) return false;
    while (w->groups.n < g->id) (void)world_add_group(w);
    w->groups.v[g->id - 1] = *g;
    return true;
}

bool world_put_node(struct world *w, const struct node *n)
{
    CHECK(!w->ready);
    if (n->id == 0 || n->id > WORLD_NODES_MAX || world_node(w, n->id)) return false;
    if (n->name[0] != '\0') {
        if (!named(n->name, sizeof(n->name)) || world_node_named(w, str_of(n->name))) return false;
        if (n->n_devices > NODE_DEVICES_MAX || !slots_valid(&n->capacity)) return false;
        if (n->failed_row > NODE_QUARANTINE_AFTER) return false;
        if (!n->quarantined && n->failed_row == NODE_QUARANTINE_AFTER) return false;
        if (n->capacity.v[SLOT_GPU] != (int64_t)n->n_devices) return false;
        if (!linkmap_sane(n->links, n->n_devices)) return false;
    }
    while (w->nodes.n < n->id) (void)world_add_node(w);
    struct node *here = &w->nodes.v[n->id - 1];
    *here = *n;
    here->heard = here->unreachable = false; /* a new manager has heard nobody */
    here->heard_ms = 0;
    here->report_seq = here->report_turn = 0;
    here->first_alloc = MAP_NONE;
    here->used = (struct slots){{0}};
    here->used_devices = here->timer_stamp = 0;
    here->kept = here->leaving = (struct slots){{0}}; /* derived before anything is placed */
    here->kept_devices = 0;
    if (n->name[0] != '\0') map_str_put(&w->node_by_name, str_of(here->name), here->id);
    return true;
}

static bool roles_sane(const struct session *s)
{
    uint32_t members = 0;
    struct slots total;
    if (s->n_roles < 1 || s->n_roles > SESSION_ROLES_MAX) return false;
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (s->roles[i].count < 1 || s->roles[i].count > SESSION_MEMBERS_MAX) return false;
        if (!slots_valid(&s->roles[i].slots)) return false;
        members += s->roles[i].count;
    }
    return members == s->members && members <= SESSION_MEMBERS_MAX && session_total(s, &total);
}

/* So that no sum of an instant and some lengths overflows. */
static bool times_sane(const struct session *s)
{
    const int64_t lengths[] = {s->time_limit_ms, s->grace_ms, s->pending_timeout_ms};
    const int64_t instants[] = {s->deadline_ms, s->not_before_ms, s->start_after_ms, s->blocked_ms,
                                s->started_ms, s->since_ms, s->submitted_ms};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
        if (lengths[i] < 0 || lengths[i] > LENGTH_MAX_MS) return false;
    for (size_t i = 0; i < ARRAY_LEN(instants); i++)
        if (instants[i] < 0 || instants[i] > INT64_MAX / 4) return false;
    return true;
}

static bool session_sane(const struct session *s)
{
    if (s->id == 0 || s->id >= UINT64_C(1) << 63 || !named(s->name, sizeof(s->name))) return false;
    if (s->state < SESSION_PENDING || s->state >= SESSION_ENDED) return false;
    if (s->kind < KIND_BATCH || s->kind >= SESSION_KINDS || s->outcome >= OUTCOMES) return false;
    if ((s->outcome != OUTCOME_NONE) != (s->state == SESSION_STOPPING)) return false;
    if (s->requeue && s->state != SESSION_STOPPING) return false;
    if (s->unproved && s->state != SESSION_PENDING) return false;
    if (!times_sane(s) || s->lowered < 0) return false;
    if (s->fence_ms != 0 && s->kind != KIND_BATCH) return false;
    if (s->fence_ms < 0 || s->fence_ms > GROUP_FENCE_MAX_MS) return false;
    if (s->n_failed_on > SESSION_FAILED_NODES) return false;
    if (s->n_depends > SESSION_DEPENDS_MAX || s->strategy >= PLACE_STRATEGIES) return false;
    for (uint32_t i = 0; i < s->n_depends; i++) {
        const struct dependency *d = &s->depends[i];
        if (d->session == 0 || d->on < DEPEND_SUCCESS || d->on >= DEPEND_KINDS) return false;
    }
    return roles_sane(s);
}

bool world_put_session(struct world *w, const struct session *s)
{
    CHECK(!w->ready);
    if (!session_sane(s) || world_session(w, s->id)) return false;
    if (world_session_named(w, s->user, str_of(s->name))) return false;
    if (w->n_sessions >= WORLD_SESSIONS_MAX) return false;
    struct session *here = world_add_session(w);
    uint32_t stamp = here->timer_stamp;
    *here = *s;
    here->timer_stamp = stamp;
    here->first_alloc = MAP_NONE;
    world_index_session(w, here);
    if (w->last_session < s->id) w->last_session = s->id;
    return true;
}

bool world_put_session_row(struct world *w, const struct session_row *r)
{
    if (!world_put_session(w, &r->session)) return false;
    ends_put(w, &r->session, &r->end);
    return true;
}

bool world_put_alloc(struct world *w, const struct alloc *a)
{
    CHECK(!w->ready);
    if (a->ref.session == 0 || a->ref.attempt == 0 || a->ref.member >= SESSION_MEMBERS_MAX) {
        return false;
    }
    if (a->node == 0 || a->node > WORLD_NODES_MAX || !slots_valid(&a->slots)) return false;
    if ((int64_t)bits_count(a->devices) != a->slots.v[SLOT_GPU]) return false;
    if (a->phase >= MEMBER_PHASES || alloc_ended(a)) return false;
    if (a->revoked && a->revoked_turn < a->turn) return false;
    struct alloc *here = VEC_ADD(&w->allocs);
    *here = *a;
    here->live = true;
    here->end = 0;
    here->next_of_node = here->next_of_session = MAP_NONE;
    return true;
}

/* ---- together */

/* False: it was there already. */
static bool take_name(struct map_str *names, const char *name)
{
    if (map_str_get(names, str_of(name)) != MAP_NONE) return false;
    map_str_put(names, str_of(name), 0);
    return true;
}

static const char *check_names(const struct world *w)
{
    struct map_str domains = {0}, projects = {0}, users = {0};
    const char *why = NULL;
    for (uint32_t i = 0; !why && i < w->domains.n; i++) {
        if (!take_name(&domains, w->domains.v[i].name)) why = "two domains of one name";
    }
    for (uint32_t i = 0; !why && i < w->projects.n; i++) {
        if (!take_name(&projects, w->projects.v[i].name)) why = "two projects of one name";
    }
    for (uint32_t i = 0; !why && i < w->users.n; i++) {
        if (!take_name(&users, w->users.v[i].name)) why = "two users of one name";
    }
    map_str_done(&domains);
    map_str_done(&projects);
    map_str_done(&users);
    return why;
}

static const char *check_accounts(const struct world *w)
{
    for (uint32_t i = 0; i < w->projects.n; i++) {
        if (!world_domain(w, w->projects.v[i].domain)) return "a project's domain is unknown";
    }
    for (uint32_t i = 0; i < w->users.n; i++) {
        if (!world_domain(w, w->users.v[i].domain)) return "a user's domain is unknown";
    }
    for (uint32_t i = 0; i < w->groups.n; i++) {
        const struct group *g = &w->groups.v[i];
        for (uint32_t k = 0; g->id != 0 && k < g->n_projects; k++) {
            if (!world_project(w, g->projects[k])) return "a group's project is unknown";
        }
    }
    return check_names(w);
}

static const char *check_session(const struct world *w, const struct session *s)
{
    if (!world_user(w, s->user)) return "a session's user is unknown";
    if (!world_project(w, s->project)) return "a session's project is unknown";
    if (!world_group(w, s->group)) return "a session's group is unknown";
    for (uint32_t i = 0; i < s->n_depends; i++) {
        if (s->depends[i].session >= s->id) return "a session depends on a later one";
        if (!world_session(w, s->depends[i].session)) return "a dependency has ended";
    }
    return NULL;
}

static const char *check_row(const struct world *w, const struct alloc *a)
{
    const struct node *n = world_node(w, a->node);
    if (!n) return "an allocation's node is unknown";
    if (a->devices & ~node_all_devices(NODE_DEVICES_MAX)) return "an allocation has no such device";
    const struct session *s = world_session(w, a->ref.session);
    if (!s) return a->revoked ? NULL : "an allocation's session is unknown";
    if (a->ref.member >= s->members) return "an allocation's member is unknown";
    if (a->ref.attempt > s->attempt) return "an allocation is of a later attempt";
    if (a->revoked) return NULL;
    if (a->ref.attempt != s->attempt) return "an allocation is of an earlier attempt";
    if (session_row(s->state)->holds != HOLDS_DEVICES) return "a pending session holds devices";
    return NULL;
}

static int cmp_refs(const void *a, const void *b)
{
    return member_ref_cmp(((const struct alloc *)a)->ref, ((const struct alloc *)b)->ref);
}

static const char *link_rows(struct world *w)
{
    order_sort(w->allocs.v, w->allocs.n, sizeof(*w->allocs.v), cmp_refs);
    for (uint32_t i = 0; i < w->allocs.n; i++) {
        struct alloc *a = &w->allocs.v[i];
        const char *why = check_row(w, a);
        if (why) return why;
        if (i > 0 && cmp_refs(a - 1, a) == 0) return "two allocations of one member";
        struct node *n = world_node(w, a->node);
        if (n->used_devices & a->devices) return "two allocations of one device";
        if (!slots_add(&n->used, &a->slots, &n->used)) return "a node's sum overflows";
        n->used_devices |= a->devices;
        a->end_ms = ledger_end(world_session(w, a->ref.session), a);
        ledger_link(w, i);
    }
    return NULL;
}

bool world_ready(struct world *w, const char **ret_why)
{
    CHECK(!w->ready);
    const char *why = NULL;
    for (uint32_t i = 0; !why && i < w->sessions.n; i++) why = check_session(w, &w->sessions.v[i]);
    for (uint32_t i = 0; !why && i < w->nodes.n; i++) {
        const struct node *n = &w->nodes.v[i];
        if (n->name[0] != '\0' && !world_group(w, n->group)) why = "a node's group is unknown";
    }
    if (!why) why = link_rows(w);
    for (uint32_t i = 0; !why && i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        bool holds = session_row(s->state)->holds == HOLDS_DEVICES;
        if (holds && s->first_alloc == MAP_NONE) why = "a session on nodes has no allocation";
    }
    if (!why) why = check_accounts(w);
    if (!why) why = reservation_audit(w);
    if (!why && !usage_recount(w)) why = "what an account uses overflows";
    if (why) {
        *ret_why = why;
        return false;
    }
    for (uint32_t i = 0; i < w->nodes.n; i++) node_refresh(w, &w->nodes.v[i]);
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        struct session *s = &w->sessions.v[i];
        wait_added(w, s);
        if (s->state == SESSION_PENDING) pool_add(w, s);
        timers_arm_session(w, s);
    }
    w->ready = true;
    return true;
}
