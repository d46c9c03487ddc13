/* sim/whatif.c - time goes on for a snapshot.
 *
 * All nodes are heard at every instant that is looked at, each saying only what has
 * changed; they say that they acted on turn 0, so that what they do not name stays.  The
 * instants are ends, drains, and whatever the world itself waits for. */
#include "sim/whatif.h"

#include "base/check.h"
#include "base/heap.h"
#include "core/model/order.h"
#include "core/sched/plan.h"
#include "core/step.h"

#define DAY_MS INT64_C(86400000)
#define INSTANTS_MAX 200000u

struct future {
    struct world *w;
    const struct whatif_change *change;
    struct effects fx;
    struct heap ends;          /* key: core ms, tie: session */
    VEC(struct member_ref) new_rows;
    VEC(struct member_report) said;
    struct whatif *out;
    int64_t from_ms, now_ms;
    uint64_t seq;
    uint32_t waiting;          /* of `out`, not yet started */
};

static void note(struct future *f)
{
    VEC_EACH(c, &f->fx.changes) {
        if (c->kind == CHANGE_ALLOC && c->u.alloc.phase == MEMBER_NONE && !c->u.alloc.revoked)
            VEC_PUSH(&f->new_rows, c->u.alloc.ref);
    }
}

static void feed(struct future *f, struct event *ev)
{
    ev->now_ms = f->now_ms;
    step(f->w, ev, &f->fx);
    note(f);
    while (f->fx.more) {
        struct event tick = {.kind = EVENT_TICK, .now_ms = f->now_ms};
        step(f->w, &tick, &f->fx);
        note(f);
    }
}

/* ---- what is tried */

static bool change_groups(struct future *f)
{
    const struct whatif_change *c = f->change;
    bool found = c->group[0] == '\0';
    for (uint32_t i = 0; i < f->w->groups.n; i++) {
        struct group g = f->w->groups.v[i];
        if (g.id == 0 || (c->group[0] && strcmp(c->group, g.name) != 0)) continue;
        found = true;
        if (c->on_blocked) g.on_blocked = c->on_blocked;
        if (c->order) g.order = c->order;
        if (c->strategy) g.strategy = c->strategy;
        if (c->reserve_depth) g.reserve_depth = c->reserve_depth;
        struct event ev = {.kind = EVENT_GROUP_PUT, .more_coming = true};
        ev.u.group = g;
        feed(f, &ev);
    }
    return found;
}

static void add_node(struct future *f, const struct node *like, uint32_t no)
{
    struct event ev = {.kind = EVENT_NODE_JOIN, .more_coming = true};
    struct node *n = &ev.u.join.node;
    *n = (struct node){.group = like->group, .capacity = like->capacity, .epoch = 1,
                       .n_devices = like->n_devices};
    memcpy(n->devices, like->devices, sizeof(n->devices));
    memcpy(n->labels, like->labels, sizeof(n->labels));
    memcpy(n->arch, like->arch, sizeof(n->arch));
    do text_fmt(n->name, sizeof(n->name), "new-%u", no++);
    while (world_node_named(f->w, str_of(n->name)));
    feed(f, &ev);
}

static int prepare(struct future *f, struct err *err)
{
    const struct whatif_change *c = f->change;
    if (!change_groups(f))
        return err_set(err, ERR_NOT_FOUND, "the snapshot has no group %s", c->group);
    const struct node *like = world_node_named(f->w, str_of(c->like));
    if (c->add_nodes > 0 && !like)
        return err_set(err, ERR_NOT_FOUND, "the snapshot has no node %s", c->like);
    struct node model = like ? *like : (struct node){.id = 0};
    for (uint32_t i = 0; i < c->add_nodes; i++) add_node(f, &model, i + 1);
    for (uint32_t i = 0; i < c->n_drains; i++) {
        if (world_node_named(f->w, str_of(c->drains[i].node))) continue;
        return err_set(err, ERR_NOT_FOUND, "the snapshot has no node %s", c->drains[i].node);
    }
    return 0;
}

/* ---- one instant */

/* Of a session that runs since `start_ms`. */
static void plan_end(struct future *f, const struct session *s, int64_t start_ms)
{
    if (s->time_limit_ms == 0) return;
    int64_t percent = f->change->use_percent ? f->change->use_percent : 100;
    int64_t at_ms = start_ms + s->time_limit_ms / 100 * percent;
    if (at_ms <= f->now_ms) at_ms = f->now_ms + 1;
    heap_push(&f->ends, (struct heap_item){.key = at_ms, .tie = s->id});
}

static void say(struct future *f, struct member_ref ref, enum member_phase phase)
{
    VEC_PUSH(&f->said, ((struct member_report){.ref = ref, .phase = phase}));
}

static int cmp_said(const void *a, const void *b)
{
    return member_ref_cmp(((const struct member_report *)a)->ref,
                          ((const struct member_report *)b)->ref);
}

/* Every node is heard with all that is said; it takes what is its own. */
static void hear_all(struct future *f, bool more)
{
    order_sort(f->said.v, f->said.n, sizeof(*f->said.v), cmp_said);
    f->seq++;
    for (uint32_t i = 0; i < f->w->nodes.n; i++) {
        const struct node *n = &f->w->nodes.v[i];
        if (n->name[0] == '\0') continue;
        bool last = i + 1 == f->w->nodes.n;
        struct event ev = {.kind = EVENT_NODE_REPORT, .more_coming = more || !last};
        ev.u.report = (struct event_report){.node = n->id, .epoch = n->epoch, .seq = f->seq,
                                            .members = f->said.v, .n_members = f->said.n};
        feed(f, &ev);
    }
    VEC_CLEAR(&f->said);
}

static void end_due(struct future *f)
{
    struct heap_item item;
    while (f->ends.n > 0 && heap_top(&f->ends)->key <= f->now_ms) {
        heap_pop(&f->ends, &item);
        const struct session *s = world_session(f->w, item.tie);
        if (!s) continue;
        for (const struct alloc *a = world_allocs_of_session(f->w, s); a;
             a = world_next_of_session(f->w, a)) {
            if (!a->revoked) say(f, a->ref, MEMBER_EXITED);
        }
    }
    hear_all(f, false);
}

static struct whatif_start *start_of(struct future *f, uint64_t id)
{
    uint32_t low = 0, high = f->out->starts.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (f->out->starts.v[mid].session == id) return &f->out->starts.v[mid];
        if (f->out->starts.v[mid].session < id) low = mid + 1;
        else high = mid;
    }
    return NULL;
}

/* What was placed runs from this instant on. */
static void start_new(struct future *f)
{
    if (f->new_rows.n == 0) return;
    VEC_EACH(ref, &f->new_rows) {
        say(f, *ref, MEMBER_RUNNING);
        if (ref->member != 0) continue;
        struct whatif_start *start = start_of(f, ref->session);
        const struct session *s = world_session(f->w, ref->session);
        CHECK(s != NULL);
        plan_end(f, s, f->now_ms);
        if (!start || start->start_ms != WHATIF_NEVER) continue;
        start->start_ms = f->now_ms - f->from_ms;
        f->waiting--;
    }
    VEC_CLEAR(&f->new_rows);
    hear_all(f, false);
}

static void drain_due(struct future *f)
{
    for (uint32_t i = 0; i < f->change->n_drains; i++) {
        const struct whatif_drain *d = &f->change->drains[i];
        const struct node *n = world_node_named(f->w, str_of(d->node));
        if (!n || n->cordoned || f->from_ms + d->at_ms > f->now_ms) continue;
        struct event ev = {.kind = EVENT_NODE_CORDON, .more_coming = true};
        ev.u.cordon = (struct event_cordon){.node = n->id, .on = true};
        feed(f, &ev);
    }
}

/* ---- all of it */

static void earlier(int64_t *at, int64_t candidate_ms, int64_t now_ms)
{
    if (candidate_ms > now_ms && candidate_ms < *at) *at = candidate_ms;
}

static int64_t next_instant(const struct future *f)
{
    int64_t at = INT64_MAX;
    if (f->ends.n > 0) earlier(&at, heap_top(&f->ends)->key, f->now_ms);
    earlier(&at, plan_next_ms(f->w), f->now_ms);
    for (uint32_t i = 0; i < f->change->n_drains; i++)
        earlier(&at, f->from_ms + f->change->drains[i].at_ms, f->now_ms);
    for (uint32_t i = 0; i < f->w->sessions.n; i++) { /* start times, pauses, timeouts */
        const struct session *s = &f->w->sessions.v[i];
        if (s->state != SESSION_PENDING) continue;
        earlier(&at, s->start_after_ms, f->now_ms);
        earlier(&at, s->not_before_ms, f->now_ms);
        earlier(&at, s->deadline_ms, f->now_ms);
    }
    return at;
}

/* What is on its way to run, or to its end, gets there. */
static void settle_rows(struct future *f, const struct session *s)
{
    for (const struct alloc *a = world_allocs_of_session(f->w, s); a;
         a = world_next_of_session(f->w, a)) {
        if (a->revoked) continue;
        if (s->state == SESSION_STOPPING) say(f, a->ref, MEMBER_EXITED);
        else if (a->phase < MEMBER_RUNNING) say(f, a->ref, MEMBER_RUNNING);
    }
}

static void take_stock(struct future *f)
{
    for (uint32_t i = 0; i < f->w->sessions.n; i++) {
        const struct session *s = &f->w->sessions.v[i];
        if (s->id == 0) continue;
        if (s->state == SESSION_PENDING) {
            VEC_PUSH(&f->out->starts, ((struct whatif_start){s->id, WHATIF_NEVER}));
            f->waiting++;
        } else {
            settle_rows(f, s);
            plan_end(f, s, s->started_ms > 0 ? s->started_ms : f->now_ms);
        }
    }
    order_sort(f->out->starts.v, f->out->starts.n, sizeof(*f->out->starts.v), order_cmp_u64);
}

int whatif_run(struct world *w, const struct whatif_change *change, struct whatif *ret,
               struct err *err)
{
    struct whatif out = {{0}};
    struct future f = {.w = w, .change = change, .out = &out, .from_ms = w->now_ms,
                       .now_ms = w->now_ms, .seq = 1};
    CHECK(w->ready);
    if (w->turn == 0) w->turn = 1; /* so that turn 0 is older than every row */
    take_stock(&f);
    hear_all(&f, true);
    int rc = prepare(&f, err);
    for (uint32_t i = 0; rc == 0 && i < INSTANTS_MAX; i++) {
        drain_due(&f);
        end_due(&f);
        start_new(&f);
        if (f.waiting == 0) break;
        f.now_ms = next_instant(&f);
        if (f.now_ms - f.from_ms > WHATIF_DAYS_MAX * DAY_MS) break;
    }
    effects_done(&f.fx);
    heap_done(&f.ends);
    VEC_DONE(&f.new_rows);
    VEC_DONE(&f.said);
    if (rc == 0) *ret = out;
    else whatif_done(&out);
    return rc;
}

void whatif_done(struct whatif *r) { VEC_DONE(&r->starts); }
