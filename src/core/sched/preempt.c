/* core/sched/preempt.c - the choice of victims, and the proof that it helps.
 *
 * It works on a copy of the rooms in which whoever is leaving anyway has left.  If the
 * request fits there, nobody must go.  Else first those go whom a limit demands, then those
 * whose room is needed: one node at a time, members one by one.  At the end each victim is
 * given back, in reverse, with the real placement as the judge, while the request still
 * fits: what is left is needed.  docs/spec/scheduling.md, "Preemption" */
#include "core/sched/preempt.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/model/order.h"
#include "core/sched/leaving.h"
#include "core/sched/plan.h"
#include "core/sched/promise.h"
#include "core/sched/quota.h"
#include "core/sched/timeline.h"
#include "core/sched/victims.h"

#define NO_NODE UINT32_MAX

struct search {
    const struct world *w;
    const struct session *s;
    struct world dry;       /* the world, but for its rooms */
    struct leaving leaving; /* victims leave too, while they are taken */
    VEC(struct room) rooms;
    VEC(struct slots) spent; /* by node: what members of a gang took in this search */
    struct victims victims;
    struct place place;
    struct victims_choice choice, best;
};

static bool promised(const struct search *x, uint32_t at)
{
    return plan_promised(x->w, at + 1);
}

/* Beside promises it is what is free from now until its limit.  Rows of those who leave are
 * given back to the line, unless that is past untangling. */
static void promised_room(struct search *x, uint32_t at)
{
    const struct world *w = x->w;
    struct timeline t = {0};
    struct room *r = &x->rooms.v[at];
    struct promises *book = promises_read(w);
    const struct timeline *line = outlook_line(book, w, at + 1, x->s);
    struct window window = {w->now_ms, timeline_end(w->now_ms, x->s->time_limit_ms)};
    VEC_EACH(seg, &line->segs) VEC_PUSH(&t.segs, *seg);
    t.tangled = line->tangled;
    for (struct alloc *a = world_allocs_of_node(w, &w->nodes.v[at]); a && !t.tangled;
         a = world_next_of_node(w, a)) {
        if (!leaving_has(&x->leaving, w, a) || reservation_succeeds(w, a, x->s)) continue;
        struct hold hold = {.from_ms = w->now_ms, .until_ms = a->end_ms, .slots = a->slots,
                            .devices = a->devices & node_healthy_devices(&w->nodes.v[at])};
        if (hold.until_ms <= w->now_ms) hold.until_ms = w->now_ms + 1;
        timeline_release(&t, &hold);
    }
    *r = w->rooms.v[at];
    timeline_window(&t, &window, &r->free, &r->devices);
    timeline_done(&t);
}

static void load_room(struct search *x, uint32_t at)
{
    if (promised(x, at)) promised_room(x, at);
    else leaving_room(&x->leaving, x->w, at, &x->rooms.v[at]);
}

static void search_begin(struct search *x)
{
    uint32_t n = x->w->rooms.n;
    leaving_collect(&x->leaving, x->w);
    VEC_RESERVE(&x->rooms, n);
    VEC_RESERVE(&x->spent, n);
    x->rooms.n = x->spent.n = n;
    if (n > 0) memset(x->spent.v, 0, n * sizeof(*x->spent.v));
    for (uint32_t at = 0; at < n; at++) load_room(x, at);
    x->dry = *x->w;
    x->dry.rooms.v = x->rooms.v;
    x->dry.sched = NULL; /* what is derived there is of other rooms */
}

static void search_done(struct search *x)
{
    leaving_done(&x->leaving);
    VEC_DONE(&x->rooms);
    VEC_DONE(&x->spent);
    victims_done(&x->victims);
    place_done(&x->place);
    VEC_DONE(&x->choice.v);
    VEC_DONE(&x->best.v);
}

static void set_taken(struct search *x, uint32_t victim, bool taken)
{
    struct victim *v = &x->victims.v.v[victim];
    const struct session *s = &x->w->sessions.v[v->slot];
    CHECK(v->taken != taken);
    v->taken = taken;
    if (taken) leaving_add(&x->leaving, x->w, s);
    else leaving_remove(&x->leaving, x->w, s);
    for (struct alloc *a = world_allocs_of_session(x->w, s); a;
         a = world_next_of_session(x->w, a)) {
        load_room(x, a->node - 1);
    }
}

static bool allowed(const struct search *x)
{
    struct quota_freed freed = {.n = x->leaving.sessions.n, .sessions = x->leaving.sessions.v};
    return quota_allows(x->w, x->s, &freed);
}

static bool fits(struct search *x) { return place_decide(&x->dry, x->s, PLACE_NOW, &x->place); }

/* ---- giving back */

/* Gives back as many of the taken in list[first, first + n) as it can, whole halves first. */
static void give_back(struct search *x, const uint32_t *list, uint32_t n,
                      bool (*ok)(struct search *))
{
    if (n == 0) return;
    for (uint32_t i = n; i > 0; i--) set_taken(x, list[i - 1], false);
    if (ok(x)) return;
    for (uint32_t i = 0; i < n; i++) set_taken(x, list[i], true);
    if (n == 1) return;
    give_back(x, list + n / 2, n - n / 2, ok);
    give_back(x, list, n / 2, ok);
}

/* In reverse of the order of eviction, until nobody else could stay. */
static void prune(struct search *x, bool (*ok)(struct search *))
{
    VEC(uint32_t) list = {0};
    uint32_t before;
    do {
        VEC_CLEAR(&list);
        for (uint32_t i = 0; i < x->victims.v.n; i++) {
            if (x->victims.v.v[i].taken) VEC_PUSH(&list, i);
        }
        before = list.n;
        give_back(x, list.v, list.n, ok);
        VEC_CLEAR(&list);
        for (uint32_t i = 0; i < x->victims.v.n; i++) {
            if (x->victims.v.v[i].taken) VEC_PUSH(&list, i);
        }
    } while (list.n < before); /* what is left might do with fewer, as greedy placement goes */
    VEC_DONE(&list);
}

static bool allowed_and_fits(struct search *x) { return allowed(x) && fits(x); }
static bool just_allowed(struct search *x) { return allowed(x); }

/* ---- limits */

/* Its limits count those who will be gone: first who must go for them alone. */
static bool free_limits(struct search *x)
{
    for (uint32_t i = 0; i < x->victims.v.n && !allowed(x); i++) set_taken(x, i, true);
    if (!allowed(x)) return false;
    prune(x, just_allowed);
    return true;
}

/* ---- room */

static bool has_room(const struct search *x, uint32_t at)
{
    const struct room *r = &x->rooms.v[at];
    return r->usable && r->group == x->s->group;
}

/* What a member that needs so much lacks on the node. */
static struct slots missing(const struct search *x, uint32_t at, const struct slots *need)
{
    const struct slots *free = &x->rooms.v[at].free, *spent = &x->spent.v[at];
    struct slots miss;
    for (int k = 0; k < SLOT_KINDS; k++) miss.v[k] = need->v[k] + spent->v[k] - free->v[k];
    for (int k = SLOT_CPU; k <= SLOT_MEM; k++) { /* a room never says that it is overdrawn */
        miss.v[k] += leaving_overdrawn(&x->leaving, x->w, at, (enum slot_kind)k);
    }
    return miss;
}

/* The node where the cheapest victims stand, left in x->best; NO_NODE: nowhere.  On a node
 * with promises amounts do not tell what their leaving gives: these come last, when all
 * victims are tried together. */
static uint32_t cheapest(struct search *x, const struct slots *need)
{
    const struct victims *all = &x->victims;
    uint32_t best = NO_NODE, n;
    for (uint32_t i = 0; i < all->parts.n; i += n) {
        uint32_t at = all->parts.v[i].at;
        for (n = 1; i + n < all->parts.n && all->parts.v[i + n].at == at;) n++;
        if (!has_room(x, at) || promised(x, at)) continue;
        if (!slots_fit(need, &x->rooms.v[at].capacity)) continue;
        if (!place_admits(x->w, x->s, PLACE_NOW, need, at)) continue;
        struct slots miss = missing(x, at, need);
        if (!victims_choose(all, i, n, &miss, &x->choice)) continue;
        int order = best == NO_NODE ? -1 : victims_cost_cmp(&x->choice.cost, &x->best.cost);
        if (order == 0) {
            order = str_natural_cmp(str_of(x->w->nodes.v[at].name),
                                    str_of(x->w->nodes.v[best].name));
        }
        if (order >= 0) continue;
        best = at;
        VEC_CLEAR(&x->best.v);
        VEC_EACH(v, &x->choice.v) VEC_PUSH(&x->best.v, *v);
        x->best.cost = x->choice.cost;
    }
    return best;
}

/* A node where a member fits as it is, the fullest; NO_NODE: none. */
static uint32_t fitting(const struct search *x, const struct slots *need)
{
    uint32_t best = NO_NODE;
    struct slots least = {{0}};
    for (uint32_t at = 0; at < x->rooms.n; at++) {
        if (!has_room(x, at) || !place_admits(x->w, x->s, PLACE_NOW, need, at)) continue;
        struct slots left;
        bool enough = true;
        for (int k = 0; k < SLOT_KINDS; k++) {
            left.v[k] = x->rooms.v[at].free.v[k] - x->spent.v[at].v[k] - need->v[k];
            enough = enough && left.v[k] >= 0;
        }
        if (!enough) continue;
        bool fuller = left.v[SLOT_GPU] != least.v[SLOT_GPU]
                          ? left.v[SLOT_GPU] < least.v[SLOT_GPU]
                          : left.v[SLOT_CPU] < least.v[SLOT_CPU];
        if (best != NO_NODE && !fuller) continue;
        best = at;
        least = left;
    }
    return best;
}

static void take_best(struct search *x)
{
    for (uint32_t i = 0; i < x->best.v.n; i++) set_taken(x, x->best.v.v[i], true);
}

/* Room for one member more; false: nowhere, whoever goes. */
static bool make_room(struct search *x, const struct slots *need)
{
    uint32_t at = fitting(x, need);
    if (at == NO_NODE) {
        at = cheapest(x, need);
        if (at == NO_NODE) return false;
        take_best(x);
    }
    for (int k = 0; k < SLOT_KINDS; k++) x->spent.v[at].v[k] += need->v[k];
    return true;
}

static bool larger(const struct slots *a, const struct slots *b)
{
    if (a->v[SLOT_GPU] != b->v[SLOT_GPU]) return a->v[SLOT_GPU] > b->v[SLOT_GPU];
    return a->v[SLOT_CPU] > b->v[SLOT_CPU];
}

/* The largest members first: they fit fewer places. */
static bool make_all_room(struct search *x)
{
    const struct session *s = x->s;
    struct slots total;
    bool sane = session_total(s, &total), done[SESSION_ROLES_MAX] = {false};
    CHECK(sane); /* submission refused sums that overflow */
    if (s->one_node || s->members == 1) return make_room(x, &total);
    for (uint32_t i = 0; i < s->n_roles; i++) {
        uint32_t next = SESSION_ROLES_MAX;
        for (uint32_t k = 0; k < s->n_roles; k++) {
            if (done[k]) continue;
            if (next == SESSION_ROLES_MAX || larger(&s->roles[k].slots, &s->roles[next].slots)) {
                next = k;
            }
        }
        CHECK(next < SESSION_ROLES_MAX);
        done[next] = true;
        for (uint32_t m = 0; m < s->roles[next].count; m++) {
            if (!make_room(x, &s->roles[next].slots)) return false;
        }
    }
    return true;
}

/* ---- all of it */

static bool decide(struct search *x)
{
    bool room = fits(x);
    if (room && allowed(x)) return false; /* it fits, or will when those who leave are gone */
    if (!victims_collect(x->w, x->s, &x->victims)) return false;
    if (!free_limits(x)) return false;
    if (!room && !fits(x)) (void)make_all_room(x);
    if (!allowed_and_fits(x)) { /* greedy choices prove nothing: would all of them do? */
        for (uint32_t i = 0; i < x->victims.v.n; i++) {
            if (!x->victims.v.v[i].taken) set_taken(x, i, true);
        }
        if (!allowed_and_fits(x)) return false;
    }
    prune(x, allowed_and_fits);
    return true;
}

int32_t preempt_floor(const struct world *w, uint32_t group)
{
    int32_t floor = INT32_MAX;
    VEC_EACH(a, &w->allocs) {
        if (!a->live || a->revoked) continue;
        const struct session *s = world_session(w, a->ref.session);
        CHECK(s != NULL);
        if (s->state != SESSION_RUNNING || s->group != group || !s->preemptible) continue;
        if (s->priority < floor) floor = s->priority;
    }
    return floor;
}

bool preempt_decide(const struct world *w, const struct session *s, struct preempt *ret)
{
    const struct group *g = world_group(w, s->group);
    CHECK(g != NULL);
    CHECK(s->state == SESSION_PENDING);
    if (!g->preempt.enabled) return false;
    struct search x = {.w = w, .s = s};
    search_begin(&x);
    bool found = decide(&x);
    if (found) {
        bool still = allowed_and_fits(&x); /* the dry run that counts */
        CHECK(still);
        VEC_CLEAR(&ret->victims);
        VEC_CLEAR(&ret->picks);
        for (uint32_t i = 0; i < x.victims.v.n; i++) {
            if (x.victims.v.v[i].taken) VEC_PUSH(&ret->victims, x.victims.v.v[i].id);
        }
        CHECK(ret->victims.n > 0);
        VEC_EACH(pick, &x.place.picks) VEC_PUSH(&ret->picks, *pick);
        CHECK(ret->picks.n == s->members);
    }
    search_done(&x);
    return found;
}

void preempt_done(struct preempt *p)
{
    VEC_DONE(&p->victims);
    VEC_DONE(&p->picks);
}
