/* proxy/front.c - see front.h.
 *
 * Life of a passage: DIALLING (the person's request is held, the agent is being
 * asked) -> RELAYING (both connections belong to a relay) -> gone.  Whoever leaves
 * first takes the other side along.  Every passage is in the list of its front. */
#include "proxy/front.h"
#include "base/check.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/log.h"
#include "net/tls.h"
#include "wire/carry.h"

#define PASSAGES_MAX 4096
#define CONNS_MAX 8192
#define DIAL_MS 10000

struct front {
    struct net_loop *loop;
    struct http_server *server;
    struct tls_ctx *agents;
    struct identity id;
    int64_t dial_ms;
    uint32_t live;
    struct passage *first;
};

struct passage {
    struct front *front;
    struct passage *next, *prev;
    struct http_req *req;       /* DIALLING */
    struct http_client *agent;  /* DIALLING */
    struct net_relay *relay;    /* RELAYING */
    char node[64];
};

static struct passage *passage_new(struct front *f, struct http_req *r, const char *node)
{
    struct passage *p = mem_alloc(sizeof(*p));
    p->front = f;
    p->req = r;
    TEXT_CLIP(p->node, str_of(node));
    p->next = f->first;
    if (f->first != NULL) f->first->prev = p;
    f->first = p;
    f->live++;
    return p;
}

static void passage_free(struct passage *p)
{
    if (p->prev != NULL) p->prev->next = p->next;
    else p->front->first = p->next;
    if (p->next != NULL) p->next->prev = p->prev;
    CHECK(p->front->live > 0);
    p->front->live--;
    http_client_free(p->agent);
    mem_free(p);
}

static void on_relay_done(void *arg, const struct net_relay_result *r)
{
    (void)r;
    passage_free(arg);
}

/* The person left while the agent was being dialled. */
static void on_req_close(struct http_req *r, void *arg)
{
    (void)r;
    passage_free(arg);
}

static void refuse(struct passage *p, int status, const char *code, const char *text)
{
    http_req_on_close(p->req, NULL, NULL);
    http_reply_problem(p->req, status, code, "%s", text);
    passage_free(p);
}

/* What the agent said instead of opening its door. */
static void refuse_as_agent(struct passage *p, const struct http_answer *a)
{
    struct err err = {0};
    if (a->status == 0) {
        refuse(p, 502, "unavailable", a->err->text);
        return;
    }
    http_answer_err(a, &err);
    http_req_on_close(p->req, NULL, NULL);
    if (a->status >= 400) {
        http_reply_problem(p->req, a->status, err_code_name(err.code), "%s", err.text);
    } else {
        http_reply_problem(p->req, 502, "unavailable", "the agent answered with status %d",
                           a->status);
    }
    passage_free(p);
}

static void on_dialled(void *arg, struct net_conn *conn, const struct http_answer *a)
{
    struct passage *p = arg;
    char cn[96];
    if (conn == NULL) {
        refuse_as_agent(p, a);
        return;
    }
    identity_cn("agent", p->node, cn, sizeof(cn));
    if (!str_eq(net_conn_peer_cn(conn), str_of(cn))) {
        net_conn_close(conn);
        refuse(p, 502, "unavailable", "another node answers at the address of the ticket");
        return;
    }
    http_req_on_close(p->req, NULL, NULL);
    struct net_conn *person = http_upgrade(p->req, CARRY_UPGRADE);
    p->req = NULL;
    if (person == NULL) {
        net_conn_close(conn);
        passage_free(p);
        return;
    }
    http_client_free(p->agent); /* it gave the connection away */
    p->agent = NULL;
    p->relay = net_conn_relay(person, conn, 0, on_relay_done, p);
}

static void dial(struct front *f, struct http_req *r, const struct ticket *t, struct str ticket)
{
    char origin[96];
    struct err err = {0};
    struct passage *p = passage_new(f, r, t->node);
    http_req_on_close(r, on_req_close, p);
    text_fmt(origin, sizeof(origin), "https://%s", t->addr);
    p->agent = http_client_new(f->loop, str_of(origin),
                               &(struct http_client_opts){.tls = f->agents, .conns_max = 1,
                                                          .connect_ms = f->dial_ms},
                               &err);
    if (p->agent == NULL) {
        refuse(p, 502, "unavailable", err.text);
        return;
    }
    const struct http_header headers[] = {{STR(CARRY_TICKET_HEADER), ticket}};
    http_call_upgrade(p->agent,
                      &(struct http_request){.method = "GET", .target = r->target,
                                             .headers = headers, .n_headers = 1,
                                             .timeout_ms = f->dial_ms},
                      CARRY_UPGRADE, on_dialled, p);
}

static void on_carry(struct front *f, struct http_req *r, enum ticket_action action)
{
    struct ticket t;
    struct err err = {0};
    struct str text = http_header(r, CARRY_TICKET_HEADER);
    if (!http_wants_upgrade(r, CARRY_UPGRADE)) {
        http_reply_problem(r, 426, "invalid", "an upgrade to " CARRY_UPGRADE " is required");
    } else if (text.p == NULL) {
        http_reply_problem(r, 401, "unauthorized", "a ticket is required: ask the manager for one");
    } else if (ticket_verify(text, f->id.ticket_key, f->id.cluster, net_wall_ms() / 1000, &t,
                             &err) != 0) {
        http_reply_err(r, &err);
    } else if (t.action != action) {
        http_reply_problem(r, 403, "denied", "the ticket permits %s alone",
                           ticket_action_name(t.action));
    } else if (f->live >= PASSAGES_MAX) {
        http_reply_problem(r, 503, "unavailable", "this proxy carries as many streams as it can");
    } else {
        dial(f, r, &t, text);
    }
}

static void on_request(void *arg, struct http_req *r)
{
    struct front *f = arg;
    const struct str prefix = STR("/carry/v1/");
    enum ticket_action action;
    if (r->method != HTTP_GET && r->method != HTTP_HEAD) {
        http_reply_problem(r, 405, "invalid", "only GET is served here");
    } else if (str_eq(r->path, STR("/healthz"))) {
        http_reply(r, 200, "text/plain", STR("ok\n"));
    } else if (r->method == HTTP_GET && str_starts(r->path, prefix) &&
               ticket_action_parse(str_n(r->path.p + prefix.n, r->path.n - prefix.n), &action)) {
        on_carry(f, r, action);
    } else {
        http_reply_problem(r, 404, "not_found", "nothing is served at this path");
    }
}

struct front *front_new(struct net_loop *loop, const struct front_opts *o, struct err *err)
{
    struct front *f = mem_alloc(sizeof(*f));
    f->loop = loop;
    f->id = o->identity;
    f->dial_ms = o->dial_ms > 0 ? o->dial_ms : DIAL_MS;
    f->agents = tls_ctx_ref(o->agents);
    f->server = http_server_listen(loop, str_of(o->listen),
                                   &(struct http_server_opts){.tls = o->tls, .conns_max = CONNS_MAX,
                                                              .body_max = 4096},
                                   on_request, f, err);
    if (f->server == NULL) {
        tls_ctx_free(f->agents);
        mem_free(f);
        return NULL;
    }
    return f;
}

void front_free(struct front *f)
{
    if (f == NULL) return;
    while (f->first != NULL) {
        struct passage *p = f->first;
        if (p->req != NULL) {
            refuse(p, 503, "unavailable", "this proxy is ending: ask again");
            continue;
        }
        if (p->relay != NULL) net_relay_close(p->relay);
        passage_free(p);
    }
    http_server_free(f->server);
    tls_ctx_free(f->agents);
    mem_free(f);
}

struct str front_addr(const struct front *f) { return http_server_addr(f->server); }
uint32_t front_live(const struct front *f) { return f->live; }
