/* sim/swf_run.c - the log through step(), one instant after another.
 *
 * The node is heard at every instant with what has changed; it says that it acted on turn
 * 0, so that what it does not name is left alone. */
#include "base/check.h"
#include "base/heap.h"
#include "core/model/order.h"
#include "core/sched/plan.h"
#include "core/step.h"
#include "sim/swf.h"

#define SECOND_MS 1000

struct run {
    struct swf_log *log;
    const struct swf_options *o;
    struct world *w;
    struct effects fx;
    struct heap ends;     /* key: second of the end, tie: job + 1 */
    uint32_t next;        /* job to be submitted */
    uint32_t left;        /* submitted or not, not yet ended */
    uint64_t seq;
    int64_t first_s;      /* second that core time begins at */
    VEC(struct member_report) said;
    VEC(uint64_t) placed; /* sessions of this instant */
    struct swf_result result;
};

static int64_t core_ms(const struct run *r, int64_t s) { return (s - r->first_s + 1) * SECOND_MS; }

static void note_placed(struct run *r)
{
    VEC_EACH(c, &r->fx.changes) {
        if (c->kind == CHANGE_ALLOC && c->u.alloc.phase == MEMBER_NONE)
            VEC_PUSH(&r->placed, c->u.alloc.ref.session);
    }
}

static void feed(struct run *r, struct event *ev, int64_t now_s)
{
    ev->now_ms = core_ms(r, now_s);
    step(r->w, ev, &r->fx);
    CHECK(r->fx.verdict == VERDICT_OK);
    /* Ids are given in the order of the jobs. */
    CHECK(ev->kind != EVENT_SUBMIT || r->fx.session == r->next);
    note_placed(r);
    while (r->fx.more) {
        struct event tick = {.kind = EVENT_TICK, .now_ms = ev->now_ms};
        step(r->w, &tick, &r->fx);
        note_placed(r);
    }
}

static void report(struct run *r, int64_t now_s, bool more)
{
    struct event ev = {.kind = EVENT_NODE_REPORT, .more_coming = more};
    ev.u.report = (struct event_report){.node = 1, .epoch = 1, .seq = ++r->seq,
                                        .members = r->said.v, .n_members = r->said.n};
    feed(r, &ev, now_s);
    VEC_CLEAR(&r->said);
}

static void say(struct run *r, uint64_t session, enum member_phase phase)
{
    VEC_PUSH(&r->said, ((struct member_report){.ref = {session, 1, 0}, .phase = phase}));
}

/* ---- one instant */

static int cmp_said(const void *a, const void *b)
{
    return member_ref_cmp(((const struct member_report *)a)->ref,
                          ((const struct member_report *)b)->ref);
}

static bool due(const struct run *r, int64_t now_s)
{
    return r->next < r->log->jobs.n && r->log->jobs.v[r->next].submit_s <= now_s;
}

static void end_jobs(struct run *r, int64_t now_s)
{
    struct heap_item item;
    while (r->ends.n > 0 && heap_top(&r->ends)->key <= now_s) {
        heap_pop(&r->ends, &item);
        say(r, item.tie, MEMBER_EXITED);
        CHECK(r->left > 0);
        r->left--;
    }
    order_sort(r->said.v, r->said.n, sizeof(*r->said.v), cmp_said);
    report(r, now_s, due(r, now_s));
}

static void submit_jobs(struct run *r, int64_t now_s)
{
    while (due(r, now_s)) {
        const struct swf_job *job = &r->log->jobs.v[r->next++];
        struct event ev = {.kind = EVENT_SUBMIT, .more_coming = due(r, now_s)};
        struct session *s = &ev.u.submit.session;
        *s = (struct session){.user = 1, .project = 1, .group = 1, .kind = KIND_BATCH,
                              .priority = 10, .n_roles = 1, .members = 1,
                              .time_limit_ms = job->estimate_s * SECOND_MS};
        s->roles[0] = (struct role){.name = "main", .count = 1};
        s->roles[0].slots.v[SLOT_CPU] = s->roles[0].slots.v[SLOT_MEM] = job->procs;
        feed(r, &ev, now_s);
    }
}

/* They run from this very instant. */
static void start_jobs(struct run *r, int64_t now_s)
{
    if (r->placed.n == 0) return;
    order_sort(r->placed.v, r->placed.n, sizeof(*r->placed.v), order_cmp_u64);
    VEC_EACH(id, &r->placed) {
        struct swf_job *job = &r->log->jobs.v[*id - 1];
        CHECK(job->start_s < 0);
        job->start_s = now_s;
        heap_push(&r->ends, (struct heap_item){.key = now_s + job->run_s, .tie = *id});
        say(r, *id, MEMBER_RUNNING);
    }
    VEC_CLEAR(&r->placed);
    report(r, now_s, false);
}

/* The next end, submission or promised start.  Other timers are for parts that can fail:
 * here the node is heard before each look at the time. */
static int64_t next_second(const struct run *r, int64_t now_s)
{
    int64_t at_s = INT64_MAX, promised_ms = plan_next_ms(r->w);
    if (r->next < r->log->jobs.n) at_s = r->log->jobs.v[r->next].submit_s;
    if (r->ends.n > 0 && heap_top(&r->ends)->key < at_s) at_s = heap_top(&r->ends)->key;
    if (promised_ms < INT64_MAX) {
        int64_t promised_s = promised_ms / SECOND_MS + r->first_s - 1;
        if (promised_s > now_s && promised_s < at_s) at_s = promised_s;
    }
    return at_s;
}

/* ---- a whole log */

static struct group policy(const struct swf_options *o)
{
    struct group g = group_make(1, "log", BLOCKED_STOP);
    g.order = o->order;
    g.lower_after = 0;
    g.test_depth = UINT32_MAX;
    g.backfill_shortest = o->shortest;
    memset(g.time_limit_ms, 0, sizeof(g.time_limit_ms));
    if (o->backfill == SWF_NONE) return g;
    g.on_blocked = BLOCKED_BACKFILL;
    g.reserve_depth = o->backfill == SWF_EASY ? 1 : GROUP_RESERVE_ALL;
    return g;
}

static void open_world(struct run *r)
{
    const char *why = NULL;
    struct group g = policy(r->o);
    r->w = world_new();
    bool fine = world_put_domain(r->w, &(struct domain){.id = 1, .name = "d"}) &&
                world_put_project(r->w, &(struct project){.id = 1, .domain = 1, .name = "p"}) &&
                world_put_user(r->w, &(struct user){.id = 1, .domain = 1, .name = "u"}) &&
                world_put_group(r->w, &g);
    CHECK(fine);
    fine = world_ready(r->w, &why);
    CHECK(fine);
    r->w->turn = 1;
    struct event join = {.kind = EVENT_NODE_JOIN};
    struct node *n = &join.u.join.node;
    *n = (struct node){.group = 1, .epoch = 1, .name = "machine"};
    n->capacity.v[SLOT_CPU] = n->capacity.v[SLOT_MEM] = r->log->procs;
    feed(r, &join, r->first_s);
}

static void measure(struct run *r)
{
    struct swf_result *m = &r->result;
    int64_t first_s = INT64_MAX, last_s = 0;
    m->jobs = r->log->jobs.n;
    m->dropped = r->log->dropped;
    m->procs = r->log->procs;
    VEC_EACH(job, &r->log->jobs) {
        int64_t wait_s = job->start_s - job->submit_s, end_s = job->start_s + job->run_s;
        int64_t bound_s = job->run_s > 10 ? job->run_s : 10; /* Feitelson's tau */
        CHECK(wait_s >= 0);
        m->wait_s += wait_s;
        m->work += job->run_s * job->procs;
        double slowdown = (double)(wait_s + job->run_s) / (double)bound_s;
        m->bsld_sum += slowdown > 1 ? slowdown : 1;
        if (job->submit_s < first_s) first_s = job->submit_s;
        if (end_s > last_s) last_s = end_s;
    }
    if (m->jobs > 0) m->makespan_s = last_s - first_s;
}

int swf_run(struct swf_log *log, const struct swf_options *o, struct swf_result *ret,
            struct err *err)
{
    struct run r = {.log = log, .o = o, .left = log->jobs.n};
    int rc = 0;
    r.first_s = log->jobs.n > 0 ? log->jobs.v[0].submit_s : 0;
    VEC_EACH(job, &log->jobs) job->start_s = -1;
    open_world(&r);
    for (int64_t now_s = r.first_s - 1; r.left > 0;) {
        now_s = next_second(&r, now_s);
        if (now_s == INT64_MAX) break;
        end_jobs(&r, now_s);
        submit_jobs(&r, now_s);
        start_jobs(&r, now_s);
    }
    if (r.left > 0) {
        rc = err_set(err, ERR_UNSUPPORTED, "%u jobs never started", r.left);
    } else {
        measure(&r);
        *ret = r.result;
    }
    world_free(r.w);
    effects_done(&r.fx);
    heap_done(&r.ends);
    VEC_DONE(&r.said);
    VEC_DONE(&r.placed);
    return rc;
}
