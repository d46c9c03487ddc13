/* Timers, posting from threads, deferred calls and the hook, workers, signals. */
#include <pthread.h>
#include <signal.h>

#include "net/loop.h"
#include "test.h"

static struct net_loop *loop;
static char order[256];
static int n_order, count;

static int setup(void **state)
{
    (void)state;
    loop = net_loop_new();
    n_order = 0;
    count = 0;
    memset(order, 0, sizeof(order));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_loop_free(loop);
    return 0;
}

static void note(void *arg)
{
    if (n_order < (int)sizeof(order) - 1) order[n_order++] = *(const char *)arg;
}

static void timers(void **state)
{
    (void)state;
    struct net_timer *a = net_timer_new(loop, note, "a"), *b = net_timer_new(loop, note, "b"),
                     *c = net_timer_new(loop, note, "c");
    int64_t begin = net_now_ms();
    net_timer_set(a, 20, 0);
    net_timer_set(b, 5, 0);
    net_timer_set(c, 1, 0);
    net_timer_stop(c);
    assert_false(net_timer_armed(c));
    assert_true(net_timer_armed(a));
    WAIT(loop, n_order == 2);
    assert_true(net_now_ms() >= begin + 19);
    assert_string_equal(order, "ba");
    net_timer_set(c, 1, 1);
    WAIT(loop, n_order >= 5);
    net_timer_free(c);
    int n = n_order;
    test_turns(loop, 5);
    assert_int_equal(n_order, n);
    net_timer_free(a);
    net_timer_free(NULL);
    (void)b; /* left to net_loop_free */
}

static struct net_timer *self;

static void free_self(void *arg)
{
    (void)arg;
    count++;
    net_timer_free(self);
}

static void timer_frees_itself(void **state)
{
    (void)state;
    self = net_timer_new(loop, free_self, NULL);
    net_timer_set(self, 0, 1);
    WAIT(loop, count == 1);
    test_turns(loop, 5);
    assert_int_equal(count, 1);
}

static void hook(void *arg)
{
    (void)arg;
    if (n_order > 0 && order[n_order - 1] != 'h' && n_order < 200) order[n_order++] = 'h';
}

static void defer_more(void *arg)
{
    note(arg);
    net_loop_defer(loop, note, "2");
}

/* Deferred calls come at the end of the turn, those they defer on the next, and
 * the loop does not sleep in between. */
static void deferred(void **state)
{
    (void)state;
    net_loop_on_turn(loop, hook, NULL);
    net_loop_defer(loop, defer_more, "1");
    assert_int_equal(n_order, 0);
    int64_t begin = net_now_ms();
    const bool never = false;
    (void)net_loop_run_until(loop, &never, 0);
    assert_string_equal(order, "1h");
    (void)net_loop_run_until(loop, &never, 0);
    assert_string_equal(order, "1h2h");
    assert_true(net_now_ms() < begin + 1000);
    net_loop_on_turn(loop, NULL, NULL);
}

static void bump(void *arg)
{
    (void)arg;
    count++; /* on the loop's thread: no lock needed, and ThreadSanitizer would tell */
}

static void *poster(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1000; i++) net_loop_post(loop, bump, NULL);
    return NULL;
}

static void posts(void **state)
{
    (void)state;
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, poster, NULL), 0);
    WAIT(loop, count == 4000);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    net_loop_post(loop, note, "x");
    net_loop_post(loop, note, "y");
    WAIT(loop, n_order == 2);
    assert_string_equal(order, "xy");
}

static void what_was_posted_can_be_taken_back(void **state)
{
    (void)state;
    static const char gone[] = "g";
    net_loop_post(loop, note, (void *)(uintptr_t)gone);
    net_loop_post(loop, note, "x");
    net_loop_post(loop, note, (void *)(uintptr_t)gone);
    net_loop_unpost(loop, gone);
    net_loop_post(loop, note, "y");
    WAIT(loop, n_order == 2);
    assert_string_equal(order, "xy");
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void work(void *arg)
{
    pthread_mutex_lock(&gate);
    *(pthread_t *)arg = pthread_self();
    pthread_mutex_unlock(&gate);
}

static void workers(void **state)
{
    (void)state;
    pthread_t who[4];
    net_work_limit(loop, 3);
    pthread_mutex_lock(&gate); /* none can end before all are queued */
    for (int i = 0; i < 3; i++) assert_true(net_work(loop, work, bump, &who[i]));
    assert_false(net_work(loop, work, bump, &who[3])); /* the bound */
    assert_int_equal(net_work_pending(loop), 3);
    pthread_mutex_unlock(&gate);
    WAIT(loop, count == 3);
    assert_int_equal(net_work_pending(loop), 0);
    for (int i = 0; i < 3; i++) assert_false(pthread_equal(who[i], pthread_self()));
    assert_true(net_work(loop, work, bump, &who[0])); /* net_loop_free waits for it */
}

static void on_signal(void *arg, int signum)
{
    *(int *)arg = signum;
}

static void signals(void **state)
{
    (void)state;
    int got = 0;
    struct net_signal *s = net_signal_new(loop, SIGUSR1, on_signal, &got);
    raise(SIGUSR1);
    WAIT(loop, got == SIGUSR1);
    net_signal_free(s);
    signal(SIGUSR1, SIG_IGN);
    raise(SIGPIPE); /* ignored since net_loop_new */
}

static void on_events(void *arg, int events)
{
    *(int *)arg = events;
}

static void watches(void **state)
{
    (void)state;
    int p[2], got = 0;
    assert_int_equal(pipe(p), 0);
    struct net_watch *w = net_watch_new(loop, p[0], on_events, &got);
    net_watch_set(w, NET_READ);
    test_turns(loop, 3);
    assert_int_equal(got, 0);
    assert_int_equal(write(p[1], "x", 1), 1);
    WAIT(loop, got == NET_READ);
    net_watch_set(w, 0);
    got = 0;
    test_turns(loop, 3);
    assert_int_equal(got, 0);
    net_watch_set(w, NET_READ);
    WAIT(loop, got == NET_READ); /* level-triggered: still there */
    net_watch_free(w);
    close(p[0]);
    close(p[1]);
}

static void stop_loop(void *arg)
{
    (void)arg;
    net_loop_stop(loop);
}

static void runs_and_stops(void **state)
{
    (void)state;
    struct net_timer *t = net_timer_new(loop, stop_loop, NULL);
    net_timer_set(t, 1, 0);
    net_loop_run(loop);
    const bool never = false, yes = true;
    int64_t begin = net_now_ms();
    assert_false(net_loop_run_until(loop, &never, 20));
    assert_true(net_now_ms() >= begin + 19);
    assert_true(net_loop_run_until(loop, &yes, 5000));
    assert_true(net_now_ms() < begin + 4000);
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

/* A timer that is due when the loop begins runs before it waits. */
static void what_is_due_at_once_is_not_waited_for(void **state)
{
    (void)state;
    bool done = false;
    struct net_timer *t = net_timer_new(loop, set_true, &done);
    net_timer_set(t, 0, 0);
    int64_t begin = net_now_ms();
    assert_true(net_loop_run_until(loop, &done, 3000));
    assert_true(net_now_ms() < begin + 2000);
    net_timer_free(t);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(timers), CASE(timer_frees_itself), CASE(deferred), CASE(posts),
        CASE(what_was_posted_can_be_taken_back), CASE(workers),
        CASE(signals), CASE(watches), CASE(runs_and_stops),
        CASE(what_is_due_at_once_is_not_waited_for),
    };
    return RUN(tests);
}
