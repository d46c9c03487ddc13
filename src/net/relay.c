/* net/relay.c - two connections joined; see conn.h.
 *
 * Each side is read only while the other takes: at most one read buffer and the
 * high mark are held per direction. */
#include <sys/socket.h>

#include "base/mem.h"
#include "net/conn.h"

struct net_relay {
    struct net_conn *side[2]; /* NULL: gone */
    bool ended[2];            /* this side sends no more */
    uint64_t moved[2];        /* bytes read from this side */
    void (*on_done)(void *arg, const struct net_relay_result *r);
    void *arg;
};

static int index_of(const struct net_relay *r, const struct net_conn *c)
{
    return r->side[0] == c ? 0 : 1;
}

static void relay_over(struct net_relay *r, const struct err *why)
{
    struct net_relay_result res = {.a_to_b = r->moved[0], .b_to_a = r->moved[1]};
    if (why != NULL) res.err = *why;
    void (*on_done)(void *, const struct net_relay_result *) = r->on_done;
    void *arg = r->arg;
    mem_free(r);
    if (on_done != NULL) on_done(arg, &res);
}

static void on_data(struct net_conn *c, struct str data, void *arg)
{
    struct net_relay *r = arg;
    int i = index_of(r, c);
    r->moved[i] += data.n;
    if (!net_conn_write(r->side[!i], data)) net_conn_pause(c);
}

static void on_drain(struct net_conn *c, void *arg)
{
    struct net_relay *r = arg;
    net_conn_resume(r->side[!index_of(r, c)]);
}

static void on_eof(struct net_conn *c, void *arg)
{
    struct net_relay *r = arg;
    int i = index_of(r, c);
    r->ended[i] = true;
    if (!r->ended[!i]) {
        net_conn_shutdown(r->side[!i]);
        return;
    }
    net_conn_finish(r->side[0]);
    net_conn_finish(r->side[1]);
    relay_over(r, NULL);
}

static void on_close(struct net_conn *c, const struct err *why, void *arg)
{
    struct net_relay *r = arg;
    int i = index_of(r, c);
    struct net_conn *other = r->side[!i];
    if (why == NULL && r->ended[0] && r->ended[1]) {
        net_conn_finish(other);
    } else {
        /* A cut must not look like an end, to neither of the two. */
        struct linger hard = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(net_conn_fd(c), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        net_conn_abort(other);
    }
    relay_over(r, why);
}

struct net_relay *net_conn_relay(struct net_conn *a, struct net_conn *b, int64_t idle_ms,
                                 void (*on_done)(void *arg, const struct net_relay_result *r),
                                 void *arg)
{
    static const struct net_conn_ops ops = {
        .on_data = on_data, .on_eof = on_eof, .on_drain = on_drain, .on_close = on_close,
    };
    struct net_relay *r = mem_alloc(sizeof(*r));
    r->side[0] = a;
    r->side[1] = b;
    r->on_done = on_done;
    r->arg = arg;
    for (int i = 0; i < 2; i++) {
        net_conn_set_ops(r->side[i], &ops, r);
        net_conn_set_deadline(r->side[i], 0);
        net_conn_set_idle(r->side[i], 0);
    }
    /* What moves in either direction moves on side a, read or written. */
    net_conn_set_idle(a, idle_ms);
    net_conn_resume(a);
    net_conn_resume(b);
    return r;
}

void net_relay_close(struct net_relay *r)
{
    net_conn_abort(r->side[0]);
    net_conn_abort(r->side[1]);
    mem_free(r);
}
