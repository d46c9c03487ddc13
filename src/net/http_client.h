/* net/http_client.h - calls to one origin over a small pool of kept connections.
 *
 * A call ends exactly once by its callback, or silently by http_call_cancel.
 * Nothing is followed (no redirects) and nothing is decoded but chunks.  A call on a
 * reused connection that turns out dead before any byte of the answer came is
 * sent again once on a fresh one, when its method is idempotent. */
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "net/conn.h"
#include "net/http_parse.h"
#include "net/loop.h"

struct http_client;
struct http_call; /* one call under way */
struct tls_ctx;

struct http_client_opts {   /* zeroed fields take the default */
    struct tls_ctx *tls;    /* needed for https; reference taken */
    const char *tls_name;   /* name to verify instead of the origin's host */
    uint32_t conns_max;     /* 16; calls beyond it wait in order */
    uint32_t waiting_max;   /* 4096; calls beyond it fail with ERR_UNAVAILABLE */
    int64_t connect_ms;     /* 10 s */
    int64_t keep_ms;        /* 30 s that an idle connection is kept */
    size_t body_max;        /* 64 MiB of a buffered answer */
};
/* origin: "http://host[:port]", "https://host[:port]", "unix:/path"; a path after
 * it is an error.  NULL on failure. */
struct http_client *http_client_new(struct net_loop *l, struct str origin,
                                    const struct http_client_opts *opts, struct err *err);
/* Calls under way are cancelled.  NULL is fine. */
void http_client_free(struct http_client *c);

struct http_request {            /* everything is copied by the call */
    const char *method;          /* "GET" */
    struct str target;           /* "/api/v1/x?y=z", already escaped */
    const char *content_type;    /* of the body, or NULL */
    struct str body;             /* p NULL: none */
    const struct http_header *headers; /* more of them; names must be tokens */
    uint32_t n_headers;
    int64_t timeout_ms;          /* for the whole buffered call; for a stream or an
                                  * upgrade until its head; 0: 30 s, < 0: none */
    int64_t idle_ms;             /* streams: silence that ends it; 0: no limit */
};

struct http_answer { /* valid during the callback */
    int status;                   /* 0 when there is no answer: see err */
    struct str body;
    const struct http_head *head; /* NULL when status is 0 */
    const struct err *err;        /* NULL when there is an answer */
};
struct str http_answer_header(const struct http_answer *a, const char *name);
/* Turns an answer that is no success into an err: the problem's code and detail
 * where it is problem+json in our own form, else the status.  0 for 2xx. */
int http_answer_err(const struct http_answer *a, struct err *err);

/* Buffered.  Never NULL: failures come by on_done on a later turn. */
struct http_call *http_call(struct http_client *c, const struct http_request *rq,
                            void (*on_done)(void *arg, const struct http_answer *a), void *arg);

struct http_stream_ops {
    /* The head has come; for a status other than 2xx the body follows like any. */
    void (*on_head)(void *arg, const struct http_head *h);
    void (*on_data)(void *arg, struct str data);
    /* err NULL: the body ended in order. */
    void (*on_end)(void *arg, const struct err *err);
};
struct http_call *http_call_stream(struct http_client *c, const struct http_request *rq,
                                   const struct http_stream_ops *ops, void *arg);
void http_call_pause(struct http_call *k);  /* streams: back-pressure */
void http_call_resume(struct http_call *k);

/* Asks for an upgrade on a fresh connection.  conn is NULL unless the answer was
 * 101 with that protocol: then it is the caller's, paused and without deadlines;
 * set ops, then resume.  Otherwise the answer tells why. */
struct http_call *http_call_upgrade(struct http_client *c, const struct http_request *rq,
                                    const char *protocol,
                                    void (*on_done)(void *arg, struct net_conn *conn,
                                                    const struct http_answer *a),
                                    void *arg);
/* No callback comes any more; the peer sees the connection close.  NULL is fine;
 * must not be used after the call's callback was called. */
void http_call_cancel(struct http_call *k);

/* ---- server-sent events ---- */
/* Cuts a stream into events; feed it from on_data.  Lines end in LF, CRLF or CR. */
struct http_sse;
struct http_sse *http_sse_new(size_t event_max,
                              void (*on_event)(void *arg, struct str id, struct str event,
                                               struct str data),
                              void *arg);
int http_sse_feed(struct http_sse *s, struct str data, struct err *err); /* ERR_LIMIT */
void http_sse_free(struct http_sse *s);

#endif
