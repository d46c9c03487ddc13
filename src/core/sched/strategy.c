/* core/sched/strategy.c - the formulas.
 *
 * least_allocated and most_allocated are those of Kubernetes' noderesources plugin
 * (least_allocated.go, most_allocated.go), with equal weights, over the slots that the
 * member names; best_fit weighs as in the published traces of Weng et al. (ATC'23).
 * docs/spec/scheduling.md, "Placement" */
#include "core/sched/strategy.h"

#include "base/check.h"

static const enum slot_kind RANKING[] = {SLOT_GPU, SLOT_CPU, SLOT_MEM};
_Static_assert(ARRAY_LEN(RANKING) == SLOT_KINDS, "each kind is ranked");
_Static_assert(STRATEGY_TERMS >= SLOT_KINDS + 1, "unused kinds, then each slot");

enum place_strategy strategy_of(const struct world *w, const struct session *s)
{
    const struct group *g = world_group(w, s->group);
    enum place_strategy by = s->strategy;
    if (by == 0 && g) by = g->strategy;
    if (by == 0) by = STRATEGY_CONCENTRATED; /* no group: there is no node either */
    CHECK(by >= STRATEGY_CONCENTRATED);
    CHECK(by < PLACE_STRATEGIES);
    return by;
}

uint32_t strategy_unused(const struct slots *need, const struct slots *capacity)
{
    uint32_t unused = 0;
    for (int k = 0; k < SLOT_KINDS; k++) unused += capacity->v[k] > 0 && need->v[k] == 0;
    return unused;
}

/* The mean over the named slots of the share of capacity, in percent, that would be free
 * (or used) with the member there; each division rounds down. */
static int64_t score(const struct slots *need, const struct room *r, bool used)
{
    int64_t sum = 0, n = 0;
    for (int k = 0; k < SLOT_KINDS; k++) {
        int64_t capacity = r->capacity.v[k];
        if (need->v[k] == 0) continue;
        CHECK(capacity >= need->v[k]);
        int64_t left = r->free.v[k] - need->v[k];
        CHECK(left >= 0);
        CHECK(capacity <= SLOT_MAX); /* times 100 stays in range */
        sum += (used ? capacity - left : left) * 100 / capacity;
        n++;
    }
    return n > 0 ? sum / n : 0;
}

void strategy_stand(enum place_strategy by, const struct slots *need, const struct room *r,
                    struct standing *ret)
{
    struct standing s = {{0}};
    CHECK(slots_fit(need, &r->free));
    switch (by) {
    case STRATEGY_CONCENTRATED:
    case STRATEGY_DISPERSED:
        s.v[0] = strategy_unused(need, &r->capacity);
        for (size_t i = 0; i < ARRAY_LEN(RANKING); i++) {
            int64_t left = r->free.v[RANKING[i]];
            s.v[i + 1] = by == STRATEGY_DISPERSED ? -left : left;
        }
        break;
    case STRATEGY_ROUND_ROBIN: break;
    case STRATEGY_LEAST_ALLOCATED: s.v[0] = -score(need, r, false); break;
    case STRATEGY_MOST_ALLOCATED: s.v[0] = -score(need, r, true); break;
    case STRATEGY_BEST_FIT: /* the need is the same everywhere: what is free decides */
        s.v[0] = r->free.v[SLOT_CPU] + STRATEGY_GPU_WEIGHT * r->free.v[SLOT_GPU];
        s.v[1] = r->free.v[SLOT_MEM];
        break;
    case PLACE_STRATEGIES: UNREACHABLE();
    }
    *ret = s;
}

int strategy_cmp(const struct standing *a, const struct standing *b)
{
    for (int i = 0; i < STRATEGY_TERMS; i++) {
        if (a->v[i] != b->v[i]) return a->v[i] < b->v[i] ? -1 : 1;
    }
    return 0;
}

bool strategy_fills(enum place_strategy by)
{
    return by == STRATEGY_CONCENTRATED || by == STRATEGY_MOST_ALLOCATED || by == STRATEGY_BEST_FIT;
}

bool strategy_larger(const struct slots *a, const struct slots *b)
{
    for (size_t i = 0; i < ARRAY_LEN(RANKING); i++) {
        if (a->v[RANKING[i]] != b->v[RANKING[i]]) return a->v[RANKING[i]] > b->v[RANKING[i]];
    }
    return false;
}
