/* A listener and up to two dialled pairs on one loop: for connections and relays. */
#ifndef TEST_NET_PAIR_H
#define TEST_NET_PAIR_H
#include "net/conn.h"
#include "test.h"

struct world {
    int fds; /* open before the case */
    struct net_loop *loop;
    struct net_listener *listener;
    struct net_conn_opts opts; /* of the accepted side */
    struct raw near, far;      /* dialled, accepted */
    struct raw near2, far2;    /* a second pair */
    int accepted;
    char addr[80];
    struct net_relay *joined;
    int relays_done;
    struct net_relay_result relay;
};

static inline void on_accept(void *arg, int fd)
{
    struct world *w = arg;
    struct raw *r = w->accepted++ == 0 ? &w->far : &w->far2;
    raw_init(r);
    r->conn = net_conn_adopt_fd(w->loop, fd, true, &w->opts, &raw_ops, r);
}

static inline int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->fds = test_fds();
    w->loop = net_loop_new();
    *state = w;
    return 0;
}

static inline int teardown(void **state)
{
    struct world *w = *state;
    if (w->joined != NULL) net_relay_close(w->joined);
    raw_done(&w->near);
    raw_done(&w->far);
    raw_done(&w->near2);
    raw_done(&w->far2);
    net_listener_close(w->listener);
    net_loop_free(w->loop);
    assert_int_equal(test_fds(), w->fds);
    mem_free(w);
    return 0;
}

static inline struct world *listen_on(void **state, const char *addr)
{
    struct world *w = *state;
    struct err err = {0};
    w->listener = net_listen(w->loop, str_of(addr), NULL, on_accept, w, &err);
    if (w->listener == NULL) fail_msg("%s", err.text);
    assert_true(TEXT_SET(w->addr, net_listener_addr(w->listener)));
    return w;
}

static inline struct world *pair(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    raw_dial(w->loop, &w->near, str_of(w->addr), NULL);
    WAIT(w->loop, w->near.open && w->accepted == 1);
    return w;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
