/* sim/rotation_fault.c - what goes wrong, and who comes to put it right. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define MINUTE_MS INT64_C(60000)
#define PAUSE_MOST_MS (12 * MINUTE_MS)

static int64_t until(struct fleet *f, int64_t most_ms)
{
    return f->now_ms + 1000 + (int64_t)fleet_below(f, (uint64_t)most_ms);
}

/* An operator, or a batch, holds a rotor; the batch's hold has an end of its own. */
static void hold(struct fleet *f, struct rotor *r, enum rotation_fault kind)
{
    if (kind == FAULT_PIN) r->pin_until_ms = until(f, 90 * MINUTE_MS);
    else r->reserve_until_ms = until(f, 60 * MINUTE_MS);
}

/* A signal of one rotor is lost, or says what is not so, for a while. */
static void blind(struct fleet *f, struct rotor *r, enum rotation_fault kind)
{
    struct machine_faults *m = &r->fault;
    if (kind == FAULT_METRICS) m->metrics_ms = until(f, 30 * MINUTE_MS);
    else if (kind == FAULT_GAUGE_STUCK) m->stuck_ms = until(f, 60 * MINUTE_MS);
    else if (kind == FAULT_DRIVER) m->driver_ms = until(f, 10 * MINUTE_MS);
    else if (kind == FAULT_PORT) m->port_ms = until(f, 30 * MINUTE_MS);
    else if (kind == FAULT_NOISE) m->noise_ms = until(f, 30 * MINUTE_MS);
    else if (kind == FAULT_DEVICE) m->device_ms = until(f, 30 * MINUTE_MS);
    else if (kind == FAULT_DISK_FULL) m->disk_ms = until(f, 40 * MINUTE_MS);
    else if (kind == FAULT_VERIFY_FAILS) m->verify_ms = until(f, 120 * MINUTE_MS);
}

/* The manager is away, deaf, or back from an older backup; or one rotor is cut off. */
static void part(struct fleet *f, struct rotor *r, enum rotation_fault kind)
{
    if (kind == FAULT_PROXY_MUTE) f->mute_until_ms = until(f, 5 * MINUTE_MS);
    else if (kind == FAULT_CALLS_LOST) f->lossy_until_ms = until(f, 20 * MINUTE_MS);
    else if (kind == FAULT_MANAGER_AWAY && fleet_below(f, 2) == 0)
        f->away_until_ms = until(f, 15 * MINUTE_MS);
    else if (kind == FAULT_MANAGER_AWAY) r->fault.cut_ms = until(f, 15 * MINUTE_MS);
}

static void fail_binds(struct fleet *f)
{
    uint64_t pool = fleet_below(f, f->n_pools); /* two lots, in this order with any compiler */
    f->pools[pool].fails_until_ms = until(f, 20 * MINUTE_MS);
}

static void restore_backup(struct fleet *f)
{
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        struct binding *b = &f->binding[i];
        const struct binding *old = &f->backup[i];
        b->bound = old->bound;
        b->epoch = old->epoch;
        b->claim = old->claim;
        b->unheard = true;
    }
}

/* Somebody starts the engine by hand beside a run. */
static bool intrude(struct fleet *f, struct rotor *r)
{
    if (r->disk.phase != WAYBACK_LIVE || !r->run.executing || r->engine.alive) return false;
    struct engine *e = &r->engine;
    uint32_t serial = e->serial + 1;
    *e = (struct engine){.alive = true, .intruder = true, .armed = true, .pool = r->disk.pool,
        .serial = serial, .start = ++f->starts, .active_ms = f->now_ms};
    r->truth.intruded_ms = f->now_ms;
    return true;
}

/* With the machine, or with one of its processes. */
static bool strike(struct fleet *f, struct rotor *r, enum rotation_fault kind)
{
    if (r->down || r->quarantined) return false;
    if (kind == FAULT_AGENT_KILL && r->agent.up) {
        fleet_agent_die(f, r);
    } else if (kind == FAULT_REBOOT) {
        fleet_reboot(f, r);
    } else if (kind == FAULT_ENGINE_CRASH && r->engine.alive) {
        fleet_engine_die(f, r);
    } else if (kind == FAULT_RUN_CRASH && r->run.executing) {
        fleet_run_ended(f, r, r->run.serial);
    } else {
        return false;
    }
    return true;
}

static bool happen(struct fleet *f, struct rotor *r, enum rotation_fault kind)
{
    switch (kind) {
    case FAULT_AGENT_KILL: case FAULT_REBOOT: case FAULT_ENGINE_CRASH: case FAULT_RUN_CRASH:
        return strike(f, r, kind);
    case FAULT_METRICS: case FAULT_GAUGE_STUCK: case FAULT_DRIVER: case FAULT_PORT:
    case FAULT_NOISE: case FAULT_DEVICE: case FAULT_DISK_FULL: case FAULT_VERIFY_FAILS:
        blind(f, r, kind);
        return true;
    case FAULT_MANAGER_AWAY: case FAULT_CALLS_LOST: case FAULT_PROXY_MUTE:
        part(f, r, kind);
        return true;
    case FAULT_PIN: case FAULT_RESERVE: hold(f, r, kind); return true;
    case FAULT_MANAGER_OLD: restore_backup(f); return true;
    case FAULT_ENGINE_INTRUDES: return intrude(f, r);
    case FAULT_BIND_FAILS:
        fail_binds(f);
        return true;
    case FAULT_STEP_KILL: case FAULT_MEMORY_STUCK: case FAULT_RECORD_CORRUPT:
    case FAULT_LATE_WORK: return false; /* happen by themselves */
    case ROTATION_FAULTS: UNREACHABLE();
    }
    UNREACHABLE();
}

void fleet_fault(struct fleet *f)
{
    if (fleet_below(f, 10) == 0) memcpy(f->backup, f->binding, sizeof(f->backup));
    enum rotation_fault kind = (enum rotation_fault)fleet_below(f, ROTATION_FAULTS);
    uint32_t first = (uint32_t)fleet_below(f, f->n_rotors);
    for (uint32_t i = 0; i < f->n_rotors; i++) { /* where it can happen at all */
        struct rotor *r = &f->rotors[(first + i) % f->n_rotors];
        if (!happen(f, r, kind)) continue;
        f->result->faults[kind]++;
        fleet_say(f, r, "fault: %s", rotation_fault_name(kind));
        break;
    }
    fleet_at(f, until(f, PAUSE_MOST_MS), EV_FAULT, 0, 0);
}

/* Comes to a quarantined machine, or to a record that was kept. */
void fleet_operator(struct fleet *f, struct rotor *r)
{
    if (r->quarantined) {
        r->quarantined = false;
        fleet_reboot(f, r);
    } else if (r->disk.kept) {
        r->disk = (struct record){.run = NOBODY};
    }
}
