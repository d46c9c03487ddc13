/* sim/rotation_manager.c - what the manager knows of rotors, and whom it lets move.
 *
 * A call may be lost, or done and its answer lost; so rotors report levels, and what
 * a rotor does not have in hand goes back to the queue.  core/rotate/claim.h decides. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

enum call { CALL_LOST = 0, CALL_DEAF, CALL_FINE };

static enum call call(struct fleet *f, const struct rotor *r)
{
    if (f->now_ms < f->away_until_ms || f->now_ms < r->fault.cut_ms) return CALL_LOST;
    if (f->now_ms >= f->lossy_until_ms) return CALL_FINE;
    uint64_t lot = fleet_below(f, 4);
    return lot == 0 ? CALL_LOST : lot == 1 ? CALL_DEAF : CALL_FINE;
}

/* ---- runs ---- */

static uint32_t next_run(struct fleet *f)
{
    if (f->resting) return NOBODY;
    while (f->first_queued < f->runs.n && f->runs.v[f->first_queued].state != RUN_QUEUED)
        f->first_queued++;
    return f->first_queued < f->runs.n ? f->first_queued : NOBODY;
}

static void requeue(struct fleet *f, uint32_t run)
{
    f->result->runs_requeued++;
    f->runs.v[run].state = RUN_QUEUED;
    f->runs.v[run].rotor = NOBODY;
    f->n_queued++;
    if (run < f->first_queued) f->first_queued = run;
}

static bool in_hand(const struct rotor *r, uint32_t run)
{
    if (r->disk.phase >= WAYBACK_RECORDED && r->disk.phase <= WAYBACK_LIVE && !r->disk.kept)
        return r->disk.run == run;
    return r->note.run == run;
}

/* Of the run that the rotor was given: ended, lost, or still there. */
static void hear_run(struct fleet *f, struct rotor *r)
{
    struct binding *b = &f->binding[r->index];
    if (b->run == NOBODY || r->disk.corrupt || in_hand(r, b->run)) return;
    struct run *run = &f->runs.v[b->run];
    if (r->run.exited && r->run.run == b->run && r->run.fence == run->fence) {
        run->state = RUN_ENDED;
        f->result->runs_done += r->run.well;
        f->result->runs_failed += !r->run.well;
    } else if (!fleet_is_broken(f, BREAK_FORGET_RUN)) {
        requeue(f, b->run);
    }
    b->run = NOBODY;
}

/* ---- levels ---- */

static void hear(struct fleet *f, struct rotor *r)
{
    struct binding *b = &f->binding[r->index];
    bool claim = r->agent.stage != MOVE_NONE && r->note.bound != NOBODY;
    bool changed = b->claim != claim || b->bound != r->note.bound;
    if (changed && b->claim && b->bound != NOBODY) f->pools[b->bound].version++;
    b->bound = r->note.bound;
    b->claim = claim;
    b->unheard = false;
    b->epoch = rotate_epoch(r->note.epoch, b->epoch);
    hear_run(f, r);
    bool record = r->disk.phase > WAYBACK_TMP || r->disk.corrupt;
    if (!record) b->copy = (struct record){0};
}

/* What the proxies said of the pools; while they are silent it grows old. */
static void refresh(struct fleet *f)
{
    for (uint32_t i = 0; i < f->n_pools && f->now_ms >= f->mute_until_ms; i++) {
        struct service *p = &f->pools[i];
        p->seen_waiting = fleet_waiting(f, i, &p->seen_oldest_ms);
        p->seen_at_ms = f->now_ms;
    }
    struct service *t = &f->pools[f->n_pools];
    t->seen_waiting = f->resting ? 0 : f->n_queued;
    t->seen_oldest_ms = t->seen_at_ms = f->now_ms;
}

static void answer(struct fleet *f, struct rotor *r, uint64_t epoch)
{
    struct agent *a = &r->agent;
    a->view_ms = f->now_ms;
    a->known = true;
    a->pinned = f->now_ms < r->pin_until_ms;
    a->reserved = f->now_ms < r->reserve_until_ms;
    a->view_epoch = epoch; /* as it was: that the two differed shows once */
    r->note.epoch = f->binding[r->index].epoch;
    a->next_run = next_run(f);
    for (uint32_t i = 0; i <= f->n_pools; i++) {
        const struct service *p = &f->pools[i];
        a->view[i] = (struct pool_view){p->seen_waiting, p->seen_oldest_ms, p->seen_at_ms,
                                        p->version};
    }
}

void fleet_manager_report(struct fleet *f, struct rotor *r)
{
    enum call c = call(f, r);
    if (c == CALL_LOST) return;
    uint64_t epoch = f->binding[r->index].epoch;
    refresh(f);
    hear(f, r);
    if (c == CALL_FINE) answer(f, r, epoch);
}

uint32_t fleet_manager_claims(const struct fleet *f, uint32_t pool, uint32_t but)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_rotors; i++)
        n += i != but && f->binding[i].claim && f->binding[i].bound == pool;
    return n;
}

uint32_t fleet_manager_bound(const struct fleet *f, uint32_t pool)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        const struct binding *b = &f->binding[i];
        bool away = b->run != NOBODY || b->copy.phase != WAYBACK_NONE; /* or not put back yet */
        n += b->bound == pool && !b->claim && (!away || f->pools[pool].training);
    }
    return n;
}

/* ---- claims ---- */

/* After a backup came back, sums over rotors mean nothing until each was heard. */
static bool knows_all(const struct fleet *f)
{
    for (uint32_t i = 0; i < f->n_rotors; i++)
        if (f->binding[i].unheard) return false;
    return true;
}

static struct rotate_claimant claimant(const struct fleet *f, const struct rotor *r, uint64_t known)
{
    bool pin = f->now_ms < r->pin_until_ms, reserve = f->now_ms < r->reserve_until_ms;
    if (fleet_is_broken(f, BREAK_IGNORE_PIN)) pin = false;
    if (fleet_is_broken(f, BREAK_IGNORE_RESERVE)) reserve = false;
    return (struct rotate_claimant){
        .epoch_asked = r->note.epoch, .epoch_known = known,
        .pinned = pin ? FACT_YES : FACT_NO, .reserved = reserve ? FACT_YES : FACT_NO};
}

static void grant(struct fleet *f, struct rotor *r, uint32_t pool)
{
    struct binding *b = &f->binding[r->index];
    if (b->claim && b->bound != NOBODY) f->pools[b->bound].version++;
    b->bound = pool;
    b->claim = true;
    b->epoch = rotate_epoch(r->note.epoch, b->epoch) + 1;
    f->pools[pool].version++;
}

enum rotate_claim fleet_manager_claim(struct fleet *f, struct rotor *r, uint32_t pool,
                                      uint64_t *ret_epoch)
{
    enum call c = call(f, r);
    if (c == CALL_LOST) return CLAIM_UNKNOWN;
    refresh(f);
    const struct service *p = &f->pools[pool];
    const struct binding *b = &f->binding[r->index];
    bool known = f->now_ms - p->seen_at_ms <= f->limits.stale_ms && knows_all(f);
    struct pool_claim q = {
        .who = claimant(f, r, b->epoch),
        .mine = b->claim && b->bound == pool && b->epoch == r->note.epoch,
        .waiting = known ? READING(p->seen_waiting) : (struct reading){0},
        .claimed = fleet_manager_claims(f, pool, r->index),
        .version_seen = r->agent.view[pool].version, .version = p->version};
    enum rotate_claim answer = rotate_claim_pool(&q);
    bool broken = fleet_is_broken(f, BREAK_NO_CLAIM) && answer != CLAIM_OLD_EPOCH;
    if (broken) answer = CLAIM_GRANTED;
    f->result->claims[answer]++;
    if (answer == CLAIM_GRANTED) grant(f, r, pool);
    if (c == CALL_DEAF) return CLAIM_UNKNOWN;
    if (answer == CLAIM_GRANTED) *ret_epoch = b->epoch;
    return answer;
}

static void give_run(struct fleet *f, struct rotor *r, uint32_t n)
{
    struct run *run = &f->runs.v[n];
    if (run->state == RUN_QUEUED) f->n_queued--;
    run->state = RUN_CLAIMED;
    run->rotor = r->index;
    run->fence++;
    f->binding[r->index].run = n;
    f->binding[r->index].copy = r->disk;
    f->binding[r->index].copy.fence = run->fence;
}

uint32_t fleet_manager_take(struct fleet *f, struct rotor *r)
{
    uint32_t n = next_run(f);
    if (n != NOBODY) give_run(f, r, n);
    return n;
}

enum rotate_claim fleet_manager_claim_run(struct fleet *f, struct rotor *r, uint64_t *ret_fence)
{
    uint32_t n = r->agent.next_run;
    enum call c = call(f, r);
    if (c == CALL_LOST || n == NOBODY) return CLAIM_UNKNOWN;
    struct binding *b = &f->binding[r->index];
    const struct run *run = &f->runs.v[n];
    const struct service *p = &f->pools[r->note.bound];
    struct run_claim q = {
        .who = claimant(f, r, b->epoch), .mine = b->run == n,
        .queued = run->state == RUN_QUEUED && !f->resting ? FACT_YES : FACT_NO,
        .taken = run->state == RUN_CLAIMED && run->rotor != r->index ? FACT_YES : FACT_NO,
        .keep = p->keep};
    if (knows_all(f)) q.bound = READING(fleet_manager_bound(f, r->note.bound));
    if (fleet_is_broken(f, BREAK_IGNORE_KEEP)) q.keep = 0;
    if (fleet_is_broken(f, BREAK_TWO_RUNS) && run->state == RUN_CLAIMED)
        q.queued = FACT_YES, q.taken = FACT_NO;
    enum rotate_claim answer = b->run != NOBODY && b->run != n ? CLAIM_OLD_EPOCH
                                                               : rotate_claim_run(&q);
    f->result->claims[answer]++;
    if (answer == CLAIM_GRANTED) give_run(f, r, n);
    if (c == CALL_DEAF) return CLAIM_UNKNOWN;
    if (answer == CLAIM_GRANTED) *ret_fence = run->fence;
    return answer;
}

enum fact fleet_manager_ack(struct fleet *f, struct rotor *r)
{
    CHECK(r->disk.phase != WAYBACK_NONE);
    enum call c = call(f, r);
    if (c == CALL_LOST) return FACT_UNKNOWN;
    struct binding *b = &f->binding[r->index];
    bool his = b->run == r->disk.run && f->runs.v[b->run].fence == r->disk.fence;
    if (his) b->copy = r->disk;
    if (c == CALL_DEAF) return FACT_UNKNOWN;
    return his ? FACT_YES : FACT_NO;
}

enum fact fleet_manager_copy(struct fleet *f, struct rotor *r, struct record *ret)
{
    if (call(f, r) != CALL_FINE) return FACT_UNKNOWN;
    *ret = f->binding[r->index].copy;
    return ret->phase == WAYBACK_NONE ? FACT_NO : FACT_YES;
}
