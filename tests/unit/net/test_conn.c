/* Connections in pairs: bytes both ways, ends and failures, back-pressure,
 * deadlines, and two of them joined by a relay. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

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

static void on_accept(void *arg, int fd)
{
    struct world *w = arg;
    struct raw *r = w->accepted++ == 0 ? &w->far : &w->far2;
    raw_init(r);
    r->conn = net_conn_adopt_fd(w->loop, fd, true, &w->opts, &raw_ops, r);
}

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->fds = test_fds();
    w->loop = net_loop_new();
    *state = w;
    return 0;
}

static int teardown(void **state)
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

static struct world *listen_on(void **state, const char *addr)
{
    struct world *w = *state;
    struct err err = {0};
    w->listener = net_listen(w->loop, str_of(addr), NULL, on_accept, w, &err);
    if (w->listener == NULL) fail_msg("%s", err.text);
    assert_true(TEXT_SET(w->addr, net_listener_addr(w->listener)));
    return w;
}

static struct world *pair(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    raw_dial(w->loop, &w->near, str_of(w->addr), NULL);
    WAIT(w->loop, w->near.open && w->accepted == 1);
    return w;
}

static void both_ways(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    raw_dial(w->loop, &w->near, str_of(w->addr), NULL);
    raw_send(&w->near, "early"); /* before it is connected */
    assert_false(w->near.open);
    WAIT(w->loop, w->accepted == 1 && has(&w->far.got, "early"));
    assert_true(w->near.open);
    WAIT(w->loop, w->far.open);
    raw_send(&w->far, "back");
    WAIT(w->loop, has(&w->near.got, "back"));
    assert_true(str_eq(net_conn_peer(w->near.conn), str_of(w->addr)));
    assert_int_equal(net_conn_bytes_in(w->near.conn), 4);
    assert_int_equal(net_conn_bytes_out(w->near.conn), 5);
    uid_t uid;
    gid_t gid;
    pid_t pid;
    assert_false(net_conn_peer_cred(w->near.conn, &uid, &gid, &pid));
}

static void half_close(void **state)
{
    struct world *w = pair(state);
    raw_send(&w->near, "last words");
    net_conn_shutdown(w->near.conn);
    WAIT(w->loop, w->far.eof);
    assert_true(has(&w->far.got, "last words"));
    raw_send(&w->far, "answer");
    WAIT(w->loop, has(&w->near.got, "answer"));
    assert_false(w->far.closed);
    net_conn_shutdown(w->far.conn);
    WAIT(w->loop, w->near.closed && w->far.closed); /* both directions have ended */
    assert_int_equal(w->near.why.code, 0);
    assert_int_equal(w->far.why.code, 0);
}

static void reset(void **state)
{
    struct world *w = pair(state);
    net_conn_abort(STEAL(w->near.conn));
    WAIT(w->loop, w->far.closed);
    assert_int_equal(w->far.why.code, ERR_IO);
}

/* Bytes that came before a reset are still delivered. */
static void bytes_before_close(void **state)
{
    struct world *w = pair(state);
    net_conn_pause(w->far.conn);
    raw_send(&w->near, "kept");
    net_conn_finish(STEAL(w->near.conn));
    test_turns(w->loop, 5);
    assert_int_equal(w->far.got.n, 0);
    assert_false(w->far.eof);
    net_conn_resume(w->far.conn);
    WAIT(w->loop, w->far.eof);
    assert_string_equal(w->far.got.p, "kept");
}

static void finish_flushes(void **state)
{
    struct world *w = pair(state);
    net_conn_pause(w->far.conn);
    size_t n = 16 * 1024 * 1024;
    char *p = mem_array(n, 1);
    memset(p, 'x', n);
    (void)net_conn_write(w->near.conn, str_n(p, n));
    mem_free(p);
    assert_true(net_conn_queued(w->near.conn) > 0);
    net_conn_finish(STEAL(w->near.conn));
    net_conn_resume(w->far.conn);
    WAIT(w->loop, w->far.eof);
    assert_int_equal(w->far.got.n, n);
    assert_int_equal(w->far.why.code, 0);
}

static void back_pressure(void **state)
{
    struct world *w = pair(state);
    net_conn_pause(w->far.conn);
    char block[16 * 1024] = {0};
    size_t sent = 0;
    while (net_conn_write(w->near.conn, str_n(block, sizeof(block)))) {
        sent += sizeof(block);
        test_turns(w->loop, 1);
    }
    sent += sizeof(block);
    assert_true(net_conn_queued(w->near.conn) > 256 * 1024);
    assert_int_equal(w->near.drained, 0);
    net_conn_resume(w->far.conn);
    WAIT(w->loop, w->near.drained == 1);
    assert_true(net_conn_queued(w->near.conn) <= 128 * 1024);
    WAIT(w->loop, w->far.got.n == sent);
}

static void queue_bound(void **state)
{
    struct world *w = pair(state);
    net_conn_set_marks(w->near.conn, 1000, 2000, 1024 * 1024);
    net_conn_pause(w->far.conn);
    char block[64 * 1024] = {0};
    for (int i = 0; i < 1000 && !w->near.closed; i++) {
        (void)net_conn_write(w->near.conn, str_n(block, sizeof(block)));
        assert_true(w->near.closed || net_conn_queued(w->near.conn) <= 1024 * 1024);
        if (i % 10 == 0) test_turns(w->loop, 1);
    }
    assert_int_equal(w->near.why.code, ERR_LIMIT);
}

static void silence(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    const struct net_conn_opts opts = {.idle_ms = 50};
    raw_dial(w->loop, &w->near, str_of(w->addr), &opts);
    WAIT(w->loop, w->accepted == 1);
    int64_t until = net_now_ms() + 120; /* talking keeps it open, in either direction */
    while (net_now_ms() < until) {
        const bool never = false;
        raw_send(&w->far, "x");
        (void)net_loop_run_until(w->loop, &never, 5);
        assert_false(w->near.closed);
    }
    WAIT(w->loop, w->near.closed);
    assert_int_equal(w->near.why.code, ERR_TIMEOUT);
}

static void deadline(void **state)
{
    struct world *w = pair(state);
    net_conn_set_deadline(w->near.conn, 30);
    int64_t begin = net_now_ms();
    while (!w->near.closed && net_now_ms() < begin + 5000) {
        const bool never = false;
        raw_send(&w->far, "x"); /* does not help */
        (void)net_loop_run_until(w->loop, &never, 2);
        if (w->far.conn == NULL) break;
    }
    assert_int_equal(w->near.why.code, ERR_TIMEOUT);
    assert_true(net_now_ms() >= begin + 29);
}

static void dial_failures(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    net_listener_close(STEAL(w->listener));
    const char *const addrs[] = {w->addr, "unix:/nonexistent/sock", "name.invalid:1"};
    const int codes[] = {ERR_UNAVAILABLE, ERR_NOT_FOUND, ERR_UNAVAILABLE};
    for (size_t i = 0; i < ARRAY_LEN(addrs); i++) {
        raw_done(&w->near);
        raw_dial(w->loop, &w->near, str_of(addrs[i]), NULL);
        assert_false(w->near.closed); /* never from inside the call */
        WAIT(w->loop, w->near.closed);
        if (w->near.why.code != codes[i]) fail_msg("%s: %s", addrs[i], w->near.why.text);
    }
    struct err err = {0};
    assert_null(net_dial(w->loop, STR("nothing"), NULL, &raw_ops, w, &err));
    assert_int_equal(err.code, ERR_INVALID);
    raw_done(&w->near);
    raw_dial(w->loop, &w->near, STR("name.invalid:1"), NULL);
    net_conn_close(STEAL(w->near.conn)); /* while the name is looked up */
    raw_done(&w->near);
    raw_init(&w->near);
}

/* Nobody accepts: the dialler gives up by its own limit. */
static void dial_timeout(void **state)
{
    struct world *w = *state;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    text_fmt(w->addr, sizeof(w->addr), "unix:/tmp/rota-test-full-%d", (int)getpid());
    assert_true(text_set(un.sun_path, sizeof(un.sun_path), str_of(w->addr + 5)));
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    assert_int_equal(listen(fd, 5), 0);
    /* Connected at once, but no TLS and no byte ever comes: silence counts. */
    const struct net_conn_opts opts = {.idle_ms = 20};
    raw_dial(w->loop, &w->near, str_of(w->addr), &opts);
    WAIT(w->loop, w->near.closed);
    assert_int_equal(w->near.why.code, ERR_TIMEOUT);
    close(fd);
    unlink(un.sun_path);
}

static void unread_comes_again(void **state)
{
    struct world *w = pair(state);
    raw_send(&w->near, "world");
    WAIT(w->loop, has(&w->far.got, "world"));
    strbuf_reset(&w->far.got);
    net_conn_pause(w->far.conn);
    net_conn_unread(w->far.conn, STR("wor"));
    net_conn_unread(w->far.conn, STR("hello "));
    raw_send(&w->near, "ld");
    test_turns(w->loop, 5);
    assert_int_equal(w->far.got.n, 0);
    net_conn_resume(w->far.conn);
    assert_int_equal(w->far.got.n, 0); /* not from inside the call */
    WAIT(w->loop, w->far.got.n == 11);
    assert_string_equal(w->far.got.p, "hello world");
}

static void released_fd(void **state)
{
    struct world *w = pair(state);
    net_conn_pause(w->far.conn);
    net_conn_unread(w->far.conn, STR("abc"));
    assert_int_equal(net_conn_release_fd(w->far.conn, NULL), -1); /* bytes would be lost */
    struct strbuf pending;
    strbuf_init(&pending, 100);
    int fd = net_conn_release_fd(w->far.conn, &pending);
    w->far.conn = NULL;
    assert_true(fd >= 0);
    assert_string_equal(pending.p, "abc");
    strbuf_done(&pending);
    test_turns(w->loop, 3);
    assert_int_equal(write(fd, "direct", 6), 6);
    WAIT(w->loop, has(&w->near.got, "direct"));
    close(fd);
    WAIT(w->loop, w->near.eof);
}

static void unix_sockets(void **state)
{
    struct world *w = *state;
    char addr[80];
    struct stat st;
    text_fmt(addr, sizeof(addr), "unix:/tmp/rota-test-conn-%d", (int)getpid());
    listen_on(state, addr);
    assert_int_equal(stat(addr + 5, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    raw_dial(w->loop, &w->near, str_of(addr), NULL);
    WAIT(w->loop, w->near.open && w->accepted == 1);
    uid_t uid;
    gid_t gid;
    pid_t pid;
    assert_true(net_conn_peer_cred(w->far.conn, &uid, &gid, &pid));
    assert_int_equal(uid, getuid());
    assert_int_equal(pid, getpid());
    net_listener_close(STEAL(w->listener));
    assert_int_not_equal(access(addr + 5, F_OK), 0);
    /* A path whose listener died without cleaning up is replaced. */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    assert_true(text_set(un.sun_path, sizeof(un.sun_path), str_of(addr + 5)));
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    close(fd);
    listen_on(state, addr);
    /* But a file that is no socket never is. */
    net_listener_close(STEAL(w->listener));
    FILE *f = fopen(addr + 5, "w");
    fclose(f);
    struct err err = {0};
    assert_null(net_listen(w->loop, str_of(addr), NULL, on_accept, w, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    unlink(addr + 5);
}

/* Out of descriptors the listener rests, and goes on when there are some again. */
static void out_of_descriptors(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    raw_dial(w->loop, &w->near, str_of(w->addr), NULL);
    int lowest = dup(0);
    close(lowest);
    none = before;
    none.rlim_cur = (rlim_t)lowest;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int64_t until = net_now_ms() + 30;
    int turns = 0;
    const bool never = false;
    for (; net_now_ms() < until; turns++) (void)net_loop_run_until(w->loop, &never, 5);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(w->accepted, 0);
    assert_true(w->near.open); /* it waits in the backlog */
    assert_true(turns < 100);  /* and the loop slept */
    WAIT(w->loop, w->accepted == 1);
}

static void handed_over_listener(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    char addr[20];
    int fd = dup(net_listener_fd(w->listener));
    net_listener_close(STEAL(w->listener));
    text_fmt(addr, sizeof(addr), "fd:%d", fd);
    listen_on(state, addr);
    raw_dial(w->loop, &w->near, str_of(w->addr), NULL);
    WAIT(w->loop, w->accepted == 1);
    struct err err = {0};
    assert_null(net_listen(w->loop, STR("fd:19999"), NULL, on_accept, w, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void closed_in_callback_data(struct net_conn *c, struct str data, void *arg)
{
    (void)data;
    net_conn_close(c);
    *(bool *)arg = true;
}

static void closed_in_callback(void **state)
{
    static const struct net_conn_ops ops = {.on_data = closed_in_callback_data};
    struct world *w = pair(state);
    bool closed = false;
    net_conn_set_ops(w->far.conn, &ops, &closed);
    w->far.conn = NULL;
    raw_send(&w->near, "x");
    WAIT(w->loop, closed && (w->near.eof || w->near.closed));
}

/* ---- relay ---- */

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

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(both_ways), CASE(half_close), CASE(reset), CASE(bytes_before_close),
        CASE(finish_flushes), CASE(back_pressure), CASE(queue_bound), CASE(silence),
        CASE(deadline), CASE(dial_failures), CASE(dial_timeout), CASE(unread_comes_again),
        CASE(released_fd), CASE(unix_sockets), CASE(out_of_descriptors),
        CASE(handed_over_listener),
        CASE(closed_in_callback), CASE(relay_in_order), CASE(relay_passes_failure),
        CASE(relay_holds_back), CASE(relay_in_bulk),
        CASE(relay_cut_in_bulk), CASE(relay_ends_in_bulk), CASE(relay_goes_silent),
        CASE(relay_closed),
    };
    return RUN(tests);
}
