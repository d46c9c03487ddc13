/* net/http_server.h - an HTTP/1.1 server whose handlers may answer later.
 *
 * A connection carries one request at a time; pipelined ones wait their turn.
 * The handler gets a request with its whole body and ends it exactly once, now
 * or on a later turn: http_reply*, http_stream_end/abort, or http_upgrade.
 * After that the request is gone.
 *
 * When the client leaves first: with http_req_on_close set, the callback comes
 * once and the request is gone when it returns (forget it there); without, the
 * request stays valid, and answering it just releases it.
 *
 * Clients cannot hold us up: heads, bodies, pauses and unread answers each have
 * a deadline on silence, heads and bodies one on the whole as well; heads, bodies,
 * all bodies together and queues have a size, connections a number. */
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "net/conn.h"
#include "net/http_parse.h"
#include "net/loop.h"

struct http_server;
struct tls_ctx;

struct http_req;

struct http_server_opts {        /* zeroed fields take the default */
    struct tls_ctx *tls;         /* NULL: plain; reference taken */
    struct net_listen_opts listen;
    size_t body_max;             /* 1 MiB; more is answered 413 */
    /* Asked before a body is read (`arg` is the handler's; there is no path yet): how
     * much is taken from this client, where that is less.  NULL: body_max from all. */
    size_t (*body_limit)(void *arg, const struct http_req *req);
    size_t bodies_max;           /* 256 MiB of all bodies held at once; more is answered 503 */
    int64_t head_ms;             /* 10 s for a whole head */
    int64_t body_idle_ms;        /* 30 s of silence within a body */
    int64_t body_ms;             /* 120 s for a whole body */
    int64_t keepalive_ms;        /* 75 s between requests */
    int64_t write_idle_ms;       /* 60 s in which the client takes nothing of the answer */
    uint32_t conns_max;          /* 8192; more wait in the backlog */
    size_t stream_max;           /* 1 MiB queued in a stream, then the client is cut off */
};

struct http_req { /* for the handler to read; `user` is its own */
    enum http_method method;
    struct str method_text;
    struct str path;     /* decoded, begins with '/', no "." or ".." segments, no NUL */
    struct str target;   /* as sent */
    struct str query;    /* as sent, without '?' */
    struct str body;
    struct str peer;     /* "10.0.0.1:4711", "unix:uid=0,pid=7" */
    struct str tls_cn;   /* verified client certificate's common name, else "" */
    bool is_tls;
    bool is_unix;
    void *user;
    const struct http_head *head;
};

/* Listens on addr (see net/addr.h) and calls handler(arg, req) for each request
 * when it is complete.  opts may be NULL.  NULL on failure, err says why. */
struct http_server *http_server_listen(struct net_loop *l, struct str addr,
                                       const struct http_server_opts *opts,
                                       void (*handler)(void *arg, struct http_req *req),
                                       void *arg, struct err *err);
struct str http_server_addr(const struct http_server *s);
uint16_t http_server_port(const struct http_server *s);
struct net_listener *http_server_listener(struct http_server *s);
uint32_t http_server_conns(const struct http_server *s);
/* Accepts no more, ends idle connections, lets requests finish for drain_ms, then
 * cuts the rest; on_done (may be NULL) when the last is gone, with how many were
 * cut.  Streams do not count as unfinished work that is waited for beyond drain_ms. */
void http_server_stop(struct http_server *s, int64_t drain_ms,
                      void (*on_done)(void *arg, uint32_t cut), void *arg);
/* At once.  Requests still open get their on_close first.  NULL is fine. */
void http_server_free(struct http_server *s);

/* ---- reading a request ---- */
struct str http_header(const struct http_req *r, const char *name); /* p NULL: absent */
/* The decoded value; valid as long as the request. */
bool http_query(struct http_req *r, const char *name, struct str *ret);
struct net_loop *http_req_loop(const struct http_req *r);
bool http_req_gone(const struct http_req *r); /* the client has left */
void http_req_on_close(struct http_req *r, void (*fn)(struct http_req *r, void *arg), void *arg);

/* ---- answering ---- */
/* Before the answer.  Control bytes in the value become spaces; at most 8 KiB in all. */
void http_reply_header(struct http_req *r, const char *name, struct str value);
/* content_type NULL: none.  The body is copied.  HEAD gets the length alone. */
void http_reply(struct http_req *r, int status, const char *content_type, struct str body);
void http_reply_json(struct http_req *r, int status, struct str body);
/* RFC 9457: {"type","title","status","code","detail"[,"field"]}. */
void http_reply_problem(struct http_req *r, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void http_reply_err(struct http_req *r, const struct err *e); /* status from e->code */
int http_status_of_err(int err_code);

/* ---- streaming ---- */
/* Chunked; each write leaves at once.  False: more is queued than is good, wait
 * for on_drain (or drop what can be dropped).  Beyond stream_max queued bytes the
 * client is cut off and on_close comes. */
void http_stream_start(struct http_req *r, int status, const char *content_type);
bool http_stream_write(struct http_req *r, struct str data);
size_t http_stream_queued(const struct http_req *r);
void http_stream_on_drain(struct http_req *r, void (*fn)(struct http_req *r, void *arg), void *arg);
void http_stream_end(struct http_req *r);
void http_stream_abort(struct http_req *r); /* the client must not take it for whole */

/* Server-sent events: start, then events; `id` and `event` may be empty, data may
 * have lines.  A comment (": ...") keeps a silent stream alive. */
void http_sse_start(struct http_req *r);
bool http_sse_event(struct http_req *r, struct str id, struct str event, struct str data);
bool http_sse_comment(struct http_req *r, struct str text);

/* ---- leaving HTTP ---- */
/* Does the request ask to upgrade to this protocol? */
bool http_wants_upgrade(const struct http_req *r, const char *protocol);
/* Answers 101 and hands the connection over: paused, without deadlines, bytes that
 * came early are put back.  Set ops, then resume.  NULL when the client has left
 * (the request is gone all the same). */
struct net_conn *http_upgrade(struct http_req *r, const char *protocol);

#endif
