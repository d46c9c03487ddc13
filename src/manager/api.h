/* manager/api.h - what handlers of requests have in common.
 *
 * A handler reads the request, steps or looks at the world, makes its answer,
 * and sends it by answer_send: it leaves when everything that it could have seen
 * is durable. */
#ifndef MANAGER_API_H
#define MANAGER_API_H
#include "base/strbuf.h"
#include "core/access.h"
#include "manager/manager.h"
#include "wire/table.h"

#define API_BODY_MAX ((size_t)32 << 20) /* of an answer */
#define API_LIMIT_MAX 1000
#define API_LIMIT_DEFAULT 100
#define API_WAIT_MAX_MS (10 * 60 * INT64_C(1000))

struct route;

struct api_call { /* lives for the call of the handler alone */
    struct manager *m;
    struct http_req *req;
    const struct route *route;
    uint32_t user;     /* whose token, 0: none was asked for */
    struct str id;     /* the {...} segment of the path */
};

struct answer {
    struct turn_wait wait;
    struct manager *m;
    struct http_req *req;
    int status;
    const char *content_type;
    struct strbuf body;
    char location[64]; /* "" : none */
};

struct answer *answer_new(struct manager *m, struct http_req *req, int status);
/* When all that is decided so far is durable; 503 when it got lost instead. */
void answer_send(struct answer *a);
/* The object as the answer's body, sent the same way. */
void answer_object(struct manager *m, struct http_req *req, int status,
                   const struct wire_table *table, const void *obj);
/* A refusal that rests on the world: waits as well.  field may be "". */
void answer_problem(struct manager *m, struct http_req *req, int status, const char *code,
                    const char *field, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* A refusal that rests on the request alone: at once. */
void answer_err(struct manager *m, struct http_req *req, const struct err *e);
void answer_now(struct manager *m, struct http_req *req, int status, const char *code,
                const char *field, const char *text);
/* What a verdict other than OK is answered with. */
void answer_verdict(struct manager *m, struct http_req *req, const struct effects *e);
void answer_lost(struct manager *m, struct http_req *req);

/* fn(m, req, arg) once all that is decided so far is durable; 503 when it is lost. */
void api_after(struct manager *m, struct http_req *req,
               void (*fn)(struct manager *m, struct http_req *req, void *arg), void *arg,
               void (*arg_free)(void *arg));

/* May what would be stored come in now?  False: answered 503. */
bool api_accepting(struct api_call *c);
/* Reads the body by its table; false: it has been answered. */
bool api_body(struct api_call *c, const struct wire_table *table, void *ret);
/* ?limit=: 1..1000; false: it has been answered. */
bool api_limit(struct api_call *c, uint32_t *ret);
/* ?name=N, a whole number from min to max; absent leaves *ret alone. */
bool api_number(struct api_call *c, const char *name, int64_t min, int64_t max, int64_t *ret);
/* Any other query parameter than these (NULL ends the list) is refused, and what is
 * there twice or cannot be decoded. */
bool api_query_only(struct api_call *c, const char *const *known);

/* ---- handlers, one file a noun ---- */
void api_session_create(struct api_call *c);
void api_session_check(struct api_call *c);
void api_session_list(struct api_call *c);
void api_session_show(struct api_call *c);
void api_session_why(struct api_call *c);
void api_session_history(struct api_call *c);
void api_session_use(struct api_call *c);
void api_use_list(struct api_call *c);
void api_node_use(struct api_call *c);
void api_session_stop(struct api_call *c);
void api_session_signal(struct api_call *c);
void api_session_update(struct api_call *c);
void api_session_requeue(struct api_call *c);
void api_session_ticket(struct api_call *c);
void api_queue_list(struct api_call *c);
void api_node_list(struct api_call *c);
void api_node_show(struct api_call *c);
void api_node_cordon(struct api_call *c);
void api_node_drain(struct api_call *c);
void api_node_uncordon(struct api_call *c);
void api_node_forget(struct api_call *c);
void api_orphan_list(struct api_call *c);
void api_orphan_end(struct api_call *c);
void api_silence_accept(struct api_call *c);
void api_node_device(struct api_call *c);
void api_group_list(struct api_call *c);
void api_group_show(struct api_call *c);
void api_group_put(struct api_call *c);
void api_reservation_list(struct api_call *c);
void api_reservation_show(struct api_call *c);
void api_reservation_create(struct api_call *c);
void api_reservation_remove(struct api_call *c);
void api_domain_list(struct api_call *c);
void api_domain_show(struct api_call *c);
void api_domain_create(struct api_call *c);
void api_domain_update(struct api_call *c);
void api_project_list(struct api_call *c);
void api_project_show(struct api_call *c);
void api_project_create(struct api_call *c);
void api_project_update(struct api_call *c);
void api_user_list(struct api_call *c);
void api_user_show(struct api_call *c);
void api_user_create(struct api_call *c);
void api_user_update(struct api_call *c);
void api_token_list(struct api_call *c);
void api_token_create(struct api_call *c);
void api_token_revoke(struct api_call *c);
void api_whoami(struct api_call *c);
void api_quota(struct api_call *c);
void api_event_stream(struct api_call *c);
void api_join_token(struct api_call *c);
void api_version(struct api_call *c);
void api_dump(struct api_call *c);
void api_snapshot(struct api_call *c);
void api_health(struct api_call *c);
void api_ready(struct api_call *c);
void api_metrics(struct api_call *c);
void api_agent_join(struct api_call *c);
void api_agent_renew(struct api_call *c);
void api_agent_sync(struct api_call *c);

#endif
