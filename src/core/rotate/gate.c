/* core/rotate/gate.c - eleven checks before a drain; any one refuses.
 *
 * One function per check, each citing its number, each true when it refuses.  A check
 * refuses for what is known; check 9 refuses for everything that is not.
 * docs/spec/rotation.md, "The gate" */
#include "core/rotate/gate.h"
#include <stddef.h>
#include "base/check.h"

struct gate_view {
    const struct rotate_limits *lim;
    const struct gate_facts *f;
};

/* 1: operator pin. */
static bool is_pinned(const struct gate_view *v) { return v->f->here.pinned == FACT_YES; }

/* 2: batch reservation. */
static bool is_reserved(const struct gate_view *v) { return v->f->here.reserved == FACT_YES; }

/* 3: a training run is live here, or starting. */
static bool run_is_live(const struct gate_view *v) { return v->f->here.run_live == FACT_YES; }

/* 4: work in flight here, own or co-resident. */
static bool work_is_in_flight(const struct gate_view *v)
{
    return v->f->here.in_flight == FACT_YES || v->f->here.co_in_flight == FACT_YES;
}

/* 5: the engine is still answering. */
static bool engine_is_active(const struct gate_view *v)
{
    return v->f->here.engine == ENGINE_ACTIVE;
}

/* 6: work queued for this rotor. */
static bool work_is_queued(const struct gate_view *v) { return v->f->queued == FACT_YES; }

/* 7: the quiet window has not elapsed. */
static bool is_not_quiet(const struct gate_view *v)
{
    return v->f->quiet_ms.known && !clocks_pass(v->f->quiet_ms, v->lim->quiet_ms);
}

/* 8: no pool bound to drain in the first place. */
static bool has_no_pool(const struct gate_view *v)
{
    return v->f->here.state != ROTATE_SERVING;
}

/* A pool that may have work for this rotor but cannot be read, or whose claim was lost a
 * moment ago.  The loop passes it over for the next pool; that nobody has work is then
 * not established. */
static bool hides_work(const struct rotate_candidate *c)
{
    bool apart = c->fits == FACT_NO || c->co_resident == FACT_YES || c->backed_off == FACT_YES;
    if (apart || c->training) return false;
    if (c->lost || c->readable != FACT_YES || c->fresh != FACT_YES) return true;
    bool unsure = c->fits == FACT_UNKNOWN || c->co_resident == FACT_UNKNOWN ||
                  c->backed_off == FACT_UNKNOWN;
    return unsure && c->waiting > 0;
}

static bool demand_is_hidden(const struct rotate_facts *here)
{
    for (uint32_t i = 0; i < here->n_candidates; i++) {
        if (hides_work(&here->candidates[i])) return true;
    }
    return false;
}

/* 9: a signal could not be read.  An engine that is not there cannot be asked either. */
static bool is_unreadable(const struct gate_view *v)
{
    const struct gate_facts *f = v->f;
    const enum fact signals[] = {f->here.pinned, f->here.reserved, f->here.run_live,
                                 f->here.in_flight, f->here.co_in_flight, f->queued,
                                 f->demand_manager, f->demand_node, f->epochs_agree};
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        if (signals[i] == FACT_UNKNOWN) return true;
    }
    if (f->here.engine == ENGINE_UNKNOWN || f->here.engine == ENGINE_ABSENT) return true;
    return !f->quiet_ms.known || demand_is_hidden(&f->here);
}

/* 10: two independent views of demand disagree, or look at different bindings. */
static bool views_disagree(const struct gate_view *v)
{
    enum fact manager = v->f->demand_manager, node = v->f->demand_node;
    bool both = manager != FACT_UNKNOWN && node != FACT_UNKNOWN;
    return (both && manager != node) || v->f->epochs_agree == FACT_NO;
}

/* 11: the way back cannot be written.  Tried only when the ten before it pass. */
static bool has_no_way_back(const struct gate_view *v) { return v->f->way_back == FACT_NO; }

static bool (*const REFUSES[GATE_CHECKS])(const struct gate_view *) = {
    [GATE_PINNED] = is_pinned,
    [GATE_RESERVED] = is_reserved,
    [GATE_RUN_LIVE] = run_is_live,
    [GATE_IN_FLIGHT] = work_is_in_flight,
    [GATE_ENGINE_ACTIVE] = engine_is_active,
    [GATE_QUEUED] = work_is_queued,
    [GATE_NOT_QUIET] = is_not_quiet,
    [GATE_NO_POOL] = has_no_pool,
    [GATE_UNREADABLE] = is_unreadable,
    [GATE_DISAGREE] = views_disagree,
    [GATE_NO_WAY_BACK] = has_no_way_back,
};

#define BIT(check) (UINT32_C(1) << (check))
#define FIRST_TEN (BIT(GATE_NO_WAY_BACK) - BIT(GATE_PINNED))
/* What can have changed between the record and the end of serving. */
#define SECOND_TIME (BIT(GATE_IN_FLIGHT) | BIT(GATE_ENGINE_ACTIVE) | BIT(GATE_QUEUED) | \
                     BIT(GATE_NOT_QUIET) | BIT(GATE_UNREADABLE) | BIT(GATE_DISAGREE))

static struct gate_verdict evaluate(const struct gate_view *v, uint32_t which)
{
    struct gate_verdict r = {0};
    for (enum gate_check c = GATE_PINNED; c < GATE_CHECKS; c++) {
        if ((which & BIT(c)) == 0 || !REFUSES[c](v)) continue;
        if (r.refused == 0) r.headline = c;
        r.refused |= BIT(c);
    }
    r.answer = r.refused != 0 ? GATE_REFUSE : GATE_DRAIN;
    CHECK((r.refused & ~which) == 0);
    CHECK((r.refused == 0) == (r.headline == 0));
    return r;
}

struct gate_verdict gate_decide(const struct rotate_limits *lim, const struct gate_facts *f)
{
    CHECK(rotate_limits_wrong(lim) == NULL);
    CHECK(f->here.state < ROTATE_STATES);
    CHECK(f->here.engine < ENGINE_STATES);
    struct gate_view v = {lim, f};
    if (f->here.transition) return (struct gate_verdict){0};
    struct gate_verdict r = evaluate(&v, FIRST_TEN);
    if (r.answer == GATE_REFUSE) return r;
    if (f->way_back == FACT_UNKNOWN) {
        r.answer = GATE_RECORD;
        return r;
    }
    return evaluate(&v, BIT(GATE_NO_WAY_BACK));
}

struct gate_verdict gate_ask(const struct rotate_limits *lim, const struct gate_facts *f)
{
    struct rotate_verdict loop = rotate_decide(lim, &f->here);
    bool handed_over = loop.branch == ROTATE_STAY_HANDOVER && loop.action == ROTATE_STAY;
    if (!handed_over || f->run_fits != FACT_YES) return (struct gate_verdict){0};
    return gate_decide(lim, f);
}

struct gate_verdict gate_again(const struct rotate_limits *lim, const struct gate_facts *f)
{
    CHECK(rotate_limits_wrong(lim) == NULL);
    return evaluate(&(struct gate_view){lim, f}, SECOND_TIME);
}

enum fact gate_node_demand(const struct gate_demand *d)
{
    if (d->queued == FACT_YES || d->engine == ENGINE_ACTIVE) return FACT_YES;
    if (d->port_bytes.known && d->port_bytes.v > GATE_DEMAND_BYTES) return FACT_YES;
    if (d->device_milli.known && d->device_milli.v > GATE_DEMAND_DEVICE_MILLI) return FACT_YES;
    bool all_known = d->queued != FACT_UNKNOWN && d->engine != ENGINE_UNKNOWN &&
                     d->port_bytes.known && d->device_milli.known;
    return all_known ? FACT_NO : FACT_UNKNOWN;
}

/* ---- words ---- */

static const struct words { const char *name, *text; } WORDS[] = {
    {"none", "no check refuses"},
    {"pin", "an operator pinned this machine"},
    {"reservation", "a batch reserved this machine"},
    {"run_live", "a training run is live here, or starting"},
    {"in_flight", "work of this pool, or of one that shares its engine, is in flight"},
    {"engine_active", "the engine is still answering"},
    {"queued", "work is queued for this machine"},
    {"quiet", "the engine has not been quiet long enough"},
    {"no_pool", "no pool is bound here, so there is nothing to drain"},
    {"unreadable", "a signal could not be read"},
    {"disagree", "two independent views of demand disagree"},
    {"no_way_back", "what would have to be put back cannot be written down"},
};
_Static_assert(sizeof(WORDS) / sizeof(*WORDS) == GATE_CHECKS, "one per check");

static const char *const ANSWER_NAMES[] = {"not_reached", "refuse", "record", "drain"};
_Static_assert(sizeof(ANSWER_NAMES) / sizeof(*ANSWER_NAMES) == GATE_ANSWERS, "one per answer");

const char *gate_check_name(enum gate_check c)
{
    CHECK(c < GATE_CHECKS);
    return WORDS[c].name;
}

const char *gate_check_text(enum gate_check c)
{
    CHECK(c < GATE_CHECKS);
    return WORDS[c].text;
}

const char *gate_answer_name(enum gate_answer a)
{
    CHECK(a < GATE_ANSWERS);
    return ANSWER_NAMES[a];
}
