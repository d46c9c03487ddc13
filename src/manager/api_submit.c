/* manager/api_submit.c - from a submission to an event, and to what is kept of it. */
#include "base/check.h"
#include "manager/api_session.h"
#include "manager/view.h"
#include "wire/array.h"

struct submission {
    struct session_spec spec;
    struct store_idem idem; /* key "" : none was given */
};

static bool read_key(struct api_call *c, struct store_idem *ret)
{
    struct str key = http_header(c->req, "Idempotency-Key");
    memset(ret, 0, sizeof(*ret));
    ret->user = c->user;
    ret->wall_ms = net_wall_ms();
    if (!key.p) return true;
    bool ok = key.n > 0 && str_is_utf8(key) && TEXT_SET(ret->key, key);
    if (!ok) {
        answer_now(c->m, c->req, 400, "invalid", "Idempotency-Key",
                   "Idempotency-Key: expected 1 to 127 characters");
        return false;
    }
    auth_hash(c->req->body, ret->body_hash);
    return true;
}

/* True: a new question.  Otherwise it has been answered. */
static bool is_new(struct api_call *c, const struct store_idem *ask)
{
    if (ask->key[0] == '\0') return true;
    struct err err = {0};
    enum idem_found found;
    uint64_t session = 0;
    if (idem_find(&c->m->idem, c->m->reader, ask, &found, &session, &err) != 0) {
        answer_err(c->m, c->req, &err);
        return false;
    }
    if (found == IDEM_NEW) return true;
    if (found == IDEM_OTHER_BODY) {
        answer_problem(c->m, c->req, 422, "idempotency_mismatch", "Idempotency-Key",
                       "this Idempotency-Key was used for another request");
        return false;
    }
    const struct session *s = world_session(turns_world(c->m->turns), session);
    struct session_ref ref = {.id = session, .user = c->user, .status = 201};
    if (!s) {
        session_show_later(c->m, c->req, &ref);
        return false;
    }
    struct session_view v;
    view_live(c->m, s, &v);
    answer_object(c->m, c->req, 201, &wire_session_view, &v);
    wire_free(&wire_session_view, &v);
    return false;
}

/* How a session that is not in the world any more has ended; false: it has been answered. */
static bool outcome_of(struct api_call *c, const struct session_ref *ref, struct dependency *dep,
                       enum session_outcome *ret)
{
    struct session_row stored;
    struct err err = {0};
    int rc = session_ref_stored(c->m, ref, &stored, &err);
    if (rc == ERR_NOT_FOUND) {
        char text[24] = "";
        if (ref->id) session_id_format(ref->id, text);
        answer_problem(c->m, c->req, 400, "invalid", "after", "after: there is no session \"%s\"",
                       ref->id ? text : ref->name);
        return false;
    }
    if (rc != 0) {
        answer_err(c->m, c->req, &err);
        return false;
    }
    dep->session = stored.session.id;
    *ret = stored.session.outcome;
    if (!session_live(&stored.session)) return true;
    /* It ended in a turn that is being stored: the next try will read it. */
    answer_problem(c->m, c->req, 503, "unavailable", "after",
                   "after: s%llu is ending just now: try again",
                   (unsigned long long)stored.session.id);
    return false;
}

static bool depend_on_one(struct api_call *c, const char *text, struct event_submit *ev)
{
    struct session_ref ref = {.user = c->user};
    struct str name;
    struct dependency *dep = &ev->session.depends[ev->session.n_depends];
    bool sane = wire_dependency_parse(str_of(text), &name, &dep->on);
    CHECK(sane); /* the table's own check has passed */
    if (!session_id_parse(name, &ref.id) && !TEXT_SET(ref.name, name)) {
        answer_now(c->m, c->req, 400, "invalid", "after", "after: a name is too long");
        return false;
    }
    const struct session *live = session_ref_live(c->m, &ref);
    enum session_outcome *outcome = &ev->depend_outcome[ev->session.n_depends];
    ev->session.n_depends++;
    if (!live) return outcome_of(c, &ref, dep, outcome);
    dep->session = live->id;
    return true;
}

static int64_t start_after(const struct manager *m, const struct session_spec *spec)
{
    int64_t in_ms = spec->start_in_ms, at = 0;
    if (spec->start_at[0] && wire_time_parse(str_of(spec->start_at), &at)) {
        in_ms = at - net_wall_ms(); /* from here on the core's clock counts */
    }
    return in_ms > 0 ? turns_core_ms(m->turns) + in_ms : 0;
}

/* When it may start, after whom, how often; false: it has been answered. */
static bool submit_turn(struct api_call *c, const struct session_spec *spec,
                        struct event_submit *ev)
{
    struct array_range range;
    ev->session.start_after_ms = start_after(c->m, spec);
    for (uint32_t i = 0; i < spec->after.n; i++) {
        if (!depend_on_one(c, spec->after.v[i], ev)) return false;
    }
    if (!spec->array[0]) return true;
    bool sane = array_parse(str_of(spec->array), &range);
    CHECK(sane);
    ev->array_count = range.count;
    ev->array_step = range.step;
    ev->session.array_index = range.first;
    ev->session.array_limit = range.limit;
    return true;
}

/* The number of the node that it names; false: it has been answered. */
static bool submit_node(struct api_call *c, const struct session_spec *spec, struct session *s)
{
    bool preferred = spec->prefer_node[0] != '\0';
    const char *name = preferred ? spec->prefer_node : spec->node;
    const char *field = preferred ? "prefer_node" : "node";
    if (!name[0]) return true;
    const struct node *n = world_node_named(turns_world(c->m->turns), str_of(name));
    if (n) {
        s->where.node = n->id;
        return true;
    }
    answer_problem(c->m, c->req, 400, "invalid", field, "%s: there is no node \"%s\"", field, name);
    return false;
}

/* The machine's own network shows everything that listens there: by policy alone. */
static bool submit_network(struct api_call *c, const struct session_spec *spec,
                           const struct group *g)
{
    if (spec->network != NETWORK_HOST || g->host_network) return true;
    answer_problem(c->m, c->req, 403, "denied", "network",
                   "network: group \"%s\" does not let sessions use the network of its machines "
                   "(an administrator may: rota group set %s --host-network yes)",
                   g->name, g->name);
    return false;
}

/* Fills what the caller of step knows; false: it has been answered. */
static bool submit_event(struct api_call *c, const struct session_spec *spec, struct event *ev)
{
    const struct world *w = turns_world(c->m->turns);
    const struct project *p = world_project_named(w, str_of(spec->project));
    const struct group *g = world_group_named(w, str_of(spec->group));
    if (!p || !g) {
        const char *field = p ? "group" : "project";
        answer_problem(c->m, c->req, 400, "invalid", field, "%s: there is no %s \"%s\"", field,
                       field, p ? spec->group : spec->project);
        return false;
    }
    if (!submit_network(c, spec, g)) return false;
    memset(ev, 0, sizeof(*ev));
    ev->kind = EVENT_SUBMIT;
    ev->actor = c->user;
    struct session *s = &ev->u.submit.session;
    session_spec_shape(spec, s);
    s->user = c->user;
    s->project = p->id;
    s->group = g->id;
    ev->u.submit.allow_impossible = spec->allow_impossible;
    return submit_node(c, spec, s) && submit_turn(c, spec, &ev->u.submit);
}

/* What belongs to the session and no decision reads, in the same turn. */
static void keep_document(struct manager *m, uint64_t session, struct submission *sub,
                          struct str doc)
{
    struct store_turn *turn = turns_open(m->turns);
    store_turn_doc(turn, session, doc);
    doc_cache_put(&m->docs, session, doc);
    if (sub->idem.key[0] == '\0') return;
    sub->idem.session = session;
    store_turn_op(turn, STORE_PUT_IDEM)->u.idem = sub->idem;
    idem_add(&m->idem, &sub->idem);
}

static void submit(struct api_call *c, struct submission *sub)
{
    struct manager *m = c->m;
    struct event ev;
    AUTO_STRBUF struct strbuf doc;
    strbuf_init(&doc, STORE_DOC_MAX);
    if (!submit_event(c, &sub->spec, &ev)) return;
    wire_print(&wire_session_spec, &sub->spec, &doc);
    if (doc.full) { /* a body that just fits, and what it left to our defaults */
        answer_now(m, c->req, 413, "too_large", "", "the submission is too long to be kept");
        return;
    }
    const struct effects *e = turns_step(m->turns, &ev);
    if (e->verdict != VERDICT_OK) {
        answer_verdict(m, c->req, e);
        return;
    }
    uint64_t id = e->session;
    keep_document(m, id, sub, strbuf_str(&doc));
    const struct session *s = world_session(turns_world(m->turns), id);
    CHECK(s != NULL);
    struct session_view v;
    view_live(m, s, &v);
    struct answer *a = answer_new(m, c->req, 201);
    text_fmt(a->location, sizeof(a->location), "/api/v1/sessions/%s", v.id);
    wire_print(&wire_session_view, &v, &a->body);
    wire_free(&wire_session_view, &v);
    answer_send(a);
}

/* What would become of it now: nothing is submitted, and nothing stored. */
static void check(struct api_call *c, const struct session_spec *spec)
{
    struct manager *m = c->m;
    struct world *w = turns_world(m->turns);
    struct effects fx = {0};
    struct session s;
    struct event ev;
    if (!submit_event(c, spec, &ev)) return;
    if (step_check(w, &ev, &fx, &s) != VERDICT_OK) {
        answer_verdict(m, c->req, &fx);
    } else {
        struct why_view v;
        view_why(m, c->user, &s, &v);
        answer_object(m, c->req, 200, &wire_why_view, &v);
        wire_free(&wire_why_view, &v);
    }
    effects_done(&fx);
}

void api_session_check(struct api_call *c)
{
    static const char *const known[] = {NULL};
    struct session_spec spec;
    if (!api_query_only(c, known) || !api_body(c, &wire_session_spec, &spec)) return;
    check(c, &spec);
    wire_free(&wire_session_spec, &spec);
}

void api_session_create(struct api_call *c)
{
    static const char *const known[] = {NULL};
    struct submission sub;
    if (!api_query_only(c, known) || !read_key(c, &sub.idem)) return;
    if (!is_new(c, &sub.idem)) return;
    if (!api_accepting(c)) return;
    if (!api_body(c, &wire_session_spec, &sub.spec)) return;
    submit(c, &sub);
    wire_free(&wire_session_spec, &sub.spec);
}

