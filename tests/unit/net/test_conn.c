/* Connections in pairs: bytes both ways, ends and failures, back-pressure and
 * deadlines. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "pair.h"

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

/* A name may stand for several addresses: the one that answers is taken. */
static void by_name(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    text_fmt(w->addr, sizeof(w->addr), "localhost:%u", (unsigned)net_listener_port(w->listener));
    raw_dial(w->loop, &w->near, str_of(w->addr), NULL);
    raw_send(&w->near, "by name");
    WAIT(w->loop, w->accepted == 1 && has(&w->far.got, "by name"));
    assert_ptr_equal(net_conn_loop(w->near.conn), w->loop);
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

/* The peer ended long ago and reads slowly what is still queued for it. */
static void finish_after_eof(void **state)
{
    struct world *w = pair(state);
    net_conn_shutdown(w->near.conn);
    WAIT(w->loop, w->far.eof);
    net_conn_pause(w->near.conn);
    size_t n = 16 * 1024 * 1024;
    char *p = mem_array(n, 1);
    (void)net_conn_write(w->far.conn, str_n(p, n));
    mem_free(p);
    net_conn_finish(STEAL(w->far.conn));
    test_turns(w->loop, 5);
    net_conn_resume(w->near.conn);
    WAIT(w->loop, w->near.closed);
    assert_int_equal(w->near.got.n, n);
    assert_int_equal(w->near.why.code, 0);
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

/* Silence is the peer's: that our own process slept is not held against it. */
static void silence_of_ours(void **state)
{
    struct world *w = pair(state);
    net_conn_set_idle(w->near.conn, 10);
    for (int i = 0; i < 5; i++) {
        raw_send(&w->far, "x");
        struct timespec nap = {.tv_nsec = 15 * 1000 * 1000};
        nanosleep(&nap, NULL);
        test_turns(w->loop, 2);
        assert_false(w->near.closed);
    }
    WAIT(w->loop, w->near.closed);
}

static void deadline(void **state)
{
    struct world *w = pair(state);
    int64_t begin = net_loop_now_ms(w->loop);
    net_conn_set_deadline(w->near.conn, 30);
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

static void listener_refusals(void **state)
{
    struct world *w = listen_on(state, "127.0.0.1:0");
    const struct { const char *addr; int code; } rows[] = {
        {w->addr, ERR_CONFLICT}, {"localhost:1", ERR_INVALID}, {"nonsense", ERR_INVALID},
        {"unix:/nonexistent/directory/sock", ERR_IO}, {"192.0.2.1:1", ERR_IO},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        assert_null(net_listen(w->loop, str_of(rows[i].addr), NULL, on_accept, w, &err));
        if (err.code != rows[i].code) fail_msg("%s: %d %s", rows[i].addr, err.code, err.text);
    }
    struct err err = {0};
    assert_null(net_dial(w->loop, STR("fd:5"), NULL, &raw_ops, w, &err));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(both_ways), CASE(by_name), CASE(half_close), CASE(reset), CASE(bytes_before_close),
        CASE(finish_flushes), CASE(finish_after_eof), CASE(back_pressure), CASE(queue_bound),
        CASE(silence), CASE(silence_of_ours), CASE(deadline), CASE(dial_failures),
        CASE(dial_timeout), CASE(unread_comes_again), CASE(released_fd), CASE(unix_sockets),
        CASE(out_of_descriptors), CASE(handed_over_listener), CASE(listener_refusals),
        CASE(closed_in_callback),
    };
    return RUN(tests);
}
