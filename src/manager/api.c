/* manager/api.c - answers that wait for durability, and reading of requests. */
#include "manager/api.h"
#include <stdarg.h>
#include "base/check.h"
#include "wire/objects.h"

#define PROBLEM_TYPE "application/problem+json"

static void count_status(struct manager *m, int status)
{
    CHECK(status >= 100 && status < 600);
    m->http.by_class[status / 100]++;
}

/* ---- refusals ---- */

static void problem_print(struct strbuf *out, int status, const char *code, const char *field,
                          const char *text)
{
    struct problem p;
    wire_init(&wire_problem, &p);
    TEXT_CLIP(p.type, STR("about:blank"));
    TEXT_CLIP(p.title, str_of(http_status_text(status)));
    p.status = (uint32_t)status;
    TEXT_CLIP(p.code, str_of(code));
    TEXT_CLIP(p.detail, str_of(text));
    TEXT_CLIP(p.field, str_of(field));
    wire_print(&wire_problem, &p, out);
}

void answer_now(struct manager *m, struct http_req *req, int status, const char *code,
                const char *field, const char *text)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    problem_print(&b, status, code, field, text);
    count_status(m, status);
    http_reply(req, status, PROBLEM_TYPE, strbuf_str(&b));
}

void answer_err(struct manager *m, struct http_req *req, const struct err *e)
{
    answer_now(m, req, http_status_of_err(e->code), err_code_name(e->code), e->field, e->text);
}

void answer_lost(struct manager *m, struct http_req *req)
{
    http_reply_header(req, "Retry-After", STR("1"));
    answer_now(m, req, 503, "unavailable", "",
               "the outcome is not known: ask again, with the same Idempotency-Key");
}

/* ---- answers that wait ---- */

static void answer_leave(struct turn_wait *w, enum turn_end end)
{
    struct answer *a = (struct answer *)(void *)((char *)w - offsetof(struct answer, wait));
    if (end == TURN_LOST) {
        answer_lost(a->m, a->req);
    } else if (a->body.full) {
        answer_now(a->m, a->req, 500, "limit", "", "the answer is too long: ask for less");
    } else {
        if (a->location[0]) http_reply_header(a->req, "Location", str_of(a->location));
        count_status(a->m, a->status);
        http_reply(a->req, a->status, a->content_type, strbuf_str(&a->body));
    }
    strbuf_done(&a->body);
    mem_free(a);
}

struct answer *answer_new(struct manager *m, struct http_req *req, int status)
{
    struct answer *a = mem_alloc(sizeof(*a));
    a->wait.fn = answer_leave;
    a->m = m;
    a->req = req;
    a->status = status;
    a->content_type = "application/json";
    strbuf_init(&a->body, API_BODY_MAX);
    return a;
}

void answer_send(struct answer *a) { turns_after(a->m->turns, &a->wait); }

void answer_object(struct manager *m, struct http_req *req, int status,
                   const struct wire_table *table, const void *obj)
{
    struct answer *a = answer_new(m, req, status);
    wire_print(table, obj, &a->body);
    answer_send(a);
}

void answer_problem(struct manager *m, struct http_req *req, int status, const char *code,
                    const char *field, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    struct strbuf b;
    strbuf_init(&b, sizeof(text));
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    text_clip(text, sizeof(text), strbuf_str(&b));
    strbuf_done(&b);
    struct answer *a = answer_new(m, req, status);
    a->content_type = PROBLEM_TYPE;
    problem_print(&a->body, status, code, field, text);
    answer_send(a);
}

static const struct { int status; const char *code; } verdict_answers[VERDICTS] = {
    [VERDICT_OK] = {200, "ok"},
    [VERDICT_NOT_FOUND] = {404, "not_found"},
    [VERDICT_NAME_TAKEN] = {409, "name_taken"},
    [VERDICT_BAD_VALUE] = {400, "invalid"},
    [VERDICT_IMPOSSIBLE] = {422, "impossible"},
    [VERDICT_OVER_LIMIT] = {422, "over_limit"},
    [VERDICT_DENIED] = {403, "denied"},
    [VERDICT_ENDED] = {409, "ended"},
    [VERDICT_NOT_RUNNING] = {409, "not_running"},
    [VERDICT_NOT_EMPTY] = {409, "conflict"},
    [VERDICT_TOO_LATE] = {409, "too_late"},
    [VERDICT_STALE] = {409, "conflict"},
    [VERDICT_FULL] = {503, "unavailable"},
};

void answer_verdict(struct manager *m, struct http_req *req, const struct effects *e)
{
    CHECK(e->verdict > VERDICT_OK && e->verdict < VERDICTS);
    int status = verdict_answers[e->verdict].status;
    /* What a submission refers to and does not exist is a wrong value of its field. */
    if (e->verdict == VERDICT_NOT_FOUND && e->field[0]) status = 400;
    const char *text = e->text[0] ? e->text : verdict_name(e->verdict);
    answer_problem(m, req, status, verdict_answers[e->verdict].code, e->field, "%s", text);
}

/* ---- doing something later ---- */

struct later {
    struct turn_wait wait;
    struct manager *m;
    struct http_req *req;
    void (*fn)(struct manager *m, struct http_req *req, void *arg);
    void *arg;
    void (*arg_free)(void *arg);
};

static void later_run(struct turn_wait *w, enum turn_end end)
{
    struct later *l = (struct later *)(void *)((char *)w - offsetof(struct later, wait));
    if (end == TURN_DURABLE && turns_world(l->m->turns)) l->fn(l->m, l->req, l->arg);
    else answer_lost(l->m, l->req);
    if (l->arg_free) l->arg_free(l->arg);
    mem_free(l);
}

void api_after(struct manager *m, struct http_req *req,
               void (*fn)(struct manager *m, struct http_req *req, void *arg), void *arg,
               void (*arg_free)(void *arg))
{
    struct later *l = mem_alloc(sizeof(*l));
    *l = (struct later){{later_run, NULL}, m, req, fn, arg, arg_free};
    turns_after(m->turns, &l->wait);
}

/* ---- reading requests ---- */

bool api_accepting(struct api_call *c)
{
    if (turns_accepting(c->m->turns)) return true;
    http_reply_header(c->req, "Retry-After", STR("1"));
    answer_now(c->m, c->req, 503, "unavailable", "",
               "the store is behind or full: ask again in a moment");
    return false;
}

bool api_body(struct api_call *c, const struct wire_table *table, void *ret)
{
    struct err err = {0};
    struct str body = c->req->body.n > 0 ? c->req->body : STR("{}");
    if (wire_parse_input(table, body, ret, &err) == 0) return true;
    answer_err(c->m, c->req, &err);
    return false;
}

bool api_number(struct api_call *c, const char *name, int64_t min, int64_t max, int64_t *ret)
{
    struct str text;
    if (!http_query(c->req, name, &text)) return true;
    int64_t v;
    if (str_to_i64(text, &v) && v >= min && v <= max) {
        *ret = v;
        return true;
    }
    char said[40], detail[160];
    text_clip(said, sizeof(said), str_is_utf8(text) ? text : STR("?"));
    text_fmt(detail, sizeof(detail), "%s: expected a whole number from %lld to %lld, got \"%s\"",
             name, (long long)min, (long long)max, said);
    answer_now(c->m, c->req, 400, "invalid", name, detail);
    return false;
}

bool api_limit(struct api_call *c, uint32_t *ret)
{
    int64_t v = API_LIMIT_DEFAULT;
    if (!api_number(c, "limit", 1, API_LIMIT_MAX, &v)) return false;
    *ret = (uint32_t)v;
    return true;
}

static bool refuse_parameter(struct api_call *c, struct str name, const char *what)
{
    char said[40], detail[160];
    text_clip(said, sizeof(said), str_is_utf8(name) ? name : STR("?"));
    text_fmt(detail, sizeof(detail), "\"%s\" %s", said, what);
    answer_now(c->m, c->req, 400, "invalid", said, detail);
    return false;
}

bool api_query_only(struct api_call *c, const char *const *known)
{
    struct str rest = c->req->query;
    uint32_t seen = 0;
    while (rest.n > 0) {
        struct str pair, name;
        str_cut(&rest, '&', &pair);
        if (pair.n == 0) continue;
        str_cut(&pair, '=', &name);
        uint32_t i = 0;
        while (known[i] && !str_eq(name, str_of(known[i]))) i++;
        CHECK(i < 32);
        if (!known[i]) return refuse_parameter(c, name, "is not a parameter of this request");
        if (seen & (1u << i)) return refuse_parameter(c, name, "is given twice");
        seen |= 1u << i;
        /* What cannot be read would count as not given, and a filter as none. */
        if (!http_query_is_sound(pair))
            return refuse_parameter(c, name, "has a value with a wrong escape");
    }
    return true;
}
