/* sim/machine.c - containers as timers, and the agent around plan_node. */
#include "sim/machine.h"
#include "base/check.h"
#include "core/nodeplan/claim.h"
#include "sim/cluster.h"
#include "sim/oracle.h"

#define HANG_MS INT64_C(2400000) /* longer than any start may take */

bool box_alive(const struct box *b)
{
    return b->phase != MEMBER_EXITED && b->phase != MEMBER_FAILED;
}

void machine_init(struct machine *m, uint32_t index, const struct slots *capacity)
{
    memset(m, 0, sizeof(*m));
    m->index = index;
    m->capacity = *capacity;
    m->n_devices = (uint32_t)capacity->v[SLOT_GPU];
    m->boot = 1;
}

void machine_done(struct machine *m)
{
    VEC_DONE(&m->boxes);
    VEC_DONE(&m->made);
    VEC_DONE(&m->waiting);
}

static void schedule(struct cluster *c, struct machine *m, struct box *b, int64_t in_ms)
{
    b->next_ms = c->post.now_ms + in_ms;
    post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_BOX, .machine = m->index}, in_ms);
}

static int64_t some_ms(struct cluster *c, uint64_t most)
{
    return 1 + (int64_t)rng_below(&c->post.rng, most);
}

static void say_box(struct cluster *c, const struct machine *m, const struct box *b)
{
    cluster_say(c, "n%u: s%llu.%u.%u %s", m->index + 1, (unsigned long long)b->ref.session,
                b->ref.attempt, b->ref.member, member_phase_name(b->phase));
}

static uint32_t box_find(const struct machine *m, struct member_ref ref)
{
    uint32_t at = 0;
    while (at < m->boxes.n && member_ref_cmp(m->boxes.v[at].ref, ref) < 0) at++;
    return at;
}

static struct box *box_get(struct machine *m, struct member_ref ref)
{
    uint32_t at = box_find(m, ref);
    if (at == m->boxes.n || member_ref_cmp(m->boxes.v[at].ref, ref) != 0) return NULL;
    return &m->boxes.v[at];
}

static void box_end(struct cluster *c, struct box *b, int32_t code, int32_t signal)
{
    b->phase = b->ran ? MEMBER_EXITED : MEMBER_FAILED;
    b->end.exit_code = code;
    b->end.signal = signal;
    b->next_ms = 0;
    struct job *job = cluster_job(c, b->job);
    if (b->ran && b->ref.member == 0 && signal == 0) {
        job->main_exited = true;
        job->main_code = code;
    }
    if (b->end.timed_out) job->timed_out = true;
    else if (code != 0 || signal != 0) job->member_failed = true;
    if (!b->ran) job->start_bad = true;
    if (b->ref.member == 0 && (code != 0 || signal != 0)) job->main_bad = true;
}

bool machine_fence_over(const struct cluster *c, const struct machine *m, const struct box *b)
{
    return b->fence_ms > 0 && c->post.now_ms >= m->pulse_ms + b->fence_ms;
}

bool machine_frozen(const struct cluster *c, const struct machine *m, const struct box *b)
{
    return m->asleep_until_ms > c->post.now_ms && machine_fence_over(c, m, b);
}

/* Its process 1 has looked at the clock. */
static void box_fence(struct cluster *c, struct box *b)
{
    CHECK(b->fence_ms > 0);
    b->phase = b->ran ? MEMBER_EXITED : MEMBER_FAILED;
    b->end = (struct member_end){.exit_code = -1, .fenced = true};
    b->next_ms = 0;
    c->result->fenced++;
}

/* One timer a machine, for the first of its containers that may be due. */
static void fence_arm(struct cluster *c, struct machine *m)
{
    int64_t due_ms = INT64_MAX;
    VEC_EACH(b, &m->boxes) {
        if (b->fence_ms == 0 || b->phase < MEMBER_STARTING || !box_alive(b)) continue;
        int64_t at_ms = m->pulse_ms + b->fence_ms;
        if (at_ms < due_ms) due_ms = at_ms;
    }
    if (due_ms == INT64_MAX || m->fence_timer_ms > c->post.now_ms) return;
    if (due_ms <= c->post.now_ms) due_ms = c->post.now_ms + 1;
    m->fence_timer_ms = due_ms;
    post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_BOX, .machine = m->index},
               due_ms - c->post.now_ms);
}

static struct claim claim_of(const struct slots *slots, uint32_t devices)
{
    return (struct claim){slots->v[SLOT_CPU], slots->v[SLOT_MEM], devices};
}

static bool has_room(const struct machine *m, const struct wish *wish)
{
    struct claim held = {0}, wanted = claim_of(&wish->slots, wish->devices);
    struct claim capacity = claim_of(&m->capacity, (UINT32_C(1) << m->n_devices) - 1);
    VEC_EACH(b, &m->boxes) {
        struct claim one = claim_of(&b->slots, b->devices);
        if (box_alive(b)) claim_add(&held, &one);
    }
    return claim_fits(&held, &wanted, &capacity);
}

/* Where in the sorted list of those that wait it is, or belongs. */
static uint32_t waits_at(const struct machine *m, struct member_ref ref)
{
    uint32_t at = 0;
    while (at < m->waiting.n && member_ref_cmp(m->waiting.v[at], ref) < 0) at++;
    return at;
}

static bool hangs(struct job *job, const struct box *b, enum hang where)
{
    if (job->hang != where || b->ref.attempt > job->bad_starts) return false;
    job->member_late = true;
    return true;
}

static void box_create(struct cluster *c, struct machine *m, const struct wish *wish)
{
    struct job *job = cluster_job_of(c, wish->want.ref.session);
    CHECK(job != NULL); /* wishes leave the leader when they are stored */
    VEC_EACH(ref, &m->made) {
        if (member_ref_cmp(*ref, wish->want.ref) == 0) return;
    }
    if (wish->want.ref.attempt < 64) job->begun |= UINT64_C(1) << wish->want.ref.attempt;
    /* What cannot be made yet is reported, or it would be taken for gone. */
    uint32_t at = waits_at(m, wish->want.ref);
    bool waits = at < m->waiting.n && member_ref_cmp(m->waiting.v[at], wish->want.ref) == 0;
    bool body = waits ? rng_below(&c->post.rng, 2) == 0 : rng_below(&c->post.rng, 4) != 0;
    if (!body || !has_room(m, wish)) {
        if (!waits) VEC_INSERT(&m->waiting, at, wish->want.ref);
        return;
    }
    if (waits) VEC_REMOVE(&m->waiting, at);
    VEC_PUSH(&m->made, wish->want.ref);
    struct box b = {.ref = wish->want.ref, .phase = MEMBER_PREPARING, .job = job,
                    .slots = wish->slots, .devices = wish->devices,
                    .fence_ms = job->spec.fence_ms ? c->disk.groups.v[0].fence_ms : 0};
    oracle_made(c, &b);
    at = box_find(m, b.ref);
    VEC_INSERT(&m->boxes, at, b);
    schedule(c, m, &m->boxes.v[at], hangs(job, &b, HANG_PREPARING) ? HANG_MS : some_ms(c, 400));
    say_box(c, m, &m->boxes.v[at]);
}

static void box_go(struct cluster *c, struct machine *m, struct box *b)
{
    b->go = true;
    if (b->phase != MEMBER_READY) return;
    b->phase = MEMBER_STARTING;
    bool hung = hangs(cluster_job(c, b->job), b, HANG_STARTING);
    schedule(c, m, b, hung ? HANG_MS : some_ms(c, 50));
}

static void box_stop(struct cluster *c, struct machine *m, struct box *b, int64_t grace_ms)
{
    if (!box_alive(b)) return;
    bool again = b->phase == MEMBER_STOPPING;
    if (again && b->next_ms <= c->post.now_ms + grace_ms) return; /* only a shorter grace counts */
    b->phase = MEMBER_STOPPING;
    b->end.timed_out = false;
    int64_t dies_in = b->ran && b->job->ignores_term ? grace_ms : some_ms(c, 50);
    schedule(c, m, b, dies_in < 1 ? 1 : dies_in);
    if (!again) say_box(c, m, b);
}

/* Every other node ends its containers at their time limit itself; the rest leave
 * it to the leader. */
static void box_runs(struct cluster *c, struct machine *m, struct box *b)
{
    const struct job *job = b->job;
    int64_t run_ms = b->ref.member == 0 ? job->run_ms : job->run_ms + 1000;
    if (job->weak_member && b->ref.member > 0) run_ms = job->run_ms / 2 + 1;
    int64_t limit_ms = job->spec.time_limit_ms;
    if (limit_ms > 0 && run_ms >= limit_ms && m->index % 2 == 0) {
        run_ms = limit_ms;
        b->end.timed_out = true;
    }
    schedule(c, m, b, run_ms);
}

/* A box moves on by itself when its time has come. */
static void box_tick(struct cluster *c, struct machine *m, struct box *b)
{
    const struct job *job = b->job;
    switch (b->phase) {
    case MEMBER_PREPARING:
        if (job->fails_to_start && (job->fatal || b->ref.attempt <= job->bad_starts)) {
            b->end.fatal = job->fatal;
            box_end(c, b, -1, 0);
            return;
        }
        b->phase = MEMBER_READY;
        b->next_ms = 0;
        oracle_ready(c, b);
        if (b->go) box_go(c, m, b);
        return;
    case MEMBER_STARTING:
        if (machine_fence_over(c, m, b)) {
            box_fence(c, b);
            return;
        }
        b->phase = MEMBER_RUNNING;
        b->ran = true;
        oracle_ran(c, b);
        box_runs(c, m, b);
        return;
    case MEMBER_RUNNING:
        if (b->end.timed_out) box_end(c, b, -1, 0);
        else box_end(c, b, job->weak_member && b->ref.member > 0 ? 7 : job->exit_code, 0);
        return;
    case MEMBER_STOPPING: box_end(c, b, -1, 9); return;
    case MEMBER_READY: case MEMBER_EXITED: case MEMBER_FAILED: return;
    case MEMBER_NONE: case MEMBER_PHASES:
    default: UNREACHABLE();
    }
}

void machine_boxes_tick(struct cluster *c, struct machine *m)
{
    bool changed = false;
    for (uint32_t i = 0; i < m->boxes.n; i++) {
        struct box *b = &m->boxes.v[i];
        bool fenced = b->phase >= MEMBER_STARTING && box_alive(b) && machine_fence_over(c, m, b);
        if (!fenced && (b->next_ms == 0 || b->next_ms > c->post.now_ms)) continue;
        if (fenced) box_fence(c, b);
        else box_tick(c, m, b);
        say_box(c, m, b);
        changed = true;
    }
    for (uint32_t i = m->boxes.n; i-- > 0;) {
        if (m->boxes.v[i].removing && !box_alive(&m->boxes.v[i])) VEC_REMOVE(&m->boxes, i);
    }
    fence_arm(c, m);
    if (changed) machine_beat(c, m);
}

void machine_start_agent(struct cluster *c, struct machine *m)
{
    CHECK(!m->agent_up);
    m->agent_up = true;
    m->joined = false;
    m->life++;
    m->epoch++;
    if (some_ms(c, 8) == 1) m->capacity.v[SLOT_CPU] += 1000; /* somebody built it in */
    m->seq = 0;
    m->turn = 0;
    VEC_CLEAR(&m->made);
    VEC_CLEAR(&m->waiting);
    post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_AGENT, .machine = m->index,
                                         .life = m->life}, some_ms(c, 200));
}

void machine_kill_agent(struct machine *m) { m->agent_up = false; }

void machine_reboot(struct cluster *c, struct machine *m)
{
    m->agent_up = false;
    m->asleep_until_ms = 0;
    m->boot++;
    VEC_EACH(b, &m->boxes) {
        if (box_alive(b)) box_end(c, b, -1, 0);
    }
}

void machine_burn(struct cluster *c, struct machine *m)
{
    machine_reboot(c, m);
    VEC_CLEAR(&m->boxes);
    m->burnt = true;
}

void machine_vanish(struct cluster *c, struct machine *m, uint32_t at)
{
    CHECK(at < m->boxes.n);
    struct job *job = cluster_job(c, m->boxes.v[at].job);
    job->member_failed = true;
    if (!m->boxes.v[at].ran) job->start_bad = true;
    if (m->boxes.v[at].ref.member == 0) job->main_bad = true;
    cluster_say(c, "s%llu vanishes", (unsigned long long)m->boxes.v[at].ref.session);
    VEC_REMOVE(&m->boxes, at);
}

static struct member_report observed(const struct box *b)
{
    struct member_report r = {.ref = b->ref, .phase = b->phase, .signal_done = b->signal_done};
    if (!box_alive(b)) r.end = b->end;
    return r;
}

static struct member_report waits(struct member_ref ref)
{
    return (struct member_report){.ref = ref, .phase = MEMBER_PREPARING};
}

/* Posts all that is observed. */
void machine_beat(struct cluster *c, struct machine *m)
{
    if (!m->agent_up) return;
    struct letter l = {.machine = m->index, .sent_ms = c->post.now_ms,
                       .epoch = m->epoch, .seq = ++m->seq, .turn = m->turn,
                       .kind = m->joined ? LETTER_SYNC : LETTER_JOIN};
    l.members = mem_array(m->boxes.n + m->waiting.n + 1, sizeof(*l.members));
    uint32_t at = 0;
    VEC_EACH(b, &m->boxes) {
        while (at < m->waiting.n && member_ref_cmp(m->waiting.v[at], b->ref) < 0)
            l.members[l.n++] = waits(m->waiting.v[at++]);
        l.members[l.n++] = observed(b);
    }
    while (at < m->waiting.n) l.members[l.n++] = waits(m->waiting.v[at++]);
    cluster_send(c, l);
}

static void act(struct cluster *c, struct machine *m, const struct plan_step *s,
                const struct letter *answer)
{
    struct box *b = box_get(m, s->ref);
    switch (s->act) {
    case PLAN_CREATE:
        CHECK(b == NULL);
        for (uint32_t i = 0; i < answer->n; i++) {
            if (member_ref_cmp(answer->wishes[i].want.ref, s->ref) == 0)
                box_create(c, m, &answer->wishes[i]);
        }
        return;
    case PLAN_GO:
        CHECK(b != NULL);
        oracle_go(c, b);
        box_go(c, m, b);
        return;
    case PLAN_SIGNAL:
        CHECK(b != NULL);
        if (b->phase != MEMBER_RUNNING || s->signal_no <= b->signal_done)
            cluster_broken(c, "s%llu is signalled again", (unsigned long long)b->ref.session);
        b->signal_done = s->signal_no;
        return;
    case PLAN_STOP:
        CHECK(b != NULL);
        if (s->grace_ms < b->job->least_grace_ms)
            cluster_broken(c, "s%llu has less grace than asked for",
                           (unsigned long long)b->ref.session);
        box_stop(c, m, b, s->grace_ms);
        return;
    case PLAN_CLEAN:
        CHECK(b != NULL);
        b->removing = true;
        if (box_alive(b)) box_stop(c, m, b, 0);
        else VEC_REMOVE(&m->boxes, box_find(m, s->ref));
        return;
    default: UNREACHABLE();
    }
}

/* Who waits for no wish any more is forgotten; the others may still be made, though
 * the leader has heard of them. */
static void keep_waiting(struct machine *m, struct member_want *want, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->waiting.n; i++) {
        for (uint32_t k = 0; k < n; k++) {
            if (member_ref_cmp(want[k].ref, m->waiting.v[i]) != 0) continue;
            if (want[k].act == WANT_STOP) continue;
            want[k].fresh = true;
            m->waiting.v[kept++] = want[k].ref;
        }
    }
    m->waiting.n = kept;
}

void machine_answer(struct cluster *c, struct machine *m, const struct letter *l)
{
    if (!m->agent_up || l->epoch != m->epoch) return; /* the connection died with that agent */
    if (l->sent_ms > m->pulse_ms) m->pulse_ms = l->sent_ms;
    if (l->turn < m->turn) return;                    /* overtaken by a newer answer */
    m->joined = true;
    m->turn = l->turn;
    struct member_want *want = mem_array(l->n + 1, sizeof(*want));
    for (uint32_t i = 0; i < l->n; i++) want[i] = l->wishes[i].want;
    keep_waiting(m, want, l->n);
    struct member_report *have = mem_array(m->boxes.n + 1, sizeof(*have));
    for (uint32_t i = 0; i < m->boxes.n; i++) have[i] = observed(&m->boxes.v[i]);
    struct plan plan = {0};
    plan_node(want, l->n, have, m->boxes.n, &plan);
    VEC_EACH(s, &plan.steps) act(c, m, s, l);
    oracle_acted(c, m, l);
    bool acted = plan.steps.n > 0;
    plan_done(&plan);
    mem_free(want);
    mem_free(have);
    if (acted) machine_beat(c, m);
}
