/* net/loop.h - one loop on one thread: timers, descriptors, signals, workers.
 *
 * Everything in net/ that takes a loop is used on the loop's thread alone; only
 * net_loop_post may be called from elsewhere.
 *
 * Two rules hold for every object of this layer.  A callback is never called
 * from inside a call that its owner makes: it comes on a later turn.  And an
 * x_free or x_close may be called from any callback, also the object's own;
 * afterwards no callback of that object comes. */
#ifndef NET_LOOP_H
#define NET_LOOP_H
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct net_loop;

struct net_loop *net_loop_new(void);
/* Waits for running jobs (their done is still called) and frees what is left on the
 * loop (timers, watches, signals); connections, servers, clients and children have
 * to be closed by their owners before. */
void net_loop_free(struct net_loop *l);
/* Neither of the two runs may be called from a callback of the same loop. */
void net_loop_run(struct net_loop *l);  /* until net_loop_stop */
void net_loop_stop(struct net_loop *l); /* net_loop_run returns after this turn */
/* Runs until *done is true or the time is over (timeout_ms < 0: no limit);
 * returns *done.  For programs that wait for one thing, such as a command line. */
bool net_loop_run_until(struct net_loop *l, const bool *done, int64_t timeout_ms);
uv_loop_t *net_loop_uv(struct net_loop *l);

int64_t net_now_ms(void);                        /* CLOCK_MONOTONIC, read now */
int64_t net_loop_now_ms(const struct net_loop *l); /* the same clock as of this turn: free */
int64_t net_wall_ms(void);                       /* CLOCK_REALTIME, for people */

/* Thread-safe: fn(arg) is called on the loop's thread, in order of posting. */
void net_loop_post(struct net_loop *l, void (*fn)(void *arg), void *arg);
/* Who goes before its calls came takes them back; nobody may post for it any more. */
void net_loop_unpost(struct net_loop *l, const void *arg);
/* Same thread: fn(arg) is called at the end of this turn, before the hook. */
void net_loop_defer(struct net_loop *l, void (*fn)(void *arg), void *arg);
/* The hook is called once at the end of each turn, after the callbacks of that
 * turn and before the loop waits again: the place for decisions about what the
 * callbacks gathered.  One hook a loop; NULL removes it. */
void net_loop_on_turn(struct net_loop *l, void (*fn)(void *arg), void *arg);

/* ---- timers, monotonic milliseconds ---- */
struct net_timer;
struct net_timer *net_timer_new(struct net_loop *l, void (*fn)(void *arg), void *arg);
/* First after delay_ms, then each period_ms (0: once).  Setting again rearms. */
void net_timer_set(struct net_timer *t, int64_t delay_ms, int64_t period_ms);
void net_timer_stop(struct net_timer *t);
bool net_timer_armed(const struct net_timer *t);
void net_timer_free(struct net_timer *t); /* NULL is fine */

/* ---- any pollable descriptor: pidfd, inotify, timerfd, a socket of one's own ----
 * The descriptor stays the caller's; free or stop the watch before closing it. */
enum { NET_READ = 1, NET_WRITE = 2 };
struct net_watch;
struct net_watch *net_watch_new(struct net_loop *l, int fd,
                                void (*fn)(void *arg, int events), void *arg);
void net_watch_set(struct net_watch *w, int events); /* 0 stops; level-triggered */
void net_watch_free(struct net_watch *w);            /* NULL is fine */

/* ---- signals ---- */
struct net_signal;
struct net_signal *net_signal_new(struct net_loop *l, int signum,
                                  void (*fn)(void *arg, int signum), void *arg);
void net_signal_free(struct net_signal *s); /* NULL is fine */
void net_ignore_sigpipe(void); /* net_loop_new calls it; for programs without a loop */

/* ---- worker pool ----
 * work(arg) runs on another thread, then done(arg) on the loop's.  False, and
 * nothing is called, when `limit` jobs are already queued or running (default
 * 128): the caller answers "try again later". */
bool net_work(struct net_loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg);
void net_work_limit(struct net_loop *l, uint32_t limit);
uint32_t net_work_pending(const struct net_loop *l);

#endif
