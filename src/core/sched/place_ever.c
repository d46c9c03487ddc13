/* core/sched/place_ever.c - what could be on nodes with nothing else to do, and why not.
 *
 * docs/spec/scheduling.md, "Placement" */
#include "base/check.h"
#include "core/sched/place.h"
#include "core/sched/strategy.h"

static bool one_choice(const struct session *s) { return s->one_node || s->members == 1; }

/* How often `need` fits, at most `enough` times. */
static uint32_t times(const struct slots *need, const struct slots *capacity, uint32_t enough)
{
    int64_t n = enough;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > 0 && capacity->v[k] / need->v[k] < n) n = capacity->v[k] / need->v[k];
    }
    CHECK(n >= 0);
    return (uint32_t)n;
}

bool place_admits(const struct world *w, const struct session *s, enum place_scope scope,
                  const struct slots *need, uint32_t at)
{
    enum filter f = filter_node(w, s, need, at);
    return f == FILTER_NONE || (f == FILTER_FAILED && scope == PLACE_EVER);
}

/* The usual cases need no copy of all rooms: one choice, and members that are all alike. */
static bool plainly_possible(const struct world *w, const struct session *s)
{
    uint32_t left = one_choice(s) ? 1 : s->members;
    if (!one_choice(s) && s->n_roles > 1) return false;
    for (uint32_t i = 0; i < w->rooms.n && left > 0; i++) {
        const struct room *r = &w->rooms.v[i];
        if (r->group != s->group) continue;
        if (one_choice(s)) left -= place_hosts_at(w, s, i);
        else if (place_admits(w, s, PLACE_EVER, &s->roles[0].slots, i)) {
            left -= times(&s->roles[0].slots, &r->capacity, left);
        }
    }
    return left == 0;
}

bool place_possible(const struct world *w, const struct session *s, struct place *p)
{
    return plainly_possible(w, s) || place_decide(w, s, PLACE_EVER, p);
}

bool place_hosts(const struct session *s, const struct slots *capacity)
{
    if (s->one_node) {
        struct slots total;
        return session_total(s, &total) && slots_fit(&total, capacity);
    }
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (slots_fit(&s->roles[i].slots, capacity)) return true;
    }
    return false;
}

bool place_hosts_at(const struct world *w, const struct session *s, uint32_t at)
{
    const struct slots *capacity = &w->rooms.v[at].capacity;
    struct slots total;
    if (!filter_asks(s)) return place_hosts(s, capacity);
    if (s->one_node) {
        return session_total(s, &total) && slots_fit(&total, capacity) &&
               place_admits(w, s, PLACE_EVER, &total, at);
    }
    for (uint32_t i = 0; i < s->n_roles; i++) {
        const struct slots *need = &s->roles[i].slots;
        if (slots_fit(need, capacity) && place_admits(w, s, PLACE_EVER, need, at)) return true;
    }
    return false;
}

/* ---- why not */

static struct slots lacks(const struct slots *asked, const struct slots *free)
{
    struct slots missing = {{0}};
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (asked->v[k] > free->v[k]) missing.v[k] = asked->v[k] - free->v[k];
    }
    return missing;
}

/* Nodes that are large enough come before those that never will be. */
static bool nearer(const struct world *w, const struct place *p, uint32_t a, uint32_t b)
{
    struct room ra = place_left(w, p, a), rb = place_left(w, p, b);
    bool large_a = slots_fit(&p->demand, &ra.capacity);
    if (large_a != slots_fit(&p->demand, &rb.capacity)) return large_a;
    struct slots la = lacks(&p->demand, &ra.free), lb = lacks(&p->demand, &rb.free);
    if (memcmp(&la, &lb, sizeof(la)) != 0) return strategy_larger(&lb, &la);
    return str_natural_cmp(str_of(w->nodes.v[a].name), str_of(w->nodes.v[b].name)) < 0;
}

/* Counts the node under the first filter that removes it; true: it may be compared. */
static bool count_node(const struct world *w, const struct session *s, const struct place *failed,
                       uint32_t at, struct place_miss *miss)
{
    const struct node *n = &w->nodes.v[at];
    enum filter f = filter_node(w, s, &failed->demand, at);
    bool now = failed->scope == PLACE_NOW;
    miss->nodes++;
    if (!place_admits(w, s, failed->scope, &failed->demand, at)) {
        miss->filtered[f]++;
        return false;
    }
    if (now && (n->unreachable || !n->heard)) miss->unreachable++;
    else if (now && n->quarantined) miss->quarantined++;
    else if (now && n->cordoned) miss->cordoned++;
    else if (now && n->unhealthy[0] != '\0') miss->unhealthy++;
    else if (!slots_fit(&failed->demand, &w->rooms.v[at].capacity)) miss->too_small++;
    else miss->busy++;
    return place_left(w, failed, at).usable;
}

void place_explain(const struct world *w, const struct session *s, enum place_scope scope,
                   const struct place *failed, struct place_miss *ret)
{
    struct place_miss miss = {.asked = failed->demand};
    uint32_t nearest = UINT32_MAX, counted = 0;
    CHECK(failed->scope == scope);
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        if (w->rooms.v[i].group != s->group) continue;
        if (!count_node(w, s, failed, i, &miss)) continue;
        if (nearest == UINT32_MAX || nearer(w, failed, i, nearest)) nearest = i;
    }
    if (nearest != UINT32_MAX) {
        miss.nearest_node = nearest + 1;
        miss.free = place_left(w, failed, nearest).free;
        miss.missing = lacks(&miss.asked, &miss.free);
        CHECK(!slots_zero(&miss.missing));
    }
    for (int f = FILTER_NONE; f < FILTERS; f++) counted += miss.filtered[f];
    counted += miss.unreachable + miss.cordoned + miss.quarantined + miss.unhealthy;
    counted += miss.too_small + miss.busy;
    CHECK(counted == miss.nodes);
    *ret = miss;
}
