/* manager/turn.c - the turn pipeline.
 *
 * Invariants: at most one batch is open; batches in flight have consecutive
 * numbers and come back in order; the open batch has the number after the last
 * closed one; a wait belongs to exactly one batch.  While the world is NULL the
 * open batch is empty. */
#include "manager/turn.h"
#include "base/check.h"
#include "base/mem.h"

struct turns {
    struct net_loop *loop;
    struct committer *committer;
    struct turns_ops ops;
    void *arg;
    char leader[33];
    struct world *world;
    int64_t base_core_ms, base_mono_ms; /* core time = base_core + (monotonic - base_mono) */
    struct turn_batch *open;
    struct turn_batch *flight[TURNS_IN_FLIGHT_MAX]; /* handed over, oldest first */
    uint32_t in_flight;
    struct turn_batch *spare;
    bool dropping;                      /* a turn was lost: wait for the others, then load */
    bool stopped;                       /* deposed */
    uint64_t durable;
    int64_t full_until_ms;              /* the disk had no room: no new work before */
    struct commit_job load;
    bool loading;
    struct effects effects;
    struct net_timer *tick;
    int64_t tick_at;                    /* core time it is armed for; INT64_MAX: none */
    struct net_timer *retry;
    struct net_timer *mark;
    void (*drained)(void *arg);
    void *drained_arg;
    struct turn_stats stats;
};

/* ---- batches ---- */

/* Empty again, with this number; its waits are left alone. */
static void batch_begin(const struct turns *t, struct turn_batch *b, uint64_t no)
{
    store_turn_done(&b->turn);
    VEC_CLEAR(&b->nodes);
    b->turn.no = no;
    b->mark = false;
    bool fits = TEXT_SET(b->turn.leader, str_of(t->leader));
    CHECK(fits);
}

static struct turn_batch *batch_take(struct turns *t, uint64_t no)
{
    struct turn_batch *b = STEAL(t->spare);
    if (!b) b = mem_alloc(sizeof(*b));
    b->waits = NULL;
    b->waits_last = &b->waits;
    batch_begin(t, b, no);
    return b;
}

static void batch_free(struct turn_batch *b)
{
    if (!b) return;
    store_turn_done(&b->turn);
    VEC_DONE(&b->nodes);
    mem_free(b);
}

static void batch_give(struct turns *t, struct turn_batch *b)
{
    CHECK(b->waits == NULL);
    store_turn_done(&b->turn);
    if (t->spare) batch_free(b);
    else t->spare = b;
}

static void batch_release(struct turn_batch *b, enum turn_end end)
{
    struct turn_wait *w = b->waits;
    b->waits = NULL;
    b->waits_last = &b->waits;
    while (w) {
        struct turn_wait *next = w->next;
        w->next = NULL;
        w->fn(w, end);
        w = next;
    }
}

static bool batch_has_rows(const struct turn_batch *b) { return b->turn.ops.n > 0 || b->mark; }

/* ---- loading ---- */

static void load_begin(void *arg)
{
    struct turns *t = arg;
    CHECK(!t->loading && t->in_flight == 0 && t->world == NULL);
    t->loading = true;
    t->load = (struct commit_job){.kind = JOB_LOAD};
    committer_push(t->committer, &t->load);
}

static void load_done(struct turns *t)
{
    t->loading = false;
    if (t->load.code != 0) {
        t->ops.lost(t->arg, &t->load.err);
        net_timer_set(t->retry, TURN_RETRY_MS, 0);
        return;
    }
    t->stats.loads++;
    t->dropping = false;
    t->world = t->load.world;
    t->durable = t->world->turn;
    t->base_core_ms = t->world->now_ms;
    t->base_mono_ms = net_now_ms();
    batch_begin(t, t->open, t->durable + 1);
    t->tick_at = INT64_MAX;
    t->ops.loaded(t->arg, t->world);
    struct event ev = {.kind = EVENT_TICK}; /* clocks run from now on, asked or not */
    turns_step(t, &ev);
}

/* ---- closing and releasing ---- */

static void close_open(struct turns *t)
{
    struct turn_batch *b = t->open;
    CHECK(batch_has_rows(b) && t->in_flight < TURNS_IN_FLIGHT_MAX && t->world != NULL);
    CHECK(t->world->turn == b->turn.no);
    uint32_t rows = b->turn.ops.n;
    t->ops.closing(t->arg, b);
    CHECK(b->turn.ops.n == rows);
    b->turn.core_ms = t->world->now_ms;
    b->turn.wall_ms = net_wall_ms();
    b->job = (struct commit_job){.kind = JOB_COMMIT, .turn = &b->turn};
    t->flight[t->in_flight++] = b;
    t->open = batch_take(t, b->turn.no + 1);
    committer_push(t->committer, &b->job);
}

static void close_if_due(struct turns *t)
{
    if (!t->world || !batch_has_rows(t->open)) return;
    if (t->in_flight == 0 ||
        (t->open->turn.ops.n >= TURN_ROWS_CAP && t->in_flight < TURNS_IN_FLIGHT_MAX))
        close_open(t);
}

static void drain_if_done(struct turns *t)
{
    if (!t->drained || t->in_flight > 0 || t->loading || batch_has_rows(t->open)) return;
    void (*done)(void *arg) = STEAL(t->drained);
    done(t->drained_arg);
}

/* Everything decided since the last durable turn never happened. */
static void drop_world(struct turns *t, const struct err *why)
{
    t->dropping = true;
    t->stats.failed++;
    world_free(STEAL(t->world));
    net_timer_stop(t->tick);
    t->tick_at = INT64_MAX;
    t->effects.more = false;
    t->ops.lost(t->arg, why);
    batch_begin(t, t->open, t->durable + 1);
    batch_release(t->open, TURN_LOST);
}

static void count_commit(struct turns *t, const struct turn_batch *b)
{
    t->stats.turns++;
    t->stats.rows += b->turn.ops.n;
    t->stats.commit_us_sum += b->job.took_us;
    if (b->job.took_us > t->stats.commit_us_max) t->stats.commit_us_max = b->job.took_us;
}

static void commit_done(struct turns *t, struct turn_batch *b)
{
    CHECK(t->in_flight > 0 && t->flight[0] == b);
    t->in_flight--;
    memmove(t->flight, t->flight + 1, t->in_flight * sizeof(t->flight[0]));
    if (b->job.code == 0) {
        CHECK(!t->dropping && b->turn.no == t->durable + 1);
        t->durable = b->turn.no;
        count_commit(t, b);
        close_if_due(t); /* the store has work again before people get their answers */
        t->ops.durable(t->arg, b);
        batch_release(b, TURN_DURABLE);
    } else {
        bool deposed = b->job.code == ERR_CONFLICT;
        if (b->job.code == ERR_LIMIT) t->full_until_ms = net_now_ms() + TURN_FULL_MS;
        if (!t->dropping) drop_world(t, &b->job.err);
        batch_release(b, TURN_LOST);
        if (deposed && !t->stopped) {
            t->stopped = true;
            t->ops.deposed(t->arg, &b->job.err);
        }
    }
    batch_give(t, b);
    if (t->dropping && t->in_flight == 0 && !t->loading && !t->stopped) load_begin(t);
    drain_if_done(t);
}

static void job_done(void *arg, struct commit_job *job)
{
    struct turns *t = arg;
    if (job == &t->load) {
        load_done(t);
        drain_if_done(t);
        return;
    }
    struct turn_batch *b = (struct turn_batch *)(void *)((char *)job -
                                                         offsetof(struct turn_batch, job));
    commit_done(t, b);
}

/* ---- stepping ---- */

static void set_tick(struct turns *t, int64_t at_core_ms)
{
    if (at_core_ms == t->tick_at) return;
    t->tick_at = at_core_ms;
    if (at_core_ms == INT64_MAX) {
        net_timer_stop(t->tick);
        return;
    }
    int64_t delay_ms = at_core_ms - turns_core_ms(t);
    net_timer_set(t->tick, delay_ms > 0 ? delay_ms : 0, 0);
}

static void on_tick(void *arg)
{
    struct turns *t = arg;
    t->tick_at = INT64_MAX;
    if (!t->world) return;
    struct event ev = {.kind = EVENT_TICK};
    turns_step(t, &ev);
}

static void on_loop_turn(void *arg)
{
    struct turns *t = arg;
    close_if_due(t);
    if (!t->world) return;
    /* A sliced pass goes on by a timer that is due at once: input gets its turn between. */
    set_tick(t, t->effects.more ? t->world->now_ms : step_next_deadline(t->world));
    drain_if_done(t);
}

const struct effects *turns_step(struct turns *t, struct event *ev)
{
    CHECK(t->world != NULL);
    CHECK(ev->kind > 0 && ev->kind < EVENT_KINDS);
    t->world->turn = t->open->turn.no;
    ev->now_ms = turns_core_ms(t);
    ev->wall_ms = net_wall_ms();
    step(t->world, ev, &t->effects);
    t->stats.steps++;
    VEC_EACH(c, &t->effects.changes) store_turn_change(&t->open->turn, c);
    VEC_EACH(n, &t->effects.nodes) VEC_PUSH(&t->open->nodes, *n);
    if (!batch_has_rows(t->open)) t->world->turn = t->open->turn.no - 1;
    return &t->effects;
}

struct store_turn *turns_open(struct turns *t)
{
    CHECK(t->world != NULL);
    t->world->turn = t->open->turn.no; /* the caller adds a row */
    return &t->open->turn;
}

void turns_after(struct turns *t, struct turn_wait *w)
{
    struct turn_batch *b = t->open;
    if (!batch_has_rows(b)) b = t->in_flight > 0 ? t->flight[t->in_flight - 1] : NULL;
    CHECK(w->fn != NULL);
    if (!b) {
        w->fn(w, t->world ? TURN_DURABLE : TURN_LOST);
        return;
    }
    w->next = NULL;
    *b->waits_last = w;
    b->waits_last = &w->next;
}

/* A clock that is not stored stands still for who loads it: without this, a restart after a
 * quiet hour would begin everything that waits for an instant an hour late. */
void turns_mark(struct turns *t)
{
    struct event ev = {.kind = EVENT_TICK};
    if (!turns_accepting(t) || t->in_flight > 0 || batch_has_rows(t->open)) return;
    if (t->world->n_sessions == 0 && t->world->reservations.n == 0) return;
    turns_step(t, &ev);
    if (batch_has_rows(t->open)) return;
    t->open->mark = true;
    t->world->turn = t->open->turn.no;
}

static void on_mark(void *arg) { turns_mark(arg); }

/* ---- facts ---- */

struct world *turns_world(const struct turns *t) { return t->world; }

bool turns_accepting(const struct turns *t)
{
    return t->world && !t->drained && t->open->turn.ops.n < TURN_ROWS_MAX &&
           net_now_ms() >= t->full_until_ms;
}

int64_t turns_core_ms(const struct turns *t)
{
    return t->base_core_ms + (net_now_ms() - t->base_mono_ms);
}

uint64_t turns_durable(const struct turns *t) { return t->durable; }

bool turns_is_open(const struct turns *t) { return batch_has_rows(t->open); }

uint64_t turns_newest(const struct turns *t)
{
    return batch_has_rows(t->open) ? t->open->turn.no : t->open->turn.no - 1;
}

const struct turn_stats *turns_stats(const struct turns *t) { return &t->stats; }

void turns_trim(struct turns *t)
{
    effects_done(&t->effects); /* `more` stays */
    batch_free(STEAL(t->spare));
}

/* ---- life ---- */

struct turns *turns_new(struct net_loop *loop, struct store *store, const char *leader,
                        const struct turns_ops *ops, void *arg)
{
    struct turns *t = mem_alloc(sizeof(*t));
    t->loop = loop;
    t->ops = *ops;
    t->arg = arg;
    CHECK(TEXT_SET(t->leader, str_of(leader)));
    t->tick_at = INT64_MAX;
    t->tick = net_timer_new(loop, on_tick, t);
    t->retry = net_timer_new(loop, load_begin, t);
    t->mark = net_timer_new(loop, on_mark, t);
    net_timer_set(t->mark, TURN_MARK_MS, TURN_MARK_MS);
    t->open = batch_take(t, 1);
    t->committer = committer_new(loop, store, job_done, t);
    net_loop_on_turn(loop, on_loop_turn, t);
    load_begin(t);
    return t;
}

void turns_drain(struct turns *t, void (*done)(void *arg), void *arg)
{
    CHECK(!t->drained && done);
    t->drained = done;
    t->drained_arg = arg;
    /* Checked at the end of this loop turn, when what is open has been closed. */
}

void turns_free(struct turns *t)
{
    if (!t) return;
    net_loop_on_turn(t->loop, NULL, NULL);
    committer_free(t->committer);
    net_timer_free(t->tick);
    net_timer_free(t->retry);
    net_timer_free(t->mark);
    for (uint32_t i = 0; i < t->in_flight; i++) {
        batch_release(t->flight[i], TURN_LOST);
        batch_free(t->flight[i]);
    }
    batch_release(t->open, TURN_LOST);
    batch_free(t->open);
    batch_free(t->spare);
    effects_done(&t->effects);
    world_free(t->world);
    mem_free(t);
}
