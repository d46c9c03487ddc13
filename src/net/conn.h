/* net/conn.h - a byte stream, accepted or dialled: TCP or unix socket, plain or TLS.
 *
 * We own the descriptor and poll it; TLS is a filter stacked on the socket, so
 * that the code above does not know.  Memory is bounded in both directions:
 * reading goes through one buffer of the loop and can be paused, writing goes
 * straight to the socket and what it does not take into a queue with marks.
 *
 * Life: the owner closes (net_conn_close, net_conn_finish), or the connection
 * ends by itself and says so by on_close, exactly once, and is then gone when
 * on_close returns.  After the owner's own close no callback comes.  The
 * pointer stays readable until the end of the turn, never longer.
 * TCP_NODELAY is always set; a deadline on silence always holds unless 0. */
#ifndef NET_CONN_H
#define NET_CONN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "base/str.h"
#include "net/addr.h"
#include "net/loop.h"

struct net_conn;
struct tls_ctx;

struct net_conn_ops {
    /* Connected, and the TLS handshake is done.  May be NULL.  Writing before is
     * allowed: it is queued. */
    void (*on_open)(struct net_conn *c, void *arg);
    /* Bytes have come; all of them are the receiver's now (net_conn_unread gives
     * back).  `data` is valid during the call alone. */
    void (*on_data)(struct net_conn *c, struct str data, void *arg);
    /* The peer sends no more; we may go on writing.  NULL: treated as a close. */
    void (*on_eof)(struct net_conn *c, void *arg);
    /* The queue is below the low mark again after a write returned false. */
    void (*on_drain)(struct net_conn *c, void *arg);
    /* It is over.  why is NULL when the peer closed in order. */
    void (*on_close)(struct net_conn *c, const struct err *why, void *arg);
    /* Silence lasted too long, or the deadline came (both are then off until set
     * again).  NULL: closed with ERR_TIMEOUT. */
    void (*on_idle)(struct net_conn *c, void *arg);
};

/* ---- making ---- */
struct net_conn_opts {          /* zeroed is good: plain, defaults */
    struct tls_ctx *tls;        /* NULL: plain; borrowed, kept alive by reference */
    const char *tls_name;       /* dialling: name to verify and SNI; NULL: the host dialled */
    int64_t connect_ms;         /* name, connect and handshake together; 0: 10 s */
    int64_t idle_ms;            /* silence in both directions; 0: no limit */
};
/* Dials "host:port" or "unix:/path".  Failure to resolve or connect comes by
 * on_close; only a malformed address gives NULL and err. */
struct net_conn *net_dial(struct net_loop *l, struct str addr, const struct net_conn_opts *opts,
                          const struct net_conn_ops *ops, void *arg, struct err *err);
/* Takes a connected stream socket over (also when it fails: then it is closed).
 * server: our side of a TLS handshake.  Reads at once; pause it if that is early. */
struct net_conn *net_conn_adopt_fd(struct net_loop *l, int fd, bool server,
                                   const struct net_conn_opts *opts,
                                   const struct net_conn_ops *ops, void *arg);
/* Hands the connection to other callbacks, for example after an upgrade. */
void net_conn_set_ops(struct net_conn *c, const struct net_conn_ops *ops, void *arg);

/* ---- reading ---- */
void net_conn_pause(struct net_conn *c);  /* no on_data, on_eof until resumed */
void net_conn_resume(struct net_conn *c);
bool net_conn_paused(const struct net_conn *c);
/* Puts bytes back in front of what comes next (at most 512 KiB in all); they
 * come by on_data on a later turn, when not paused. */
void net_conn_unread(struct net_conn *c, struct str data);

/* ---- writing ---- */
/* True: go on.  False: the queue is above the high mark; the bytes are taken all
 * the same, but wait for on_drain.  Above `max` bytes the connection is given
 * up: on_close with ERR_LIMIT follows.  On a dying connection it does nothing. */
bool net_conn_write(struct net_conn *c, struct str data);
bool net_conn_writev(struct net_conn *c, const struct str *v, uint32_t n); /* n <= 16 */
/* Defaults: low 128 KiB, high 256 KiB, max 64 MiB. */
void net_conn_set_marks(struct net_conn *c, size_t low, size_t high, size_t max);
size_t net_conn_queued(const struct net_conn *c);

/* ---- ending ---- */
void net_conn_shutdown(struct net_conn *c); /* after the queue: end our direction */
void net_conn_finish(struct net_conn *c);   /* after the queue: close; owner is done with it.
                                             * Given up when nothing moves for 5 s. */
void net_conn_close(struct net_conn *c);    /* now; the queue is lost.  NULL is fine */
void net_conn_abort(struct net_conn *c);    /* now, so that the peer sees a failure (reset) */
/* Gives the descriptor back, blocking mode unchanged, and ends c.  Bytes read but
 * not delivered are put to *pending (NULL: there must be none).  -1 when that is
 * impossible: TLS, not yet open, or a queue that is not empty. */
struct strbuf;
int net_conn_release_fd(struct net_conn *c, struct strbuf *pending);

/* ---- deadlines and facts ---- */
void net_conn_set_idle(struct net_conn *c, int64_t ms); /* 0: none; counts from now */
/* Whatever moves meanwhile: on_idle (or the close) comes after ms; 0: none. */
void net_conn_set_deadline(struct net_conn *c, int64_t ms);
bool net_conn_is_open(const struct net_conn *c);        /* connected, not closing */
int net_conn_fd(const struct net_conn *c);
struct net_loop *net_conn_loop(const struct net_conn *c);
struct str net_conn_peer(const struct net_conn *c); /* "10.0.0.1:4711", "unix:uid=0,pid=7" */
/* Unix sockets only: who connected.  False elsewhere. */
bool net_conn_peer_cred(const struct net_conn *c, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid);
bool net_conn_is_tls(const struct net_conn *c);
/* Common name of the peer's verified certificate; "" when there is none. */
struct str net_conn_peer_cn(const struct net_conn *c);
uint64_t net_conn_bytes_in(const struct net_conn *c);
uint64_t net_conn_bytes_out(const struct net_conn *c); /* taken by the socket */

/* ---- relay ---- */
struct net_relay_result { uint64_t a_to_b, b_to_a; struct err err; /* code 0: in order */ };
struct net_relay;
/* Joins two open connections: every byte passes at once, reading one side stops
 * while the other does not take more, the end of one direction is passed on, and
 * the failure of one side ends both (the other is reset, so that a cut never
 * looks like an end).  Owns both from now.  on_done (may be NULL) comes once,
 * with both gone.  idle_ms: silence in both directions; 0 leaves none. */
struct net_relay *net_conn_relay(struct net_conn *a, struct net_conn *b, int64_t idle_ms,
                                 void (*on_done)(void *arg, const struct net_relay_result *r),
                                 void *arg);
void net_relay_close(struct net_relay *r); /* ends both at once; no on_done */

/* ---- listening ---- */
struct net_listener;
struct net_listen_opts {        /* zeroed is good */
    int backlog;                /* 0: 512 */
    uint32_t unix_mode;         /* permissions of the socket file; 0: 0600 */
};
/* on_accept owns fd (non-blocking, CLOEXEC) and usually calls net_conn_adopt_fd.
 * A unix path that nobody listens on any more is replaced; a live one is ERR_CONFLICT.
 * NULL on failure. */
struct net_listener *net_listen(struct net_loop *l, struct str addr,
                                const struct net_listen_opts *opts,
                                void (*on_accept)(void *arg, int fd), void *arg,
                                struct err *err);
/* The real address, with the port the kernel chose for port 0. */
struct str net_listener_addr(const struct net_listener *s);
uint16_t net_listener_port(const struct net_listener *s); /* 0 for unix */
int net_listener_fd(const struct net_listener *s);        /* to hand it to a successor */
void net_listener_pause(struct net_listener *s, bool paused);
void net_listener_close(struct net_listener *s); /* removes a unix path.  NULL is fine */

#endif
