/* manager/api_queue.c - what waits, in the order in which it will be judged. */
#include "base/check.h"
#include "core/explain.h"
#include "core/model/pool.h"
#include "manager/api.h"
#include "manager/view.h"

struct queue_cursor { uint32_t group, at; }; /* next entry; groups from 1 */

static void put_entry(const struct manager *m, const struct session *s, uint32_t place,
                      struct queue_entry_view *v)
{
    const struct world *w = turns_world(m->turns);
    struct why_view why;
    wire_init(&wire_queue_entry_view, v);
    view_why(m, s, &why);
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
}

/* Entries of one group from c->at on; false when the list is full. */
static bool put_group(const struct manager *m, struct queue_cursor *c, uint32_t limit,
                      struct queue_list *list)
{
    const struct world *w = turns_world(m->turns);
    uint32_t n;
    const struct queue_entry *entries = pool_entries(w, c->group, &n);
    for (; c->at < n; c->at++) {
        if (list->items.n == limit) return false;
        const struct session *s = &w->sessions.v[entries[c->at].slot];
        CHECK(s->state == SESSION_PENDING);
        put_entry(m, s, c->at + 1, VEC_ADD(&list->items));
    }
    return true;
}

static bool cursor_of(struct api_call *c, struct queue_cursor *ret)
{
    struct str text, group;
    uint64_t g, at;
    if (!http_query(c->req, "cursor", &text)) return true;
    if (str_cut(&text, '.', &group) && str_to_u64(group, &g) && str_to_u64(text, &at) && g >= 1 &&
        g <= UINT32_MAX && at <= UINT32_MAX) {
        *ret = (struct queue_cursor){(uint32_t)g, (uint32_t)at};
        return true;
    }
    answer_now(c->m, c->req, 400, "invalid", "cursor", "cursor: expected what a list gave as next");
    return false;
}

void api_queue_list(struct api_call *c)
{
    static const char *const known[] = {"group", "limit", "cursor", NULL};
    struct queue_cursor at = {1, 0};
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
        if (at.group != only->id) at = (struct queue_cursor){only->id, 0};
    }
    struct queue_list list;
    wire_init(&wire_queue_list, &list);
    uint32_t last = only ? only->id : w->queues.n;
    while (at.group <= last && at.group <= w->queues.n) {
        if (!put_group(c->m, &at, limit, &list)) {
            text_fmt(list.next, sizeof(list.next), "%u.%u", at.group, at.at);
            break;
        }
        at = (struct queue_cursor){at.group + 1, 0};
    }
    answer_object(c->m, c->req, 200, &wire_queue_list, &list);
    wire_free(&wire_queue_list, &list);
}
