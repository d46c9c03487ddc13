/* net/http_call.c - making clients, requests and sense of answers; see
 * http_client.h.
 *
 * A request is checked and written out whole when the call is made; one that
 * cannot be sent fails like any other call, by its callback. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/http_client_impl.h"
#include "net/http_server.h"
#include "net/tls.h"

enum { REQUEST_MAX = 256 * 1024 * 1024, IN_MAX = 512 * 1024 };

/* ---- clients ---- */

static int set_origin(struct http_client *c, struct str origin, struct err *err)
{
    struct net_addr a;
    if (str_starts(origin, STR("unix:"))) {
        (void)TEXT_SET(c->host, STR("localhost"));
        if (net_addr_parse(origin, 0, &a, err) != 0) return err != NULL ? err->code : ERR_INVALID;
        return TEXT_SET(c->addr, origin) ? 0 : err_set(err, ERR_LIMIT, "the path is too long");
    }
    bool tls = str_starts(origin, STR("https://"));
    if (!tls && !str_starts(origin, STR("http://")))
        return err_set(err, ERR_INVALID, "expected http://, https:// or unix:");
    if (tls != (c->opts.tls != NULL))
        return err_set(err, ERR_INVALID, tls ? "https needs to know whom to trust"
                                             : "http has no use for TLS settings");
    struct str rest = str_n(origin.p + (tls ? 8 : 7), origin.n - (tls ? 8 : 7));
    if (rest.n > 0 && rest.p[rest.n - 1] == '/') rest.n--;
    if (rest.n == 0 || rest.p[0] == ':' || rest.p[0] == '*')
        return err_set(err, ERR_INVALID, "expected a host");
    uint16_t port = tls ? 443 : 80;
    int rc = net_addr_parse(rest, port, &a, err);
    if (rc != 0) return rc;
    if (a.kind != NET_ADDR_IP && a.kind != NET_ADDR_NAME)
        return err_set(err, ERR_INVALID, "expected a host and a port");
    (void)TEXT_SET(c->host, rest);
    bool v6 = a.kind == NET_ADDR_IP && a.sa.ss_family == AF_INET6;
    int n = snprintf(c->addr, sizeof(c->addr), "%s%s%s:%u", v6 ? "[" : "", a.host, v6 ? "]" : "",
                     (unsigned)a.port);
    CHECK(n > 0);
    CHECK((size_t)n < sizeof(c->addr));
    return 0;
}

struct http_client *http_client_new(struct net_loop *l, struct str origin,
                                    const struct http_client_opts *opts, struct err *err)
{
    struct http_client *c = mem_alloc(sizeof(*c));
    struct http_client_opts *o = &c->opts;
    if (opts != NULL) *o = *opts;
    if (o->conns_max == 0) o->conns_max = 16;
    if (o->waiting_max == 0) o->waiting_max = 4096;
    if (o->keep_ms == 0) o->keep_ms = 30000;
    if (o->body_max == 0) o->body_max = 64 * 1024 * 1024;
    if (o->tls_name != NULL) (void)TEXT_SET(c->tls_name, str_of(o->tls_name));
    o->tls_name = NULL; /* borrowed */
    c->loop = l;
    if (set_origin(c, origin, err) != 0) {
        mem_free(c);
        return NULL;
    }
    o->tls = tls_ctx_ref(o->tls);
    return c;
}

void http_client_free(struct http_client *c)
{
    if (c == NULL) return;
    c->opts.conns_max = 0; /* nothing begins any more */
    while (c->active.first != NULL) http_call_cancel(c->active.first);
    while (c->waiting.first != NULL) http_call_cancel(c->waiting.first);
    while (c->refused.first != NULL) http_call_cancel(c->refused.first);
    http_client_drop_kept(c);
    tls_ctx_free(c->opts.tls);
    mem_free(c);
}

/* ---- requests ---- */

static bool clean(struct str s, bool spaces)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char ch = (unsigned char)s.p[i];
        if (ch < 0x20 || ch == 0x7f || (ch == ' ' && !spaces)) return false;
    }
    return true;
}

static void put_header(struct http_call *k, struct str name, struct str value)
{
    if (name.n == 0 || !clean(name, false) || !clean(value, true)) {
        (void)err_set(&k->early, ERR_INVALID, "a header of the request cannot be sent");
        return;
    }
    strbuf_put(&k->out, name);
    strbuf_puts(&k->out, ": ");
    strbuf_put(&k->out, value);
    strbuf_puts(&k->out, "\r\n");
}

static void write_request(struct http_call *k, const struct http_client *c,
                          const struct http_request *rq)
{
    struct strbuf *b = &k->out;
    struct str method = str_of(rq->method);
    if (rq->target.n == 0 || !clean(rq->target, false) || method.n == 0 || !clean(method, false))
        (void)err_set(&k->early, ERR_INVALID, "the request's target cannot be sent");
    strbuf_put(b, method);
    strbuf_putc(b, ' ');
    strbuf_put(b, rq->target);
    strbuf_puts(b, " HTTP/1.1\r\n");
    put_header(k, STR("Host"), str_of(c->host));
    if (rq->content_type != NULL) put_header(k, STR("Content-Type"), str_of(rq->content_type));
    for (uint32_t i = 0; i < rq->n_headers; i++)
        put_header(k, rq->headers[i].name, rq->headers[i].value);
    if (k->kind == CALL_UPGRADE) {
        strbuf_puts(b, "Connection: Upgrade\r\n");
        put_header(k, STR("Upgrade"), str_of(k->protocol));
    }
    bool sends = k->method == HTTP_POST || k->method == HTTP_PUT || k->method == HTTP_PATCH;
    if (rq->body.n > 0 || rq->body.p != NULL || sends) {
        strbuf_puts(b, "Content-Length: ");
        strbuf_u64(b, rq->body.n);
        strbuf_puts(b, "\r\n");
    }
    strbuf_puts(b, "\r\n");
    if (rq->body.n > 0) strbuf_put(b, rq->body);
    if (b->full) (void)err_set(&k->early, ERR_LIMIT, "the request is too large");
}

static struct http_call *call_new(struct http_client *c, const struct http_request *rq,
                                  enum call_kind kind, void *arg)
{
    struct http_call *k = mem_alloc(sizeof(*k));
    k->client = c;
    k->kind = kind;
    k->arg = arg;
    k->method = http_method_of(str_of(rq->method));
    k->idempotent = k->method == HTTP_GET || k->method == HTTP_HEAD || k->method == HTTP_PUT ||
                    k->method == HTTP_DELETE || k->method == HTTP_OPTIONS;
    k->idle_ms = rq->idle_ms;
    k->body_max = c->opts.body_max;
    strbuf_init(&k->out, REQUEST_MAX);
    strbuf_init(&k->in, IN_MAX);
    strbuf_init(&k->body, k->body_max);
    return k;
}

struct http_call *http_call(struct http_client *c, const struct http_request *rq,
                            void (*on_done)(void *arg, const struct http_answer *a), void *arg)
{
    struct http_call *k = call_new(c, rq, CALL_BUFFERED, arg);
    k->on_done = on_done;
    write_request(k, c, rq);
    http_call_start(k, rq->timeout_ms);
    return k;
}

struct http_call *http_call_stream(struct http_client *c, const struct http_request *rq,
                                   const struct http_stream_ops *ops, void *arg)
{
    struct http_call *k = call_new(c, rq, CALL_STREAM, arg);
    k->stream = *ops;
    write_request(k, c, rq);
    http_call_start(k, rq->timeout_ms);
    return k;
}

struct http_call *http_call_upgrade(struct http_client *c, const struct http_request *rq,
                                    const char *protocol,
                                    void (*on_done)(void *arg, struct net_conn *conn,
                                                    const struct http_answer *a),
                                    void *arg)
{
    struct http_call *k = call_new(c, rq, CALL_UPGRADE, arg);
    k->on_upgrade = on_done;
    if (!TEXT_SET(k->protocol, str_of(protocol)))
        (void)err_set(&k->early, ERR_INVALID, "the protocol's name is too long");
    write_request(k, c, rq);
    http_call_start(k, rq->timeout_ms);
    return k;
}

/* ---- answers ---- */

struct str http_answer_header(const struct http_answer *a, const char *name)
{
    if (a->head == NULL) return (struct str){NULL, 0};
    return http_head_get(a->head, str_of(name));
}

/* One text member of a flat JSON object as http_reply_problem writes it; escapes
 * other than the simple ones become '?'.  False if absent. */
static bool json_member(struct str json, const char *name, char *dst, size_t cap)
{
    char key[40];
    int n = text_fmt(key, sizeof(key), "\"%s\":\"", name);
    const char *at = json.n > 0 ? memmem(json.p, json.n, key, (size_t)n) : NULL;
    if (at == NULL) return false;
    const char *end = json.p + json.n;
    size_t put = 0;
    for (at += n; at < end && *at != '"' && put + 1 < cap; at++) {
        char c = *at;
        if (c == '\\') {
            if (++at == end) return false;
            c = *at;
            if (c == 'u') {
                if (end - at < 5) return false;
                at += 4;
                c = '?';
            } else if (c == 'n' || c == 'r' || c == 't') {
                c = ' ';
            }
        }
        dst[put++] = c;
    }
    dst[put] = '\0';
    return true;
}

static int code_of_status(int status)
{
    static const int codes[] = {ERR_INVALID, ERR_NOT_FOUND, ERR_CONFLICT, ERR_DENIED,
                                ERR_UNAVAILABLE, ERR_TIMEOUT, ERR_UNSUPPORTED};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (http_status_of_err(codes[i]) == status) return codes[i];
    if (status == 401) return ERR_DENIED;
    if (status == 413 || status == 429) return ERR_LIMIT;
    return status >= 500 ? ERR_UNAVAILABLE : ERR_INVALID;
}

int http_answer_err(const struct http_answer *a, struct err *err)
{
    if (a->err != NULL) {
        if (err != NULL) *err = *a->err;
        return a->err->code;
    }
    if (a->status >= 200 && a->status < 300) return 0;
    char detail[ERR_TEXT_MAX], field[64], name[32];
    int code = code_of_status(a->status);
    struct str type = http_answer_header(a, "Content-Type");
    if (!str_starts(type, STR("application/problem+json")) ||
        !json_member(a->body, "detail", detail, sizeof(detail)))
        return err_set(err, code, "the server answered %d %s", a->status,
                       http_status_text(a->status));
    if (json_member(a->body, "code", name, sizeof(name)))
        for (int c = ERR_INVALID; c >= ERR_UNSUPPORTED; c--)
            if (strcmp(err_code_name(c), name) == 0) code = c;
    (void)err_set(err, code, "%s", detail);
    if (json_member(a->body, "field", field, sizeof(field))) err_field(err, field);
    return code;
}
