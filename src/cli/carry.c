/* cli/carry.c - from a session's name to frames of its container.
 *
 * Three steps, each of which may fail: the ticket, the upgrade at the proxy, and
 * the stream itself.  Frames come in any slices of the stream: whole ones are
 * delivered in place, the torn rest waits in a buffer of one frame. */
#include "cli/carry.h"

struct carry {
    struct api *api;
    const struct carry_ops *ops;
    void *arg;
    char session[128], action[16], query[64];
    uint32_t member;
    struct api_pending *asking;
    struct http_client *proxy;
    struct http_call *upgrading;
    struct net_conn *conn;
    struct strbuf rest;
    bool ask;
    bool paused, *freed; /* freed: told when an on_frame frees us */
};

static void over(struct carry *c, const char *code, int err_code, const char *text)
{
    struct err why = {0};
    err_set(&why, err_code, "%s", text);
    c->ops->on_over(c->arg, code, &why);
}

/* ---- frames ---- */

/* Delivers whole frames; returns bytes used, or -1 when c is gone. */
static ssize_t deliver(struct carry *c, struct str data)
{
    size_t used = 0;
    bool freed = false;
    while (data.n - used >= CARRY_HEAD) {
        enum carry_type type;
        uint32_t n = 0;
        struct err why = {0};
        const uint8_t *head = (const uint8_t *)data.p + used;
        if (carry_head_get(head, CARRY_FROM_AGENT, &type, &n, &why) < 0) {
            over(c, "", ERR_INVALID, why.text);
            return -1;
        }
        if (data.n - used - CARRY_HEAD < n) break;
        c->freed = &freed;
        c->ops->on_frame(c->arg, type, str_n(data.p + used + CARRY_HEAD, n));
        if (freed) return -1;
        c->freed = NULL;
        used += CARRY_HEAD + n;
    }
    return (ssize_t)used;
}

static void on_data(struct net_conn *conn, struct str data, void *arg)
{
    (void)conn;
    struct carry *c = arg;
    if (c->rest.n > 0) {
        strbuf_put(&c->rest, data);
        ssize_t n = deliver(c, strbuf_str(&c->rest));
        if (n > 0) strbuf_drop(&c->rest, (size_t)n);
        return;
    }
    ssize_t n = deliver(c, data);
    if (n >= 0) strbuf_put(&c->rest, str_n(data.p + n, data.n - (size_t)n));
}

static void on_drain(struct net_conn *conn, void *arg)
{
    (void)conn;
    struct carry *c = arg;
    if (c->ops->on_drain) c->ops->on_drain(c->arg);
}

static void on_close(struct net_conn *conn, const struct err *why, void *arg)
{
    (void)conn;
    struct carry *c = arg;
    c->conn = NULL;
    over(c, why ? "" : "closed", ERR_UNAVAILABLE,
         why ? why->text : "the connection to the container ended");
}

static const struct net_conn_ops conn_ops = {
    .on_data = on_data, .on_drain = on_drain, .on_close = on_close,
};

/* ---- the way there ---- */

static void on_upgraded(void *arg, struct net_conn *conn, const struct http_answer *ans)
{
    struct carry *c = arg;
    c->upgrading = NULL;
    if (!conn) {
        struct err why = {0};
        if (http_answer_err(ans, &why) == 0)
            err_set(&why, ERR_UNAVAILABLE, "the proxy does not speak this protocol");
        bool later = ans->status == 0 || ans->status >= 500;
        over(c, "", later ? ERR_UNAVAILABLE : why.code, why.text);
        return;
    }
    if (c->ops->on_raw) {
        c->ops->on_raw(c->arg, conn);
        return;
    }
    c->conn = conn;
    net_conn_set_ops(conn, &conn_ops, c);
    if (!c->paused) net_conn_resume(conn);
    if (c->ops->on_open) c->ops->on_open(c->arg);
}

static void dial(struct carry *c, const struct ticket_answer *t)
{
    struct err why = {0};
    struct http_client_opts opts = {.tls = api_tls(c->api), .conns_max = 1, .connect_ms = 5000};
    c->proxy = http_client_new(api_loop(c->api), str_of(t->proxy_url), &opts, &why);
    if (!c->proxy) {
        over(c, "", why.code, why.text);
        return;
    }
    char target[192];
    text_fmt(target, sizeof(target), "/carry/v1/%s?member=%u%s%s", c->action, c->member,
             c->query[0] ? "&" : "", c->query);
    struct http_header ticket = {STR(CARRY_TICKET_HEADER), str_of(t->ticket)};
    struct http_request rq = {
        .method = "GET", .target = str_of(target), .headers = &ticket, .n_headers = 1,
        .timeout_ms = 15000,
    };
    c->upgrading = http_call_upgrade(c->proxy, &rq, CARRY_UPGRADE, on_upgraded, c);
}

static void on_ticket(void *arg, const struct api_result *r, struct str body,
                      const struct err *err)
{
    struct carry *c = arg;
    c->asking = NULL;
    if (r->status < 200 || r->status >= 300) {
        int code = api_worth_retry(r) ? ERR_UNAVAILABLE : err->code;
        over(c, r->code, code, err->text);
        return;
    }
    struct ticket_answer t;
    struct err why = {0};
    if (api_parse(&wire_ticket_answer, body, &t, &why) < 0) {
        over(c, "", why.code, why.text);
        return;
    }
    bool ask = c->ask;
    if (!ask) dial(c, &t);
    wire_free(&wire_ticket_answer, &t);
    if (ask) c->ops->on_raw(c->arg, NULL);
}

struct carry *carry_open(struct api *a, const struct carry_target *target,
                         const struct carry_ops *ops, void *arg)
{
    struct carry *c = mem_alloc(sizeof(*c));
    *c = (struct carry){.api = a, .ops = ops, .arg = arg, .member = target->member,
                        .ask = target->ask};
    text_fmt(c->session, sizeof(c->session), "%s", target->session);
    text_fmt(c->action, sizeof(c->action), "%s", target->action);
    text_fmt(c->query, sizeof(c->query), "%s", target->query);
    strbuf_init(&c->rest, 1024 * 1024);
    AUTO_STRBUF struct strbuf path;
    strbuf_init(&path, 1024);
    strbuf_puts(&path, "/api/v1/sessions/");
    api_escape(&path, str_of(c->session));
    strbuf_puts(&path, "/tickets");
    char body[64];
    text_fmt(body, sizeof(body), "{\"action\":\"%s\",\"member\":%u}", c->action, c->member);
    struct api_request rq = {.method = "POST", .target = path.p, .body = str_of(body)};
    c->asking = api_send(a, &rq, on_ticket, c);
    return c;
}

void carry_free(struct carry *c)
{
    if (!c) return;
    if (c->freed) *c->freed = true;
    api_cancel(c->asking);
    if (c->upgrading) http_call_cancel(c->upgrading);
    net_conn_close(c->conn);
    http_client_free(c->proxy);
    strbuf_done(&c->rest);
    mem_free(c);
}

bool carry_send(struct carry *c, enum carry_type type, struct str payload)
{
    if (!c->conn) return true;
    bool more = true;
    do {
        uint32_t n = payload.n > CARRY_PAYLOAD_MAX ? CARRY_PAYLOAD_MAX : (uint32_t)payload.n;
        uint8_t head[CARRY_HEAD];
        carry_head_put(head, type, n);
        struct str parts[2] = {str_n((const char *)head, CARRY_HEAD), str_n(payload.p, n)};
        more = net_conn_writev(c->conn, parts, n > 0 ? 2 : 1);
        payload = str_n(payload.p + n, payload.n - n);
    } while (payload.n > 0);
    return more;
}

void carry_pause(struct carry *c)
{
    c->paused = true;
    if (c->conn) net_conn_pause(c->conn);
}

void carry_resume(struct carry *c)
{
    c->paused = false;
    if (c->conn) net_conn_resume(c->conn);
}
