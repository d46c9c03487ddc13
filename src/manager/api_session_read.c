/* manager/api_session_read.c - why a session is where it is, and what happened to it. */
#include "base/check.h"
#include "manager/api_session.h"
#include "manager/view.h"

static void why_now(struct manager *m, struct http_req *req, void *arg)
{
    const struct session_ref *ref = arg;
    struct why_view v;
    const struct session *s = session_ref_live(m, ref);
    if (s) {
        view_why(m, ref->user, s, &v);
        answer_object(m, req, 200, &wire_why_view, &v);
        return;
    }
    struct session_row stored;
    struct err err = {0};
    int rc = session_ref_stored(m, ref, &stored, &err);
    if (rc == ERR_NOT_FOUND) {
        session_ref_unknown(m, req, ref);
    } else if (rc != 0) {
        answer_err(m, req, &err);
    } else {
        view_why_ended(&stored, &v);
        answer_object(m, req, 200, &wire_why_view, &v);
    }
}

void api_session_why(struct api_call *c)
{
    static const char *const none[] = {NULL};
    struct session_ref ref;
    if (!api_query_only(c, none) || !session_ref_of(c, &ref)) return;
    struct session_ref *own = mem_alloc(sizeof(*own));
    *own = ref;
    api_after(c->m, c->req, why_now, own, mem_free);
}

struct history_ask {
    struct session_ref ref;
    struct store_after after;
};

static void history_answer(struct manager *m, struct http_req *req, const struct session *s,
                           struct store_after after)
{
    struct store_events rows = {0};
    struct event_list list;
    struct err err = {0};
    after.session = s->id;
    int rc = store_read_history(m->reader, &after, &rows, &err);
    wire_init(&wire_event_list, &list);
    VEC_EACH(e, &rows.v)
        view_event(m, e->turn, e->index, &e->history, s->name, VEC_ADD(&list.items));
    if (rows.v.n == after.limit)
        TEXT_CLIP(list.next, str_of(list.items.v[list.items.n - 1].id));
    if (rc == 0) answer_object(m, req, 200, &wire_event_list, &list);
    else answer_err(m, req, &err);
    wire_free(&wire_event_list, &list);
    VEC_DONE(&rows.v);
}

static void history_now(struct manager *m, struct http_req *req, void *arg)
{
    const struct history_ask *ask = arg;
    const struct session *live = session_ref_live(m, &ask->ref);
    struct session_row stored;
    struct err err = {0};
    int rc = live ? 0 : session_ref_stored(m, &ask->ref, &stored, &err);
    if (rc == ERR_NOT_FOUND) session_ref_unknown(m, req, &ask->ref);
    else if (rc != 0) answer_err(m, req, &err);
    else history_answer(m, req, live ? live : &stored.session, ask->after);
}

void api_session_history(struct api_call *c)
{
    static const char *const known[] = {"limit", "cursor", NULL};
    struct history_ask ask = {.after = {.turn = 0}};
    if (!api_query_only(c, known) || !session_ref_of(c, &ask.ref)) return;
    if (!api_limit(c, &ask.after.limit)) return;
    struct str cursor;
    if (http_query(c->req, "cursor", &cursor)) {
        struct event_cursor at;
        if (!event_cursor_parse(cursor, &at)) {
            answer_now(c->m, c->req, 400, "invalid", "cursor",
                       "cursor: expected TURN.INDEX as a list gave it");
            return;
        }
        ask.after.turn = at.turn;
        ask.after.index = at.index;
    }
    struct history_ask *own = mem_alloc(sizeof(*own));
    *own = ask;
    api_after(c->m, c->req, history_now, own, mem_free);
}
