/* core/rotate/claim.c - one rotor per item, one rotor per run.
 *
 * Asking again gives the same answer; what is not known is refused, and the rotor
 * stays.  docs/spec/rotation.md, "Words", rulings (e) and check 11 */
#include "core/rotate/claim.h"
#include "base/check.h"

/* The manager's own view of the rotor: a hold that the rotor has not heard of yet. */
static enum rotate_claim may_rotor_move(const struct rotate_claimant *who)
{
    if (who->epoch_asked < who->epoch_known) return CLAIM_OLD_EPOCH;
    if (who->pinned == FACT_YES || who->reserved == FACT_YES) return CLAIM_HELD;
    bool free = who->pinned == FACT_NO && who->reserved == FACT_NO;
    return free ? CLAIM_GRANTED : CLAIM_UNKNOWN;
}

static bool is_repeated(const struct rotate_claimant *who, bool mine)
{
    return mine && who->epoch_asked >= who->epoch_known;
}

/* (e): compare-and-swap on backlog minus claims. */
enum rotate_claim rotate_claim_pool(const struct pool_claim *c)
{
    if (is_repeated(&c->who, c->mine)) return CLAIM_GRANTED;
    enum rotate_claim rotor = may_rotor_move(&c->who);
    if (rotor != CLAIM_GRANTED) return rotor;
    if (!c->waiting.known) return CLAIM_UNKNOWN;
    if (c->version_seen != c->version) return CLAIM_CHANGED;
    return c->waiting.v > (int64_t)c->claimed ? CLAIM_GRANTED : CLAIM_COVERED;
}

/* Check 11: one rotor per run, and `keep` rotors stay bound without this one. */
enum rotate_claim rotate_claim_run(const struct run_claim *c)
{
    if (is_repeated(&c->who, c->mine)) return CLAIM_GRANTED;
    enum rotate_claim rotor = may_rotor_move(&c->who);
    if (rotor != CLAIM_GRANTED) return rotor;
    if (c->taken == FACT_YES) return CLAIM_TAKEN;
    if (c->queued == FACT_NO) return CLAIM_NO_RUN;
    if (c->taken != FACT_NO || c->queued != FACT_YES || !c->bound.known) return CLAIM_UNKNOWN;
    return c->bound.v - 1 >= (int64_t)c->keep ? CLAIM_GRANTED : CLAIM_KEEP;
}

uint64_t rotate_epoch(uint64_t node, uint64_t manager)
{
    return node > manager ? node : manager;
}

static const struct claim_words { const char *name, *text; } WORDS[] = {
    {"unknown", "the manager cannot tell whether it may move"},
    {"granted", "it may move"},
    {"old_epoch", "it has been bound anew since it asked"},
    {"held", "it is pinned or reserved"},
    {"changed", "another rotor was quicker: it looks again"},
    {"covered", "every waiting item has a rotor on its way"},
    {"no_run", "the run does not wait any more"},
    {"taken", "another rotor has the run"},
    {"keep", "the pool keeps as many rotors as it has"},
};
_Static_assert(sizeof(WORDS) / sizeof(*WORDS) == CLAIM_ANSWERS, "one per answer");

const char *rotate_claim_name(enum rotate_claim c)
{
    CHECK(c < CLAIM_ANSWERS);
    return WORDS[c].name;
}

const char *rotate_claim_text(enum rotate_claim c)
{
    CHECK(c < CLAIM_ANSWERS);
    return WORDS[c].text;
}
