/* core/on_submit.c - judging a request before anything is stored. */
#include "base/check.h"
#include "base/fmt.h"
#include "core/events.h"
#include "core/model/pool.h"
#include "core/model/timers.h"
#include "core/model/usage.h"
#include "core/model/wait.h"
#include "core/sched/place.h"
#include "core/sched/quota.h"
#include "core/where.h"

static bool refuse_range(struct draft *d, const char *field, int64_t low, int64_t high, int64_t got)
{
    draft_refuse(d, VERDICT_BAD_VALUE, field, "%s: expected %lld to %lld, got %lld", field,
                 (long long)low, (long long)high, (long long)got);
    return false;
}

static bool in_range(struct draft *d, const char *field, int64_t low, int64_t high, int64_t got)
{
    return (got >= low && got <= high) || refuse_range(d, field, low, high, got);
}

/* "s17" would be taken for an id wherever a session can be named. */
static bool looks_like_id(struct str name)
{
    uint64_t id;
    return name.p[0] == 's' && str_to_u64(str_n(name.p + 1, name.n - 1), &id);
}

static bool name_sane(struct draft *d, const struct session *s)
{
    const char *end = memchr(s->name, '\0', sizeof(s->name));
    struct str name = str_n(s->name, end ? (size_t)(end - s->name) : sizeof(s->name));
    if (name.n == 0) return true;
    if (!str_is_name(name, SESSION_NAME_MAX)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "name",
                     "name: expected at most %d of a-z, 0-9, '.', '_' and '-', with a letter or "
                     "digit at both ends",
                     SESSION_NAME_MAX);
        return false;
    }
    if (looks_like_id(name)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "name", "name: %s looks like a session's id", s->name);
        return false;
    }
    return true;
}

static bool role_sane(struct draft *d, const struct session *s, uint32_t at)
{
    const struct role *r = &s->roles[at];
    char field[32];
    const char *end = memchr(r->name, '\0', sizeof(r->name));
    text_fmt(field, sizeof(field), "roles[%u].name", at);
    if (!end || !str_is_name(str_of(r->name), sizeof(r->name) - 1)) {
        draft_refuse(d, VERDICT_BAD_VALUE, field, "%s: expected a name of at most %zu letters",
                     field, sizeof(r->name) - 1);
        return false;
    }
    for (uint32_t i = 0; i < at; i++) {
        if (!str_eq(str_of(s->roles[i].name), str_of(r->name))) continue;
        draft_refuse(d, VERDICT_BAD_VALUE, field, "%s: %s is already role %u", field, r->name, i);
        return false;
    }
    text_fmt(field, sizeof(field), "roles[%u].count", at);
    if (!in_range(d, field, 1, SESSION_MEMBERS_MAX, r->count)) return false;
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        int64_t least = k == SLOT_GPU ? 0 : 1; /* nothing runs without some cpu and memory */
        int64_t most = k == SLOT_GPU ? NODE_DEVICES_MAX : SLOT_MAX;
        text_fmt(field, sizeof(field), "roles[%u].%s", at, slot_name(k));
        if (!in_range(d, field, least, most, r->slots.v[k])) return false;
    }
    return true;
}

static bool roles_sane(struct draft *d, struct session *s)
{
    struct slots total;
    s->members = 0;
    if (!in_range(d, "roles", 1, SESSION_ROLES_MAX, s->n_roles)) return false;
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (!role_sane(d, s, i)) return false;
        s->members += s->roles[i].count;
    }
    if (!in_range(d, "members", 1, SESSION_MEMBERS_MAX, s->members)) return false;
    bool sane = session_total(s, &total);
    CHECK(sane); /* by the bounds of slots and members: 2^52 x 2^9 */
    return true;
}

static bool values_sane(struct draft *d, struct session *s)
{
    if (s->kind < KIND_BATCH || s->kind >= SESSION_KINDS) {
        return refuse_range(d, "kind", KIND_BATCH, SESSION_KINDS - 1, s->kind);
    }
    return name_sane(d, s) && in_range(d, "priority", 0, SESSION_PRIORITY_MAX, s->priority) &&
           in_range(d, "time_limit_ms", -1, EVENT_TIME_MAX_MS, s->time_limit_ms) &&
           in_range(d, "grace_ms", 0, EVENT_TIME_MAX_MS, s->grace_ms) &&
           in_range(d, "pending_timeout_ms", 0, EVENT_TIME_MAX_MS, s->pending_timeout_ms) &&
           in_range(d, "start_after_ms", 0, INT64_MAX / 4, s->start_after_ms) &&
           in_range(d, "restart_max", 0, SESSION_RESTARTS_MAX, s->restart_max) &&
           roles_sane(d, s);
}

/* What one field alone cannot tell. */
static bool flags_sane(struct draft *d, const struct session *s)
{
    if (s->preemptible && s->kind == KIND_SERVICE) {
        draft_refuse(d, VERDICT_BAD_VALUE, "preemptible", "preemptible: a service never is");
        return false;
    }
    return true;
}

/* ---- dependencies and arrays */

static bool dependency_sane(struct draft *d, struct session *s, uint32_t at)
{
    const struct event_submit *e = &d->ev->u.submit;
    struct dependency dep = e->session.depends[at];
    enum session_outcome ended = e->depend_outcome[at];
    if (dep.on < DEPEND_SUCCESS || dep.on >= DEPEND_KINDS)
        return refuse_range(d, "after", DEPEND_SUCCESS, DEPEND_KINDS - 1, dep.on);
    const struct session *other = world_session(d->w, dep.session);
    if (other) {
        for (uint32_t i = 0; i < s->n_depends; i++) {
            if (s->depends[i].session != dep.session) continue;
            draft_refuse(d, VERDICT_BAD_VALUE, "after", "after: s%llu is named twice",
                         (unsigned long long)dep.session);
            return false;
        }
        s->depends[s->n_depends++] = dep;
        return true;
    }
    if (ended == OUTCOME_NONE) {
        draft_refuse(d, VERDICT_NOT_FOUND, "after", "after: there is no session s%llu",
                     (unsigned long long)dep.session);
        return false;
    }
    if (wait_met(dep.on, ended)) return true; /* nothing to wait for */
    draft_refuse(d, VERDICT_IMPOSSIBLE, "after", "after: the %s of s%llu will not come: it %s",
                 depend_on_name(dep.on), (unsigned long long)dep.session,
                 ended == OUTCOME_SUCCEEDED ? "succeeded" : "has ended without success");
    return false;
}

static bool dependencies_sane(struct draft *d, struct session *s)
{
    uint32_t n = d->ev->u.submit.session.n_depends;
    if (!in_range(d, "after", 0, SESSION_DEPENDS_MAX, n)) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!dependency_sane(d, s, i)) return false;
    }
    return true;
}

static bool array_sane(struct draft *d, const struct session *s)
{
    const struct event_submit *e = &d->ev->u.submit;
    if (!in_range(d, "array", 0, SESSION_ARRAY_MAX, e->array_count)) return false;
    if (e->array_count == 0) return true;
    if (!in_range(d, "array", 1, INT32_MAX, e->array_step)) return false;
    uint64_t last = (uint64_t)e->session.array_index +
                    (uint64_t)e->array_step * (e->array_count - 1);
    if (!in_range(d, "array", 0, INT32_MAX, (int64_t)last)) return false;
    size_t most = SESSION_NAME_MAX - 11; /* "-" and ten digits follow */
    if (strlen(s->name) <= most) return true;
    draft_refuse(d, VERDICT_BAD_VALUE, "name", "name: expected at most %zu letters for an array",
                 most);
    return false;
}

static bool references_known(struct draft *d, const struct session *s)
{
    const struct user *u = world_user(d->w, s->user);
    const struct project *p = world_project(d->w, s->project);
    const char *unknown = NULL;
    if (!u) unknown = "user";
    else if (!p || p->domain != u->domain) unknown = "project";
    else if (!world_group(d->w, s->group)) unknown = "group";
    if (unknown) draft_refuse(d, VERDICT_NOT_FOUND, unknown, "there is no such %s", unknown);
    return !unknown;
}

/* "NAME-INDEX" for a task of an array. */
static void task_name(const struct session *s, uint32_t index, char ret[SESSION_NAME_MAX + 1])
{
    if (s->name[0] == '\0') ret[0] = '\0';
    else text_fmt(ret, SESSION_NAME_MAX + 1, "%s-%u", s->name, index);
}

static bool one_name_free(struct draft *d, const struct session *s, const char *name)
{
    const struct session *holder = world_session_named(d->w, s->user, str_of(name));
    if (!holder) return true;
    draft_refuse(d, VERDICT_NAME_TAKEN, "name", "you have a session named %s already: s%llu",
                 name, (unsigned long long)holder->id);
    d->out->session = holder->id;
    return false;
}

static bool name_free(struct draft *d, const struct session *s)
{
    const struct event_submit *e = &d->ev->u.submit;
    char name[SESSION_NAME_MAX + 1];
    if (e->array_count == 0) return one_name_free(d, s, s->name);
    for (uint32_t i = 0; i < e->array_count; i++) {
        task_name(s, e->session.array_index + i * e->array_step, name);
        if (!one_name_free(d, s, name)) return false;
    }
    return true;
}

static bool possible(struct draft *d, const struct session *s)
{
    struct place place = {0};
    bool nodes = false, fits = true;
    for (uint32_t i = 0; i < d->w->rooms.n && !nodes; i++) {
        nodes = d->w->rooms.v[i].group == s->group;
    }
    if (nodes && !d->ev->u.submit.allow_impossible) fits = place_possible(d->w, s, &place);
    if (!fits) where_refuse(d, s, &place);
    place_done(&place);
    return fits;
}

/* Only what a request may say; the rest of the struct is ours. */
static struct session request_of(const struct event_submit *e)
{
    const struct session *in = &e->session;
    struct session s = {
        .user = in->user, .project = in->project, .group = in->group, .kind = in->kind,
        .priority = in->priority, .one_node = in->one_node, .stop_on_member = in->stop_on_member,
        .on_device_fault = in->on_device_fault,
        .n_roles = in->n_roles, .time_limit_ms = in->time_limit_ms, .grace_ms = in->grace_ms,
        .pending_timeout_ms = in->pending_timeout_ms, .preemptible = in->preemptible,
        .hold = in->hold, .strategy = in->strategy, .where = in->where,
        .restart_max = in->restart_max, .start_after_ms = in->start_after_ms,
        .fence_ms = in->fence_ms,
    };
    memcpy(s.name, in->name, sizeof(s.name));
    for (uint32_t i = 0; i < in->n_roles && i < SESSION_ROLES_MAX; i++) s.roles[i] = in->roles[i];
    return s;
}

/* A given name cannot look like an id, so "s<ID>" is always free. */
static void name_by_id(struct session *s)
{
    char text[24];
    session_id_format(s->id, text);
    bool fits = TEXT_SET(s->name, str_of(text));
    CHECK(fits);
}

static void refuse_time(struct draft *d, const struct group *g)
{
    struct strbuf most;
    strbuf_init(&most, 64);
    fmt_duration(&most, g->time_max_ms);
    draft_refuse(d, VERDICT_BAD_VALUE, "time_limit_ms",
                 "time_limit_ms: group %s allows at most %.*s", g->name, (int)most.n, most.p);
    strbuf_done(&most);
}

static bool group_open(struct draft *d, const struct session *s)
{
    const struct group *g = world_group(d->w, s->group);
    bool open = g->n_projects == 0;
    for (uint32_t i = 0; i < g->n_projects; i++) open = open || g->projects[i] == s->project;
    if (open) return true;
    draft_refuse(d, VERDICT_DENIED, "group", "group: %s is not open to project %s", g->name,
                 world_project(d->w, s->project)->name);
    return false;
}

/* What it does not say becomes the group's default, or the most that the group allows. */
static bool time_fine(struct draft *d, struct session *s)
{
    const struct group *g = world_group(d->w, s->group);
    bool said = s->time_limit_ms >= 0;
    if (!said) s->time_limit_ms = g->time_limit_ms[s->kind];
    bool over = s->time_limit_ms == 0 || s->time_limit_ms > g->time_max_ms;
    if (g->time_max_ms == 0 || !over) return true;
    if (!said) {
        s->time_limit_ms = g->time_max_ms;
        return true;
    }
    refuse_time(d, g);
    return false;
}

/* How long its containers go on without a word is the group's to say when it is submitted:
 * both ends must go by the same number for as long as it lives. */
static bool fence_fine(struct draft *d, struct session *s)
{
    if (s->fence_ms == 0) return true;
    if (s->kind != KIND_BATCH) {
        draft_refuse(d, VERDICT_BAD_VALUE, "on_disconnect",
                     "on_disconnect: only a batch session may be ended and run again when its "
                     "node is cut off, this is a%s %s one",
                     s->kind == KIND_INTERACTIVE ? "n" : "", session_kind_name(s->kind));
        return false;
    }
    s->fence_ms = (int32_t)world_group(d->w, s->group)->fence_ms; /* 12 h at most */
    return true;
}

/* Limits that it could never meet, and how many may wait. */
static bool limits_fine(struct draft *d, const struct session *s, uint32_t array_count)
{
    struct session asks = *s;
    struct quota_excess e;
    struct strbuf text;
    asks.array_count = array_count;
    if (!quota_never(d->w, &asks, &e)) return true;
    strbuf_init(&text, 1024);
    quota_print(d->w, &e, &text);
    draft_refuse(d, VERDICT_OVER_LIMIT, e.kind <= LIMIT_GPU ? "roles" : "",
                 "over a limit: %.*s", (int)text.n, text.p);
    strbuf_done(&text);
    return false;
}

static bool judged(struct draft *d, struct session *req)
{
    const struct world *w = d->w;
    uint32_t n = d->ev->u.submit.array_count > 0 ? d->ev->u.submit.array_count : 1;
    if (!values_sane(d, req) || !flags_sane(d, req) || !references_known(d, req)) return false;
    if (!where_sane(d, req)) return false;
    if (!array_sane(d, req) || !name_free(d, req) || !dependencies_sane(d, req)) return false;
    if (!group_open(d, req) || !time_fine(d, req) || !fence_fine(d, req)) return false;
    if (!possible(d, req) || !limits_fine(d, req, d->ev->u.submit.array_count)) return false;
    if (w->n_sessions + n <= WORLD_SESSIONS_MAX) return true;
    draft_refuse(d, VERDICT_FULL, "", "there are %u sessions already", w->n_sessions);
    return false;
}

static uint64_t add_one(struct draft *d, const struct session *req)
{
    struct world *w = d->w;
    struct session *s = world_add_session(w);
    uint32_t stamp = s->timer_stamp;
    *s = *req;
    s->timer_stamp = stamp;
    s->first_alloc = MAP_NONE;
    s->id = ++w->last_session;
    if (s->name[0] == '\0') name_by_id(s);
    s->state = SESSION_PENDING; /* its first: nothing came before that could be checked */
    s->submitted_ms = s->since_ms = w->now_ms;
    s->submitted_wall_ms = d->ev->wall_ms;
    s->deadline_ms = session_deadline(s, SESSION_PENDING, w->now_ms);
    world_index_session(w, s);
    usage_moved(w, s, 0, SESSION_PENDING);
    wait_added(w, s);
    pool_add(w, s);
    timers_arm_session(w, s);
    draft_session(d, s);
    (void)draft_session_history(d, HISTORY_SUBMITTED, s);
    return s->id;
}

static void as_task(const struct event_submit *e, const struct session *req, uint64_t first,
                    uint32_t i, struct session *ret)
{
    *ret = *req;
    ret->array = first;
    ret->array_index = e->session.array_index + i * e->array_step;
    ret->array_count = e->array_count;
    ret->array_limit = e->session.array_limit;
    task_name(req, ret->array_index, ret->name);
}

static void add_array(struct draft *d, const struct session *req)
{
    const struct event_submit *e = &d->ev->u.submit;
    uint64_t first = d->w->last_session + 1;
    for (uint32_t i = 0; i < e->array_count; i++) {
        struct session task;
        as_task(e, req, first, i, &task);
        uint64_t id = add_one(d, &task);
        CHECK(id == first + i);
    }
    d->out->session = first;
}

enum verdict step_check(struct world *w, const struct event *ev, struct effects *out,
                        struct session *ret)
{
    struct draft d = {.w = w, .ev = ev, .out = out, .actor = ev->actor};
    struct session req = request_of(&ev->u.submit);
    CHECK(ev->kind == EVENT_SUBMIT);
    effects_reset(out);
    if (!judged(&d, &req)) return out->verdict;
    if (ev->u.submit.array_count > 0) {
        struct session plain = req;
        as_task(&ev->u.submit, &plain, w->last_session + 1, 0, &req);
    }
    req.id = w->last_session + 1;
    if (req.name[0] == '\0') name_by_id(&req);
    req.state = SESSION_PENDING;
    req.first_alloc = MAP_NONE;
    req.submitted_ms = req.since_ms = w->now_ms;
    *ret = req;
    return VERDICT_OK;
}

void on_submit(struct draft *d)
{
    struct session req = request_of(&d->ev->u.submit);
    if (!judged(d, &req)) return;
    if (d->ev->u.submit.array_count > 0) add_array(d, &req);
    else d->out->session = add_one(d, &req);
}
