/* core/model/group.c - names of policies, their defaults and ranges. */
#include "core/model/group.h"

#include "base/check.h"
#include "base/mem.h"

static const char *const BLOCKED_NAMES[] = {
    [BLOCKED_STOP] = "stop", [BLOCKED_SKIP] = "skip", [BLOCKED_BACKFILL] = "backfill"};
_Static_assert(ARRAY_LEN(BLOCKED_NAMES) == BLOCKED_KINDS, "one name a policy");

static const char *const ORDER_NAMES[] = {
    [ORDER_FIFO] = "fifo", [ORDER_LIFO] = "lifo", [ORDER_SHORTEST] = "shortest",
    [ORDER_SMALLEST] = "smallest", [ORDER_LONGEST] = "longest"};
_Static_assert(ARRAY_LEN(ORDER_NAMES) == QUEUE_ORDERS, "one name an order");

static const char *const MODE_NAMES[] = {
    [PREEMPT_TERMINATE] = "terminate", [PREEMPT_REQUEUE] = "requeue"};
_Static_assert(ARRAY_LEN(MODE_NAMES) == PREEMPT_MODES, "one name a mode");

static const char *const SCOPE_NAMES[] = {
    [SCOPE_USER] = "user", [SCOPE_PROJECT] = "project", [SCOPE_DOMAIN] = "domain",
    [SCOPE_GROUP] = "group"};
_Static_assert(ARRAY_LEN(SCOPE_NAMES) == PREEMPT_SCOPES, "one name a scope");

static const char *const VICTIM_NAMES[] = {
    [VICTIM_NEWEST] = "newest", [VICTIM_OLDEST] = "oldest", [VICTIM_SMALLEST] = "smallest",
    [VICTIM_FEWEST] = "fewest"};
_Static_assert(ARRAY_LEN(VICTIM_NAMES) == PREEMPT_ORDERS, "one name an order");

const char *on_blocked_name(enum on_blocked b)
{
    CHECK(b >= BLOCKED_STOP);
    CHECK(b < BLOCKED_KINDS);
    return BLOCKED_NAMES[b];
}

const char *queue_order_name(enum queue_order o)
{
    CHECK(o >= ORDER_FIFO);
    CHECK(o < QUEUE_ORDERS);
    return ORDER_NAMES[o];
}

const char *preempt_mode_name(enum preempt_mode m)
{
    CHECK(m >= PREEMPT_TERMINATE);
    CHECK(m < PREEMPT_MODES);
    return MODE_NAMES[m];
}

const char *preempt_scope_name(enum preempt_scope s)
{
    CHECK(s >= SCOPE_USER);
    CHECK(s < PREEMPT_SCOPES);
    return SCOPE_NAMES[s];
}

const char *preempt_order_name(enum preempt_order o)
{
    CHECK(o >= VICTIM_NEWEST);
    CHECK(o < PREEMPT_ORDERS);
    return VICTIM_NAMES[o];
}

void group_defaults(struct group *g)
{
    g->order = ORDER_FIFO;
    g->on_blocked = BLOCKED_BACKFILL;
    g->reserve_depth = GROUP_RESERVE_DEPTH;
    g->test_depth = GROUP_TEST_DEPTH;
    g->undated_ms = GROUP_UNDATED_MS;
    g->backfill_shortest = false;
    g->lower_after = GROUP_LOWER_AFTER;
    g->lower_by = GROUP_LOWER_BY;
    g->strategy = STRATEGY_CONCENTRATED;
    g->preempt = (struct preempt_policy){
        .mode = PREEMPT_TERMINATE, .scope = SCOPE_USER, .order = VICTIM_NEWEST};
    g->time_limit_ms[KIND_BATCH] = INT64_C(24) * 3600 * 1000;
    g->time_limit_ms[KIND_INTERACTIVE] = INT64_C(12) * 3600 * 1000;
    g->time_limit_ms[KIND_SERVICE] = 0;
    g->fence_ms = GROUP_FENCE_MS;
    g->time_max_ms = 0;
    g->host_network = false;
    g->n_projects = 0;
}

struct group group_make(uint32_t id, const char *name, enum on_blocked on_blocked)
{
    struct group g = {.id = id};
    bool fits = TEXT_SET(g.name, str_of(name));
    CHECK(fits);
    group_defaults(&g);
    g.on_blocked = on_blocked;
    return g;
}

static bool limits_sane(const struct group *g)
{
    for (int k = KIND_BATCH; k < SESSION_KINDS; k++) {
        if (g->time_limit_ms[k] < 0 || g->time_limit_ms[k] > SESSION_TIME_MAX_MS) return false;
    }
    if (g->fence_ms < GROUP_FENCE_MIN_MS || g->fence_ms > GROUP_FENCE_MAX_MS) return false;
    return g->time_max_ms >= 0 && g->time_max_ms <= SESSION_TIME_MAX_MS && g->undated_ms >= 0 &&
           g->undated_ms <= SESSION_TIME_MAX_MS && g->preempt.min_runtime_ms >= 0 &&
           g->preempt.min_runtime_ms <= SESSION_TIME_MAX_MS;
}

bool group_sane(const struct group *g)
{
    const struct preempt_policy *p = &g->preempt;
    return g->order >= ORDER_FIFO && g->order < QUEUE_ORDERS && g->on_blocked >= BLOCKED_STOP &&
           g->on_blocked < BLOCKED_KINDS && g->reserve_depth >= 1 && g->test_depth >= 1 &&
           g->lower_by >= 0 && g->lower_by <= SESSION_PRIORITY_MAX &&
           g->strategy >= STRATEGY_CONCENTRATED && g->strategy < PLACE_STRATEGIES &&
           p->mode >= PREEMPT_TERMINATE && p->mode < PREEMPT_MODES && p->scope >= SCOPE_USER &&
           p->scope < PREEMPT_SCOPES && p->order >= VICTIM_NEWEST && p->order < PREEMPT_ORDERS &&
           g->n_projects <= GROUP_PROJECTS_MAX && limits_sane(g);
}
