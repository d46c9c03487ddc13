/* net/http_server_impl.h - one connection of a server, for http_server.c (what
 * comes in, life) and http_reply.c (what goes out). */
#ifndef NET_HTTP_SERVER_IMPL_H
#define NET_HTTP_SERVER_IMPL_H
#include "base/strbuf.h"
#include "net/conn_impl.h"
#include "net/http_server.h"

enum hconn_phase {
    H_HEAD,   /* between requests, or within a head */
    H_BODY,   /* the head is complete, the body is not */
    H_WAIT,   /* the handler has it */
    H_STREAM, /* the answer has begun and goes on */
};

enum {
    REPLY_HEADERS_MAX = 8192,
    LATER_PAUSE = 16 * 1024, /* sent early by a client: then it has to wait */
    REPLY_LOW = 64 * 1024,
    REPLY_HIGH = 128 * 1024,
    REPLY_MAX = 256 * 1024 * 1024, /* of one answer that is not a stream */
};

struct hconn {
    struct http_req req; /* first: a request is found in its connection */
    struct http_server *srv; /* NULL: the server is gone, the handler is not */
    struct net_loop *loop;
    struct net_conn *conn;   /* NULL: the client is gone, the handler is not */
    struct hconn *prev, *next;
    enum hconn_phase phase;
    struct strbuf in;    /* this request from its first byte, and what follows it */
    struct strbuf body;  /* the body, where it was not whole in `in` */
    struct strbuf later; /* came while a request was being answered */
    struct strbuf extra; /* header lines of the answer */
    struct http_scan scan;
    size_t used;         /* bytes of `in` that belong to this request */
    size_t body_max;     /* of this request */
    struct http_body decoder;
    char *path;          /* decoded; path_cap bytes, kept between requests */
    size_t path_cap;
    char **owned;        /* decoded query values */
    uint32_t n_owned;
    void (*on_close)(struct http_req *r, void *arg);
    void *on_close_arg;
    void (*on_drain)(struct http_req *r, void *arg);
    void *on_drain_arg;
    bool held;      /* our own code is on the stack: free later */
    bool dead;      /* to be freed when no longer held */
    bool close_after, chunked, head_only, blocked, skipped_line, guarded;
    char peer[80], cn[65];
    struct http_head head;
};

struct http_server {
    struct net_loop *loop;
    struct net_listener *listener;
    struct http_server_opts opts;
    void (*handler)(void *arg, struct http_req *req);
    void *arg;
    struct hconn *conns;
    uint32_t n_conns, n_cut;
    size_t bodies;       /* bytes in the `body` of all connections */
    struct net_timer *stop_timer;
    void (*on_stopped)(void *arg, uint32_t cut);
    void *on_stopped_arg;
    bool stopping, stop_told;
    struct strbuf head;  /* scratch for one answer's head */
    struct strbuf text;  /* scratch for events and problems */
    int64_t date_s;      /* second that `date` tells */
    char date[40];
};

static inline struct hconn *hconn_of(struct http_req *r) { return (struct hconn *)r; }
static inline const struct hconn *hconn_of_const(const struct http_req *r)
{
    return (const struct hconn *)r;
}

/* The answer is complete: on to the next request, or the end. */
void hconn_request_done(struct hconn *h);
/* Forgets the connection (closed or handed over) and frees h as soon as possible. */
void hconn_free(struct hconn *h);
/* The client has left, or is cut off: tells the handler. */
void hconn_gone(struct hconn *h);
const char *http_server_date(struct http_server *s);

#endif
