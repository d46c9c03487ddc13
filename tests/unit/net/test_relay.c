/* Two connections joined: order, ends, failures, back-pressure, bulk. */
#include "pair.h"

static void on_relay(void *arg, const struct net_relay_result *r)
{
    struct world *w = arg;
    w->relays_done++;
    w->joined = NULL;
    w->relay = *r;
}

/* near -> far = relay = near2 -> far2 */
static struct world *relayed(void **state, int64_t idle_ms)
{
    struct world *w = pair(state);
    raw_dial(w->loop, &w->near2, str_of(w->addr), NULL);
    WAIT(w->loop, w->near2.open && w->accepted == 2);
    w->joined = net_conn_relay(STEAL(w->far.conn), STEAL(w->near2.conn), idle_ms, on_relay, w);
    return w;
}

static void relay_in_order(void **state)
{
    struct world *w = relayed(state, 0);
    raw_send(&w->near, "hello");
    WAIT(w->loop, has(&w->far2.got, "hello"));
    raw_send(&w->far2, "worlds");
    WAIT(w->loop, has(&w->near.got, "worlds"));
    net_conn_shutdown(w->near.conn); /* one direction ends, the other goes on */
    WAIT(w->loop, w->far2.eof);
    assert_int_equal(w->relays_done, 0);
    raw_send(&w->far2, "!");
    net_conn_shutdown(w->far2.conn);
    WAIT(w->loop, w->near.closed && w->relays_done == 1);
    assert_string_equal(w->near.got.p, "worlds!");
    assert_int_equal(w->relay.a_to_b, 5);
    assert_int_equal(w->relay.b_to_a, 7);
    assert_int_equal(w->relay.err.code, 0);
    assert_int_equal(w->near.why.code, 0);
}

static void relay_passes_failure(void **state)
{
    struct world *w = relayed(state, 0);
    raw_send(&w->near, "half");
    WAIT(w->loop, has(&w->far2.got, "half"));
    net_conn_abort(STEAL(w->near.conn));
    WAIT(w->loop, w->far2.closed && w->relays_done == 1);
    assert_int_equal(w->far2.why.code, ERR_IO); /* not an end in order */
    assert_int_equal(w->relay.err.code, ERR_IO);
}

static void relay_holds_back(void **state)
{
    struct world *w = relayed(state, 0);
    net_conn_pause(w->far2.conn);
    char block[64 * 1024];
    memset(block, 'y', sizeof(block));
    size_t sent = 0;
    int stalled = 0;
    while (stalled < 20) { /* until nobody on the way takes any more */
        size_t before = net_conn_queued(w->near.conn);
        if (before < 128 * 1024) {
            (void)net_conn_write(w->near.conn, str_n(block, sizeof(block)));
            sent += sizeof(block);
        }
        test_turns(w->loop, 2);
        stalled = net_conn_queued(w->near.conn) == before ? stalled + 1 : 0;
    }
    assert_true(sent < 64 * 1024 * 1024);
    net_conn_resume(w->far2.conn);
    WAIT(w->loop, w->far2.got.n == sent);
}

static void fill(char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) p[i] = (char)((i * 2654435761u + seed) >> 13);
}

/* Large traffic both ways at once, with readers that stop and go: nothing is lost,
 * doubled or reordered where copying turns into splicing. */
static void relay_in_bulk(void **state)
{
    struct world *w = relayed(state, 0);
    size_t n = 24 * 1024 * 1024, sent = 0;
    char *there = mem_array(n, 1), *back = mem_array(n, 1);
    fill(there, n, 1);
    fill(back, n, 2);
    int64_t end = net_now_ms() + LIMIT_MS;
    for (int turn = 0; (w->far2.got.n < n || w->near.got.n < n) && net_now_ms() < end; turn++) {
        if (turn % 40 == 10) net_conn_pause(w->far2.conn);
        if (turn % 40 == 20) net_conn_pause(w->near.conn);
        if (turn % 40 == 30) net_conn_resume(w->far2.conn);
        if (turn % 40 == 39) net_conn_resume(w->near.conn);
        size_t piece = turn % 7 == 0 ? 100 : 512 * 1024; /* small ones in between */
        if (sent < n && net_conn_queued(w->near.conn) < 4 << 20) {
            if (piece > n - sent) piece = n - sent;
            (void)net_conn_write(w->near.conn, str_n(there + sent, piece));
            (void)net_conn_write(w->far2.conn, str_n(back + sent, piece));
            sent += piece;
        }
        test_turns(w->loop, 1);
    }
    net_conn_resume(w->far2.conn);
    net_conn_resume(w->near.conn);
    WAIT(w->loop, w->far2.got.n == n && w->near.got.n == n);
    assert_memory_equal(w->far2.got.p, there, n);
    assert_memory_equal(w->near.got.p, back, n);
    net_conn_shutdown(w->near.conn);
    WAIT(w->loop, w->far2.eof);
    net_conn_shutdown(w->far2.conn);
    WAIT(w->loop, w->relays_done == 1);
    assert_int_equal(w->relay.a_to_b, n);
    assert_int_equal(w->relay.b_to_a, n);
    mem_free(there);
    mem_free(back);
}

/* The target goes away while a pipe is full. */
static void relay_cut_in_bulk(void **state)
{
    struct world *w = relayed(state, 0);
    net_conn_pause(w->far2.conn);
    size_t n = 32 * 1024 * 1024;
    char *p = mem_array(n, 1);
    (void)net_conn_write(w->near.conn, str_n(p, n));
    mem_free(p);
    test_turns(w->loop, 100);
    assert_true(net_conn_queued(w->near.conn) > 0);
    net_conn_abort(STEAL(w->far2.conn));
    WAIT(w->loop, w->relays_done == 1 && w->near.closed);
    assert_int_equal(w->relay.err.code, ERR_IO);
    assert_int_equal(w->near.why.code, ERR_IO);
}

/* The source ends while its last bytes are still held. */
static void relay_ends_in_bulk(void **state)
{
    struct world *w = relayed(state, 0);
    net_conn_pause(w->far2.conn);
    size_t n = 32 * 1024 * 1024;
    char *p = mem_array(n, 1);
    fill(p, n, 3);
    (void)net_conn_write(w->near.conn, str_n(p, n));
    net_conn_shutdown(w->near.conn);
    test_turns(w->loop, 100);
    net_conn_resume(w->far2.conn);
    WAIT(w->loop, w->far2.eof);
    assert_int_equal(w->far2.got.n, n);
    assert_memory_equal(w->far2.got.p, p, n);
    mem_free(p);
    net_conn_finish(STEAL(w->far2.conn));
    WAIT(w->loop, w->relays_done == 1 && w->near.closed);
    assert_int_equal(w->near.why.code, 0);
}

static void relay_goes_silent(void **state)
{
    struct world *w = relayed(state, 30);
    raw_send(&w->near, "x");
    WAIT(w->loop, w->relays_done == 1);
    assert_int_equal(w->relay.err.code, ERR_TIMEOUT);
    WAIT(w->loop, w->near.closed && w->far2.closed);
}

static void relay_closed(void **state)
{
    struct world *w = pair(state);
    raw_dial(w->loop, &w->near2, str_of(w->addr), NULL);
    WAIT(w->loop, w->near2.open && w->accepted == 2);
    struct net_relay *r =
        net_conn_relay(STEAL(w->far.conn), STEAL(w->near2.conn), 0, on_relay, w);
    net_relay_close(r);
    WAIT(w->loop, w->near.closed && w->far2.closed);
    assert_int_equal(w->relays_done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(relay_in_order), CASE(relay_passes_failure), CASE(relay_holds_back),
        CASE(relay_in_bulk), CASE(relay_cut_in_bulk), CASE(relay_ends_in_bulk),
        CASE(relay_goes_silent), CASE(relay_closed),
    };
    return RUN(tests);
}
