/* core/sched/quota.c - limits against sums, level by level.
 *
 * A kind without a limit is judged against the greatest number there is, less
 * what is used: so no sum that starts ever overflows.  What a request does not
 * ask for it cannot be refused for, even where a limit was lowered below what is
 * used.  docs/spec/scheduling.md, "Objects" */
#include "core/sched/quota.h"

#include "base/check.h"

static const char *const LEVEL_NAMES[] = {
    [LEVEL_USER] = "user", [LEVEL_PROJECT] = "project", [LEVEL_DOMAIN] = "domain"};
_Static_assert(ARRAY_LEN(LEVEL_NAMES) == ACCOUNT_LEVELS, "one name a level");

const char *account_level_name(enum account_level l)
{
    CHECK(l >= LEVEL_USER);
    CHECK(l < ACCOUNT_LEVELS);
    return LEVEL_NAMES[l];
}

/* One level of somebody, as it is judged. */
struct level {
    enum account_level level;
    uint32_t id;
    const struct limits *limits;
    struct usage usage; /* a copy, of which may be taken what is as good as gone */
};

static struct level level_of(const struct world *w, enum account_level l, uint32_t id)
{
    struct level ret = {.level = l, .id = id};
    switch (l) {
    case LEVEL_USER: {
        const struct user *u = world_user(w, id);
        CHECK(u != NULL);
        ret.limits = &u->limits;
        ret.usage = u->usage;
        return ret;
    }
    case LEVEL_PROJECT: {
        const struct project *p = world_project(w, id);
        CHECK(p != NULL);
        ret.limits = &p->limits;
        ret.usage = p->usage;
        return ret;
    }
    case LEVEL_DOMAIN: {
        const struct domain *d = world_domain(w, id);
        CHECK(d != NULL);
        ret.limits = &d->limits;
        ret.usage = d->usage;
        return ret;
    }
    case ACCOUNT_LEVELS: break;
    }
    UNREACHABLE();
}

static uint32_t level_id(const struct world *w, const struct session *s, enum account_level l)
{
    if (l == LEVEL_USER) return s->user;
    if (l == LEVEL_PROJECT) return s->project;
    const struct project *p = world_project(w, s->project);
    CHECK(p != NULL);
    return p->domain;
}

static int64_t used_of(const struct usage *u, enum limit_kind k)
{
    switch (k) {
    case LIMIT_CPU:
    case LIMIT_MEM:
    case LIMIT_GPU: return u->used.v[k];
    case LIMIT_RUNNING: return u->running;
    case LIMIT_PENDING: return u->pending;
    case LIMIT_CONTAINERS: return 0;
    case LIMIT_KINDS: break;
    }
    UNREACHABLE();
}

static int64_t limit_of(const struct limits *l, enum limit_kind k)
{
    return limit_has(l, k) ? l->max[k] : INT64_MAX;
}

/* What it asks of each kind, were it to start. */
static int64_t asked_of(const struct session *s, const struct slots *total, enum limit_kind k)
{
    switch (k) {
    case LIMIT_CPU:
    case LIMIT_MEM:
    case LIMIT_GPU: return total->v[k];
    case LIMIT_RUNNING: return 1;
    case LIMIT_PENDING: return s->array_count > 0 ? s->array_count : 1;
    case LIMIT_CONTAINERS: return s->members;
    case LIMIT_KINDS: break;
    }
    UNREACHABLE();
}

/* Neither of the two can be negative, so their difference exists. */
static int64_t left_of(const struct level *l, enum limit_kind k)
{
    int64_t used = used_of(&l->usage, k), limit = limit_of(l->limits, k);
    CHECK(used >= 0);
    CHECK(limit >= 0);
    return limit - used;
}

static bool exceeds(const struct level *l, enum limit_kind k, int64_t asked)
{
    return asked > 0 && asked > left_of(l, k);
}

/* ---- what is left */

static void left(const struct world *w, enum account_level l, uint32_t id, struct quota_left *ret)
{
    struct level level = level_of(w, l, id);
    for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) ret->left[k] = left_of(&level, k);
}

void quota_user_left(const struct world *w, uint32_t user, struct quota_left *ret)
{
    left(w, LEVEL_USER, user, ret);
}

void quota_project_left(const struct world *w, uint32_t project, struct quota_left *ret)
{
    left(w, LEVEL_PROJECT, project, ret);
}

void quota_domain_left(const struct world *w, uint32_t domain, struct quota_left *ret)
{
    left(w, LEVEL_DOMAIN, domain, ret);
}

void quota_lane_left(const struct world *w, uint32_t project, struct quota_left *ret)
{
    const struct project *p = world_project(w, project);
    struct quota_left above;
    CHECK(p != NULL);
    left(w, LEVEL_PROJECT, project, ret);
    left(w, LEVEL_DOMAIN, p->domain, &above);
    for (int k = 0; k < LIMIT_KINDS; k++) {
        if (above.left[k] < ret->left[k]) ret->left[k] = above.left[k];
    }
}

bool quota_fits(const struct quota_left *left, const struct slots *total)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (total->v[k] > 0 && total->v[k] > left->left[k]) return false;
    }
    return left->left[LIMIT_RUNNING] >= 1;
}

/* ---- one session */

/* What the session is booked with, as model/usage.c books it. */
static void booked(const struct world *w, const struct session *s, struct slots *ret)
{
    bool fits = true;
    *ret = (struct slots){{0}};
    if (s->state == SESSION_RESERVED) fits = session_total(s, ret);
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (!a->revoked) fits = fits && slots_add(ret, &a->slots, ret);
    }
    CHECK(fits);
}

static void take_off(const struct world *w, struct level *l, const struct session *s)
{
    struct slots slots;
    if (s->state < SESSION_RESERVED || level_id(w, s, l->level) != l->id) return;
    booked(w, s, &slots);
    bool had = slots_sub(&l->usage.used, &slots, &l->usage.used);
    CHECK(had);
    CHECK(l->usage.running > 0);
    l->usage.running--;
}

/* The level as it would be without those freed, and without what it holds itself. */
static struct level judged(const struct world *w, const struct session *s, enum account_level l,
                           const struct quota_freed *freed)
{
    struct level level = level_of(w, l, level_id(w, s, l));
    for (uint32_t i = 0; freed && i < freed->n; i++) {
        CHECK(freed->sessions[i] != s);
        take_off(w, &level, freed->sessions[i]);
    }
    take_off(w, &level, s);
    return level;
}

bool quota_allows(const struct world *w, const struct session *s, const struct quota_freed *freed)
{
    struct slots total;
    if (!session_total(s, &total)) return false;
    for (enum account_level l = LEVEL_USER; l < ACCOUNT_LEVELS; l++) {
        struct level level = judged(w, s, l, freed);
        for (enum limit_kind k = LIMIT_CPU; k <= LIMIT_RUNNING; k++) {
            if (exceeds(&level, k, asked_of(s, &total, k))) return false;
        }
    }
    return true;
}

static struct quota_excess excess_of(const struct level *l, enum limit_kind k, int64_t asked)
{
    return (struct quota_excess){.level = l->level, .id = l->id, .kind = k,
                                 .used = used_of(&l->usage, k), .asked = asked,
                                 .limit = limit_of(l->limits, k)};
}

uint32_t quota_excesses(const struct world *w, const struct session *s,
                        struct quota_excess ret[QUOTA_EXCESSES_MAX])
{
    struct slots total;
    uint32_t n = 0;
    bool sane = session_total(s, &total);
    CHECK(sane); /* it was submitted */
    for (enum account_level l = LEVEL_USER; l < ACCOUNT_LEVELS; l++) {
        struct level level = judged(w, s, l, NULL);
        for (enum limit_kind k = LIMIT_CPU; k <= LIMIT_RUNNING; k++) {
            int64_t asked = asked_of(s, &total, k);
            if (exceeds(&level, k, asked)) ret[n++] = excess_of(&level, k, asked);
        }
    }
    CHECK(n <= QUOTA_EXCESSES_MAX);
    return n;
}

bool quota_never(const struct world *w, const struct session *s, struct quota_excess *ret)
{
    struct slots total;
    bool sane = session_total(s, &total);
    CHECK(sane); /* values are judged before limits */
    for (enum account_level l = LEVEL_USER; l < ACCOUNT_LEVELS; l++) {
        struct level now = level_of(w, l, level_id(w, s, l)), alone = now;
        alone.usage = (struct usage){.pending = now.usage.pending};
        for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) {
            int64_t asked = asked_of(s, &total, k);
            if (!exceeds(&alone, k, asked)) continue;
            *ret = excess_of(&alone, k, asked);
            return true;
        }
    }
    return false;
}

/* ---- in words */

static const char *account_name(const struct world *w, enum account_level l, uint32_t id)
{
    switch (l) {
    case LEVEL_USER: return world_user(w, id)->name;
    case LEVEL_PROJECT: return world_project(w, id)->name;
    case LEVEL_DOMAIN: return world_domain(w, id)->name;
    case ACCOUNT_LEVELS: break;
    }
    UNREACHABLE();
}

static void print_amount(struct strbuf *out, enum limit_kind k, int64_t amount)
{
    if (k < LIMIT_RUNNING) slot_print(out, (enum slot_kind)k, amount);
    else strbuf_i64(out, amount);
}

static const char *const LIMIT_LABELS[] = {
    [LIMIT_CPU] = "CPU", [LIMIT_MEM] = "memory", [LIMIT_GPU] = "GPU",
    [LIMIT_RUNNING] = "running sessions", [LIMIT_PENDING] = "waiting sessions",
    [LIMIT_CONTAINERS] = "containers a session"};
_Static_assert(ARRAY_LEN(LIMIT_LABELS) == LIMIT_KINDS, "one label a kind");

const char *quota_name(const struct world *w, const struct quota_excess *e)
{
    return account_name(w, e->level, e->id);
}

void quota_print(const struct world *w, const struct quota_excess *e, struct strbuf *out)
{
    CHECK(e->kind < LIMIT_KINDS);
    strbuf_fmt(out, "%s %s ", account_level_name(e->level), account_name(w, e->level, e->id));
    if (e->kind == LIMIT_CONTAINERS) strbuf_puts(out, "may have");
    else {
        strbuf_puts(out, "uses ");
        print_amount(out, e->kind, e->used);
        strbuf_puts(out, " of");
    }
    strbuf_putc(out, ' ');
    print_amount(out, e->kind, e->limit);
    strbuf_fmt(out, " %s, ", LIMIT_LABELS[e->kind]);
    print_amount(out, e->kind, e->asked);
    strbuf_puts(out, " asked");
}
