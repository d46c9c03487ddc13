/* manager/api_session_act.c - ending and signalling sessions, and tickets into them. */
#include "base/check.h"
#include "manager/api_session.h"
#include "manager/view.h"
#include "wire/ticket.h"

#define TICKET_MS 60000

/* ---- not live: ended, or never there ---- */

static void refuse_ended(struct manager *m, struct http_req *req, void *arg)
{
    const struct session_ref *ref = arg;
    struct session_row s;
    struct err err = {0};
    int rc = session_ref_stored(m, ref, &s, &err);
    if (rc == ERR_NOT_FOUND) {
        session_ref_unknown(m, req, ref);
        return;
    }
    if (rc != 0) {
        answer_err(m, req, &err);
        return;
    }
    char id[24];
    session_id_format(s.session.id, id);
    answer_problem(m, req, 409, "ended", "", "session %s has ended: %s", id,
                   session_outcome_name(s.session.outcome));
}

/* The live session of the path; NULL: it has been answered, or will be. */
static struct session *live_or_refuse(struct api_call *c, struct session_ref *ref)
{
    if (!session_ref_of(c, ref)) return NULL;
    struct session *s = session_ref_live(c->m, ref);
    if (s) return s;
    struct session_ref *own = mem_alloc(sizeof(*own));
    *own = *ref;
    api_after(c->m, c->req, refuse_ended, own, mem_free);
    return NULL;
}

static bool no_query(struct api_call *c)
{
    static const char *const none[] = {NULL};
    return api_query_only(c, none);
}

/* Steps, then shows the session as it is once that is durable. */
static void step_and_show(struct api_call *c, struct event *ev, uint64_t session)
{
    if (!api_accepting(c)) return;
    ev->actor = c->user;
    const struct effects *e = turns_step(c->m->turns, ev);
    if (e->verdict != VERDICT_OK) {
        answer_verdict(c->m, c->req, e);
        return;
    }
    struct session_ref by_id = {.id = session, .user = c->user};
    session_show_later(c->m, c->req, &by_id);
}

void api_session_stop(struct api_call *c)
{
    struct session_ref ref;
    struct stop_request rq;
    if (!no_query(c) || !api_body(c, &wire_stop_request, &rq)) return;
    const struct session *s = live_or_refuse(c, &ref);
    if (!s) return;
    struct event ev = {.kind = EVENT_STOP};
    ev.u.stop = (struct event_stop){s->id, OUTCOME_CANCELLED, rq.grace_ms};
    step_and_show(c, &ev, s->id);
}

void api_session_signal(struct api_call *c)
{
    struct session_ref ref;
    struct signal_request rq;
    if (!no_query(c) || !api_body(c, &wire_signal_request, &rq)) return;
    const struct session *s = live_or_refuse(c, &ref);
    if (!s) return;
    struct event ev = {.kind = EVENT_SIGNAL};
    ev.u.signal.session = s->id;
    bool known = signal_parse(str_of(rq.signal), &ev.u.signal.signal);
    CHECK(known); /* the table's own check has passed */
    step_and_show(c, &ev, s->id);
}

void api_session_update(struct api_call *c)
{
    struct session_ref ref;
    struct update_request rq;
    if (!no_query(c) || !api_body(c, &wire_update_request, &rq)) return;
    const struct session *s = live_or_refuse(c, &ref);
    if (!s) return;
    struct event ev = {.kind = EVENT_UPDATE};
    struct event_update *u = &ev.u.update;
    *u = (struct event_update){.session = s->id, .priority = rq.priority,
                               .time_limit_ms = rq.time_limit_ms, .hold = rq.hold == CHOICE_YES,
                               .preemptible = rq.preemptible == CHOICE_YES};
    if (rq.priority >= 0) u->fields |= UPDATE_PRIORITY;
    if (rq.time_limit_ms >= 0) u->fields |= UPDATE_TIME_LIMIT;
    if (rq.hold != CHOICE_DEFAULT) u->fields |= UPDATE_HOLD;
    if (rq.preemptible != CHOICE_DEFAULT) u->fields |= UPDATE_PREEMPTIBLE;
    step_and_show(c, &ev, s->id);
}

void api_session_requeue(struct api_call *c)
{
    struct session_ref ref;
    if (!no_query(c)) return;
    const struct session *s = live_or_refuse(c, &ref);
    if (!s) return;
    struct event ev = {.kind = EVENT_REQUEUE};
    ev.u.requeue = s->id;
    step_and_show(c, &ev, s->id);
}

/* ---- tickets ---- */

struct ticket_ask {
    struct session_ref ref;
    enum ticket_action action;
    uint32_t member, user;
};

static void ticket_answer(struct manager *m, struct http_req *req, struct ticket *t)
{
    char text[TICKET_TEXT_MAX];
    int64_t exp_ms = net_wall_ms() + TICKET_MS;
    t->exp_s = exp_ms / 1000;
    bool fits = TEXT_SET(t->cluster, str_of(m->cluster));
    CHECK(fits);
    ticket_sign(t, m->authority.ticket_secret, text);
    struct ticket_answer answer;
    wire_init(&wire_ticket_answer, &answer);
    answer.ticket = text;
    TEXT_CLIP(answer.proxy_url, str_of(m->cfg.proxy_url));
    wire_time_format(exp_ms, answer.expires_at);
    answer_object(m, req, 201, &wire_ticket_answer, &answer);
    mem_zero_secret(text, sizeof(text));
}

/* Where that member of the current attempt is or was.  False: nowhere yet. */
static bool find_live(const struct world *w, const struct session *s, uint32_t member,
                      struct ticket *t)
{
    for (const struct alloc *a = world_allocs_of_session(w, s); a;
         a = world_next_of_session(w, a)) {
        if (a->ref.attempt != s->attempt || a->ref.member != member || a->revoked) continue;
        const struct node *n = world_node(w, a->node);
        CHECK(n != NULL);
        t->attempt = a->ref.attempt;
        bool fits = TEXT_SET(t->node, str_of(n->name)) && TEXT_SET(t->addr, str_of(n->data_addr));
        CHECK(fits);
        return true;
    }
    return false;
}

/* The last attempt of that member that has a node still in the cluster. */
static int find_stored(struct manager *m, uint64_t session, uint32_t member, struct ticket *t,
                       struct err *err)
{
    struct store_placements all = {0};
    int rc = store_read_placements(m->reader, session, &all, err);
    bool found = false;
    VEC_EACH(p, &all.v) {
        const struct node *n = world_node_named(turns_world(m->turns), str_of(p->node));
        if (rc != 0 || p->alloc.ref.member != member || !n) continue;
        t->attempt = p->alloc.ref.attempt;
        found = TEXT_SET(t->node, str_of(n->name)) && TEXT_SET(t->addr, str_of(n->data_addr));
    }
    VEC_DONE(&all.v);
    if (rc != 0 || found) return rc;
    return err_set(err, ERR_NOT_FOUND, "it never had a place on a node that is still here");
}

static void ticket_for_ended(struct manager *m, struct http_req *req, const struct ticket_ask *ask,
                             struct ticket *t)
{
    struct session_row s;
    struct err err = {0};
    int rc = session_ref_stored(m, &ask->ref, &s, &err);
    if (rc == ERR_NOT_FOUND) {
        session_ref_unknown(m, req, &ask->ref);
        return;
    }
    if (rc == 0 && ask->action != TICKET_LOGS) {
        answer_problem(m, req, 409, "ended", "", "the session has ended: %s",
                       session_outcome_name(s.session.outcome));
        return;
    }
    if (rc == 0) rc = find_stored(m, s.session.id, ask->member, t, &err);
    if (rc != 0) {
        answer_err(m, req, &err);
        return;
    }
    t->session = s.session.id;
    ticket_answer(m, req, t);
}

static void ticket_now(struct manager *m, struct http_req *req, void *arg)
{
    const struct ticket_ask *ask = arg;
    struct ticket t = {.member = ask->member, .action = ask->action, .user = ask->user};
    const struct session *s = session_ref_live(m, &ask->ref);
    if (!s) {
        ticket_for_ended(m, req, ask, &t);
        return;
    }
    if (ask->member >= s->members) {
        answer_problem(m, req, 400, "invalid", "member", "member: expected 0 to %u, got %u",
                       s->members - 1, ask->member);
        return;
    }
    t.session = s->id;
    if (!find_live(turns_world(m->turns), s, ask->member, &t)) {
        answer_problem(m, req, 409, "not_running", "", "the session has no node yet: it is %s",
                       session_state_name(s->state));
        return;
    }
    if (ask->action != TICKET_LOGS && s->state != SESSION_RUNNING) {
        answer_problem(m, req, 409, "not_running", "", "the session is %s, not running",
                       session_state_name(s->state));
        return;
    }
    ticket_answer(m, req, &t);
}

void api_session_ticket(struct api_call *c)
{
    struct ticket_ask ask = {.user = c->user};
    struct ticket_request rq;
    if (!no_query(c) || !session_ref_of(c, &ask.ref)) return;
    if (!api_body(c, &wire_ticket_request, &rq)) return;
    bool known = ticket_action_parse(str_of(rq.action), &ask.action);
    CHECK(known); /* the table's own check has passed */
    ask.member = rq.member;
    const struct user *u = world_user(turns_world(c->m->turns), c->user);
    CHECK(u != NULL);
    if (ask.action != TICKET_LOGS && !access_allows(u->role, OBJECT_SESSION, ACTION_EXEC)) {
        answer_now(c->m, c->req, 403, "denied", "",
                   "only administrators may do this (permission: exec session)");
        return;
    }
    struct ticket_ask *own = mem_alloc(sizeof(*own));
    *own = ask;
    api_after(c->m, c->req, ticket_now, own, mem_free);
}
