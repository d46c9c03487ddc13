/* manager/api_group.c - groups of nodes and their policy. */
#include "base/check.h"
#include "manager/api.h"
#include "manager/view.h"

void api_group_list(struct api_call *c)
{
    static const char *const none[] = {NULL};
    if (!api_query_only(c, none)) return;
    const struct world *w = turns_world(c->m->turns);
    struct group_list list;
    wire_init(&wire_group_list, &list);
    VEC_EACH(g, &w->groups) view_group(c->m, g, VEC_ADD(&list.items));
    answer_object(c->m, c->req, 200, &wire_group_list, &list);
    wire_free(&wire_group_list, &list);
}

static void show(struct api_call *c, int status, const struct group *g)
{
    struct group_view v;
    view_group(c->m, g, &v);
    answer_object(c->m, c->req, status, &wire_group_view, &v);
    wire_free(&wire_group_view, &v);
}

void api_group_show(struct api_call *c)
{
    static const char *const none[] = {NULL};
    if (!api_query_only(c, none)) return;
    const struct group *g = world_group_named(turns_world(c->m->turns), c->id);
    if (g) show(c, 200, g);
    else answer_problem(c->m, c->req, 404, "not_found", "", "there is no such group");
}

static void merge(struct group *g, const struct group_request *rq)
{
    if (rq->on_blocked) g->on_blocked = rq->on_blocked;
    if (rq->time_limit_batch_ms >= 0) g->time_limit_ms[KIND_BATCH] = rq->time_limit_batch_ms;
    if (rq->time_limit_interactive_ms >= 0)
        g->time_limit_ms[KIND_INTERACTIVE] = rq->time_limit_interactive_ms;
    if (rq->time_limit_service_ms >= 0)
        g->time_limit_ms[KIND_SERVICE] = rq->time_limit_service_ms;
}

void api_group_put(struct api_call *c)
{
    static const char *const none[] = {NULL};
    struct group_request rq;
    if (!api_query_only(c, none) || !api_body(c, &wire_group_request, &rq)) return;
    if (!api_accepting(c)) return;
    const struct group *have = world_group_named(turns_world(c->m->turns), c->id);
    struct group g = {0};
    group_defaults(&g);
    if (have) g = *have;
    if (!have && (!str_is_name(c->id, 63) || !TEXT_SET(g.name, c->id))) {
        answer_now(c->m, c->req, 400, "invalid", "name",
                   "expected a name of a-z, 0-9, '.', '_' and '-', at most 63 long");
        return;
    }
    merge(&g, &rq);
    struct event ev = {.kind = EVENT_GROUP_PUT, .actor = c->user};
    ev.u.group = g;
    const struct effects *e = turns_step(c->m->turns, &ev);
    if (e->verdict != VERDICT_OK) {
        answer_verdict(c->m, c->req, e);
        return;
    }
    const struct group *now = world_group_named(turns_world(c->m->turns), str_of(g.name));
    CHECK(now != NULL);
    show(c, have ? 200 : 201, now);
}
