/* bench/schedule.c - the pass at the size of the design: 100,000 pending, 10,000 nodes.
 *
 *     schedule [--pending N] [--nodes N] [--policy NAME] [--events N]
 *
 * Ten groups, 200 projects with limits, shapes of the openb trace, 20 % gangs of 2 to 16, half
 * of the sessions with a time limit.  For each policy: a pass that places 16,000 members on
 * the empty cluster; on the full one a pass that believes nothing that is remembered, then
 * completions and arrivals with their passes, and the first pass of a manager that has just
 * loaded it.  The exit status says whether the targets were kept.  docs/spec/scheduling.md */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/sched/pass.h"
#include "core/sched/reserve.h"
#include "core/sched/sched.h"
#include "core/step.h"
#include "openb_shapes.h"

#define GROUPS 10u
#define PROJECTS 200u
#define PROJECT_GPUS 600
#define EMPTY_MEMBERS 16000u
#define BATCH 5000u
#define EMPTY_TARGET_US 100000
#define FULL_TARGET_US 10000
#define MEDIAN_TARGET_US 500
#define P99_TARGET_US 5000
#define SESSION_TARGET_BYTES 1024

struct bench {
    struct world *w;
    struct effects fx;
    struct rng rng;
    uint32_t nodes, pending, events;
    uint64_t seq;
    int64_t now_ms, slice_us;
    VEC(struct member_ref) placed; /* since they were last reported */
    VEC(uint64_t) running;
};

struct policy { const char *name; enum on_blocked on_blocked; uint32_t depth; };
static const struct policy POLICIES[] = {
    {"skip", BLOCKED_SKIP, 8}, {"stop", BLOCKED_STOP, 8}, {"easy", BLOCKED_BACKFILL, 1},
    {"backfill", BLOCKED_BACKFILL, 8},
};

static int64_t now_us(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* What is really held: room that an array only has for more costs nothing yet. */
static size_t resident_bytes(void)
{
    unsigned long pages[2] = {0, 0};
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f != NULL);
    int n = fscanf(f, "%lu %lu", &pages[0], &pages[1]);
    (void)fclose(f);
    CHECK(n == 2);
    return pages[1] * 4096;
}

/* ---- events */

static void note_placed(struct bench *b)
{
    VEC_EACH(c, &b->fx.changes) {
        if (c->kind == CHANGE_ALLOC && c->u.alloc.phase == MEMBER_NONE)
            VEC_PUSH(&b->placed, c->u.alloc.ref);
    }
}

static void take(struct bench *b, struct event *ev)
{
    b->w->turn = 1;
    ev->now_ms = ev->wall_ms = b->now_ms;
    step(b->w, ev, &b->fx);
    if (b->fx.verdict != VERDICT_OK) fprintf(stderr, "schedule: %s\n", b->fx.text);
    CHECK(b->fx.verdict == VERDICT_OK);
    note_placed(b);
}

/* Ticks until the pass is through; the time of all its steps. */
static int64_t pass(struct bench *b)
{
    int64_t began = now_us(), last = began;
    b->fx.more = true;
    while (b->fx.more) {
        struct event tick = {.kind = EVENT_TICK};
        take(b, &tick);
        int64_t now = now_us();
        if (now - last > b->slice_us) b->slice_us = now - last;
        last = now;
    }
    return last - began;
}

static void report(struct bench *b, uint32_t node, const struct member_report *said, uint32_t n,
                   bool more)
{
    struct event ev = {.kind = EVENT_NODE_REPORT, .more_coming = more};
    ev.u.report = (struct event_report){.node = node, .epoch = 1, .seq = ++b->seq,
                                        .members = said, .n_members = n};
    take(b, &ev);
}

static uint32_t node_of(const struct bench *b, struct member_ref ref)
{
    const struct session *s = world_session(b->w, ref.session);
    CHECK(s != NULL);
    for (const struct alloc *a = world_allocs_of_session(b->w, s); a;
         a = world_next_of_session(b->w, a)) {
        if (member_ref_cmp(a->ref, ref) == 0) return a->node;
    }
    UNREACHABLE();
}

/* What was placed runs; its nodes say so one by one. */
static void run_placed(struct bench *b)
{
    for (uint32_t i = 0; i < b->placed.n; i++) {
        struct member_report m = {.ref = b->placed.v[i], .phase = MEMBER_RUNNING};
        report(b, node_of(b, m.ref), &m, 1, true);
        if (m.ref.member == 0) VEC_PUSH(&b->running, m.ref.session);
    }
    VEC_CLEAR(&b->placed);
}

/* ---- a world */

static void join(struct bench *b, uint32_t i)
{
    struct event ev = {.kind = EVENT_NODE_JOIN, .more_coming = true};
    struct node *n = &ev.u.join.node;
    *n = (struct node){.group = 1 + i % GROUPS, .epoch = 1, .n_devices = 8};
    n->capacity = (struct slots){{128000, INT64_C(768) << 30, 8}};
    for (uint32_t d = 0; d < 8; d++) {
        n->devices[d].health = DEVICE_HEALTHY;
        text_fmt(n->devices[d].model, sizeof(n->devices[d].model), "m%u", i / GROUPS % 6);
    }
    text_fmt(n->name, sizeof(n->name), "n%u", i);
    take(b, &ev);
}

static uint32_t shape_drawn(struct bench *b)
{
    uint32_t at = (uint32_t)rng_below(&b->rng, OPENB_TASKS);
    for (uint32_t i = 0;; i++) {
        if (at < OPENB_SHAPES[i].tasks) return i;
        at -= OPENB_SHAPES[i].tasks;
    }
}

static struct session drawn(struct bench *b)
{
    uint32_t shape = shape_drawn(b);
    struct session s = {.user = 1, .kind = KIND_BATCH, .priority = 10, .n_roles = 1,
                        .grace_ms = 30000, .preemptible = true};
    s.project = 1 + (uint32_t)rng_below(&b->rng, PROJECTS);
    s.group = 1 + (uint32_t)rng_below(&b->rng, GROUPS);
    s.members = rng_below(&b->rng, 5) == 0 ? 2 + (uint32_t)rng_below(&b->rng, 15) : 1;
    s.roles[0] = (struct role){.name = "main", .count = s.members};
    s.roles[0].slots.v[SLOT_CPU] = OPENB_SHAPES[shape].cpu_milli;
    s.roles[0].slots.v[SLOT_MEM] = ((int64_t)OPENB_SHAPES[shape].mem_mib << 20) + 1; /* not 0 */
    s.roles[0].slots.v[SLOT_GPU] = OPENB_SHAPES[shape].gpu;
    if (rng_below(&b->rng, 2) == 0)
        s.time_limit_ms = 60000 * (int64_t)(10 + rng_below(&b->rng, 1440));
    return s;
}

static void submit(struct bench *b, bool more)
{
    struct event ev = {.kind = EVENT_SUBMIT, .more_coming = more};
    ev.u.submit.session = drawn(b);
    ev.u.submit.allow_impossible = true; /* judging that is not what is measured */
    take(b, &ev);
}

static struct world *empty_world(const struct policy *p)
{
    struct world *w = world_new();
    const char *why = NULL;
    bool fine = world_put_domain(w, &(struct domain){.id = 1, .name = "d"});
    for (uint32_t i = 1; i <= PROJECTS && fine; i++) {
        struct project project = {.id = i, .domain = 1};
        text_fmt(project.name, sizeof(project.name), "p%u", i);
        project.limits.set = 1u << LIMIT_GPU;
        project.limits.max[LIMIT_GPU] = PROJECT_GPUS;
        fine = world_put_project(w, &project);
    }
    fine = fine && world_put_user(w, &(struct user){.id = 1, .domain = 1, .name = "u"});
    for (uint32_t i = 1; i <= GROUPS && fine; i++) {
        char name[16];
        text_fmt(name, sizeof(name), "g%u", i);
        struct group g = group_make(i, name, p->on_blocked);
        memset(g.time_limit_ms, 0, sizeof(g.time_limit_ms));
        g.reserve_depth = p->depth;
        fine = world_put_group(w, &g);
    }
    fine = fine && world_ready(w, &why);
    CHECK(fine);
    return w;
}

/* The same facts in a new world: a manager that was started again. */
static void reload(struct bench *b, const struct policy *p)
{
    struct world *old = b->w, *w = world_new();
    const char *why = NULL;
    bool fine = true;
    VEC_EACH(d, &old->domains) fine &= world_put_domain(w, d);
    VEC_EACH(x, &old->projects) fine &= world_put_project(w, x);
    VEC_EACH(u, &old->users) fine &= world_put_user(w, u);
    VEC_EACH(g, &old->groups) fine &= world_put_group(w, g);
    VEC_EACH(n, &old->nodes) fine &= world_put_node(w, n);
    VEC_EACH(s, &old->sessions) if (s->id) fine &= world_put_session(w, s);
    VEC_EACH(a, &old->allocs) if (a->live) fine &= world_put_alloc(w, a);
    CHECK(fine);
    w->turn = 1;
    w->now_ms = old->now_ms;
    fine = world_ready(w, &why);
    CHECK(fine);
    world_free(old);
    b->w = w;
    for (uint32_t i = 1; i <= b->nodes; i++) report(b, i, NULL, 0, true);
    CHECK(p->name != NULL);
}

/* ---- what is measured */

static int cmp_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Everything of a session ends; the last report's step is the one with the pass. */
static int64_t complete(struct bench *b)
{
    uint32_t at = (uint32_t)rng_below(&b->rng, b->running.n);
    uint64_t id = b->running.v[at];
    VEC_REMOVE(&b->running, at);
    struct session *s = world_session(b->w, id);
    CHECK(s != NULL);
    uint32_t nodes[512], n = 0;
    for (const struct alloc *a = world_allocs_of_session(b->w, s); a;
         a = world_next_of_session(b->w, a)) {
        nodes[a->ref.member] = a->node;
        n++;
    }
    int64_t began = 0;
    for (uint32_t m = 0; m < n; m++) {
        struct member_report gone = {.ref = {id, s->attempt, m}, .phase = MEMBER_EXITED};
        if (m + 1 == n) began = now_us();
        report(b, nodes[m], &gone, 1, m + 1 < n);
        if (m + 1 == n && b->fx.more) (void)pass(b);
    }
    int64_t took = now_us() - began;
    run_placed(b);
    return took;
}

static int64_t arrive(struct bench *b)
{
    int64_t began = now_us();
    submit(b, false);
    if (b->fx.more) (void)pass(b);
    int64_t took = now_us() - began;
    run_placed(b);
    return took;
}

struct spread { int64_t median_us, p99_us, max_us; };

static struct spread measure(struct bench *b, int64_t (*one)(struct bench *b))
{
    int64_t *us = mem_array(b->events, sizeof(*us));
    for (uint32_t i = 0; i < b->events; i++) {
        b->now_ms += 200;
        us[i] = one(b);
    }
    qsort(us, b->events, sizeof(*us), cmp_i64);
    struct spread s = {us[b->events / 2], us[b->events * 99 / 100], us[b->events - 1]};
    mem_free(us);
    return s;
}

static uint32_t pending_now(const struct world *w)
{
    uint32_t n = 0;
    VEC_EACH(s, &w->sessions) n += s->state == SESSION_PENDING;
    return n;
}

static uint32_t families_pending(const struct world *w)
{
    uint32_t n = 0;
    VEC_EACH(f, &w->families) n += f->pending > 0;
    return n;
}

/* As many as make so many members; none is looked at yet. */
static void submit_members(struct bench *b, uint32_t members)
{
    for (uint32_t n = 0; n < members;) {
        submit(b, true);
        n += world_session(b->w, b->fx.session)->members;
    }
}

/* Until hardly any of the newest finds room, and so many wait. */
static void fill(struct bench *b)
{
    for (uint32_t placed = BATCH; placed > BATCH / 50;) {
        submit_members(b, BATCH);
        (void)pass(b);
        placed = b->placed.n;
        run_placed(b);
    }
    for (uint32_t n = pending_now(b->w); n < b->pending; n++) submit(b, true);
    (void)pass(b);
    run_placed(b);
}

static bool run_policy(struct bench *b, const struct policy *p)
{
    *b = (struct bench){.nodes = b->nodes, .pending = b->pending, .events = b->events, .now_ms = 1};
    b->rng = (struct rng){7};
    b->w = empty_world(p);
    for (uint32_t i = 0; i < b->nodes; i++) join(b, i);
    submit_members(b, EMPTY_MEMBERS);
    int64_t empty_us = pass(b);
    uint32_t members = b->placed.n;
    run_placed(b);
    size_t before = resident_bytes();
    uint32_t had = b->w->n_sessions;
    fill(b);
    size_t bytes = (resident_bytes() - before) / (b->w->n_sessions - had);
    uint32_t families = families_pending(b->w);
    pass_forget(b->w);
    b->slice_us = 0;
    uint64_t searches = b->w->sched->pass->searches;
    int64_t full_us = pass(b), slice_us = b->slice_us;
    searches = b->w->sched->pass->searches - searches;
    run_placed(b);
    struct spread done = measure(b, complete), came = measure(b, arrive);
    reload(b, p);
    int64_t loaded_us = pass(b);
    printf("%-9s %6u %8llu %7u %7lld %7lld %7lld %7lld %7lld %7lld %7lld %7lld %7lld %6zu\n",
           p->name, families, (unsigned long long)searches, members, (long long)empty_us,
           (long long)loaded_us, (long long)full_us,
           (long long)slice_us, (long long)done.median_us, (long long)done.p99_us,
           (long long)done.max_us, (long long)came.median_us, (long long)came.p99_us, bytes);
    fflush(stdout);
    const char *why = world_audit(b->w);
    if (why) printf("%s: %s\n", p->name, why);
    world_free(b->w);
    effects_done(&b->fx);
    VEC_DONE(&b->placed);
    VEC_DONE(&b->running);
    return !why && empty_us < EMPTY_TARGET_US && full_us < FULL_TARGET_US &&
           done.median_us < MEDIAN_TARGET_US && done.p99_us < P99_TARGET_US &&
           bytes < SESSION_TARGET_BYTES;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"pending", 1, NULL, 'p'}, {"nodes", 1, NULL, 'n'},
                                            {"policy", 1, NULL, 'o'}, {"events", 1, NULL, 'e'},
                                            {NULL, 0, NULL, 0}};
    struct bench b = {.nodes = 10000, .pending = 100000, .events = 1000};
    const char *only = NULL;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        uint64_t n = 0;
        if (c == 'o') only = optarg;
        else if (c == '?' || !str_to_u64(str_of(optarg), &n) || n < 1 || n > 1000000) return 2;
        if (c == 'p') b.pending = (uint32_t)n;
        if (c == 'n') b.nodes = (uint32_t)n;
        if (c == 'e') b.events = (uint32_t)n;
    }
    bool kept = true;
    printf("%u pending, %u nodes; us of CPU time, bytes\n", b.pending, b.nodes);
    printf("%-9s %6s %8s %7s %7s %7s %7s %7s %7s %7s %7s %7s %7s %6s\n", "policy", "family",
           "searches", "members", "empty", "loaded", "full", "slice", "done", "p99", "max",
           "arrive", "p99", "bytes");
    for (size_t i = 0; i < ARRAY_LEN(POLICIES); i++) {
        if (only && strcmp(only, POLICIES[i].name) != 0) continue;
        kept &= run_policy(&b, &POLICIES[i]);
    }
    printf(kept ? "all targets kept\n" : "a target was missed\n");
    return kept ? 0 : 1;
}
