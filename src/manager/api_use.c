/* manager/api_use.c - what sessions and nodes use at the moment. */
#include "manager/api_session.h"
#include "manager/view.h"
#include "manager/view_use.h"

static const char *const nothing[] = {NULL};

static void use_now(struct manager *m, struct http_req *req, void *arg)
{
    const struct session_ref *ref = arg;
    const struct session *s = session_ref_live(m, ref);
    struct session_row stored;
    struct session_use_view v;
    struct err err = {0};
    int rc = s ? 0 : session_ref_stored(m, ref, &stored, &err);
    if (rc == ERR_NOT_FOUND) {
        session_ref_unknown(m, req, ref);
        return;
    }
    if (rc != 0) {
        answer_err(m, req, &err);
        return;
    }
    /* Of an ended one nothing runs: what it used in all is in its own view. */
    stored.session.first_alloc = MAP_NONE;
    view_session_use(m, s ? s : &stored.session, true, &v);
    answer_object(m, req, 200, &wire_session_use_view, &v);
    wire_free(&wire_session_use_view, &v);
}

void api_session_use(struct api_call *c)
{
    struct session_ref ref;
    if (!api_query_only(c, nothing) || !session_ref_of(c, &ref)) return;
    struct session_ref *own = mem_alloc(sizeof(*own));
    *own = ref;
    api_after(c->m, c->req, use_now, own, mem_free);
}

/* By number, those that run and that the caller may read. */
void api_use_list(struct api_call *c)
{
    static const char *const known[] = {"limit", "cursor", NULL};
    const struct world *w = turns_world(c->m->turns);
    struct session_use_list list;
    struct str cursor;
    uint64_t after = 0;
    uint32_t limit;
    if (!api_query_only(c, known) || !api_limit(c, &limit)) return;
    if (http_query(c->req, "cursor", &cursor) && !session_id_parse(cursor, &after)) {
        answer_now(c->m, c->req, 400, "invalid", "cursor",
                   "cursor: expected what a list gave as next");
        return;
    }
    wire_init(&wire_session_use_list, &list);
    for (uint64_t id = after + 1; id <= w->last_session; id++) {
        const struct session *s = world_session(w, id);
        if (!s || s->state < SESSION_RUNNING || s->state > SESSION_STOPPING) continue;
        if (!view_may_read(w, c->user, s)) continue;
        if (list.items.n == limit) {
            TEXT_CLIP(list.next, str_of(list.items.v[limit - 1].id));
            break;
        }
        view_session_use(c->m, s, false, VEC_ADD(&list.items));
    }
    answer_object(c->m, c->req, 200, &wire_session_use_list, &list);
    wire_free(&wire_session_use_list, &list);
}

void api_node_use(struct api_call *c)
{
    if (!api_query_only(c, nothing)) return;
    const struct node *n = world_node_named(turns_world(c->m->turns), c->id);
    if (!n) {
        char said[NODE_NAME_MAX + 1];
        text_clip(said, sizeof(said), c->id);
        answer_problem(c->m, c->req, 404, "not_found", "", "there is no node \"%s\"", said);
        return;
    }
    struct node_use_view v;
    view_node_use(c->m, n, &v);
    answer_object(c->m, c->req, 200, &wire_node_use_view, &v);
    wire_free(&wire_node_use_view, &v);
}
