/* sim/rotation_proxy.c - requests: held, answered, refused, held again, never forgotten.
 *
 * Invariant: a request is HELD in its pool's queue, RUNNING in an engine, or AWAY
 * with its client, who has had an answer and asks again; each has one event to come
 * that bears its stamp. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define PREFILL_US_PER_TOKEN 250
#define DECODE_US_PER_TOKEN 25000
#define RETRY_AFTER_MS 30000    /* what a refusal says */
#define ABORT_RETRY_MS 2000     /* who is cut off asks again at once */
#define LARGE_ONE_IN 200        /* bodies that are not kept */
#define DIRECT_GAP_MS (2 * HOUR_MS)
#define DIRECT_SESSION_MS (40 * INT64_C(60000))
#define DIRECT_PAUSE_MS 120000  /* a client who asks every two minutes */

static struct request *request_of(struct fleet *f, uint32_t slot) { return &f->requests.v[slot]; }

static uint32_t make(struct fleet *f, uint32_t pool, uint32_t context, uint32_t generated)
{
    uint32_t slot = f->spare.n > 0 ? VEC_POP(&f->spare) : f->requests.n;
    if (slot == f->requests.n) (void)VEC_ADD(&f->requests);
    struct request *q = request_of(f, slot);
    CHECK(q->state == REQUEST_FREE);
    int64_t decode = (int64_t)generated * DECODE_US_PER_TOKEN / 1000;
    *q = (struct request){.pool = pool, .rotor = NOBODY, .stamp = q->stamp + 1,
        .prefill_ms = 1 + (uint32_t)((int64_t)context * PREFILL_US_PER_TOKEN / 1000),
        .decode_ms = (uint32_t)(decode < HOUR_MS ? decode : HOUR_MS), .came_ms = f->now_ms};
    return slot;
}

static void forget(struct fleet *f, uint32_t slot)
{
    struct request *q = request_of(f, slot);
    q->state = REQUEST_FREE;
    q->stamp++;
    VEC_PUSH(&f->spare, slot);
}

/* ---- where a request goes ---- */

bool fleet_serves(const struct fleet *f, const struct rotor *r, uint32_t pool)
{
    return r->engine.pool != NOBODY && f->pools[r->engine.pool].engine == f->pools[pool].engine;
}

/* The first that has room: work is packed, so that the others can fall silent. */
static struct rotor *replica(struct fleet *f, uint32_t pool)
{
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        struct rotor *r = &f->rotors[i];
        const struct engine *e = &r->engine;
        if (e->alive && e->routed && e->open && !e->loading && r->running.n < FLEET_SLOTS &&
            fleet_serves(f, r, pool))
            return r;
    }
    return NULL;
}

static void touch(struct fleet *f, struct rotor *r, bool platform)
{
    r->engine.active_ms = f->now_ms;
    r->engine.counter++;
    if (platform && r->agent.up) r->agent.at.event_ms = READING(f->now_ms);
}

static void begin(struct fleet *f, uint32_t slot, struct rotor *r)
{
    struct request *q = request_of(f, slot);
    CHECK(r->engine.alive);
    CHECK(!r->engine.loading);
    q->state = REQUEST_RUNNING;
    q->rotor = r->index;
    q->begun_ms = f->now_ms;
    VEC_PUSH(&r->running, slot);
    if (q->direct) f->n_direct++;
    else f->n_running++;
    touch(f, r, !q->direct);
    fleet_at(f, f->now_ms + q->prefill_ms + q->decode_ms, EV_DONE, slot, ++q->stamp);
}

/* `again`: it was held or begun before, and comes first. */
static void hold(struct fleet *f, uint32_t slot, bool again)
{
    struct request *q = request_of(f, slot);
    struct service *p = &f->pools[q->pool];
    q->state = REQUEST_HELD;
    q->rotor = NOBODY;
    struct held h = {slot, ++q->stamp};
    if (again && p->head > 0) p->queue.v[--p->head] = h;
    else if (again) VEC_INSERT(&p->queue, p->head, h);
    else VEC_PUSH(&p->queue, h);
    p->n_held++;
    f->n_held++;
    if (!p->batch) fleet_at(f, f->now_ms + FLEET_HOLD_MS, EV_HOLD_OUT, slot, q->stamp);
}

static void offer(struct fleet *f, uint32_t slot)
{
    struct request *q = request_of(f, slot);
    struct rotor *r = f->pools[q->pool].n_held > 0 ? NULL : replica(f, q->pool);
    if (r) begin(f, slot, r);
    else hold(f, slot, false);
}

static void send_away(struct fleet *f, uint32_t slot, int64_t pause_ms)
{
    struct request *q = request_of(f, slot);
    q->state = REQUEST_AWAY;
    q->rotor = NOBODY;
    f->n_away++;
    int64_t jitter = (int64_t)fleet_below(f, 5000);
    fleet_at(f, f->now_ms + pause_ms + jitter, EV_RETRY, slot, ++q->stamp);
}

/* ---- the queue of a pool ---- */

static void compact(struct service *p)
{
    if (p->head < 1024 || p->head < p->queue.n / 2) return;
    memmove(p->queue.v, p->queue.v + p->head, (p->queue.n - p->head) * sizeof(*p->queue.v));
    p->queue.n -= p->head;
    p->head = 0;
}

/* The first that is held, or NOBODY; passes over those that left. */
static uint32_t first_held(struct fleet *f, struct service *p)
{
    for (; p->head < p->queue.n; p->head++) {
        struct held h = p->queue.v[p->head];
        if (request_of(f, h.slot)->stamp == h.stamp) return h.slot;
    }
    VEC_CLEAR(&p->queue);
    p->head = 0;
    return NOBODY;
}

static void unhold(struct fleet *f, struct service *p)
{
    CHECK(p->n_held > 0);
    CHECK(f->n_held > 0);
    p->n_held--;
    f->n_held--;
}

void fleet_pump(struct fleet *f, uint32_t engine)
{
    for (uint32_t i = 0; i < f->n_pools; i++) {
        struct service *p = &f->pools[i];
        if (p->engine != engine) continue;
        struct rotor *r;
        while (p->n_held > 0 && (r = replica(f, i)) != NULL) {
            uint32_t slot = first_held(f, p);
            CHECK(slot != NOBODY);
            p->head++;
            unhold(f, p);
            begin(f, slot, r);
        }
        compact(p);
    }
}

static void refuse(struct fleet *f, uint32_t slot)
{
    struct service *p = &f->pools[request_of(f, slot)->pool];
    f->result->refused++;
    VEC_PUSH(&p->refusals, f->now_ms);
    send_away(f, slot, RETRY_AFTER_MS);
}

uint32_t fleet_waiting(struct fleet *f, uint32_t pool, int64_t *ret_oldest_ms)
{
    struct service *p = &f->pools[pool];
    while (p->refused_head < p->refusals.n &&
           p->refusals.v[p->refused_head] + FLEET_BIND_MS < f->now_ms)
        p->refused_head++;
    if (p->refused_head == p->refusals.n) {
        VEC_CLEAR(&p->refusals);
        p->refused_head = 0;
    }
    compact(p);
    int64_t oldest = f->now_ms;
    uint32_t slot = first_held(f, p);
    if (slot != NOBODY) oldest = request_of(f, slot)->came_ms;
    if (p->refused_head < p->refusals.n && p->refusals.v[p->refused_head] < oldest)
        oldest = p->refusals.v[p->refused_head];
    *ret_oldest_ms = oldest;
    return p->n_held + p->refusals.n - p->refused_head;
}

/* ---- events ---- */

void fleet_arrive(struct fleet *f)
{
    const struct rotation_request *c = &f->coming;
    uint32_t slot = make(f, c->pool, c->context, c->generated);
    request_of(f, slot)->large = rng_below(&f->demand, LARGE_ONE_IN) == 0;
    f->result->requests++;
    offer(f, slot);
    f->coming = rotation_arrivals_next(&f->arrivals);
    fleet_at(f, f->coming.at_ms, EV_ARRIVE, 0, 0);
}

static void ask_directly(struct fleet *f, struct rotor *r)
{
    if (!r->engine.alive || r->engine.loading || r->running.n == FLEET_SLOTS) return;
    uint32_t slot = make(f, r->engine.pool, 500, 20);
    request_of(f, slot)->direct = true;
    f->result->direct++;
    begin(f, slot, r);
}

void fleet_late(struct fleet *f, struct rotor *r)
{
    if (f->resting || r->note.bound >= f->n_pools) return;
    f->result->faults[FAULT_LATE_WORK]++;
    if (fleet_below(f, 2) == 0) {
        ask_directly(f, r);
        return;
    }
    uint32_t slot = make(f, r->note.bound, 500, 20);
    f->result->requests++;
    offer(f, slot);
}

/* Somebody on the private network who talks to one engine for a while, slowly. */
void fleet_direct(struct fleet *f)
{
    if (f->now_ms >= f->direct_until_ms) {
        f->direct_rotor = (uint32_t)rng_below(&f->demand, f->n_rotors);
        f->direct_until_ms = f->now_ms + 60000 + (int64_t)rng_below(&f->demand, DIRECT_SESSION_MS);
    }
    ask_directly(f, &f->rotors[f->direct_rotor]);
    int64_t pause = 10000 + (int64_t)rng_below(&f->demand, DIRECT_PAUSE_MS - 10000);
    if (f->now_ms + pause >= f->direct_until_ms)
        pause += (int64_t)rng_below(&f->demand, DIRECT_GAP_MS);
    fleet_at(f, f->now_ms + pause, EV_DIRECT, 0, 0);
}

static void take_off(struct fleet *f, struct rotor *r, uint32_t slot)
{
    for (uint32_t i = 0; i < r->running.n; i++) {
        if (r->running.v[i] != slot) continue;
        VEC_REMOVE(&r->running, i);
        if (request_of(f, slot)->direct) f->n_direct--;
        else f->n_running--;
        return;
    }
    UNREACHABLE();
}

void fleet_done(struct fleet *f, uint32_t slot, uint32_t stamp)
{
    struct request *q = request_of(f, slot);
    if (q->stamp != stamp || q->state != REQUEST_RUNNING) return;
    struct rotor *r = &f->rotors[q->rotor];
    take_off(f, r, slot);
    touch(f, r, !q->direct);
    if (!q->direct) {
        int64_t wait = q->begun_ms - q->came_ms;
        CHECK(wait >= 0);
        VEC_PUSH(&f->pools[q->pool].waits, (uint32_t)(wait < UINT32_MAX ? wait : UINT32_MAX));
        f->result->done++;
    }
    forget(f, slot);
    fleet_pump(f, f->pools[r->engine.pool].engine);
}

void fleet_hold_out(struct fleet *f, uint32_t slot, uint32_t stamp)
{
    struct request *q = request_of(f, slot);
    if (q->stamp != stamp || q->state != REQUEST_HELD) return;
    unhold(f, &f->pools[q->pool]);
    refuse(f, slot);
}

void fleet_retry(struct fleet *f, uint32_t slot, uint32_t stamp)
{
    struct request *q = request_of(f, slot);
    if (q->stamp != stamp || q->state != REQUEST_AWAY) return;
    f->n_away--;
    offer(f, slot);
}

static void abort_one(struct fleet *f, uint32_t slot)
{
    if (request_of(f, slot)->direct) {
        f->result->direct_aborted++;
        forget(f, slot);
    } else {
        f->result->aborted++;
        send_away(f, slot, ABORT_RETRY_MS);
    }
}

void fleet_abort(struct fleet *f, struct rotor *r)
{
    while (r->running.n > 0) {
        uint32_t slot = r->running.v[r->running.n - 1];
        take_off(f, r, slot);
        abort_one(f, slot);
    }
}

void fleet_interrupt(struct fleet *f, struct rotor *r)
{
    while (r->running.n > 0) {
        uint32_t slot = r->running.v[r->running.n - 1];
        struct request *q = request_of(f, slot);
        take_off(f, r, slot);
        if (fleet_is_broken(f, BREAK_DROP_REQUEST)) {
            forget(f, slot);
        } else if (q->direct || f->now_ms >= q->begun_ms + q->prefill_ms) {
            abort_one(f, slot); /* it is answering, and breaks off visibly */
        } else if (q->large) {
            refuse(f, slot);
        } else {
            f->result->reheld++;
            hold(f, slot, true);
        }
    }
}

uint32_t fleet_in_flight(const struct fleet *f, const struct rotor *r, bool co)
{
    uint32_t n = 0;
    VEC_EACH(slot, &r->running) {
        const struct request *q = &f->requests.v[*slot];
        if (!q->direct && (q->pool != r->engine.pool) == co) n++;
    }
    return n;
}
