/* manager/api_event.c - following what happens. */
#include "base/check.h"
#include "manager/api_session.h"

struct follow_ask {
    struct event_filter filter;
    struct event_cursor after;
    bool from_now;
};

static void follow_now(struct manager *m, struct http_req *req, void *arg)
{
    const struct follow_ask *ask = arg;
    struct event_cursor after = ask->after;
    if (ask->from_now) after = (struct event_cursor){turns_durable(m->turns), UINT32_MAX};
    if (http_req_gone(req)) {
        answer_now(m, req, 503, "unavailable", "", "the client has left");
        return;
    }
    /* It would stay silent until the turns have come that far: of another store? */
    if (!ask->from_now && after.turn > turns_durable(m->turns)) {
        answer_now(m, req, 409, "conflict", "Last-Event-ID",
                   "this store has no such entry yet: follow anew");
        return;
    }
    if (!event_follow(m, req, ask->filter, after))
        answer_now(m, req, 503, "unavailable", "", "too many are following already");
    else m->http.by_class[2]++;
}

void api_event_stream(struct api_call *c)
{
    static const char *const known[] = {"session", "after", NULL};
    struct follow_ask ask = {.from_now = true};
    struct str text, last = http_header(c->req, "Last-Event-ID");
    if (!api_query_only(c, known)) return;
    if (c->req->method == HTTP_HEAD) {
        http_reply(c->req, 200, "text/event-stream", STR(""));
        return;
    }
    if (last.p || http_query(c->req, "after", &last)) {
        ask.from_now = false;
        if (!event_cursor_parse(last, &ask.after)) {
            answer_now(c->m, c->req, 400, "invalid", "Last-Event-ID",
                       "expected the id of an event, TURN.INDEX");
            return;
        }
    }
    if (http_query(c->req, "session", &text) && !session_id_parse(text, &ask.filter.session)) {
        answer_now(c->m, c->req, 400, "invalid", "session", "session: expected an id like s17");
        return;
    }
    const struct user *u = world_user(turns_world(c->m->turns), c->user);
    if (access_of(u->role, OBJECT_EVENT, ACTION_LIST) == ACCESS_OWN) ask.filter.owner = u->id;
    struct follow_ask *own = mem_alloc(sizeof(*own));
    *own = ask;
    api_after(c->m, c->req, follow_now, own, mem_free);
}
