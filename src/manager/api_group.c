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
    VEC_EACH(g, &w->groups) view_group(c->m, c->user, g, VEC_ADD(&list.items));
    answer_object(c->m, c->req, 200, &wire_group_list, &list);
    wire_free(&wire_group_list, &list);
}

static void show(struct api_call *c, int status, const struct group *g)
{
    struct group_view v;
    view_group(c->m, c->user, g, &v);
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

static void merge_preempt(struct preempt_policy *p, const struct preempt_request *rq)
{
    if (rq->enabled != CHOICE_DEFAULT) p->enabled = rq->enabled == CHOICE_YES;
    if (rq->mode) p->mode = rq->mode;
    if (rq->scope) p->scope = rq->scope;
    if (rq->order) p->order = rq->order;
    if (rq->min_runtime_ms >= 0) p->min_runtime_ms = rq->min_runtime_ms;
}

static void merge(struct group *g, const struct group_request *rq)
{
    if (rq->order) g->order = rq->order;
    if (rq->on_blocked) g->on_blocked = rq->on_blocked;
    if (rq->reserve_depth) g->reserve_depth = rq->reserve_depth;
    if (rq->test_depth) g->test_depth = rq->test_depth;
    if (rq->undated_ms >= 0) g->undated_ms = rq->undated_ms;
    if (rq->lower_after >= 0) g->lower_after = (uint32_t)rq->lower_after;
    if (rq->lower_by >= 0) g->lower_by = (int32_t)rq->lower_by;
    if (rq->strategy) g->strategy = rq->strategy;
    merge_preempt(&g->preempt, &rq->preempt);
    if (rq->fence_after_ms >= 0) g->fence_ms = rq->fence_after_ms;
    if (rq->host_network != CHOICE_DEFAULT) g->host_network = rq->host_network == CHOICE_YES;
    if (rq->time_max_ms >= 0) g->time_max_ms = rq->time_max_ms;
    if (rq->time_limit_batch_ms >= 0) g->time_limit_ms[KIND_BATCH] = rq->time_limit_batch_ms;
    if (rq->time_limit_interactive_ms >= 0)
        g->time_limit_ms[KIND_INTERACTIVE] = rq->time_limit_interactive_ms;
    if (rq->time_limit_service_ms >= 0)
        g->time_limit_ms[KIND_SERVICE] = rq->time_limit_service_ms;
}

/* False: it has been answered. */
static bool merge_projects(struct api_call *c, struct group *g, const struct wire_texts *said)
{
    CHECK(said->n <= GROUP_PROJECTS_MAX); /* the table's own bound */
    if (said->n == 0) return true;
    g->n_projects = 0;
    if (said->n == 1 && strcmp(said->v[0], "*") == 0) return true;
    for (uint32_t i = 0; i < said->n; i++) {
        const struct project *p =
            world_project_named(turns_world(c->m->turns), str_of(said->v[i]));
        if (!p) {
            answer_problem(c->m, c->req, 400, "invalid", "projects",
                           "projects: there is no project \"%s\"", said->v[i]);
            return false;
        }
        g->projects[g->n_projects++] = p->id;
    }
    return true;
}

static void put(struct api_call *c, const struct group_request *rq)
{
    const struct group *have = world_group_named(turns_world(c->m->turns), c->id);
    struct group g = {0};
    group_defaults(&g);
    if (have) g = *have;
    if (!have && (!str_is_name(c->id, 63) || !TEXT_SET(g.name, c->id))) {
        answer_now(c->m, c->req, 400, "invalid", "name",
                   "expected a name of a-z, 0-9, '.', '_' and '-', at most 63 long");
        return;
    }
    merge(&g, rq);
    if (!merge_projects(c, &g, &rq->projects)) return;
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

void api_group_put(struct api_call *c)
{
    static const char *const none[] = {NULL};
    struct group_request rq;
    if (!api_query_only(c, none) || !api_body(c, &wire_group_request, &rq)) return;
    if (api_accepting(c)) put(c, &rq);
    wire_free(&wire_group_request, &rq);
}
