/* sim/cluster.c - one seed's history: jobs, faults, and the quiet at the end. */
#include "sim/cluster.h"
#include <stdarg.h>
#include "base/check.h"
#include "base/fmt.h"
#include "sim/oracle.h"

#define CHAOS_MS INT64_C(240000)     /* faults happen for so long */
#define QUIET_MS INT64_C(10800000)   /* then everything must have ended within this */
#define QUIET_BEAT_MS 12000          /* seldom, but not so that they would be missed */
#define PATIENCE_MS INT64_C(900000)  /* in the quiet; then clients stop what still waits */
#define HERMIT_MS (SIM_DAY_MS + CHAOS_MS + 60000) /* when a silent machine's day is over */
#define SESSION_RUN_MOST_MS 60000

void cluster_broken(struct cluster *c, const char *fmt, ...)
{
    if (!c->result->ok) return; /* the first is what matters */
    va_list ap;
    va_start(ap, fmt);
    struct strbuf b;
    strbuf_init(&b, sizeof(c->result->why));
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    text_clip(c->result->why, sizeof(c->result->why), strbuf_str(&b));
    strbuf_done(&b);
    c->result->ok = false;
    c->result->at_ms = c->post.now_ms;
}

void cluster_say(struct cluster *c, const char *fmt, ...)
{
    if (!c->options->trace) return;
    struct strbuf b;
    strbuf_init(&b, 1024);
    strbuf_fmt(&b, "%9lld ", (long long)c->post.now_ms);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    c->options->say(b.p);
    strbuf_done(&b);
}

struct job *cluster_job(struct cluster *c, const struct job *job)
{
    return &c->jobs.v[job - c->jobs.v];
}

struct job *cluster_job_of(struct cluster *c, uint64_t session)
{
    VEC_EACH(k, &c->disk.keys) {
        if (k->session == session) return &c->jobs.v[k->key - 1];
    }
    return NULL;
}

void cluster_send(struct cluster *c, struct letter l)
{
    bool of_machine = l.kind == LETTER_JOIN || l.kind == LETTER_SYNC || l.kind == LETTER_ANSWER;
    const struct machine *m = &c->machines[l.machine];
    bool deaf = l.kind == LETTER_ANSWER && m->deaf_until_ms > c->post.now_ms;
    if (of_machine && (deaf || m->cut_until_ms > c->post.now_ms)) {
        c->post.lost++;
        letter_done(&l);
        return;
    }
    post_send(&c->post, l);
}

static uint64_t below(struct cluster *c, uint64_t n) { return rng_below(&c->post.rng, n); }

static void make_job(struct cluster *c, uint64_t key)
{
    struct job *j = VEC_ADD(&c->jobs);
    j->key = key;
    struct session *s = &j->spec;
    s->user = s->project = s->group = 1;
    s->kind = KIND_BATCH;
    s->priority = (int32_t)(below(c, 3) * 10);
    s->one_node = below(c, 3) == 0;
    s->stop_on_member = below(c, 4) != 0;
    s->n_roles = 1 + (uint32_t)(below(c, 4) == 0);
    if (below(c, 2) == 0) s->strategy = (enum place_strategy)below(c, PLACE_STRATEGIES);
    if (below(c, 6) == 0)
        text_fmt(s->where.labels, sizeof(s->where.labels), "rack=%u", (unsigned)below(c, 2));
    s->preemptible = below(c, 3) != 0;
    s->grace_ms = 1000 + (int64_t)below(c, 10000);
    s->time_limit_ms = below(c, 3) == 0 ? 5000 + (int64_t)below(c, 40000) : 0;
    s->pending_timeout_ms = below(c, 5) == 0 ? 5000 + (int64_t)below(c, 200000) : 0;
    for (uint32_t i = 0; i < s->n_roles; i++) {
        struct role *r = &s->roles[i];
        CHECK(TEXT_SET(r->name, i == 0 ? STR("main") : STR("worker")));
        r->count = 1 + (uint32_t)(below(c, 3) == 0 ? below(c, 3) : 0);
        r->slots.v[SLOT_CPU] = 500 * (1 + (int64_t)below(c, 4));
        r->slots.v[SLOT_MEM] = FMT_GIB * (1 + (int64_t)below(c, 3));
        r->slots.v[SLOT_GPU] = below(c, 2) == 0 ? 0 : (int64_t)below(c, 3);
        s->members += r->count;
    }
    j->run_ms = 1 + (int64_t)below(c, SESSION_RUN_MOST_MS);
    j->weak_member = below(c, 4) == 0;
    j->exit_code = below(c, 4) == 0 ? 1 + (int32_t)below(c, 100) : 0;
    j->fails_to_start = below(c, 8) == 0;
    j->fatal = below(c, 2) == 0;
    j->bad_starts = below(c, 3) == 0 ? UINT32_MAX : 1 + (uint32_t)below(c, 3);
    if (!j->fails_to_start && below(c, 15) == 0)
        j->hang = below(c, 2) == 0 ? HANG_PREPARING : HANG_STARTING;
    j->least_grace_ms = s->grace_ms;
    j->ignores_term = below(c, 5) == 0;
    if (c->fencing && below(c, 2) == 0) s->fence_ms = -1;
}

static void next_fault(struct cluster *c)
{
    struct letter l = {.kind = LETTER_TIMER_CHAOS};
    post_timer(&c->post, l, 1 + (int64_t)below(c, 8000));
}

static void set_up(struct cluster *c)
{
    post_init(&c->post, c->options->seed * UINT64_C(0x2545f4914f6cdd1d) + 1);
    disk_init(&c->disk);
    leader_init(&c->leader);
    struct group *g = &c->disk.groups.v[0];
    if (below(c, 2) == 0) g->on_blocked = below(c, 3) == 0 ? BLOCKED_SKIP : BLOCKED_BACKFILL;
    if (below(c, 2) == 0) g->reserve_depth = 1 + (uint32_t)below(c, 3);
    g->undated_ms = (int64_t)below(c, 3) * 10000;
    if (below(c, 4) == 0) g->order = ORDER_LIFO;
    g->preempt = (struct preempt_policy){
        .enabled = below(c, 2) == 0,
        .mode = (enum preempt_mode)(1 + below(c, PREEMPT_MODES - 1)),
        .scope = SCOPE_USER,
        .order = (enum preempt_order)(1 + below(c, PREEMPT_ORDERS - 1)),
        .min_runtime_ms = (int64_t)below(c, 3) * 5000};
    if (c->fencing) g->fence_ms = GROUP_FENCE_MIN_MS + (int64_t)below(c, 20000);
    c->n_machines = 1 + (uint32_t)below(c, 5);
    for (uint32_t i = 0; i < c->n_machines; i++) {
        struct slots capacity = {{(int64_t)(2 + below(c, 7)) * 1000,
                                  (int64_t)(4 + below(c, 12)) * FMT_GIB, (int64_t)below(c, 5)}};
        machine_init(&c->machines[i], i, &capacity);
        machine_start_agent(c, &c->machines[i]);
    }
    uint64_t jobs = 5 + below(c, 25);
    for (uint64_t key = 1; key <= jobs; key++) make_job(c, key);
    VEC_EACH(j, &c->jobs) {
        post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_CLIENT, .job = j->key - 1},
                   (int64_t)below(c, CHAOS_MS / 2));
    }
    uint32_t harsh = (uint32_t)below(c, 4); /* some seeds are calm, some are not */
    c->post.loss_pct = harsh * 6;
    c->post.double_pct = harsh * 6;
    c->post.late_pct = harsh * 4;
    c->leader.fail_pct = harsh;
    c->leader.unknown_pct = harsh;
    c->chaos = true;
    if (harsh > 0 && below(c, 24) == 0) {
        c->hermit = &c->machines[below(c, c->n_machines)];
        post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_HERMIT},
                   (int64_t)below(c, CHAOS_MS));
    }
    leader_start(c);
    if (harsh > 0)
        next_fault(c);
}

/* Half of them are in a hurry, and more so when they ask again. */
static void stop(struct cluster *c, struct job *j)
{
    struct letter l = {.kind = LETTER_STOP, .session = j->session, .grace_ms = -1};
    if (below(c, 2) == 0) l.grace_ms = (int64_t)below(c, (uint64_t)j->least_grace_ms + 1);
    if (l.grace_ms >= 0) j->least_grace_ms = l.grace_ms;
    j->stop_wanted = true;
    cluster_send(c, l);
}

/* A client repeats itself until it is heard; some change their mind later. */
static void client(struct cluster *c, uint64_t job)
{
    struct job *j = &c->jobs.v[job];
    int64_t pause = c->post.now_ms > CHAOS_MS + QUIET_MS ? 600000 : 1000;
    if (!j->acked) {
        cluster_send(c, (struct letter){.kind = LETTER_SUBMIT, .job = job});
    } else if (disk_ended(&c->disk, j->session)) {
        return;
    } else if (j->stop_wanted || below(c, 60) == 0 || !c->chaos) {
        /* In the end everything that waits for what never comes is stopped. */
        const struct session *s = disk_live(&c->disk, j->session);
        bool stuck = s && s->state == SESSION_PENDING && c->post.now_ms > CHAOS_MS + PATIENCE_MS;
        if (j->stop_wanted || c->chaos || stuck) stop(c, j);
    } else if (below(c, 10) == 0) {
        cluster_send(c, (struct letter){.kind = LETTER_SIGNAL, .session = j->session});
    }
    post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_CLIENT, .job = job},
               pause + (int64_t)below(c, 10000));
}

/* Only what the leader has heard of: a machine that loses its disk before it said
 * a word about a container cannot know that there was one. */
static void vanish(struct cluster *c, struct machine *m, uint32_t at)
{
    VEC_EACH(a, &c->disk.allocs) {
        if (member_ref_cmp(a->ref, m->boxes.v[at].ref) != 0 || a->phase == MEMBER_NONE) continue;
        machine_vanish(c, m, at);
        return;
    }
}

/* An operator gives up on a machine that is silent: it may be gone, or come back. */
static void give_up(struct cluster *c, struct machine *m)
{
    if (below(c, 6) != 0 || m == c->hermit) return;
    bool burns = m->index > 0 && below(c, 2) == 0;
    cluster_say(c, "n%u %s and is forgotten", m->index + 1, burns ? "burns" : "is cut off");
    if (burns) machine_burn(c, m);
    else m->cut_until_ms = c->post.now_ms + 20000;
    cluster_send(c, (struct letter){.kind = LETTER_FORGET, .machine = m->index});
    c->result->forgotten++;
}

static void start_agent(struct cluster *c, struct machine *m)
{
    if (!m->burnt && !m->agent_up) machine_start_agent(c, m);
}

static void heal(struct cluster *c)
{
    cluster_say(c, "faults end");
    c->chaos = false;
    c->post.loss_pct = c->post.double_pct = c->post.late_pct = 0;
    c->leader.fail_pct = c->leader.unknown_pct = 0;
    for (uint32_t i = 0; i < c->n_machines; i++) {
        if (c->hermit == &c->machines[i]) continue;
        c->machines[i].cut_until_ms = c->machines[i].deaf_until_ms = 0;
        start_agent(c, &c->machines[i]);
        struct letter l = {.kind = LETTER_CORDON, .machine = i}; /* off */
        if (c->machines[i].burnt) { /* again when no word of it can be under way any more */
            l.kind = LETTER_FORGET;
            post_timer(&c->post, l, POST_LATE_MS + 1000);
        }
        cluster_send(c, l);
    }
    if (!c->leader.up) leader_start(c);
}

static void cut(struct cluster *c, struct machine *m)
{
    int64_t until_ms = c->post.now_ms + (int64_t)below(c, 100000);
    bool deaf = below(c, 3) == 0;
    cluster_say(c, "n%u %s", m->index + 1, deaf ? "is deaf" : "cut off");
    if (deaf) m->deaf_until_ms = until_ms;
    else m->cut_until_ms = until_ms;
}

/* One machine falls silent, and nobody tells the leader what became of it: first its
 * day has to pass.  Everybody else is switched off for most of it, so that time
 * passes quickly. */
static void hermit(struct cluster *c)
{
    struct machine *m = c->hermit;
    if (c->chaos) {
        cluster_say(c, "n%u falls silent", m->index + 1);
        c->result->hermits++;
        m->cut_until_ms = INT64_MAX;
        if (below(c, 2) == 0) machine_burn(c, m);
        post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_HERMIT, .n = 1},
                   CHAOS_MS + QUIET_MS - c->post.now_ms);
        return;
    }
    bool over = c->post.now_ms >= HERMIT_MS;
    for (uint32_t i = 0; i < c->n_machines; i++) {
        struct machine *other = &c->machines[i];
        if (over) start_agent(c, other);
        else if (other != m && other->agent_up) machine_kill_agent(other);
    }
    if (!over) {
        post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_HERMIT, .n = 2},
                   HERMIT_MS - c->post.now_ms);
        return;
    }
    oracle_day(c);
    cluster_say(c, "n%u is %s", m->index + 1, m->burnt ? "given up" : "back");
    m->cut_until_ms = m->deaf_until_ms = 0;
    if (m->burnt)
        cluster_send(c, (struct letter){.kind = LETTER_FORGET, .machine = m->index});
    else
        cluster_send(c, (struct letter){.kind = LETTER_CORDON, .machine = m->index});
    c->hermit = NULL;
}

/* Long enough for containers to end by themselves, and for others to take their place. */
static void fence_fault(struct cluster *c, struct machine *m)
{
    int64_t ms = (int64_t)below(c, 180000);
    switch (below(c, 4)) {
    case 0:
        cluster_say(c, "n%u falls asleep", m->index + 1);
        if (m->burnt || m == c->hermit) break;
        m->asleep_until_ms = c->post.now_ms + ms;
        c->result->sleeps++;
        break;
    case 1:
        cluster_say(c, "leader falls asleep");
        leader_sleep(c, ms / 2);
        c->result->sleeps++;
        break;
    case 2:
        cluster_send(c, (struct letter){.kind = LETTER_ACCEPT});
        break;
    default:
        cluster_say(c, "n%u cut off for long", m->index + 1);
        if (m != c->hermit) m->cut_until_ms = c->post.now_ms + ms;
        break;
    }
}

static void fault(struct cluster *c)
{
    struct machine *m = &c->machines[below(c, c->n_machines)];
    if (c->fencing && below(c, 3) == 0) {
        fence_fault(c, m);
        next_fault(c);
        return;
    }
    switch (below(c, 10)) {
    case 0: case 1:
        cluster_say(c, c->leader.up ? "leader killed" : "leader starts");
        if (c->leader.up) {
            leader_kill(c);
            c->result->leader_kills++;
        } else {
            leader_start(c);
        }
        break;
    case 2: case 3:
        cluster_say(c, "agent n%u %s", m->index + 1, m->agent_up ? "killed" : "starts");
        if (m->agent_up) {
            machine_kill_agent(m);
            c->result->agent_kills++;
        } else {
            start_agent(c, m);
        }
        break;
    case 4:
        if (m != c->hermit) cut(c, m);
        break;
    case 5:
        if (below(c, 3) != 0) break;
        cluster_say(c, "n%u reboots", m->index + 1);
        if (m->burnt) break;
        machine_reboot(c, m);
        c->result->reboots++;
        break;
    case 6:
        if (m->boxes.n > 0) vanish(c, m, (uint32_t)below(c, m->boxes.n));
        break;
    case 7: give_up(c, m); break;
    case 8:
        cluster_send(c, (struct letter){.kind = LETTER_CORDON, .machine = m->index,
                                        .n = (uint32_t)below(c, 2)});
        break;
    default:
        if (!c->leader.up) leader_start(c);
        start_agent(c, m);
        break;
    }
    next_fault(c);
}

static void deliver(struct cluster *c, const struct letter *l)
{
    struct machine *m = &c->machines[l->machine];
    switch (l->kind) {
    case LETTER_ACK:
        c->jobs.v[l->job].acked = true;
        c->jobs.v[l->job].session = l->session;
        return;
    case LETTER_TIMER_CLIENT: client(c, l->job); return;
    case LETTER_TIMER_AGENT:
        if (!m->agent_up || l->life != m->life) return;
        machine_beat(c, m);
        post_timer(&c->post, *l, c->chaos ? NODE_BEAT_MS : QUIET_BEAT_MS);
        return;
    case LETTER_TIMER_BOX: machine_boxes_tick(c, m); return;
    case LETTER_ANSWER: machine_answer(c, m, l); return;
    case LETTER_TIMER_HERMIT: hermit(c); return;
    case LETTER_TIMER_CHAOS:
        if (c->chaos) fault(c);
        return;
    case LETTER_SUBMIT: case LETTER_STOP: case LETTER_SIGNAL: case LETTER_JOIN: case LETTER_SYNC:
    case LETTER_FORGET: case LETTER_CORDON: case LETTER_ACCEPT:
    case LETTER_TIMER_LEADER: case LETTER_TIMER_HELD: case LETTER_COMMITTED:
        leader_letter(c, l);
        return;
    case LETTER_KINDS:
    default: UNREACHABLE();
    }
}

/* What comes to somebody who stands still waits until that is over. */
static bool sleeps(struct cluster *c, const struct letter *l)
{
    int64_t until_ms = 0;
    bool of_machine = l->kind == LETTER_TIMER_AGENT || l->kind == LETTER_TIMER_BOX ||
                      l->kind == LETTER_ANSWER;
    bool of_nobody = l->kind == LETTER_ACK || l->kind == LETTER_TIMER_CLIENT ||
                     l->kind == LETTER_TIMER_CHAOS || l->kind == LETTER_TIMER_HERMIT;
    if (of_machine) until_ms = c->machines[l->machine].asleep_until_ms;
    else if (!of_nobody) until_ms = c->leader.asleep_until_ms;
    if (until_ms <= c->post.now_ms) return false;
    post_timer(&c->post, *l, until_ms - c->post.now_ms);
    return true;
}

static void mix(struct sim_result *r, uint64_t v)
{
    r->hash = (r->hash ^ v) * UINT64_C(0x100000001b3); /* FNV-1a by words */
}

static bool all_ended(const struct cluster *c)
{
    if (c->disk.live.n > 0 || c->disk.allocs.n > 0) return false;
    for (uint32_t i = 0; i < c->n_machines; i++) {
        if (c->machines[i].boxes.n > 0) return false;
    }
    VEC_EACH(j, &c->jobs) {
        if (!j->acked) return false;
    }
    return true;
}

static void count(struct cluster *c)
{
    struct sim_result *r = c->result;
    r->delivered = c->post.delivered;
    r->lost = c->post.lost;
    r->doubled = c->post.doubled;
    r->turns = c->leader.turns;
    r->reloads = c->leader.reloads;
    r->sessions = c->jobs.n;
    VEC_EACH(s, &c->disk.ended) {
        r->succeeded += s->outcome == OUTCOME_SUCCEEDED;
        r->failed += s->outcome == OUTCOME_FAILED;
        r->cancelled += s->outcome == OUTCOME_CANCELLED;
        r->timed_out += s->outcome == OUTCOME_TIMED_OUT;
        r->preempted += s->outcome == OUTCOME_PREEMPTED;
        r->lost_sessions += s->outcome == OUTCOME_LOST;
    }
}

void sim_run(const struct sim_options *options, struct sim_result *ret)
{
    struct cluster *c = mem_alloc(sizeof(*c));
    memset(ret, 0, sizeof(*ret));
    ret->ok = true;
    ret->hash = UINT64_C(0xcbf29ce484222325);
    c->options = options;
    c->result = ret;
    c->fencing = options->seed % 3 == 1; /* the other histories are as they always were */
    set_up(c);
    int64_t quiet_from_ms = c->hermit ? HERMIT_MS : CHAOS_MS;
    struct letter l;
    while (ret->ok && post_next(&c->post, &l)) {
        if (c->chaos && c->post.now_ms >= CHAOS_MS) heal(c);
        if (sleeps(c, &l)) continue;
        mix(ret, (uint64_t)c->post.now_ms);
        mix(ret, ((uint64_t)l.kind << 32) ^ l.session ^ ((uint64_t)l.machine << 24) ^ l.n);
        deliver(c, &l);
        letter_done(&l);
        struct leader *lead = &c->leader;
        if (lead->up && !lead->busy && lead->open.turn.changes.n == 0 && below(c, 50) == 0)
            oracle_rest(c);
        if (!c->chaos && !c->hermit && all_ended(c)) break;
        if (c->post.now_ms > quiet_from_ms + QUIET_MS && !c->hermit) break;
    }
    if (ret->ok) oracle_end(c);
    if (ret->ok) ret->at_ms = c->post.now_ms;
    count(c);
    for (uint32_t i = 0; i < c->n_machines; i++) machine_done(&c->machines[i]);
    leader_done(&c->leader);
    disk_done(&c->disk);
    post_done(&c->post);
    VEC_DONE(&c->jobs);
    VEC_DONE(&c->told);
    place_done(&c->scratch);
    mem_free(c);
}
