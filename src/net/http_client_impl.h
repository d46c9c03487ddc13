/* net/http_client_impl.h - a client and its calls, for http_client.c (connections
 * and answers) and http_call.c (requests, helpers, making and freeing). */
#ifndef NET_HTTP_CLIENT_IMPL_H
#define NET_HTTP_CLIENT_IMPL_H
#include "base/strbuf.h"
#include "net/http_client.h"

struct kept;

struct call_list {
    struct http_call *first, *last;
    uint32_t n;
};

enum call_kind { CALL_BUFFERED, CALL_STREAM, CALL_UPGRADE };

struct http_call {
    struct http_client *client; /* NULL: no longer in a list */
    struct call_list *list;
    struct http_call *prev, *next;
    enum call_kind kind;
    enum http_method method;
    struct net_conn *conn;
    struct net_timer *timer;
    struct strbuf out; /* the request, whole: it may have to be sent again */
    struct strbuf in;  /* the answer's head, and before it is complete what follows */
    struct strbuf body;
    struct http_scan scan;
    struct http_body decoder;
    size_t used, body_max;
    int64_t idle_ms;
    struct err early;  /* failed before it began */
    bool counted;      /* takes a place in the pool */
    bool idempotent, reused, opened, got_bytes, head_done;
    bool held, dead;   /* a callback of ours is on the stack; free it afterwards */
    void (*on_done)(void *arg, const struct http_answer *a);
    void (*on_upgrade)(void *arg, struct net_conn *conn, const struct http_answer *a);
    struct http_stream_ops stream;
    void *arg;
    char protocol[64];
    struct http_head head;
};

struct http_client {
    struct net_loop *loop;
    struct http_client_opts opts;
    struct call_list waiting, active, refused;
    uint32_t n_pooled; /* active calls that are counted */
    struct kept *kept;
    char addr[NET_ADDR_TEXT_MAX]; /* to dial */
    char host[NET_ADDR_TEXT_MAX]; /* of the Host header */
    char tls_name[256];
};

/* Puts the call in line, or (early.code set) lets it fail on a later turn. */
void http_call_start(struct http_call *k, int64_t timeout_ms);
void http_client_drop_kept(struct http_client *c);

#endif
