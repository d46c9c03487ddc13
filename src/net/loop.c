/* net/loop.c - see loop.h.
 *
 * A turn is: the loop waits, callbacks of descriptors and timers run, then the
 * prepare handle runs what was deferred and the hook, then the loop waits again.
 * The idle handle is active exactly while something is deferred: it keeps the
 * loop from waiting. */
#include "net/loop.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/vec.h"
#include "net/conn.h"
#include "net/loop_impl.h"

struct call {
    void (*fn)(void *arg);
    void *arg;
};

struct calls {
    struct call *v;
    uint32_t n, cap;
};

struct net_loop {
    uv_loop_t uv;
    uv_async_t async;
    uv_prepare_t prepare;
    uv_idle_t idle;
    pthread_mutex_t lock; /* guards posted alone */
    struct calls posted, deferred, at_free;
    void (*hook)(void *arg);
    void *hook_arg;
    bool stopping, running;
    const bool *until[2]; /* net_loop_run_until: what ends it; NULL: not in it */
    uint32_t work_n, work_limit;
    char *buffer;
    struct net_conn *orphans;
};

/* Handles whose data points here are ours to free with the loop. */
static const char owned_tag;

void net_handle_own(uv_handle_t *h)
{
    uv_handle_set_data(h, (void *)&owned_tag);
}

void net_handle_freed(uv_handle_t *h)
{
    mem_free(h);
}

/* What the calls add to the list meanwhile is for the next time. */
static void calls_run(struct calls *calls)
{
    struct calls taken = *calls;
    *calls = (struct calls){0};
    for (uint32_t i = 0; i < taken.n; i++) taken.v[i].fn(taken.v[i].arg);
    VEC_DONE(&taken);
}

static void on_async(uv_async_t *h)
{
    struct net_loop *l = uv_handle_get_data((uv_handle_t *)h);
    pthread_mutex_lock(&l->lock);
    struct calls taken = l->posted;
    l->posted = (struct calls){0};
    pthread_mutex_unlock(&l->lock);
    calls_run(&taken);
}

static void on_idle(uv_idle_t *h)
{
    (void)h;
}

static void on_prepare(uv_prepare_t *h)
{
    struct net_loop *l = uv_handle_get_data((uv_handle_t *)h);
    if (l->deferred.n > 0) calls_run(&l->deferred);
    if (l->hook != NULL) l->hook(l->hook_arg);
    if (l->deferred.n == 0) uv_idle_stop(&l->idle);
    /* A timer of this very turn may have ended the waiting: with no timer left the
     * loop would now wait for ever. */
    if (l->until[0] != NULL && (*l->until[0] || *l->until[1])) uv_stop(&l->uv);
}

void net_ignore_sigpipe(void)
{
    struct sigaction sa = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &sa, NULL);
}

struct net_loop *net_loop_new(void)
{
    net_ignore_sigpipe();
    struct net_loop *l = mem_alloc(sizeof(*l));
    /* Without a loop there is no program: these fail only when descriptors ran out
     * before anything began. */
    CHECK(uv_loop_init(&l->uv) == 0);
    CHECK(uv_async_init(&l->uv, &l->async, on_async) == 0);
    CHECK(uv_prepare_init(&l->uv, &l->prepare) == 0);
    CHECK(uv_idle_init(&l->uv, &l->idle) == 0);
    uv_handle_set_data((uv_handle_t *)&l->async, l);
    uv_handle_set_data((uv_handle_t *)&l->prepare, l);
    uv_prepare_start(&l->prepare, on_prepare);
    pthread_mutex_init(&l->lock, NULL);
    l->work_limit = 128;
    l->buffer = mem_array(NET_READ_BYTES, 1);
    return l;
}

static void close_left(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (uv_is_closing(h)) return;
    uv_close(h, uv_handle_get_data(h) == &owned_tag ? net_handle_freed : NULL);
}

void net_loop_free(struct net_loop *l)
{
    if (l == NULL) return;
    l->hook = NULL;
    while (l->orphans != NULL) net_conn_close(l->orphans);
    calls_run(&l->at_free);
    /* Workers that still run are waited for: their jobs own memory. */
    while (l->work_n > 0) uv_run(&l->uv, UV_RUN_ONCE);
    uv_walk(&l->uv, close_left, NULL);
    uv_run(&l->uv, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&l->uv) == 0);
    VEC_DONE(&l->posted);
    VEC_DONE(&l->deferred);
    pthread_mutex_destroy(&l->lock);
    mem_free(l->buffer);
    mem_free(l);
}

void net_loop_run(struct net_loop *l)
{
    CHECK(!l->running);
    l->running = true;
    l->stopping = false;
    while (!l->stopping) uv_run(&l->uv, UV_RUN_DEFAULT);
    l->running = false;
}

void net_loop_stop(struct net_loop *l)
{
    l->stopping = true;
    uv_stop(&l->uv);
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

bool net_loop_run_until(struct net_loop *l, const bool *done, int64_t timeout_ms)
{
    bool over = timeout_ms == 0;
    struct net_timer *t = NULL;
    if (timeout_ms > 0) {
        t = net_timer_new(l, set_flag, &over);
        net_timer_set(t, timeout_ms, 0);
    }
    CHECK(!l->running);
    l->running = true;
    l->stopping = false;
    l->until[0] = done;
    l->until[1] = &over;
    do uv_run(&l->uv, over ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    while (!*done && !over && !l->stopping);
    l->until[0] = l->until[1] = NULL;
    l->running = false;
    net_timer_free(t);
    return *done;
}

uv_loop_t *net_loop_uv(struct net_loop *l)
{
    return &l->uv;
}

char *net_loop_buffer(struct net_loop *l)
{
    return l->buffer;
}

struct net_conn **net_loop_orphans(struct net_loop *l)
{
    return &l->orphans;
}

static int64_t clock_ms(clockid_t id)
{
    struct timespec ts;
    CHECK(clock_gettime(id, &ts) == 0);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t net_now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

int64_t net_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

int64_t net_loop_now_ms(const struct net_loop *l)
{
    return (int64_t)uv_now(&l->uv);
}

void net_loop_post(struct net_loop *l, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&l->lock);
    VEC_PUSH(&l->posted, ((struct call){fn, arg}));
    pthread_mutex_unlock(&l->lock);
    uv_async_send(&l->async);
}

void net_loop_unpost(struct net_loop *l, const void *arg)
{
    pthread_mutex_lock(&l->lock);
    for (uint32_t i = l->posted.n; i-- > 0;)
        if (l->posted.v[i].arg == arg) VEC_REMOVE(&l->posted, i);
    pthread_mutex_unlock(&l->lock);
}

void net_loop_defer(struct net_loop *l, void (*fn)(void *arg), void *arg)
{
    VEC_PUSH(&l->deferred, ((struct call){fn, arg}));
    uv_idle_start(&l->idle, on_idle);
}

void net_loop_at_free(struct net_loop *l, void (*fn)(void *arg), void *arg)
{
    VEC_PUSH(&l->at_free, ((struct call){fn, arg}));
}

void net_loop_not_at_free(struct net_loop *l, const void *arg)
{
    for (uint32_t i = 0; i < l->at_free.n; i++)
        if (l->at_free.v[i].arg == arg) {
            VEC_REMOVE(&l->at_free, i);
            return;
        }
}

void net_loop_on_turn(struct net_loop *l, void (*fn)(void *arg), void *arg)
{
    l->hook = fn;
    l->hook_arg = arg;
}

/* ---- timers ---- */

struct net_timer {
    uv_timer_t uv; /* first: freed through it */
    void (*fn)(void *arg);
    void *arg;
};

static void on_timer(uv_timer_t *h)
{
    struct net_timer *t = (struct net_timer *)h;
    t->fn(t->arg);
}

struct net_timer *net_timer_new(struct net_loop *l, void (*fn)(void *arg), void *arg)
{
    struct net_timer *t = mem_alloc(sizeof(*t));
    uv_timer_init(&l->uv, &t->uv);
    net_handle_own((uv_handle_t *)&t->uv);
    t->fn = fn;
    t->arg = arg;
    return t;
}

void net_timer_set(struct net_timer *t, int64_t delay_ms, int64_t period_ms)
{
    CHECK(delay_ms >= 0);
    CHECK(period_ms >= 0);
    /* The loop's clock stands still within a turn; a delay is meant from now. */
    uv_update_time(uv_handle_get_loop((uv_handle_t *)&t->uv));
    uv_timer_start(&t->uv, on_timer, (uint64_t)delay_ms, (uint64_t)period_ms);
}

void net_timer_stop(struct net_timer *t)
{
    uv_timer_stop(&t->uv);
}

bool net_timer_armed(const struct net_timer *t)
{
    return uv_is_active((const uv_handle_t *)&t->uv);
}

void net_timer_free(struct net_timer *t)
{
    if (t != NULL) uv_close((uv_handle_t *)&t->uv, net_handle_freed);
}

/* ---- descriptors ---- */

struct net_watch {
    uv_poll_t uv; /* first: freed through it */
    void (*fn)(void *arg, int events);
    void *arg;
    int events;
};

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct net_watch *w = (struct net_watch *)h;
    int got = (events & UV_READABLE ? NET_READ : 0) | (events & UV_WRITABLE ? NET_WRITE : 0);
    /* An error on the descriptor: the owner learns it from its next read or write. */
    if (status < 0) got = w->events;
    w->fn(w->arg, got);
}

struct net_watch *net_watch_new(struct net_loop *l, int fd, void (*fn)(void *arg, int events),
                                void *arg)
{
    struct net_watch *w = mem_alloc(sizeof(*w));
    /* Fails only for a descriptor that cannot be polled, such as a plain file. */
    CHECK(uv_poll_init(&l->uv, &w->uv, fd) == 0);
    net_handle_own((uv_handle_t *)&w->uv);
    w->fn = fn;
    w->arg = arg;
    return w;
}

void net_watch_set(struct net_watch *w, int events)
{
    w->events = events;
    int uv_events = (events & NET_READ ? UV_READABLE : 0) | (events & NET_WRITE ? UV_WRITABLE : 0);
    if (uv_events == 0)
        uv_poll_stop(&w->uv);
    else
        uv_poll_start(&w->uv, uv_events, on_poll);
}

void net_watch_free(struct net_watch *w)
{
    if (w != NULL) uv_close((uv_handle_t *)&w->uv, net_handle_freed);
}

/* ---- signals ---- */

struct net_signal {
    uv_signal_t uv; /* first: freed through it */
    void (*fn)(void *arg, int signum);
    void *arg;
};

static void on_signal(uv_signal_t *h, int signum)
{
    struct net_signal *s = (struct net_signal *)h;
    s->fn(s->arg, signum);
}

struct net_signal *net_signal_new(struct net_loop *l, int signum,
                                  void (*fn)(void *arg, int signum), void *arg)
{
    struct net_signal *s = mem_alloc(sizeof(*s));
    CHECK(uv_signal_init(&l->uv, &s->uv) == 0);
    net_handle_own((uv_handle_t *)&s->uv);
    s->fn = fn;
    s->arg = arg;
    CHECK(uv_signal_start(&s->uv, on_signal, signum) == 0);
    return s;
}

void net_signal_free(struct net_signal *s)
{
    if (s != NULL) uv_close((uv_handle_t *)&s->uv, net_handle_freed);
}

/* ---- workers ---- */

struct job {
    uv_work_t uv; /* first */
    struct net_loop *loop;
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
};

static void job_work(uv_work_t *h)
{
    struct job *j = (struct job *)h;
    j->work(j->arg);
}

static void job_done(uv_work_t *h, int status)
{
    (void)status; /* never cancelled */
    struct job *j = (struct job *)h;
    j->loop->work_n--;
    j->done(j->arg);
    mem_free(j);
}

bool net_work(struct net_loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
    if (l->work_n >= l->work_limit) return false;
    struct job *j = mem_alloc(sizeof(*j));
    *j = (struct job){.loop = l, .work = work, .done = done, .arg = arg};
    CHECK(uv_queue_work(&l->uv, &j->uv, job_work, job_done) == 0);
    l->work_n++;
    return true;
}

void net_work_limit(struct net_loop *l, uint32_t limit)
{
    CHECK(limit > 0);
    l->work_limit = limit;
}

uint32_t net_work_pending(const struct net_loop *l)
{
    return l->work_n;
}
