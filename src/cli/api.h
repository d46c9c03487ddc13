/* cli/api.h - the manager's API, one call after the other.
 *
 * A failure is one sentence that says what to do.  Calls may be repeated while
 * the manager is away; that is safe because a submission carries its key. */
#ifndef CLI_API_H
#define CLI_API_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/strbuf.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "wire/objects.h"

struct api;

/* context NULL: the one in force.  The loop is the caller's. */
struct api *api_open(struct net_loop *l, const char *context, struct err *err);
/* For code that knows where and as whom already; ca_sha256 "": no pin. */
struct api *api_open_at(struct net_loop *l, const char *url, const char *token,
                        const char *ca_sha256, struct err *err);
void api_close(struct api *a); /* NULL is fine */
const char *api_url(const struct api *a);
struct net_loop *api_loop(const struct api *a);
struct tls_ctx *api_tls(const struct api *a); /* NULL when the manager is reached without */

struct api_request {
    const char *method;    /* NULL: "GET" */
    const char *target;
    struct str body;       /* JSON; p NULL: none */
    const char *key;       /* Idempotency-Key, or NULL */
    int64_t timeout_ms;    /* 0: 30 s */
    int64_t patience_ms;   /* tries again while the manager is away; 0: once */
};
struct api_result {
    int status;            /* 0: no answer */
    char code[32];         /* of a problem: "not_found"; "" otherwise */
};
/* Waits for the answer.  0 for 2xx, the body is appended to ret_body (may be NULL). */
int api_call(struct api *a, const struct api_request *rq, struct strbuf *ret_body,
             struct api_result *ret, struct err *err);
/* The same, parsed. */
int api_get(struct api *a, const char *target, const struct wire_table *table, void *ret_obj,
            struct err *err);
int api_parse(const struct wire_table *table, struct str body, void *ret_obj, struct err *err);

/* Does not wait: done is called once on a later turn.  status 0: err says why. */
typedef void api_done(void *arg, const struct api_result *r, struct str body,
                      const struct err *err);
struct api_pending;
struct api_pending *api_send(struct api *a, const struct api_request *rq, api_done *done,
                             void *arg);
void api_cancel(struct api_pending *p); /* NULL is fine; no callback comes */

/* Escapes one path or query part. */
void api_escape(struct strbuf *b, struct str part);
/* Is a failure of this kind worth another try? */
bool api_worth_retry(const struct api_result *r);
/* 32 random hex digits. */
void api_new_key(char ret[33]);

#endif
