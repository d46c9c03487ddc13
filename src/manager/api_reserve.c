/* manager/api_reserve.c - reservations: seeing, making, removing.
 *
 * Instants that people name are turned into the core's clock here, once: from then on
 * a change of the date moves nothing. */
#include "base/bitset.h"
#include "base/check.h"
#include "manager/api.h"
#include "manager/view.h"
#include "wire/reserve.h"
#include "wire/time.h"

static bool no_query(struct api_call *c)
{
    static const char *const none[] = {NULL};
    return api_query_only(c, none);
}

static void put_devices(uint32_t devices, char ret[48])
{
    size_t n = 0;
    ret[0] = '\0';
    for (uint32_t left = devices; left; left &= left - 1) {
        n += (size_t)text_fmt(ret + n, 48 - n, "%s%u", n > 0 ? "," : "", bits_low(left));
    }
}

/* For whom it is, and what it is called: for those who may read that account. */
static void put_owner(const struct world *w, uint32_t viewer, const struct reservation *r,
                      struct reservation_view *ret)
{
    const struct user *u = world_user(w, r->user), *asks = world_user(w, viewer);
    const struct project *p = world_project(w, r->project);
    CHECK(asks != NULL); /* the route has let it in */
    if (u && !access_to(asks, OBJECT_ACCOUNT, ACTION_READ, u->id)) return;
    if (p && !view_may_read_in(w, viewer, p->domain)) return;
    TEXT_CLIP(ret->name, str_of(r->name));
    TEXT_CLIP(ret->user, str_of(u ? u->name : ""));
    TEXT_CLIP(ret->project, str_of(p ? p->name : ""));
}

static void view(const struct manager *m, uint32_t viewer, const struct reservation *r,
                 struct reservation_view *ret)
{
    const struct world *w = turns_world(m->turns);
    const struct group *g = world_group(w, r->group);
    int64_t now_ms = turns_core_ms(m->turns);
    wire_init(&wire_reservation_view, ret);
    text_fmt(ret->id, sizeof(ret->id), "r%u", r->id);
    put_owner(w, viewer, r, ret);
    TEXT_CLIP(ret->group, str_of(g ? g->name : ""));
    TEXT_CLIP(ret->state, str_of(r->start_ms <= now_ms ? "active" : "planned"));
    wire_time_format(r->start_wall_ms, ret->start_at);
    wire_time_format(r->end_wall_ms, ret->end_at);
    ret->starts_in_ms = r->start_ms > now_ms ? r->start_ms - now_ms : 0;
    ret->ends_in_ms = r->end_ms > now_ms ? r->end_ms - now_ms : 0;
    ret->each = (struct slots_view){r->slots.v[SLOT_CPU], r->slots.v[SLOT_MEM],
                                    r->slots.v[SLOT_GPU]};
    ret->n_parts = r->n_parts;
    for (uint32_t i = 0; i < r->n_parts; i++) {
        const struct node *n = world_node(w, r->parts[i].node);
        TEXT_CLIP(ret->parts[i].node, str_of(n ? n->name : "")); /* "": forgotten since */
        put_devices(r->parts[i].devices, ret->parts[i].devices);
    }
}

static void show(struct api_call *c, int status, const struct reservation *r)
{
    struct reservation_view v;
    view(c->m, c->user, r, &v);
    answer_object(c->m, c->req, status, &wire_reservation_view, &v);
    wire_free(&wire_reservation_view, &v);
}

void api_reservation_list(struct api_call *c)
{
    if (!no_query(c)) return;
    const struct world *w = turns_world(c->m->turns);
    struct reservation_list list;
    wire_init(&wire_reservation_list, &list);
    VEC_EACH(r, &w->reservations) view(c->m, c->user, r, VEC_ADD(&list.items));
    answer_object(c->m, c->req, 200, &wire_reservation_list, &list);
    wire_free(&wire_reservation_list, &list);
}

static const struct reservation *find(struct api_call *c)
{
    uint32_t id = 0;
    const struct reservation *r = NULL;
    if (wire_reservation_id(c->id, &id)) r = world_reservation(turns_world(c->m->turns), id);
    if (!r) answer_problem(c->m, c->req, 404, "not_found", "", "there is no such reservation");
    return r;
}

void api_reservation_show(struct api_call *c)
{
    const struct reservation *r = no_query(c) ? find(c) : NULL;
    if (r) show(c, 200, r);
}

void api_reservation_remove(struct api_call *c)
{
    if (!no_query(c) || !api_accepting(c)) return;
    const struct reservation *r = find(c);
    if (!r) return;
    struct reservation_view v; /* as it last was */
    view(c->m, c->user, r, &v);
    struct event ev = {.kind = EVENT_UNRESERVE, .actor = c->user, .u.unreserve = {r->id}};
    const struct effects *e = turns_step(c->m->turns, &ev);
    if (e->verdict != VERDICT_OK) answer_verdict(c->m, c->req, e);
    else answer_object(c->m, c->req, 200, &wire_reservation_view, &v);
    wire_free(&wire_reservation_view, &v);
}

static bool refuse(struct api_call *c, const char *field, const char *text)
{
    answer_problem(c->m, c->req, 400, "invalid", field, "%s: %s", field, text);
    return false;
}

/* For whom and where; false: it has been answered. */
static bool names(struct api_call *c, const struct reserve_request *rq, struct event_reserve *ev)
{
    const struct world *w = turns_world(c->m->turns);
    const struct user *u = world_user_named(w, str_of(rq->user));
    const struct project *p = world_project_named(w, str_of(rq->project));
    const struct group *g = world_group_named(w, str_of(rq->group));
    const struct node *n = world_node_named(w, str_of(rq->node));
    if (rq->user[0] && !u) return refuse(c, "user", "there is no such user");
    if (rq->project[0] && !p) return refuse(c, "project", "there is no such project");
    if (!g) return refuse(c, "group", "there is no such group");
    if (rq->node[0] && !n) return refuse(c, "node", "there is no such node");
    ev->reservation.user = u ? u->id : 0;
    ev->reservation.project = p ? p->id : 0;
    ev->reservation.group = g->id;
    ev->node = n ? n->id : 0;
    return true;
}

static bool when(struct api_call *c, const struct reserve_request *rq, struct event_reserve *ev)
{
    int64_t wall_ms = net_wall_ms(), at_ms = wall_ms + rq->start_in_ms;
    struct reservation *r = &ev->reservation;
    if (rq->start_at[0] && !wire_time_parse(str_of(rq->start_at), &at_ms)) {
        return refuse(c, "start_at", "expected an instant such as 2026-12-01T18:00:00Z");
    }
    if (at_ms < wall_ms) return refuse(c, "start_at", "it lies in the past");
    if (at_ms > wall_ms) r->start_ms = turns_core_ms(c->m->turns) + (at_ms - wall_ms);
    r->start_wall_ms = at_ms;
    r->end_wall_ms = at_ms + rq->length_ms;
    ev->length_ms = rq->length_ms;
    return true;
}

void api_reservation_create(struct api_call *c)
{
    struct reserve_request rq;
    struct event ev = {.kind = EVENT_RESERVE, .actor = c->user};
    struct reservation *r = &ev.u.reserve.reservation;
    if (!no_query(c) || !api_body(c, &wire_reserve_request, &rq) || !api_accepting(c)) return;
    if (!names(c, &rq, &ev.u.reserve) || !when(c, &rq, &ev.u.reserve)) return;
    TEXT_CLIP(r->name, str_of(rq.name));
    r->n_parts = rq.nodes;
    r->slots = (struct slots){{rq.cpu_milli, rq.mem_bytes, rq.gpu}};
    const struct effects *e = turns_step(c->m->turns, &ev);
    if (e->verdict != VERDICT_OK) {
        answer_verdict(c->m, c->req, e);
        return;
    }
    r = world_reservation(turns_world(c->m->turns), e->reservation);
    CHECK(r != NULL);
    show(c, 201, r);
}
