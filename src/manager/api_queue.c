/* manager/api_queue.c - what waits, in the order in which it will be judged. */
#include "base/check.h"
#include "core/explain.h"
#include "core/model/pool.h"
#include "manager/api.h"
#include "manager/view.h"

static void hide_entry(const struct world *w, uint32_t user, const struct session *s,
                       struct queue_entry_view *v)
{
    const struct user *u = world_user(w, user);
    const struct project *p = world_project(w, s->project);
    bool near = u && p && p->domain == u->domain;
    v->id[0] = v->name[0] = v->owner[0] = v->expected[0] = '\0';
    TEXT_CLIP(v->reason, str_of(near ? "of another user" : "of another domain"));
}

struct queue_cursor { /* the last entry that was shown */
    uint32_t group; /* from 1 */
    bool begun;     /* false: none of this group yet */
    struct queue_entry last; /* what its place says of it */
};

static void put_reason(const struct manager *m, uint32_t user, const struct session *s,
                       const struct forecast *expected, struct queue_entry_view *v)
{
    const struct world *w = turns_world(m->turns);
    struct why_view view;
    struct why why;
    explain_session(w, s, &why);
    why.viewer = user;
    if (expected) why.expected = *expected;
    view_reason(m, s, &why, &view);
    TEXT_CLIP(v->kind, str_of(why_kind_name(view.kind)));
    TEXT_CLIP(v->reason, str_of(view.text));
    TEXT_CLIP(v->expected, str_of(view.expected));
    v->expected_in_ms = view.expected_in_ms;
    wire_free(&wire_why_view, &view);
}

/* What somebody may not read has no name, owner or reason there. */
static void put_entry(const struct manager *m, uint32_t user, const struct session *s,
                      const struct forecast *expected, struct queue_entry_view *v)
{
    const struct world *w = turns_world(m->turns);
    wire_init(&wire_queue_entry_view, v);
    session_id_format(s->id, v->id);
    TEXT_CLIP(v->name, str_of(s->name));
    const struct user *u = world_user(w, s->user);
    const struct group *g = world_group(w, s->group);
    TEXT_CLIP(v->owner, str_of(u ? u->name : ""));
    TEXT_CLIP(v->group, str_of(g ? g->name : ""));
    v->priority = s->priority;
    struct slots total;
    if (session_total(s, &total)) view_slots(&total, &v->total);
    int64_t waiting_ms = turns_core_ms(m->turns) - s->submitted_ms;
    v->waiting_ms = waiting_ms > 0 ? waiting_ms : 0;
    put_reason(m, user, s, expected, v);
    if (!view_may_read(w, user, s)) hide_entry(w, user, s, v);
}

/* Entries of one group after the cursor; false when the list is full before its end. */
static bool put_group(const struct api_call *call, struct queue_cursor *c, uint32_t limit,
                      struct queue_list *list)
{
    const struct world *w = turns_world(call->m->turns);
    struct forecasts f = {0};
    uint32_t n;
    bool all = true;
    const struct queue_entry *entries = pool_entries(w, c->group, &n);
    if (n > 0) forecast_group(w, c->group, FORECAST_MOST, &f);
    for (uint32_t i = 0; i < n && all; i++) {
        const struct queue_entry *e = &entries[i];
        if (c->begun && !pool_before(&c->last, e)) continue;
        all = list->items.n < limit;
        if (!all) break;
        const struct session *s = &w->sessions.v[e->slot];
        struct queue_entry_view *v = VEC_ADD(&list->items);
        CHECK(s->state == SESSION_PENDING);
        CHECK(i >= f.v.n || f.v.v[i].session == s->id);
        put_entry(call->m, call->user, s, i < f.v.n ? &f.v.v[i] : NULL, v);
        v->place = i + 1;
        *c = (struct queue_cursor){c->group, true, *e};
    }
    VEC_DONE(&f.v);
    return all;
}

static bool cursor_of(struct api_call *c, struct queue_cursor *ret)
{
    struct str text, group, priority, rank;
    uint64_t g, p, seq;
    int64_t r;
    if (!http_query(c->req, "cursor", &text)) return true;
    if (str_cut(&text, '.', &group) && str_to_u64(group, &g) && g >= 1 && g <= UINT32_MAX &&
        str_cut(&text, '.', &priority) && str_to_u64(priority, &p) && p <= INT32_MAX &&
        str_cut(&text, '.', &rank) && str_to_i64(rank, &r) && str_to_u64(text, &seq)) {
        struct queue_entry last = {.priority = (int32_t)p, .rank = r, .seq = seq};
        *ret = (struct queue_cursor){(uint32_t)g, true, last};
        return true;
    }
    answer_now(c->m, c->req, 400, "invalid", "cursor", "cursor: expected what a list gave as next");
    return false;
}

void api_queue_list(struct api_call *c)
{
    static const char *const known[] = {"group", "limit", "cursor", NULL};
    struct queue_cursor at = {.group = 1};
    uint32_t limit;
    if (!api_query_only(c, known) || !api_limit(c, &limit) || !cursor_of(c, &at)) return;
    const struct world *w = turns_world(c->m->turns);
    struct str name;
    const struct group *only = NULL;
    if (http_query(c->req, "group", &name)) {
        only = world_group_named(w, name);
        if (!only) {
            answer_problem(c->m, c->req, 400, "invalid", "group", "group: there is no such group");
            return;
        }
        if (at.group != only->id) at = (struct queue_cursor){.group = only->id};
    }
    struct queue_list list;
    wire_init(&wire_queue_list, &list);
    uint32_t last = only ? only->id : w->queues.n;
    while (at.group <= last && at.group <= w->queues.n) {
        if (!put_group(c, &at, limit, &list)) {
            text_fmt(list.next, sizeof(list.next), "%u.%d.%lld.%llu", at.group, at.last.priority,
                     (long long)at.last.rank, (unsigned long long)at.last.seq);
            break;
        }
        at = (struct queue_cursor){.group = at.group + 1};
    }
    answer_object(c->m, c->req, 200, &wire_queue_list, &list);
    wire_free(&wire_queue_list, &list);
}
