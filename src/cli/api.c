/* cli/api.c - calls to the manager and what their failures mean to a person. */
#include "cli/api.h"

#include <errno.h>
#include <sys/random.h>

#include "cli/context.h"
#include "net/tls.h"

enum { RETRY_FIRST_MS = 50, RETRY_MAX_MS = 2000, ANSWER_MAX = 1 << 30 };

struct api {
    struct net_loop *loop;
    struct http_client *client;
    struct tls_ctx *tls;
    struct context_target target;
    char bearer[CONTEXT_TOKEN_MAX + 16];
};

struct api_pending {
    struct api *api;
    struct http_call *call;
    api_done *done;
    void *arg;
};

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("0123456789abcdefABCDEF", s.p[i]) || !s.p[i]) return false;
    return s.n > 0;
}

static int make_tls(struct api *a, struct err *err)
{
    struct tls_client_opts o = {0};
    const char *pin = a->target.ca_sha256;
    if (pin[0]) {
        if (strlen(pin) != 2 * TLS_FINGERPRINT_BYTES || !is_hex(str_of(pin)))
            return err_set(err, ERR_INVALID, "ca_sha256 of %s: expected 64 hex digits",
                           a->target.from);
        o.has_pin = true;
        for (size_t i = 0; i < TLS_FINGERPRINT_BYTES; i++) {
            unsigned v = 0;
            for (size_t k = 0; k < 2; k++) {
                unsigned char c = (unsigned char)pin[2 * i + k];
                v = v << 4 | (c <= '9' ? c - 48u : (c | 0x20u) - 97u + 10u); /* is_hex */
            }
            o.pin[i] = (uint8_t)v;
        }
    }
    a->tls = tls_client_new(&o, err);
    return a->tls ? 0 : ERR_IO;
}

static int start_client(struct api *a, struct err *err)
{
    struct str url = str_of(a->target.url);
    while (url.n > 0 && url.p[url.n - 1] == '/') url.n--;
    a->target.url[url.n] = '\0';
    bool https = str_starts(url, STR("https://"));
    if (!https && !str_starts(url, STR("http://")) && !str_starts(url, STR("unix:")))
        return err_set(err, ERR_INVALID,
                       "the address '%.120s' (%.80s) is no URL: expected http://HOST:PORT or "
                       "https://HOST:PORT", a->target.url, a->target.from);
    int rc = https ? make_tls(a, err) : 0;
    if (rc < 0) return rc;
    struct http_client_opts opts = {.tls = a->tls, .connect_ms = 5000, .body_max = ANSWER_MAX};
    a->client = http_client_new(a->loop, url, &opts, err);
    if (!a->client) return err_prefix(err, "%s", a->target.from);
    if (a->target.token[0]) text_fmt(a->bearer, sizeof(a->bearer), "Bearer %s", a->target.token);
    return 0;
}

struct api *api_open(struct net_loop *l, const char *context, struct err *err)
{
    struct api *a = mem_alloc(sizeof(*a));
    a->loop = l;
    if (context_target(context, &a->target, err) == 0 && start_client(a, err) == 0) return a;
    api_close(a);
    return NULL;
}

struct api *api_open_at(struct net_loop *l, const char *url, const char *token,
                        const char *ca_sha256, struct err *err)
{
    struct api *a = mem_alloc(sizeof(*a));
    a->loop = l;
    TEXT_CLIP(a->target.from, str_of(url));
    if (!TEXT_SET(a->target.url, str_of(url)) || !TEXT_SET(a->target.token, str_of(token)) ||
        !TEXT_SET(a->target.ca_sha256, str_of(ca_sha256)))
        (void)err_set(err, ERR_INVALID, "the address, the token or the fingerprint is too long");
    else if (start_client(a, err) == 0) return a;
    api_close(a);
    return NULL;
}

void api_close(struct api *a)
{
    if (!a) return;
    http_client_free(a->client);
    tls_ctx_free(a->tls);
    context_target_done(&a->target);
    mem_zero_secret(a->bearer, sizeof(a->bearer));
    mem_free(a);
}

const char *api_url(const struct api *a) { return a->target.url; }

struct net_loop *api_loop(const struct api *a) { return a->loop; }

struct tls_ctx *api_tls(const struct api *a) { return a->tls; }

/* ---- what went wrong ---- */

static int unreachable(const struct api *a, const struct err *why, struct err *err)
{
    const char *text = why ? why->text : "no answer";
    bool local = strcmp(a->target.url, CONTEXT_DEFAULT_URL) == 0;
    bool stranger = strstr(text, "certificate is not accepted") != NULL;
    return err_set(err, ERR_UNAVAILABLE, "cannot reach the manager at %.80s (%.90s); %s",
                   a->target.url, text,
                   stranger ? "`rota login --ca-sha256` trusts an authority of your own"
                   : local  ? "`rotad dev` starts one here, ROTA_URL names another"
                            : "is it running, and is the address right?");
}

static int problem_err(const struct api *a, const struct http_answer *ans, struct api_result *ret,
                       struct err *err)
{
    struct problem *p = mem_alloc(sizeof(*p));
    struct str type = http_answer_header(ans, "Content-Type");
    bool ours = str_starts(type, STR("application/problem+json"));
    int code = ans->status == 404 ? ERR_NOT_FOUND
               : ans->status == 401 || ans->status == 403 ? ERR_DENIED
               : ans->status == 409 ? ERR_CONFLICT
               : ans->status == 502 || ans->status == 503 ? ERR_UNAVAILABLE
                                                           : ERR_INVALID;
    if (ours && wire_parse(&wire_problem, ans->body, p, NULL) == 0) {
        TEXT_CLIP(ret->code, str_of(p->code));
        if (ans->status == 401)
            err_set(err, code, "the manager at %.100s does not accept %s; `rota login` stores a "
                    "token", a->target.url, a->bearer[0] ? "this token" : "calls without a token");
        else
            err_set(err, code, "%s", p->detail[0] ? p->detail : p->title);
        if (err) TEXT_CLIP(err->field, str_of(p->field));
        wire_free(&wire_problem, p);
    } else {
        err_set(err, code, "%.100s answered %d, which is no answer of Rota's manager: is the "
                "address right?", a->target.url, ans->status);
    }
    mem_free(p);
    return code;
}

static int judge(const struct api *a, const struct http_answer *ans, struct api_result *ret,
                 struct err *err)
{
    *ret = (struct api_result){.status = ans->status};
    if (ans->status == 0) return unreachable(a, ans->err, err);
    if (ans->status >= 200 && ans->status < 300) return 0;
    return problem_err(a, ans, ret, err);
}

bool api_worth_retry(const struct api_result *r)
{
    return r->status == 0 || r->status == 502 || r->status == 503 || r->status == 504;
}

/* ---- calls ---- */

static void on_answer(void *arg, const struct http_answer *ans)
{
    struct api_pending *p = arg;
    struct err err = {0};
    struct api_result r;
    (void)judge(p->api, ans, &r, &err);
    p->done(p->arg, &r, ans->status ? ans->body : str_n(NULL, 0), &err);
    mem_free(p);
}

struct api_pending *api_send(struct api *a, const struct api_request *rq, api_done *done,
                             void *arg)
{
    struct api_pending *p = mem_alloc(sizeof(*p));
    *p = (struct api_pending){.api = a, .done = done, .arg = arg};
    struct http_header headers[2];
    uint32_t n = 0;
    if (a->bearer[0])
        headers[n++] = (struct http_header){STR("Authorization"), str_of(a->bearer)};
    if (rq->key) headers[n++] = (struct http_header){STR("Idempotency-Key"), str_of(rq->key)};
    struct http_request call = {
        .method = rq->method ? rq->method : "GET",
        .target = str_of(rq->target),
        .content_type = rq->body.p ? "application/json" : NULL,
        .body = rq->body,
        .headers = headers,
        .n_headers = n,
        .timeout_ms = rq->timeout_ms,
    };
    p->call = http_call(a->client, &call, on_answer, p);
    return p;
}

void api_cancel(struct api_pending *p)
{
    if (!p) return;
    http_call_cancel(p->call);
    mem_free(p);
}

struct waiting { /* for one answer */
    struct strbuf *body;
    struct api_result result;
    struct err err;
    bool done;
};

static void on_waited(void *arg, const struct api_result *r, struct str body,
                      const struct err *err)
{
    struct waiting *w = arg;
    w->result = *r;
    w->err = *err;
    if (w->body && r->status >= 200 && r->status < 300) strbuf_put(w->body, body);
    w->done = true;
}

int api_call(struct api *a, const struct api_request *rq, struct strbuf *ret_body,
             struct api_result *ret, struct err *err)
{
    int64_t until = net_now_ms() + rq->patience_ms, pause = RETRY_FIRST_MS;
    struct waiting w;
    for (;;) {
        w = (struct waiting){.body = ret_body};
        (void)api_send(a, rq, on_waited, &w);
        (void)net_loop_run_until(a->loop, &w.done, -1);
        if (!api_worth_retry(&w.result) || net_now_ms() + pause > until) break;
        bool never = false;
        (void)net_loop_run_until(a->loop, &never, pause);
        pause = pause * 2 < RETRY_MAX_MS ? pause * 2 : RETRY_MAX_MS;
    }
    if (ret) *ret = w.result;
    if (w.result.status >= 200 && w.result.status < 300) {
        if (ret_body && ret_body->full)
            return err_set(err, ERR_LIMIT, "the manager's answer is too long");
        return 0;
    }
    if (err) *err = w.err;
    return w.err.code ? w.err.code : ERR_IO;
}

int api_parse(const struct wire_table *table, struct str body, void *ret_obj, struct err *err)
{
    int rc = wire_parse(table, body, ret_obj, err);
    if (rc < 0)
        err_prefix(err, "the manager's answer cannot be read (is it of another version? see "
                   "`rota version`)");
    return rc;
}

int api_get(struct api *a, const char *target, const struct wire_table *table, void *ret_obj,
            struct err *err)
{
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, ANSWER_MAX);
    int rc = api_call(a, &(struct api_request){.target = target}, &body, NULL, err);
    if (rc == 0) rc = api_parse(table, strbuf_str(&body), ret_obj, err);
    return rc;
}

void api_escape(struct strbuf *b, struct str part)
{
    for (size_t i = 0; i < part.n; i++) {
        unsigned char c = (unsigned char)part.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("-._~", c));
        if (plain) strbuf_putc(b, (char)c);
        else strbuf_fmt(b, "%%%02X", c);
    }
}

void api_new_key(char ret[33])
{
    uint8_t bytes[16];
    for (size_t got = 0; got < sizeof(bytes);) {
        ssize_t n = getrandom(bytes + got, sizeof(bytes) - got, 0);
        if (n > 0) got += (size_t)n;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) text_fmt(ret + 2 * i, 3, "%02x", bytes[i]);
}
