/* manager/api_join.c - letting nodes and proxies in.
 *
 * A join token is proof enough for one certificate, of one name.  The token is
 * bound to that name in the same turn, before the answer leaves: a node whose
 * answer got lost asks again and gets another certificate; nobody else does. */
#include "base/check.h"
#include "manager/api.h"
#include "manager/beat.h"
#include "wire/objects.h"

/* ---- for people: making a token ---- */

struct join_token_request { int64_t valid_ms; };

static const struct wire_field join_token_fields[] = {
    WIRE_F_I64(struct join_token_request, valid_ms, "valid_ms", .alias = "valid",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 1000,
               .max = 7 * 24 * 60 * 60 * INT64_C(1000), .def = AUTH_JOIN_MS,
               .doc = "How long it may be used; an hour when absent."),
};
static const struct wire_table join_token_request =
    WIRE_TABLE("join token", struct join_token_request, join_token_fields);

void api_join_token(struct api_call *c)
{
    static const char *const none[] = {NULL};
    struct manager *m = c->m;
    struct join_token_request rq;
    if (!api_query_only(c, none) || !api_body(c, &join_token_request, &rq)) return;
    if (!api_accepting(c)) return;
    char text[AUTH_JOIN_TEXT];
    struct store_token token;
    int64_t wall_ms = net_wall_ms();
    auth_new_join(c->user, wall_ms, rq.valid_ms, m->authority.ca_sha256, &token, text);
    struct store_turn *turn = turns_open(m->turns);
    store_turn_op(turn, STORE_PUT_TOKEN)->u.token = token;
    auth_sweep(&m->auth, turn, wall_ms);
    auth_add(&m->auth, &token);
    struct join_token_answer answer;
    wire_init(&wire_join_token_answer, &answer);
    answer.token = text;
    TEXT_CLIP(answer.ca_sha256, str_of(m->authority.ca_sha256));
    TEXT_CLIP(answer.agent_url, str_of(m->agent_url));
    answer_object(m, c->req, 201, &wire_join_token_answer, &answer);
    mem_zero_secret(text, sizeof(text));
}

/* ---- for nodes and proxies: using one ---- */

static void bind_token(struct manager *m, const struct store_token *t, const char *cn)
{
    if (strcmp(t->name, cn) == 0) return;
    struct store_token bound = *t;
    bool fits = TEXT_SET(bound.name, str_of(cn));
    CHECK(fits);
    store_turn_op(turns_open(m->turns), STORE_PUT_TOKEN)->u.token = bound;
    auth_add(&m->auth, &bound);
}

static void admit(struct api_call *c, const struct join_request *rq, const char *cn,
                  const struct store_token *token)
{
    struct manager *m = c->m;
    struct err err = {0};
    struct join_answer answer;
    wire_init(&wire_join_answer, &answer);
    if (authority_sign(&m->authority, str_of(rq->csr), str_of(cn), &answer.cert, &err) != 0) {
        answer_now(m, c->req, 400, "invalid", "csr", err.text);
        return;
    }
    bind_token(m, token, cn);
    /* A machine that was set up anew counts on from its old life: what that one may
     * still say is older than anything the new one says. */
    if (strcmp(rq->role, "agent") == 0) answer.epoch = beat_epoch(m, str_of(rq->node));
    answer.protocol = WIRE_PROTOCOL;
    TEXT_CLIP(answer.cluster, str_of(m->cluster));
    TEXT_CLIP(answer.incarnation, str_of(m->incarnation));
    answer.ca = mem_strndup(m->authority.ca.cert, strlen(m->authority.ca.cert));
    TEXT_CLIP(answer.ticket_key, str_of(m->authority.ticket_key));
    log_event(LOG_INFO, "join", LOG_S("name", cn), LOG_STR("peer", c->req->peer));
    answer_object(m, c->req, 200, &wire_join_answer, &answer);
    wire_free(&wire_join_answer, &answer);
}

static void join(struct api_call *c, const struct join_request *rq)
{
    bool proxy = strcmp(rq->role, "proxy") == 0;
    char cn[sizeof(((const struct store_token *)0)->name)]; /* where the token keeps it */
    _Static_assert(sizeof(cn) <= PKI_CN_MAX + 1, "what is kept can be a common name");
    if (rq->protocol != WIRE_PROTOCOL) {
        answer_now(c->m, c->req, 400, "unsupported", "protocol", "this manager speaks protocol 1");
        return;
    }
    if (!proxy && strcmp(rq->role, "agent") != 0) {
        answer_now(c->m, c->req, 400, "invalid", "role", "role: expected agent or proxy");
        return;
    }
    if (strlen(rq->node) + sizeof("agent:") > sizeof(cn)) {
        answer_now(c->m, c->req, 400, "invalid", "node", "node: expected at most 57 characters");
        return;
    }
    text_fmt(cn, sizeof(cn), "%s:%s", proxy ? "proxy" : "agent", rq->node);
    const struct store_token *t =
        auth_join(&c->m->auth, str_of(rq->token), str_of(cn), net_wall_ms());
    if (!t) {
        log_event(LOG_WARN, "join.refused", LOG_S("name", cn), LOG_STR("peer", c->req->peer));
        answer_now(c->m, c->req, 401, "unauthorized", "token",
                   "the join token is wrong, has expired, or was used by another name");
        return;
    }
    admit(c, rq, cn, t);
}

void api_agent_join(struct api_call *c)
{
    struct join_request rq;
    if (!api_body(c, &wire_join_request, &rq)) return;
    join(c, &rq);
    wire_free(&wire_join_request, &rq);
}

/* Whoever shows a certificate that is still good gets another of the same name, and of no
 * other whatever the request says. */
void api_agent_renew(struct api_call *c)
{
    struct manager *m = c->m;
    struct renew_request rq;
    struct renew_answer answer = {0};
    struct err err = {0};
    struct str cn = c->req->tls_cn;
    if (!str_starts(cn, STR("agent:")) && !str_starts(cn, STR("proxy:"))) {
        answer_now(m, c->req, 403, "denied", "", "the certificate is no node's and no proxy's");
        return;
    }
    if (!api_body(c, &wire_renew_request, &rq)) return;
    if (authority_sign(&m->authority, str_of(rq.csr), cn, &answer.cert, &err) != 0) {
        answer_now(m, c->req, 400, "invalid", "csr", err.text);
    } else {
        log_event(LOG_INFO, "renew", LOG_STR("name", cn), LOG_STR("peer", c->req->peer));
        answer_object(m, c->req, 200, &wire_renew_answer, &answer);
    }
    wire_free(&wire_renew_answer, &answer);
    wire_free(&wire_renew_request, &rq);
}
