/* sim/rotation_train.c - training runs: how they come, execute and end on a rotor.
 *
 * Invariant: a run's container is there from its creation until it ended and was
 * reaped; how it ended is written beside it (the exit file) and outlives the agent. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define RUN_LEAST_MS (20 * INT64_C(60000))
#define RUN_MOST_MS (5 * HOUR_MS)
#define FAILS_ONE_IN 12
#define LEFTOVER_ONE_IN 8
#define REAP_MOST_MS 4000
#define STUCK_ONE_IN 12
#define STUCK_MOST_MS 1500000

/* As many as would keep seven tenths of all rotors busy. */
static int64_t pause_of(struct fleet *f)
{
    int64_t mean = (RUN_LEAST_MS + RUN_MOST_MS) / 2 * 10 / 7 / f->n_rotors;
    return 1 + (int64_t)rng_below(&f->demand, (uint64_t)mean * 2);
}

void fleet_run_arrive(struct fleet *f)
{
    struct run *run = VEC_ADD(&f->runs);
    run->rotor = NOBODY;
    run->length_ms = RUN_LEAST_MS + (int64_t)rng_below(&f->demand, RUN_MOST_MS - RUN_LEAST_MS);
    run->fails = rng_below(&f->demand, FAILS_ONE_IN) == 0;
    f->n_queued++;
    f->result->runs++;
    fleet_at(f, f->now_ms + pause_of(f), EV_RUN_ARRIVE, 0, 0);
}

void fleet_run_create(struct fleet *f, struct rotor *r, uint32_t run, uint64_t fence)
{
    CHECK(run < f->runs.n);
    CHECK(!r->run.there);
    r->run = (struct box_run){.there = true, .run = run, .fence = fence,
                              .serial = r->run.serial + 1};
    oracle_run_start(f, r);
}

void fleet_run_go(struct fleet *f, struct rotor *r)
{
    CHECK(r->run.there);
    if (r->run.executing) return;
    const struct run *run = &f->runs.v[r->run.run];
    r->run.executing = true;
    r->run.begun_ms = f->now_ms;
    f->result->runs_begun++;
    fleet_say(f, r, "run %u begins", r->run.run + 1);
    int64_t length = run->fails ? run->length_ms / 5 : run->length_ms;
    fleet_at(f, f->now_ms + length, EV_RUN_END, r->index, r->run.serial);
}

static void end(struct fleet *f, struct rotor *r, bool well)
{
    struct box_run *b = &r->run;
    b->there = b->executing = false;
    b->exited = true;
    b->well = well;
    b->serial++;
    b->leftover = fleet_chance(f, LEFTOVER_ONE_IN);
    r->memory_free_ms = f->now_ms + 500 + (int64_t)fleet_below(f, REAP_MOST_MS);
    if (fleet_chance(f, STUCK_ONE_IN)) { /* and one that nobody can kill for a while */
        f->result->faults[FAULT_MEMORY_STUCK]++;
        b->leftover = true;
        r->fault.memory_ms = f->now_ms + 20000 + (int64_t)fleet_below(f, STUCK_MOST_MS);
    }
    fleet_say(f, r, "run %u ended%s", b->run + 1, well ? "" : ", not well");
}

void fleet_run_ended(struct fleet *f, struct rotor *r, uint32_t serial)
{
    if (!r->run.executing || r->run.serial != serial) return;
    end(f, r, !f->runs.v[r->run.run].fails);
    if (r->agent.up) fleet_agent_step(f, r);
}

void fleet_run_stop(struct fleet *f, struct rotor *r)
{
    CHECK(r->run.there);
    if (r->run.executing) {
        oracle_run_stopped(f, r);
        int64_t last = f->now_ms < f->options->span_ms ? f->now_ms : f->options->span_ms;
        if (last > r->run.begun_ms) f->result->wasted_ms += last - r->run.begun_ms;
    }
    end(f, r, false);
    r->run.exited = false; /* it did not end by itself: it starts over */
}

/* Kills what is left of it; a process in the kernel's hands stays until it is let go. */
void fleet_run_reap(struct fleet *f, struct rotor *r)
{
    if (!r->run.leftover || f->now_ms < r->fault.memory_ms) return;
    r->run.leftover = false;
    if (r->memory_free_ms < f->now_ms + 500) r->memory_free_ms = f->now_ms + 500;
}
