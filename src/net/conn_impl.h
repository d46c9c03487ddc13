/* net/conn_impl.h - the inside of a connection, for the files of net/ alone.
 *
 * conn.c moves bytes and keeps the deadlines, dial.c brings a connection to
 * life, tls_filter.c is the second filter beside the plain one in conn.c. */
#ifndef NET_CONN_IMPL_H
#define NET_CONN_IMPL_H
#include <sys/types.h>
#include "base/strbuf.h"
#include "net/conn.h"
#include "net/loop_impl.h"

struct ssl_st;
struct addrinfo;
struct dial;

/* What a filter's read and write return when nothing moved. */
enum { NET_EOF = 0, NET_AGAIN = -1, NET_FAIL = -2 }; /* FAIL: c->err is set */

struct net_filter {
    ssize_t (*read)(struct net_conn *c, char *p, size_t n);
    ssize_t (*write)(struct net_conn *c, const char *p, size_t n);
    int (*handshake)(struct net_conn *c); /* 1, NET_AGAIN or NET_FAIL */
    int (*shutdown)(struct net_conn *c);  /* 1, NET_AGAIN or NET_FAIL */
    bool (*pending)(const struct net_conn *c); /* bytes already off the socket */
    void (*done)(struct net_conn *c);
};

enum conn_state { CONN_DIAL, CONN_HANDSHAKE, CONN_OPEN, CONN_CLOSED };

struct out_queue { /* one contiguous piece: [start, start + n) */
    char *p;
    size_t start, n, cap;
};

struct net_conn {
    uv_poll_t poll;
    uv_timer_t timer;
    struct net_loop *loop;
    struct net_conn_ops ops;
    void *arg;
    const struct net_filter *filter;
    struct ssl_st *ssl;
    struct tls_ctx *tls;
    struct dial *dial; /* while CONN_DIAL */
    int fd;
    enum conn_state state;
    uint8_t handles;        /* uv handles not yet closed; the memory goes with the last */
    bool server, poll_made, paused, eof, kicked, failed, open_due;
    bool was_full;          /* a write returned false: on_drain is owed */
    bool want_write;        /* the filter waits for room to write */
    bool shut_wanted, shut_done;
    bool finishing;         /* nobody owns it: flush, end, linger, close */
    int events;             /* what poll waits for now */
    struct out_queue out;
    struct strbuf unread;
    size_t low, high, max, discarded;
    int64_t idle_ms, last_ms, deadline_ms, timer_due;
    uint64_t bytes_in, bytes_out;
    struct err err;
    char peer[80];
    char cn[65];
    struct net_conn *orphan_prev, *orphan_next;
    /* Set by a relay that moves bytes past us: readable (false: read as usual), and
     * room to write after want_write was set. */
    bool (*splice_in)(struct net_conn *c);
    void (*splice_out)(struct net_conn *c);
};

/* Most that an owner may put back: a head and what came with it. */
#define NET_UNREAD_MAX ((size_t)512 * 1024)

extern const struct net_filter net_filter_plain;
extern const struct net_filter net_filter_tls;

struct net_conn *conn_make(struct net_loop *l, bool server, const struct net_conn_opts *opts,
                           const struct net_conn_ops *ops, void *arg);
void conn_release(struct net_conn *c); /* lets everything go, says nothing */
void conn_update(struct net_conn *c);  /* polls for what can move now */
void conn_kick(struct net_conn *c);    /* something is to be told on a later turn */
bool conn_read(struct net_conn *c);    /* true when something came.  Event only */
void conn_writable(struct net_conn *c); /* flushes and tells.  Event only */
/* The socket is connected: begins the handshake or opens.  From an event only. */
void conn_connected(struct net_conn *c);
void conn_poll_stop(struct net_conn *c);
void conn_set_fd(struct net_conn *c, int fd);
/* Ends it and says so: only where a callback may come. */
void conn_end(struct net_conn *c, const struct err *why);
/* The same from inside a call of the owner: c->err is set, on_close comes later. */
void conn_fail_later(struct net_conn *c);
int conn_tls_begin(struct net_conn *c, const char *name, struct err *err);
void dial_free(struct net_conn *c);

#endif
