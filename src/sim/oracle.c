/* sim/oracle.c - the promises of docs/spec, checked against the machines themselves. */
#include "sim/oracle.h"
#include "base/check.h"
#include "core/explain.h"
#include "core/model/pool.h"
#include "core/sched/index.h"
#include "core/sched/reserve.h"
#include "core/sched/sched.h"
#include "sim/cluster.h"

/* No machine carries more than it has, and no device two containers. */
static void machines_hold(struct cluster *c)
{
    for (uint32_t i = 0; i < c->n_machines; i++) {
        const struct machine *m = &c->machines[i];
        struct slots used = {0};
        uint32_t devices = 0;
        VEC_EACH(b, &m->boxes) {
            if (!box_alive(b)) continue;
            if (devices & b->devices) cluster_broken(c, "two containers on a device of n%u", i + 1);
            devices |= b->devices;
            bool sane = slots_add(&used, &b->slots, &used);
            CHECK(sane);
        }
        if (!slots_fit(&used, &m->capacity))
            cluster_broken(c, "n%u carries more than it has", i + 1);
    }
}

static void has_reason(struct cluster *c, const struct session *s)
{
    struct why why = {0};
    explain_session(c->leader.w, s, &why);
    if (why.kind == WHY_NONE || why.kind >= WHY_KINDS)
        cluster_broken(c, "s%llu has no reason", (unsigned long long)s->id);
    if (why.kind == WHY_SKIPPED) {
        const struct session *b = world_session(c->leader.w, why.blocker);
        if (!b || b->state != SESSION_PENDING)
            cluster_broken(c, "s%llu is behind nobody", (unsigned long long)s->id);
    }
    if (s->state == SESSION_PENDING && (why.place == 0 || why.place > why.queue_length))
        cluster_broken(c, "s%llu has no place in the queue", (unsigned long long)s->id);
}

void oracle_world(struct cluster *c)
{
    const struct world *w = c->leader.w;
    const char *bad = world_audit(w);
    if (!bad) bad = index_audit(w);
    if (bad) cluster_broken(c, "audit: %s", bad);
    if (w->sched && w->sched->pass && w->sched->pass->surprises > 0)
        cluster_broken(c, "a pass that believes nothing found more than the others");
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->state == 0) continue;
        has_reason(c, s);
    }
}

/* ---- what the leader knows of nodes, and does with them */

static bool heard_lately(const struct cluster *c, const struct node *n)
{
    const struct heard *h = &c->leader.heard[leader_machine(n)];
    return h->node == n->id && c->leader.w->now_ms - h->core_ms < NODE_UNREACHABLE_MS;
}

static void nodes_are_known(struct cluster *c)
{
    const struct world *w = c->leader.w;
    for (uint32_t i = 0; i < w->nodes.n; i++) {
        const struct node *n = &w->nodes.v[i];
        if (n->name[0] == '\0') continue;
        if (n->unreachable && heard_lately(c, n))
            cluster_broken(c, "%s is heard and called unreachable", n->name);
        if (!n->unreachable && w->now_ms - n->heard_ms >= NODE_UNREACHABLE_MS)
            cluster_broken(c, "%s is silent and not called so", n->name);
    }
}

/* The first that waits for nothing but room, or NULL. */
static const struct session *head(const struct world *w)
{
    uint32_t n;
    const struct queue_entry *e = pool_entries(w, 1, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct session *s = &w->sessions.v[e[i].slot];
        if (!session_waits(s, w->now_ms)) return s;
    }
    return NULL;
}

/* Who is placed is placed where it may run, and overtakes nobody who could run there. */
static void placing_is_right(struct cluster *c, const struct alloc *a, const struct session *first)
{
    const struct world *w = c->leader.w;
    const struct node *n = world_node(w, a->node);
    const struct session *s = world_session(w, a->ref.session);
    CHECK(n != NULL);
    CHECK(s != NULL);
    if (!heard_lately(c, n) || n->cordoned || n->quarantined)
        cluster_broken(c, "s%llu is placed on %s", (unsigned long long)s->id, n->name);
    const char *asked = s->where.labels;
    if (asked[0] != '\0' && strcmp(asked, n->labels) != 0)
        cluster_broken(c, "s%llu asks for %s and is placed on %s", (unsigned long long)s->id, asked,
                       n->name);
    if (!first || w->groups.v[0].on_blocked != BLOCKED_STOP) return;
    const struct job *job = cluster_job_of(c, s->id);
    const struct session *was = disk_live(&c->disk, s->id);
    bool promised = (job && job->reserved) || (was && was->state == SESSION_RESERVED);
    if (promised) return; /* who came later does not take it */
    struct queue_entry one = pool_entry_of(w, first), other = pool_entry_of(w, s);
    bool ahead = pool_before(&one, &other);
    if (ahead && place_hosts_at(w, first, n->id - 1) && place_possible(w, first, &c->scratch))
        cluster_broken(c, "s%llu overtakes s%llu on %s", (unsigned long long)s->id,
                       (unsigned long long)first->id, n->name);
}

static void placed(struct cluster *c)
{
    const struct world *w = c->leader.w;
    const struct session *first = head(w);
    VEC_EACH(ch, &c->leader.effects.changes) {
        const struct alloc *a = &ch->u.alloc;
        if (ch->kind != CHANGE_ALLOC || a->phase != MEMBER_NONE) continue;
        if (!a->revoked && a->turn == w->turn) placing_is_right(c, a, first);
    }
    /* Gangs are placed greedily: where much room leads astray, less may not. */
    bool exact = first && (first->members == 1 || first->one_node);
    if (exact && !c->leader.effects.more && place_decide(w, first, PLACE_NOW, &c->scratch))
        cluster_broken(c, "s%llu has room and does not start", (unsigned long long)first->id);
}

/* Who is made to go may be, and goes for somebody whose room is promised in the same turn. */
static void evictions_are_right(struct cluster *c)
{
    const struct world *w = c->leader.w;
    uint32_t victims = 0, reserved = 0;
    VEC_EACH(ch, &c->leader.effects.changes) {
        const struct history *h = &ch->u.history;
        if (ch->kind != CHANGE_HISTORY || h->what != HISTORY_STATE) continue;
        struct job *job = cluster_job_of(c, h->session);
        if (job && h->state == SESSION_PENDING) job->reserved = false;
        if (job && h->state == SESSION_RESERVED) job->reserved = true;
        if (h->state == SESSION_RESERVED) reserved++;
        if (h->state != SESSION_STOPPING || h->outcome != OUTCOME_PREEMPTED) continue;
        const struct session *s = world_session(w, h->session);
        victims++;
        if (!w->groups.v[0].preempt.enabled || !s || !s->preemptible)
            cluster_broken(c, "s%llu is made to go and may not be", (unsigned long long)h->session);
    }
    if (victims > 0 && reserved == 0) cluster_broken(c, "somebody goes, and for nobody");
    if (reserved > 0 && victims == 0) cluster_broken(c, "room is promised that nobody leaves");
    c->result->evictions += victims;
}

static const struct member_report *reported(const struct event_report *e, struct member_ref ref)
{
    for (uint32_t i = 0; i < e->n_members; i++) {
        if (member_ref_cmp(e->members[i].ref, ref) == 0) return &e->members[i];
    }
    return NULL;
}

void oracle_before_report(struct cluster *c, const struct event_report *e)
{
    const struct world *w = c->leader.w;
    const struct node *n = world_node(w, e->node);
    int64_t now_ms = leader_core_now(c);
    VEC_CLEAR(&c->told);
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        const struct session *s = world_session(w, a->ref.session);
        const struct member_report *m = reported(e, a->ref);
        if (a->revoked || !s || (s->deadline_ms > 0 && s->deadline_ms <= now_ms)) continue;
        bool ran = a->phase == MEMBER_STARTING || a->phase == MEMBER_RUNNING; /* perhaps */
        if (m && m->phase == MEMBER_FAILED) ran = false; /* proved */
        bool fenced = m && m->end.fenced && s->fence_ms > 0; /* it asked to run anew */
        if (fenced) ran = false;
        if (s->requeue) ran = false; /* it makes room, and is to run anew */
        bool unborn = !fenced && m && m->phase == MEMBER_FAILED && s->state < SESSION_RUNNING;
        bool failed = m && m->phase == MEMBER_EXITED && m->end.exit_code > 0;
        VEC_PUSH(&c->told, ((struct told){
            .ref = a->ref, .failed_starts = s->failed_starts,
            .ran = s->members == 1 && (ran || (unborn && m->end.fatal)), .unborn = unborn,
            .fatal = failed && s->state == SESSION_RUNNING && s->stop_on_member}));
    }
}

/* After the report's step. */
static void told_is_done(struct cluster *c, const struct told *t)
{
    const struct session *s = world_session(c->leader.w, t->ref.session);
    if (!s || s->state == SESSION_STOPPING) return;
    unsigned long long id = s->id;
    bool anew = s->attempt != t->ref.attempt || s->state == SESSION_PENDING;
    if (t->ran && anew) cluster_broken(c, "s%llu is started anew", id);
    if (t->fatal) cluster_broken(c, "s%llu goes on without a member", id);
    if (t->unborn && s->failed_starts != t->failed_starts + 1)
        cluster_broken(c, "s%llu: a failed start is not counted", id);
}

static void rows_are_as_reported(struct cluster *c, const struct event_report *e)
{
    const struct world *w = c->leader.w;
    const struct node *n = world_node(w, e->node);
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        for (uint32_t i = 0; i < e->n_members; i++) {
            const struct member_report *m = &e->members[i];
            if (member_ref_cmp(m->ref, a->ref) != 0) continue;
            if (m->phase != a->phase || m->signal_done != a->signal_done)
                cluster_broken(c, "s%llu is not as reported", (unsigned long long)a->ref.session);
        }
    }
}

void oracle_report(struct cluster *c, const struct event_report *e)
{
    const struct node *n = world_node(c->leader.w, e->node);
    struct heard *h = &c->leader.heard[leader_machine(n)];
    bool newer = h->node != n->id || e->epoch > h->epoch ||
                 (e->epoch == h->epoch && e->seq > h->seq);
    if (c->leader.effects.verdict != VERDICT_OK) {
        if (newer && e->epoch == n->epoch) cluster_broken(c, "%s is not believed", n->name);
        return;
    }
    if (!newer) cluster_broken(c, "%s: a report older than another is believed", n->name);
    h->epoch = e->epoch;
    h->seq = e->seq;
    VEC_EACH(t, &c->told) told_is_done(c, t);
    rows_are_as_reported(c, e);
}

void oracle_stop(struct cluster *c, const struct event_stop *e)
{
    const struct session *s = world_session(c->leader.w, e->session);
    if (s && e->grace_ms >= 0 && s->grace_ms > e->grace_ms)
        cluster_broken(c, "s%llu is given more time than asked for", (unsigned long long)s->id);
    int64_t alarm_ms = c->leader.w->now_ms + e->grace_ms + SESSION_ALARM_AFTER_MS;
    if (s && e->grace_ms >= 0 && s->state == SESSION_STOPPING && s->deadline_ms > alarm_ms)
        cluster_broken(c, "s%llu is missed too late", (unsigned long long)s->id);
}

/* ---- what an agent does */

static const struct wish *wish_for(const struct letter *answer, struct member_ref ref)
{
    for (uint32_t i = 0; i < answer->n; i++) {
        if (member_ref_cmp(answer->wishes[i].want.ref, ref) == 0) return &answer->wishes[i];
    }
    return NULL;
}

void oracle_acted(struct cluster *c, const struct machine *m, const struct letter *answer)
{
    VEC_EACH(b, &m->boxes) {
        const struct wish *wish = wish_for(answer, b->ref);
        bool ends = b->phase == MEMBER_STOPPING || !box_alive(b);
        if (!wish ? !b->removing : wish->want.act == WANT_STOP && !ends)
            cluster_broken(c, "s%llu goes on and should not", (unsigned long long)b->ref.session);
    }
}

/* The barrier of a gang. */

void oracle_ready(struct cluster *c, const struct box *b)
{
    struct job *job = cluster_job(c, b->job);
    if (b->ref.attempt < job->attempt) return;
    if (b->ref.attempt > job->attempt) job->ready = 0;
    job->attempt = b->ref.attempt;
    job->ready |= UINT32_C(1) << b->ref.member;
}

void oracle_made(struct cluster *c, const struct box *b)
{
    const struct job *job = b->job;
    if (b->ref.attempt == job->ran_attempt && (job->ran >> b->ref.member & 1) != 0)
        cluster_broken(c, "s%llu is made again after it ran", (unsigned long long)b->ref.session);
}

/* No two attempts at once: not even where nobody hears of it.  A machine that stands still
 * beyond its fence is the one exception: nothing there can look at a clock. */
static void runs_once(struct cluster *c, const struct box *b)
{
    for (uint32_t i = 0; i < c->n_machines; i++) {
        const struct machine *m = &c->machines[i];
        VEC_EACH(o, &m->boxes) {
            bool other = o->ref.session == b->ref.session && o->ref.attempt != b->ref.attempt;
            if (!other || !o->ran || !box_alive(o) || o->disowned || b->disowned) continue;
            if (machine_frozen(c, m, o)) continue;
            cluster_broken(c, "s%llu runs in attempts %u and %u at once",
                           (unsigned long long)b->ref.session, o->ref.attempt, b->ref.attempt);
        }
    }
}

void oracle_ran(struct cluster *c, const struct box *b)
{
    runs_once(c, b);
    struct job *job = cluster_job(c, b->job);
    if (b->ref.attempt < job->ran_attempt) return;
    if (b->ref.attempt > job->ran_attempt) job->ran = 0;
    job->ran_attempt = b->ref.attempt;
    job->ran |= UINT32_C(1) << b->ref.member;
}

void oracle_go(struct cluster *c, const struct box *b)
{
    const struct job *job = b->job;
    if (job->spec.members == 1 || b->ref.attempt < job->attempt) return;
    if (job->ready != (UINT32_C(1) << job->spec.members) - 1)
        cluster_broken(c, "s%llu starts before all are ready", (unsigned long long)b->ref.session);
}

/* ---- after every step */

static void starts_are_counted(struct cluster *c, const struct session *s)
{
    const struct job *job = cluster_job_of(c, s->id);
    const struct session *was = disk_live(&c->disk, s->id);
    /* An attempt that no machine ever heard of is nobody's failure. */
    if (job && s->failed_starts > (uint32_t)__builtin_popcountll(job->begun))
        cluster_broken(c, "s%llu is blamed for a start", (unsigned long long)s->id);
    if (was && was->attempt == s->attempt && was->state == SESSION_PREPARING &&
        s->state == SESSION_READY && was->deadline_ms != s->deadline_ms)
        cluster_broken(c, "s%llu is given more time to start", (unsigned long long)s->id);
}

/* It has ended in fact, stands still beyond its fence, or can never begin. */
static void is_over(struct cluster *c, const struct machine *m, struct member_ref ref)
{
    VEC_EACH(b, &m->boxes) {
        if (member_ref_cmp(b->ref, ref) != 0 || !box_alive(b) || b->disowned) continue;
        if (machine_frozen(c, m, b) || (!b->ran && machine_fence_over(c, m, b))) continue;
        cluster_broken(c, "s%llu is released and lives on n%u", (unsigned long long)ref.session,
                       m->index + 1);
    }
}

/* What is released without a word of its node had asked for that, and is not given up
 * before its containers can have ended. */
static void released_rightly(struct cluster *c)
{
    VEC_EACH(ch, &c->leader.effects.changes) {
        const struct alloc_row *r = &ch->u.alloc_row;
        if (ch->kind != CHANGE_ALLOC_GONE || !r->end.fenced) continue;
        const struct job *job = cluster_job_of(c, r->alloc.ref.session);
        const struct node *n = world_node(c->leader.w, r->alloc.node);
        if (job && job->spec.fence_ms == 0)
            cluster_broken(c, "s%llu is ended for silence and did not ask for it",
                           (unsigned long long)r->alloc.ref.session);
        if (!n || !n->unreachable) continue;
        is_over(c, &c->machines[leader_machine(n)], r->alloc.ref);
        c->result->released++;
    }
}

void oracle_step(struct cluster *c)
{
    released_rightly(c);
    oracle_world(c);
    machines_hold(c);
    nodes_are_known(c);
    placed(c);
    evictions_are_right(c);
    const struct world *w = c->leader.w;
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->state == 0) continue;
        starts_are_counted(c, s);
        if (s->failed_starts >= SESSION_START_TRIES && s->state != SESSION_STOPPING)
            cluster_broken(c, "s%llu is tried too often", (unsigned long long)s->id);
        if (s->deadline_ms == 0 || s->alarm) continue;
        if (s->deadline_ms <= w->now_ms)
            cluster_broken(c, "s%llu is past its deadline", (unsigned long long)s->id);
    }
}

/* An end that is stored is true of the machines. */
static void end_is_true(struct cluster *c, const struct session *s)
{
    unsigned long long id = s->id;
    const struct job *job = cluster_job_of(c, s->id);
    if (!job) {
        cluster_broken(c, "s%llu came from nobody", id);
        return;
    }
    if (s->outcome == OUTCOME_SUCCEEDED && (!job->main_exited || job->main_code != 0))
        cluster_broken(c, "s%llu succeeded without its command", id);
    if (s->outcome == OUTCOME_FAILED && !job->member_failed && !job->member_late)
        cluster_broken(c, "s%llu failed although nothing of it did", id);
    if (s->outcome == OUTCOME_FAILED && !job->spec.stop_on_member && !job->main_bad &&
        !job->start_bad && !job->member_late)
        cluster_broken(c, "s%llu failed for a member that it can spare", id);
    if (s->outcome == OUTCOME_PREEMPTED && (!s->preemptible || s->requeue))
        cluster_broken(c, "s%llu need not have gone", id);
    if (s->outcome == OUTCOME_CANCELLED && !job->stop_wanted)
        cluster_broken(c, "s%llu was cancelled by nobody", id);
    if (s->outcome == OUTCOME_TIMED_OUT && !job->spec.time_limit_ms &&
        !(job->spec.pending_timeout_ms && s->started_ms == 0))
        cluster_broken(c, "s%llu had no time limit", id);
    if (s->outcome == OUTCOME_LOST && !c->result->forgotten && c->post.now_ms < SIM_DAY_MS)
        cluster_broken(c, "s%llu is called lost and nobody is", id);
    if (s->outcome == OUTCOME_LOST) return; /* the only end without proof */
    for (uint32_t i = 0; i < c->n_machines; i++) {
        VEC_EACH(b, &c->machines[i].boxes) {
            if (b->fence_ms > 0 && !b->ran) continue; /* it is made, and can never begin */
            if (machine_frozen(c, &c->machines[i], b)) continue;
            if (b->ref.session == s->id && box_alive(b) && !b->disowned)
                cluster_broken(c, "s%llu ended but lives on n%u", id, i + 1);
        }
    }
}

static void stop_is_due(struct cluster *c, const struct session *s)
{
    const struct job *job = cluster_job_of(c, s->id);
    bool running = s->outcome == OUTCOME_TIMED_OUT && s->started_ms > 0;
    if (running && job && !job->timed_out && s->since_ms - s->started_ms < s->time_limit_ms)
        cluster_broken(c, "s%llu is stopped before its time", (unsigned long long)s->id);
}

void oracle_durable(struct cluster *c, const struct turn *t)
{
    VEC_EACH(ch, &t->changes) {
        if (ch->kind == CHANGE_SESSION && !session_live(&ch->u.session))
            end_is_true(c, &ch->u.session);
        if (ch->kind == CHANGE_SESSION && ch->u.session.state == SESSION_STOPPING)
            stop_is_due(c, &ch->u.session);
    }
    VEC_EACH(j, &c->jobs) {
        if (j->acked && !disk_live(&c->disk, j->session) && !disk_ended(&c->disk, j->session))
            cluster_broken(c, "s%llu was acknowledged and is lost", (unsigned long long)j->session);
    }
}

static void stored_is_live(struct cluster *c)
{
    struct strbuf live, stored;
    strbuf_init(&live, 16u << 20);
    strbuf_init(&stored, 16u << 20);
    struct world *again = disk_load(&c->disk);
    world_dump(c->leader.w, &live);
    world_dump(again, &stored);
    if (!str_eq(strbuf_str(&live), strbuf_str(&stored)))
        cluster_broken(c, "the stored world differs from the live one");
    world_free(again);
    strbuf_done(&live);
    strbuf_done(&stored);
}

static bool same_wish(const struct wish *a, const struct wish *b)
{
    const struct member_want *x = &a->want, *y = &b->want;
    return member_ref_cmp(x->ref, y->ref) == 0 && x->act == y->act &&
           x->signal_no == y->signal_no && x->signal == y->signal &&
           x->grace_ms == y->grace_ms && a->devices == b->devices &&
           memcmp(&a->slots, &b->slots, sizeof(a->slots)) == 0;
}

/* But for what is fresh: that a container was seen is no news to who showed it. */
static bool same_wishes(const struct snapshot *a, const struct snapshot *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++) same = same_wish(&a->wishes[i], &b->wishes[i]);
    return same;
}

void oracle_publish(struct cluster *c, const struct snapshot *was, const struct snapshot *is)
{
    if (is->node == 0) return; /* forgotten: it hears no more */
    if (!is->news && !same_wishes(was, is))
        cluster_broken(c, "n%u is not told at once", is->machine + 1);
}

/* What nodes are answered is what is wished: no wish waits for a chance to leave. */
static void wishes_are_out(struct cluster *c)
{
    struct leader *l = &c->leader;
    for (uint32_t i = 0; i < c->n_machines; i++) {
        const struct node *n = leader_node(l, i);
        const struct snapshot *out = &l->published[i];
        if (!n) continue;
        struct snapshot now = leader_snapshot(l, i, n);
        if (!same_wishes(&now, out)) cluster_broken(c, "n%u is not told what is wished", i + 1);
        mem_free(now.wishes);
    }
}

void oracle_rest(struct cluster *c)
{
    stored_is_live(c);
    wishes_are_out(c);
}

void oracle_day(struct cluster *c)
{
    VEC_EACH(r, &c->disk.live) {
        const struct session *s = &r->session;
        /* Of a gang, other members may still be there. */
        if (s->state == SESSION_STOPPING && s->outcome == OUTCOME_LOST) continue;
        cluster_broken(c, "s%llu outlives the day of its node", (unsigned long long)s->id);
    }
}

void oracle_end(struct cluster *c)
{
    if (c->disk.live.n > 0)
        cluster_broken(c, "s%llu is %s for ever", (unsigned long long)c->disk.live.v[0].session.id,
                       session_state_name(c->disk.live.v[0].session.state));
    if (c->disk.allocs.n > 0) cluster_broken(c, "the ledger holds rows of nobody");
    for (uint32_t i = 0; i < c->n_machines; i++) {
        if (c->machines[i].boxes.n > 0) cluster_broken(c, "n%u keeps a container", i + 1);
    }
    VEC_EACH(j, &c->jobs) {
        if (!j->acked) cluster_broken(c, "a submission was never acknowledged");
        uint32_t made = 0;
        VEC_EACH(k, &c->disk.keys) made += k->key == j->key;
        if (made != 1) cluster_broken(c, "one key made %u sessions", made);
    }
}
