/* core/sched/devmap.c - the best connected devices, and the least harm to the rest.
 *
 * Exact, in two steps.  First the worst pair: from the best kind of link down, until so
 * many devices are all joined by such links or better.  Then all such sets in the order
 * of their indexes, but for those that a bound shows to be no better than the best so far.
 * The bandwidth left among the others needs no look at them: with T the sum over the set
 * of what each has to all free devices, and I the sum inside the set, T - I goes with the
 * set.  Sets are masks over the free devices, numbered from 0 by index. */
#include "core/sched/devmap.h"

#include "base/bitset.h"
#include "base/check.h"
#include "base/str.h"

struct set {
    uint32_t mask, n;
    uint32_t inside; /* of all its pairs */
    uint32_t touch;  /* of all that its devices have to free devices */
    uint32_t most;   /* no set that it becomes has more than half of this inside */
};
struct hunt {
    uint32_t n, count;
    uint32_t device[LINK_DEVICES]; /* the free ones, by index */
    uint32_t weight[LINK_DEVICES][LINK_DEVICES];
    uint32_t near[LINK_DEVICES];   /* mask: joined by the worst pair's weight or more */
    uint32_t touch[LINK_DEVICES];
    uint32_t most[LINK_DEVICES];   /* to its best count - 1 devices */
    uint32_t least_touch[LINK_DEVICES + 1], top_most[LINK_DEVICES + 1]; /* from here on */
    struct set best;
};

uint32_t devmap_weight(enum link_path path)
{
    static const uint32_t shared[LINK_DIRECT1] = {0, 6, 8, 10, 12};
    CHECK(path < LINK_PATHS);
    return path < LINK_DIRECT1 ? shared[path] : 24 * ((uint32_t)path - LINK_DIRECT1 + 1);
}

/* Returns the mask of links that there are between free devices. */
static uint32_t read_map(struct hunt *h, const char *links, uint32_t free)
{
    uint32_t kinds = 0;
    h->n = 0;
    for (uint32_t left = free; left != 0; left &= left - 1) h->device[h->n++] = bits_low(left);
    for (uint32_t b = 1; b < h->n; b++) {
        for (uint32_t a = 0; a < b; a++) {
            enum link_path path = linkmap_get(links, h->device[a], h->device[b]);
            kinds |= UINT32_C(1) << path;
            h->weight[a][b] = h->weight[b][a] = devmap_weight(path);
        }
    }
    return kinds;
}
_Static_assert(LINK_PATHS <= 32, "a bit for each");

/* ---- the worst pair */

static void join(struct hunt *h, uint32_t at_least)
{
    memset(h->near, 0, sizeof(h->near));
    for (uint32_t b = 1; b < h->n; b++) {
        for (uint32_t a = 0; a < b; a++) {
            if (h->weight[a][b] < at_least) continue;
            h->near[a] |= UINT32_C(1) << b;
            h->near[b] |= UINT32_C(1) << a;
        }
    }
}

static bool any_set(const struct hunt *h, uint32_t among, uint32_t count)
{
    if (count == 0) return true;
    for (; bits_count(among) >= count; among &= among - 1) {
        uint32_t first = bits_low(among);
        uint32_t later = among & (among - 1);
        if (any_set(h, later & h->near[first], count - 1)) return true;
    }
    return false;
}

static void find_worst(struct hunt *h, uint32_t kinds)
{
    for (int path = LINK_PATHS - 1; path >= LINK_UNKNOWN; path--) {
        if ((kinds >> path & 1) == 0) continue;
        join(h, devmap_weight((enum link_path)path));
        if (any_set(h, (UINT32_C(1) << h->n) - 1, h->count)) return;
    }
    UNREACHABLE(); /* by the worst link there is, all are joined */
}

/* ---- the best of these */

static uint32_t best_weights(const uint32_t weight[LINK_DEVICES], uint32_t n, uint32_t self,
                             uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t taken = UINT32_C(1) << self; count > 0; count--) {
        uint32_t top = LINK_DEVICES;
        for (uint32_t i = 0; i < n; i++) {
            if ((taken >> i & 1) != 0) continue;
            if (top == LINK_DEVICES || weight[i] > weight[top]) top = i;
        }
        taken |= UINT32_C(1) << top;
        sum += weight[top];
    }
    return sum;
}

static void sum_up(struct hunt *h)
{
    h->least_touch[h->n] = UINT32_MAX;
    h->top_most[h->n] = 0;
    for (uint32_t i = h->n; i-- > 0;) {
        h->touch[i] = 0;
        for (uint32_t k = 0; k < h->n; k++) h->touch[i] += k == i ? 0 : h->weight[i][k];
        h->most[i] = best_weights(h->weight[i], h->n, i, h->count - 1);
        uint32_t touch = h->least_touch[i + 1], most = h->top_most[i + 1];
        h->least_touch[i] = h->touch[i] < touch ? h->touch[i] : touch;
        h->top_most[i] = h->most[i] > most ? h->most[i] : most;
    }
}

/* Whether a set that begins so, and goes on from there, may be better than the best. */
static bool promising(const struct hunt *h, const struct set *set, uint32_t from)
{
    uint32_t more = h->count - set->n;
    if (h->best.n == 0) return true;
    uint32_t twice = set->most + more * h->top_most[from];
    if (twice != 2 * h->best.inside) return twice > 2 * h->best.inside;
    return set->touch + (more > 0 ? more * h->least_touch[from] : 0) < h->best.touch;
}

static struct set with(const struct hunt *h, const struct set *set, uint32_t i)
{
    struct set more = *set;
    for (uint32_t left = set->mask; left != 0; left &= left - 1) {
        more.inside += h->weight[i][bits_low(left)];
    }
    more.touch += h->touch[i];
    more.most += h->most[i];
    more.mask |= UINT32_C(1) << i;
    more.n++;
    return more;
}

/* All sets that begin so; the first of equals is that of the lowest indexes. */
static void try_all(struct hunt *h, const struct set *set, uint32_t among)
{
    if (set->n == h->count) {
        bool better = set->inside > h->best.inside ||
                      (set->inside == h->best.inside && set->touch < h->best.touch);
        if (h->best.n == 0 || better) h->best = *set;
        return;
    }
    for (; bits_count(among) >= h->count - set->n; among &= among - 1) {
        uint32_t i = bits_low(among);
        if (!promising(h, set, i)) return;
        struct set more = with(h, set, i);
        try_all(h, &more, among & (among - 1) & h->near[i]);
    }
}

/* 0: any set is as good as another. */
static uint32_t best_of(const char *links, uint32_t free, uint32_t count)
{
    struct hunt h = {.count = count};
    uint32_t taken = 0, kinds = read_map(&h, links, free);
    if (bits_count(kinds) < 2) return 0;
    find_worst(&h, kinds);
    sum_up(&h);
    try_all(&h, &(struct set){0}, (UINT32_C(1) << h.n) - 1);
    CHECK(h.best.n == count);
    for (uint32_t left = h.best.mask; left != 0; left &= left - 1) {
        taken |= UINT32_C(1) << h.device[bits_low(left)];
    }
    return taken;
}

uint32_t devmap_pick(const char *links, uint32_t free, uint32_t count)
{
    uint32_t taken = 0;
    CHECK(count <= bits_count(free));
    bool choice = links[0] != '\0' && count > 0 && count < bits_count(free);
    if (choice) taken = best_of(links, free, count);
    if (taken == 0) taken = bits_take_low(free, count);
    CHECK(bits_count(taken) == count);
    CHECK((taken & ~free) == 0);
    return taken;
}
