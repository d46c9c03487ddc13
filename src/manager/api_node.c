/* manager/api_node.c - nodes: seeing, cordoning, forgetting. */
#include <stdlib.h>
#include "base/check.h"
#include "manager/api.h"
#include "manager/view.h"

static bool no_query(struct api_call *c)
{
    static const char *const none[] = {NULL};
    return api_query_only(c, none);
}

static int by_name(const void *a, const void *b)
{
    const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;
    return str_natural_cmp(str_of(x->name), str_of(y->name));
}

void api_node_list(struct api_call *c)
{
    static const char *const known[] = {"limit", "cursor", NULL};
    uint32_t limit;
    struct str after = {NULL, 0}; /* the last name of the page before */
    if (!api_query_only(c, known) || !api_limit(c, &limit)) return;
    if (http_query(c->req, "cursor", &after) && !str_is_name(after, NODE_NAME_MAX)) {
        answer_now(c->m, c->req, 400, "invalid", "cursor",
                   "cursor: expected what a list gave as next");
        return;
    }
    const struct world *w = turns_world(c->m->turns);
    VEC(const struct node *) all = {0};
    VEC_EACH(n, &w->nodes)
        if (n->name[0] && (after.n == 0 || str_natural_cmp(str_of(n->name), after) > 0))
            VEC_PUSH(&all, n);
    if (all.n > 1) qsort(all.v, all.n, sizeof(all.v[0]), by_name);
    struct node_list list;
    wire_init(&wire_node_list, &list);
    for (uint32_t i = 0; i < all.n && i < limit; i++)
        view_node(c->m, c->user, all.v[i], VEC_ADD(&list.items));
    if (all.n > limit) TEXT_CLIP(list.next, str_of(all.v[limit - 1]->name));
    VEC_DONE(&all);
    answer_object(c->m, c->req, 200, &wire_node_list, &list);
    wire_free(&wire_node_list, &list);
}

/* NULL: it has been answered. */
static const struct node *node_of(struct api_call *c)
{
    const struct node *n = world_node_named(turns_world(c->m->turns), c->id);
    if (n) return n;
    char said[NODE_NAME_MAX + 1];
    text_clip(said, sizeof(said), c->id);
    answer_problem(c->m, c->req, 404, "not_found", "", "there is no node \"%s\"", said);
    return NULL;
}

static void show(struct api_call *c, const struct node *n)
{
    struct node_view v;
    view_node(c->m, c->user, n, &v);
    view_node_links(n, &v);
    answer_object(c->m, c->req, 200, &wire_node_view, &v);
    wire_free(&wire_node_view, &v);
}

void api_node_show(struct api_call *c)
{
    if (!no_query(c)) return;
    const struct node *n = node_of(c);
    if (n) show(c, n);
}

static void cordon(struct api_call *c, bool on, bool drain)
{
    if (!no_query(c) || !api_accepting(c)) return;
    const struct node *n = node_of(c);
    if (!n) return;
    struct cordon_request rq;
    wire_init(&wire_cordon_request, &rq);
    if (on && c->req->body.n > 0 && !api_body(c, &wire_cordon_request, &rq)) return;
    uint32_t id = n->id;
    struct event ev = {.kind = EVENT_NODE_CORDON, .actor = c->user};
    ev.u.cordon = (struct event_cordon){.node = id, .on = on, .drain = drain,
                                        .deadline_ms = drain ? rq.deadline_ms : 0};
    TEXT_CLIP(ev.u.cordon.reason, str_of(rq.reason));
    const struct effects *e = turns_step(c->m->turns, &ev);
    if (e->verdict != VERDICT_OK) answer_verdict(c->m, c->req, e);
    else show(c, world_node(turns_world(c->m->turns), id));
}

void api_node_cordon(struct api_call *c) { cordon(c, true, false); }
void api_node_drain(struct api_call *c) { cordon(c, true, true); }
void api_node_uncordon(struct api_call *c) { cordon(c, false, false); }

void api_node_forget(struct api_call *c)
{
    if (!no_query(c) || !api_accepting(c)) return;
    const struct node *n = node_of(c);
    if (!n) return;
    struct forget_request rq;
    if (!api_body(c, &wire_forget_request, &rq)) return;
    struct node_view v; /* as it last was */
    view_node(c->m, c->user, n, &v);
    struct event ev = {.kind = EVENT_NODE_FORGET, .actor = c->user};
    ev.u.forget = (struct event_forget){n->id, rq.force};
    const struct effects *e = turns_step(c->m->turns, &ev);
    if (e->verdict != VERDICT_OK) answer_verdict(c->m, c->req, e);
    else answer_object(c->m, c->req, 200, &wire_node_view, &v);
    wire_free(&wire_node_view, &v);
}

void api_silence_accept(struct api_call *c)
{
    if (!no_query(c) || !api_accepting(c)) return;
    struct event ev = {.kind = EVENT_SILENCE_ACCEPT, .actor = c->user};
    const struct effects *e = turns_step(c->m->turns, &ev);
    CHECK(e->verdict == VERDICT_OK);
    struct silence_answer v = {.accepted = e->accepted};
    answer_object(c->m, c->req, 200, &wire_silence_answer, &v);
}

/* By index or UUID; n_devices when there is none. */
static uint32_t device_of(const struct node *n, const char *said)
{
    uint64_t index;
    if (str_to_u64(str_of(said), &index) && index < n->n_devices) return (uint32_t)index;
    for (uint32_t i = 0; i < n->n_devices; i++) {
        if (strcmp(n->devices[i].uuid, said) == 0) return i;
    }
    return n->n_devices;
}

void api_node_device(struct api_call *c)
{
    if (!no_query(c) || !api_accepting(c)) return;
    const struct node *n = node_of(c);
    struct device_request rq;
    if (!n || !api_body(c, &wire_device_request, &rq)) return;
    struct event ev = {.kind = EVENT_DEVICE, .actor = c->user};
    ev.u.device = (struct event_device){n->id, device_of(n, rq.device), rq.order, ""};
    TEXT_CLIP(ev.u.device.why, str_of(rq.why));
    const struct effects *e = turns_step(c->m->turns, &ev);
    if (e->verdict != VERDICT_OK) answer_verdict(c->m, c->req, e);
    else show(c, world_node(turns_world(c->m->turns), ev.u.device.node));
}
