/* sim/leader.c - the order of things: step, turn, commit, release. */
#include "sim/leader.h"
#include "base/check.h"
#include "sim/cluster.h"
#include "sim/oracle.h"

static void pending_done(struct pending_turn *p)
{
    VEC_DONE(&p->turn.changes);
    VEC_DONE(&p->turn.keys);
    VEC_DONE(&p->acks);
    VEC_EACH(s, &p->snapshots) mem_free(s->wishes);
    VEC_DONE(&p->snapshots);
    memset(p, 0, sizeof(*p));
}

void leader_init(struct leader *l) { memset(l, 0, sizeof(*l)); }

static void forget(struct leader *l)
{
    pending_done(&l->open);
    pending_done(&l->committing);
    for (uint32_t i = 0; i < LEADER_MACHINES_MAX; i++) {
        mem_free(l->published[i].wishes);
        l->published[i] = (struct snapshot){0};
        l->polls[i] = (struct held_poll){0};
        l->heard[i] = (struct heard){0};
    }
    world_free(l->w);
    l->w = NULL;
    l->busy = false;
}

void leader_done(struct leader *l)
{
    forget(l);
    effects_done(&l->effects);
}

int64_t leader_core_now(const struct cluster *c)
{
    return c->leader.core_base + c->post.now_ms - c->leader.started_ms;
}

struct snapshot leader_snapshot(const struct leader *l, uint32_t machine, const struct node *n)
{
    struct snapshot s = {.machine = machine, .node = n->id};
    struct member_want *want = NULL;
    step_wants(l->w, n, &want, &s.n);
    s.wishes = mem_array(s.n + 1, sizeof(*s.wishes));
    for (uint32_t i = 0; i < s.n; i++) {
        s.wishes[i].want = want[i];
        for (const struct alloc *a = world_allocs_of_node(l->w, n); a;
             a = world_next_of_node(l->w, a)) {
            if (member_ref_cmp(a->ref, want[i].ref) != 0) continue;
            s.wishes[i].slots = a->slots;
            s.wishes[i].devices = a->devices;
        }
    }
    mem_free(want);
    return s;
}

struct node *leader_node(const struct leader *l, uint32_t machine)
{
    char name[16];
    text_fmt(name, sizeof(name), "n%u", machine + 1);
    return world_node_named(l->w, str_of(name));
}

uint32_t leader_machine(const struct node *n)
{
    uint64_t number = 0;
    bool sane = str_to_u64(str_of(n->name + 1), &number);
    CHECK(sane);
    CHECK(number >= 1);
    CHECK(number <= LEADER_MACHINES_MAX);
    return (uint32_t)number - 1;
}

static void arm(struct cluster *c)
{
    struct leader *l = &c->leader;
    int64_t at = step_next_deadline(l->w);
    if (at == INT64_MAX || at == l->timer_ms) return;
    l->timer_ms = at;
    int64_t in = at - leader_core_now(c);
    post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_LEADER, .life = l->life},
               in < 1 ? 1 : in);
}

static void load(struct cluster *c)
{
    struct leader *l = &c->leader;
    l->w = disk_load(&c->disk);
    l->core_base = c->disk.core_ms;
    l->started_ms = c->post.now_ms;
    l->durable = c->disk.turn;
    l->timer_ms = 0;
    for (uint32_t i = 0; i < c->n_machines; i++) {
        struct node *n = leader_node(l, i);
        if (n) l->published[i] = leader_snapshot(l, i, n);
    }
    oracle_world(c);
    arm(c);
}

static void answer(struct cluster *c, uint32_t machine)
{
    struct leader *l = &c->leader;
    struct held_poll *p = &l->polls[machine];
    if (!p->held) return;
    if (l->durable < p->turn) { /* what it said itself is in a turn that is not stored yet */
        p->due = true;
        return;
    }
    p->held = p->due = false;
    const struct snapshot *s = &l->published[machine];
    struct letter out = {.kind = LETTER_ANSWER, .machine = machine, .epoch = p->epoch,
                         .turn = l->durable, .n = s->n, .sent_ms = p->sent_ms};
    out.wishes = mem_array(s->n + 1, sizeof(*out.wishes));
    if (s->n > 0) memcpy(out.wishes, s->wishes, s->n * sizeof(*out.wishes));
    cluster_send(c, out);
}

static void remember_node(struct pending_turn *p, uint32_t machine, bool news)
{
    VEC_EACH(s, &p->snapshots) {
        if (s->machine == machine) return;
    }
    VEC_PUSH(&p->snapshots, ((struct snapshot){.machine = machine, .news = news}));
}

/* Of all machines: any of them may be answered as of this turn. */
static void take_snapshots(struct cluster *c)
{
    struct leader *l = &c->leader;
    for (uint32_t i = 0; i < c->n_machines; i++) remember_node(&l->committing, i, false);
    VEC_EACH(s, &l->committing.snapshots) {
        struct node *n = leader_node(l, s->machine);
        bool news = s->news;
        if (n) *s = leader_snapshot(l, s->machine, n);
        s->news = news;
    }
}

/* Closes the open turn if the store is free and there is something to write. */
static void close_turn(struct cluster *c)
{
    struct leader *l = &c->leader;
    if (l->busy) return;
    if (l->open.turn.changes.n == 0) {
        VEC_EACH(a, &l->open.acks) cluster_send(c, *a); /* nothing to wait for */
        VEC_CLEAR(&l->open.acks);
        return;
    }
    l->committing = l->open;
    memset(&l->open, 0, sizeof(l->open));
    l->committing.turn.no = l->durable + 1;
    l->committing.turn.core_ms = l->w->now_ms;
    take_snapshots(c);
    l->busy = true;
    post_timer(&c->post, (struct letter){.kind = LETTER_COMMITTED, .life = l->life},
               (int64_t)rng_below(&c->post.rng, 4));
}

static void say_change(struct cluster *c, const struct change *ch)
{
    const struct history *h = &ch->u.history;
    if (ch->kind == CHANGE_ALLOC_GONE)
        cluster_say(c, "released s%llu.%u.%u on node %u",
                    (unsigned long long)ch->u.alloc.ref.session, ch->u.alloc.ref.attempt,
                    ch->u.alloc.ref.member, ch->u.alloc.node);
    if (ch->kind == CHANGE_HISTORY)
        cluster_say(c, "turn %llu: %s s%llu %s %s", (unsigned long long)c->leader.w->turn,
                    history_name(h->what), (unsigned long long)h->session,
                    h->session && h->state ? session_state_name(h->state) : "", h->text);
}

static void note_heard(struct cluster *c, const struct event *ev)
{
    struct leader *l = &c->leader;
    bool heard = ev->kind == EVENT_NODE_JOIN || ev->kind == EVENT_NODE_REPORT;
    const struct node *n = world_node(l->w, l->effects.node);
    if (!heard || l->effects.verdict != VERDICT_OK) return;
    CHECK(n != NULL);
    if (ev->kind == EVENT_NODE_JOIN && ev->u.join.node.epoch < n->epoch)
        cluster_broken(c, "%s: an agent that was replaced is believed", n->name);
    struct heard *h = &l->heard[leader_machine(n)];
    if (h->node != n->id) *h = (struct heard){.node = n->id};
    h->core_ms = l->w->now_ms;
}

/* An operator looks at a node that is quarantined, and finds nothing wrong. */
static void open_later(struct cluster *c, uint32_t node)
{
    const struct node *n = world_node(c->leader.w, node);
    struct letter l = {.kind = LETTER_CORDON};
    if (!n) return;
    l.machine = leader_machine(n);
    post_timer(&c->post, l, 60000);
}

static void feed(struct cluster *c, struct event *ev)
{
    struct leader *l = &c->leader;
    l->w->turn = l->durable + (l->busy ? 2 : 1);
    ev->now_ms = leader_core_now(c);
    ev->wall_ms = c->post.now_ms;
    ev->actor = 1;
    if (ev->kind == EVENT_NODE_REPORT) oracle_before_report(c, &ev->u.report);
    step(l->w, ev, &l->effects);
    c->result->steps++;
    VEC_EACH(ch, &l->effects.changes) {
        VEC_PUSH(&l->open.turn.changes, *ch);
        say_change(c, ch);
        if (ch->kind == CHANGE_HISTORY && ch->u.history.what == HISTORY_NODE_QUARANTINED)
            open_later(c, ch->u.history.node);
    }
    VEC_EACH(id, &l->effects.nodes) {
        const struct node *n = world_node(l->w, *id);
        if (n) remember_node(&l->open, leader_machine(n), true);
    }
    note_heard(c, ev);
    if (ev->kind == EVENT_NODE_REPORT) oracle_report(c, &ev->u.report);
    oracle_step(c);
    enum verdict verdict = l->effects.verdict; /* of the event, not of the ticks after it */
    uint64_t session = l->effects.session;
    while (l->effects.more) {
        struct event tick = {.kind = EVENT_TICK};
        l->effects.more = false;
        feed(c, &tick);
    }
    l->effects.verdict = verdict;
    l->effects.session = session;
}

static void release(struct cluster *c)
{
    struct leader *l = &c->leader;
    struct pending_turn *p = &l->committing;
    l->durable = p->turn.no;
    l->turns++;
    VEC_EACH(a, &p->acks) cluster_send(c, *a);
    VEC_CLEAR(&p->acks);
    VEC_EACH(s, &p->snapshots) {
        oracle_publish(c, &l->published[s->machine], s);
        mem_free(l->published[s->machine].wishes);
        l->published[s->machine] = *s;
        s->wishes = NULL;
        if (s->news || l->polls[s->machine].due) answer(c, s->machine);
    }
    oracle_durable(c, &p->turn);
    pending_done(p);
}

/* Its clocks run from now on, asked or not. */
static void begin(struct cluster *c)
{
    struct event ev = {.kind = EVENT_TICK};
    feed(c, &ev);
    close_turn(c);
    arm(c);
}

static void committed(struct cluster *c)
{
    struct leader *l = &c->leader;
    bool failed = post_chance(&c->post, l->fail_pct);
    bool unknown = !failed && post_chance(&c->post, l->unknown_pct);
    bool applied = !failed && (!unknown || post_chance(&c->post, 50));
    if (applied) disk_apply(&c->disk, &l->committing.turn);
    l->busy = false;
    if (!failed && !unknown) {
        release(c);
        close_turn(c);
        return;
    }
    /* The world may hold what was never stored: drop it and read what was. */
    l->reloads++;
    forget(l);
    load(c);
    begin(c);
}

void leader_start(struct cluster *c)
{
    struct leader *l = &c->leader;
    CHECK(!l->up);
    l->up = true;
    l->life++;
    l->asleep_until_ms = 0;
    load(c);
    begin(c);
}

void leader_sleep(struct cluster *c, int64_t ms)
{
    struct leader *l = &c->leader;
    if (!l->up || l->asleep_until_ms > c->post.now_ms) return;
    l->asleep_until_ms = c->post.now_ms + ms;
    l->started_ms += ms;
}

void leader_kill(struct cluster *c)
{
    struct leader *l = &c->leader;
    CHECK(l->up);
    if (l->busy && post_chance(&c->post, 50)) disk_apply(&c->disk, &l->committing.turn);
    l->up = false;
    forget(l);
}

static void on_submit(struct cluster *c, const struct letter *letter)
{
    struct leader *l = &c->leader;
    const struct job *job = &c->jobs.v[letter->job];
    uint64_t session = disk_session_of_key(&c->disk, job->key);
    if (session == 0) {
        VEC_EACH(k, &l->open.turn.keys) if (k->key == job->key) session = k->session;
        VEC_EACH(k, &l->committing.turn.keys) if (k->key == job->key) session = k->session;
    }
    if (session == 0) {
        struct event ev = {.kind = EVENT_SUBMIT};
        ev.u.submit.session = job->spec;
        ev.u.submit.allow_impossible = true;
        feed(c, &ev);
        CHECK(l->effects.verdict == VERDICT_OK);
        session = l->effects.session;
        VEC_PUSH(&l->open.turn.keys, ((struct disk_key){job->key, session}));
    }
    VEC_PUSH(&l->open.acks, ((struct letter){.kind = LETTER_ACK, .job = letter->job,
                                             .session = session}));
}

static void on_join(struct cluster *c, const struct letter *letter)
{
    struct event ev = {.kind = EVENT_NODE_JOIN};
    struct node *n = &ev.u.join.node;
    const struct machine *m = &c->machines[letter->machine];
    text_fmt(n->name, sizeof(n->name), "n%u", letter->machine + 1);
    n->group = 1;
    n->epoch = letter->epoch;
    n->capacity = m->capacity;
    n->n_devices = m->n_devices;
    for (uint32_t i = 0; i < n->n_devices; i++) {
        text_fmt(n->devices[i].uuid, sizeof(n->devices[i].uuid), "sim-%u-%u", m->index, i);
        n->devices[i].health = DEVICE_HEALTHY;
        n->devices[i].simulated = true;
    }
    linkmap_clear(n->links, n->n_devices); /* bridged in pairs */
    for (uint32_t i = 1; i < n->n_devices; i += 2) linkmap_set(n->links, i - 1, i, LINK_DIRECT1);
    text_fmt(n->boot_id, sizeof(n->boot_id), "boot-%u", m->boot);
    text_fmt(n->labels, sizeof(n->labels), "rack=%u", m->index % 2);
    feed(c, &ev);
}

static void on_sync(struct cluster *c, const struct letter *letter)
{
    struct leader *l = &c->leader;
    /* Who was forgotten and comes back is a new node. */
    if (letter->kind == LETTER_JOIN || !leader_node(l, letter->machine)) on_join(c, letter);
    const struct node *n = leader_node(l, letter->machine);
    CHECK(n != NULL);
    struct event ev = {.kind = EVENT_NODE_REPORT};
    ev.u.report = (struct event_report){.node = n->id, .epoch = letter->epoch, .seq = letter->seq,
                                        .turn = letter->turn, .members = letter->members,
                                        .n_members = letter->n};
    feed(c, &ev);
    struct held_poll *p = &l->polls[letter->machine];
    bool echo = p->epoch > letter->epoch || (p->epoch == letter->epoch && p->seq > letter->seq);
    if (p->held && echo) return;
    *p = (struct held_poll){.held = true, .epoch = letter->epoch, .seq = letter->seq,
                            .turn = l->durable + l->busy + (l->open.turn.changes.n > 0),
                            .sent_ms = letter->sent_ms};
    /* What the agent does not know yet is sent at once, else the poll is held. */
    bool news = l->published[letter->machine].n > 0 && letter->turn < l->durable;
    post_timer(&c->post, (struct letter){.kind = LETTER_TIMER_HELD, .machine = letter->machine,
                                         .life = l->life, .seq = letter->seq},
               news || letter->kind == LETTER_JOIN ? 1 : NODE_BEAT_MS);
}

static void on_operator(struct cluster *c, const struct letter *letter)
{
    const struct node *n = leader_node(&c->leader, letter->machine);
    struct event ev = {.kind = EVENT_NODE_FORGET};
    if (letter->kind == LETTER_ACCEPT) {
        ev.kind = EVENT_SILENCE_ACCEPT;
        feed(c, &ev);
        return;
    }
    if (!n) return;
    if (letter->kind == LETTER_FORGET) {
        ev.u.forget = (struct event_forget){n->id, true};
        VEC_EACH(b, &c->machines[letter->machine].boxes) b->disowned = true;
    } else {
        ev.kind = EVENT_NODE_CORDON;
        ev.u.cordon = (struct event_cordon){.node = n->id, .on = letter->n != 0};
    }
    feed(c, &ev);
}

void leader_letter(struct cluster *c, const struct letter *letter)
{
    struct leader *l = &c->leader;
    struct event ev = {0};
    if (!l->up) return;
    switch (letter->kind) {
    case LETTER_SUBMIT: on_submit(c, letter); break;
    case LETTER_STOP:
        ev.kind = EVENT_STOP;
        ev.u.stop = (struct event_stop){letter->session, OUTCOME_CANCELLED, letter->grace_ms};
        feed(c, &ev);
        oracle_stop(c, &ev.u.stop);
        break;
    case LETTER_SIGNAL:
        ev.kind = EVENT_SIGNAL;
        ev.u.signal = (struct event_signal){letter->session, 10};
        feed(c, &ev);
        break;
    case LETTER_JOIN: case LETTER_SYNC: on_sync(c, letter); break;
    case LETTER_FORGET: case LETTER_CORDON: case LETTER_ACCEPT: on_operator(c, letter); break;
    case LETTER_TIMER_LEADER:
        if (letter->life != l->life) return;
        l->timer_ms = 0;
        ev.kind = EVENT_TICK;
        feed(c, &ev);
        break;
    case LETTER_TIMER_HELD:
        if (letter->life == l->life && l->polls[letter->machine].seq == letter->seq)
            answer(c, letter->machine);
        return;
    case LETTER_COMMITTED:
        if (letter->life == l->life && l->busy) committed(c);
        arm(c);
        return;
    case LETTER_ACK: case LETTER_ANSWER: case LETTER_TIMER_CLIENT: case LETTER_TIMER_AGENT:
    case LETTER_TIMER_BOX: case LETTER_TIMER_CHAOS: case LETTER_TIMER_HERMIT: case LETTER_KINDS:
    default: UNREACHABLE();
    }
    close_turn(c);
    arm(c);
}
