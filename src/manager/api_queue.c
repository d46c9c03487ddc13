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
    v->id[0] = v->name[0] = v->owner[0] = '\0';
    TEXT_CLIP(v->reason, str_of(near ? "of another user" : "of another domain"));
}

struct queue_cursor { /* the last entry that was shown */
    uint32_t group; /* from 1 */
    bool begun;     /* false: none of this group yet */
    int32_t priority;
    uint64_t seq;
};

/* What somebody may not read has no name, owner or reason there. */
static void put_entry(const struct manager *m, uint32_t user, const struct session *s,
                      uint32_t place, struct queue_entry_view *v)
{
    const struct world *w = turns_world(m->turns);
    struct why_view why;
    wire_init(&wire_queue_entry_view, v);
    view_why(m, user, s, &why);
    v->place = place;
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
    TEXT_CLIP(v->kind, str_of(why_kind_name(why.kind)));
    TEXT_CLIP(v->reason, str_of(why.text));
    wire_free(&wire_why_view, &why);
    if (!view_may_read(w, user, s)) hide_entry(w, user, s, v);
}

/* Does the entry come after the cursor in the queue's order? */
static bool is_after(const struct queue_entry *e, const struct queue_cursor *c)
{
    if (!c->begun || e->priority < c->priority) return true;
    return e->priority == c->priority && e->seq > c->seq;
}

/* Entries of one group after the cursor; false when the list is full before its end. */
static bool put_group(const struct api_call *call, struct queue_cursor *c, uint32_t limit,
                      struct queue_list *list)
{
    const struct world *w = turns_world(call->m->turns);
    uint32_t n;
    const struct queue_entry *entries = pool_entries(w, c->group, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct queue_entry *e = &entries[i];
        if (!is_after(e, c)) continue;
        if (list->items.n == limit) return false;
        const struct session *s = &w->sessions.v[e->slot];
        CHECK(s->state == SESSION_PENDING);
        put_entry(call->m, call->user, s, i + 1, VEC_ADD(&list->items));
        *c = (struct queue_cursor){c->group, true, e->priority, e->seq};
    }
    return true;
}

static bool cursor_of(struct api_call *c, struct queue_cursor *ret)
{
    struct str text, group, priority;
    uint64_t g, p, seq;
    if (!http_query(c->req, "cursor", &text)) return true;
    if (str_cut(&text, '.', &group) && str_to_u64(group, &g) && g >= 1 && g <= UINT32_MAX &&
        str_cut(&text, '.', &priority) && str_to_u64(priority, &p) && p <= INT32_MAX &&
        str_to_u64(text, &seq)) {
        *ret = (struct queue_cursor){(uint32_t)g, true, (int32_t)p, seq};
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
            text_fmt(list.next, sizeof(list.next), "%u.%d.%llu", at.group, at.priority,
                     (unsigned long long)at.seq);
            break;
        }
        at = (struct queue_cursor){.group = at.group + 1};
    }
    answer_object(c->m, c->req, 200, &wire_queue_list, &list);
    wire_free(&wire_queue_list, &list);
}
