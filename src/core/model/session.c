/* core/model/session.c - the table of states, and what follows from it.
 *
 * Each state has an owner, says what is held, when its time is over, what then,
 * and which states may follow.  Reports are levels, so a state may be passed
 * over between two of them; it never goes back, except to PENDING when an
 * attempt is over.  docs/spec/scheduling.md */
#include "core/model/session.h"

#include "base/check.h"
#include "base/mem.h"

#define TO(state) (1u << SESSION_##state)
#define MINUTES_MS(n) (INT64_C(60000) * (n))

static const struct state_row ROWS[] = {
    [SESSION_PENDING] = {"pending", OWNER_SCHEDULER, HOLDS_NOTHING, DEADLINE_PENDING, 0, THEN_END,
                         /* STOPPING: rows of an earlier attempt are not proved gone yet */
                         TO(RESERVED) | TO(ALLOCATED) | TO(STOPPING) | TO(ENDED)},
    [SESSION_RESERVED] = {"reserved", OWNER_SCHEDULER, HOLDS_PROMISE, DEADLINE_PROMISE, 0,
                          THEN_PENDING, TO(PENDING) | TO(ALLOCATED) | TO(STOPPING) | TO(ENDED)},
    [SESSION_ALLOCATED] = {"allocated", OWNER_AGENT, HOLDS_DEVICES, DEADLINE_FIXED, MINUTES_MS(1),
                           THEN_REVOKE,
                           TO(PENDING) | TO(PREPARING) | TO(READY) | TO(STARTING) | TO(RUNNING) |
                               TO(STOPPING) | TO(ENDED)},
    [SESSION_PREPARING] = {"preparing", OWNER_AGENT, HOLDS_DEVICES, DEADLINE_FIXED, MINUTES_MS(30),
                           THEN_FAIL,
                           TO(PENDING) | TO(READY) | TO(STARTING) | TO(RUNNING) | TO(STOPPING) |
                               TO(ENDED)},
    [SESSION_READY] = {"ready", OWNER_MANAGER, HOLDS_DEVICES, DEADLINE_INHERITED, 0, THEN_FAIL,
                       TO(PENDING) | TO(STARTING) | TO(RUNNING) | TO(STOPPING) | TO(ENDED)},
    [SESSION_STARTING] = {"starting", OWNER_AGENT, HOLDS_DEVICES, DEADLINE_FIXED, MINUTES_MS(5),
                          THEN_FAIL, TO(PENDING) | TO(RUNNING) | TO(STOPPING) | TO(ENDED)},
    [SESSION_RUNNING] = {"running", OWNER_AGENT, HOLDS_DEVICES, DEADLINE_TIME_LIMIT, 0, THEN_STOP,
                         TO(STOPPING) | TO(ENDED)},
    [SESSION_STOPPING] = {"stopping", OWNER_AGENT, HOLDS_DEVICES, DEADLINE_GRACE, 0, THEN_ALARM,
                          TO(PENDING) | TO(ENDED)}, /* PENDING: it is queued again */
    [SESSION_ENDED] = {"ended", OWNER_NOBODY, HOLDS_NOTHING, DEADLINE_NONE, 0, THEN_NOTHING, 0},
};
_Static_assert(ARRAY_LEN(ROWS) == SESSION_STATES, "one row a state");
_Static_assert(sizeof(struct session) <= 800, "a hundred thousand wait: bench/schedule, bytes");

static const char *const OUTCOME_NAMES[] = {
    [OUTCOME_NONE] = "",
    [OUTCOME_SUCCEEDED] = "succeeded",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_CANCELLED] = "cancelled",
    [OUTCOME_TIMED_OUT] = "timed_out",
    [OUTCOME_PREEMPTED] = "preempted",
    [OUTCOME_IDLE] = "idle",
    [OUTCOME_LOST] = "lost",
};
_Static_assert(ARRAY_LEN(OUTCOME_NAMES) == OUTCOMES, "one name an outcome");

static const char *const KIND_NAMES[] = {
    [KIND_BATCH] = "batch", [KIND_INTERACTIVE] = "interactive", [KIND_SERVICE] = "service"};
_Static_assert(ARRAY_LEN(KIND_NAMES) == SESSION_KINDS, "one name a kind");

static const char *const STRATEGY_NAMES[] = {
    [STRATEGY_CONCENTRATED] = "concentrated",       [STRATEGY_DISPERSED] = "dispersed",
    [STRATEGY_ROUND_ROBIN] = "round_robin",         [STRATEGY_LEAST_ALLOCATED] = "least_allocated",
    [STRATEGY_MOST_ALLOCATED] = "most_allocated",   [STRATEGY_BEST_FIT] = "best_fit"};
_Static_assert(ARRAY_LEN(STRATEGY_NAMES) == PLACE_STRATEGIES, "one name a strategy");

static const char *const DEPEND_NAMES[] = {
    [DEPEND_SUCCESS] = "success", [DEPEND_END] = "end", [DEPEND_FAILURE] = "failure"};
_Static_assert(ARRAY_LEN(DEPEND_NAMES) == DEPEND_KINDS, "one name a kind");

const char *place_strategy_name(enum place_strategy s)
{
    CHECK(s >= STRATEGY_CONCENTRATED);
    CHECK(s < PLACE_STRATEGIES);
    return STRATEGY_NAMES[s];
}

const char *depend_on_name(enum depend_on d)
{
    CHECK(d >= DEPEND_SUCCESS);
    CHECK(d < DEPEND_KINDS);
    return DEPEND_NAMES[d];
}

const struct state_row *session_row(enum session_state s)
{
    CHECK(s >= SESSION_PENDING);
    CHECK(s < SESSION_STATES);
    return &ROWS[s];
}

const char *session_state_name(enum session_state s) { return session_row(s)->name; }

const char *session_outcome_name(enum session_outcome o)
{
    CHECK(o < OUTCOMES);
    return OUTCOME_NAMES[o];
}

const char *session_kind_name(enum session_kind k)
{
    CHECK(k >= KIND_BATCH);
    CHECK(k < SESSION_KINDS);
    return KIND_NAMES[k];
}

bool session_may_follow(enum session_state from, enum session_state to)
{
    CHECK(to >= SESSION_PENDING);
    CHECK(to < SESSION_STATES);
    return (session_row(from)->next >> to & 1) != 0;
}

int64_t session_deadline(const struct session *s, enum session_state before, int64_t now_ms)
{
    const struct state_row *row = session_row(s->state);
    switch (row->deadline) {
    case DEADLINE_NONE: return 0;
    case DEADLINE_PENDING: return s->pending_timeout_ms > 0 ? now_ms + s->pending_timeout_ms : 0;
    case DEADLINE_PROMISE: /* victims' grace is the longest that a group allows: its own */
    case DEADLINE_GRACE: return now_ms + s->grace_ms + SESSION_ALARM_AFTER_MS;
    case DEADLINE_FIXED: return now_ms + row->limit_ms;
    case DEADLINE_INHERITED:
        if (before == SESSION_PREPARING) return s->deadline_ms;
        return now_ms + session_row(SESSION_PREPARING)->limit_ms;
    case DEADLINE_TIME_LIMIT: return s->time_limit_ms > 0 ? now_ms + s->time_limit_ms : 0;
    case DEADLINE_RULES: break;
    }
    UNREACHABLE();
}

const struct role *session_role_of(const struct session *s, uint32_t member)
{
    CHECK(member < s->members);
    uint32_t first = 0;
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (member - first < s->roles[i].count) return &s->roles[i];
        first += s->roles[i].count;
    }
    UNREACHABLE();
}

bool session_total(const struct session *s, struct slots *ret)
{
    struct slots total = {{0}};
    for (uint32_t i = 0; i < s->n_roles; i++) {
        struct slots part;
        if (!slots_mul(&s->roles[i].slots, s->roles[i].count, &part)) return false;
        if (!slots_add(&total, &part, &total)) return false;
    }
    *ret = total;
    return true;
}

void session_id_format(uint64_t id, char ret[24])
{
    CHECK(id > 0);
    text_fmt(ret, 24, "s%llu", (unsigned long long)id);
}

bool session_id_parse(struct str text, uint64_t *ret)
{
    uint64_t id = 0;
    if (text.n > 0 && text.p[0] == 's') text = str_n(text.p + 1, text.n - 1);
    if (!str_to_u64(text, &id) || id == 0) return false;
    *ret = id;
    return true;
}
