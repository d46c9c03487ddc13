/* The lab: what the manager, its store and its nodes do around a step.
 *
 * The store knows only what changes said; the nodes know only their wishes. */
#include "harness.h"
#include "core/sched/index.h"

#include <stdio.h>

#define GIB (INT64_C(1) << 30)

/* ---- the store */

static void first_accounts(struct lab_store *s)
{
    VEC_PUSH(&s->domains, ((struct domain){.id = 1, .name = "default"}));
    VEC_PUSH(&s->projects, ((struct project){.id = 1, .domain = 1, .name = "default"}));
    VEC_PUSH(&s->users, ((struct user){.id = 1, .domain = 1, .name = "alice", .role = ROLE_ADMIN,
                                    .uid = 1000, .gid = 1000}));
    VEC_PUSH(&s->users, ((struct user){.id = 2, .domain = 1, .name = "bob", .role = ROLE_ADMIN,
                                    .uid = 1001, .gid = 1001}));
}

static void load_accounts(const struct lab_store *s, struct world *w)
{
    VEC_EACH(d, &s->domains) assert_true(world_put_domain(w, d));
    VEC_EACH(p, &s->projects) assert_true(world_put_project(w, p));
    VEC_EACH(u, &s->users) assert_true(world_put_user(w, u));
}

#define STORE_PUT(vec, item, same) \
    do { \
        uint32_t at_ = 0; \
        while (at_ < (vec)->n && !(same)) at_++; \
        if (at_ == (vec)->n) (void)VEC_ADD(vec); \
        (vec)->v[at_] = (item); \
    } while (0)

static void store_change(struct lab_store *s, const struct change *c)
{
    switch (c->kind) {
    case CHANGE_SESSION:
        STORE_PUT(&s->sessions, c->u.session_row,
                  s->sessions.v[at_].session.id == c->u.session.id);
        if (c->u.session.id > s->last_session) s->last_session = c->u.session.id;
        return;
    case CHANGE_ALLOC:
        STORE_PUT(&s->allocs, c->u.alloc,
                  member_ref_cmp(s->allocs.v[at_].ref, c->u.alloc.ref) == 0);
        return;
    case CHANGE_ALLOC_GONE:
        for (uint32_t i = 0; i < s->allocs.n; i++) {
            if (member_ref_cmp(s->allocs.v[i].ref, c->u.alloc.ref) != 0) continue;
            VEC_REMOVE(&s->allocs, i);
            return;
        }
        fail_msg("a row is released that was never stored");
        return;
    case CHANGE_NODE:
        STORE_PUT(&s->nodes, c->u.node, s->nodes.v[at_].id == c->u.node.id);
        return;
    case CHANGE_NODE_GONE:
        VEC_EACH(n, &s->nodes) if (n->id == c->u.node.id) n->name[0] = '\0';
        return;
    case CHANGE_GROUP:
        STORE_PUT(&s->groups, c->u.group, s->groups.v[at_].id == c->u.group.id);
        return;
    case CHANGE_DOMAIN:
        STORE_PUT(&s->domains, c->u.domain, s->domains.v[at_].id == c->u.domain.id);
        return;
    case CHANGE_PROJECT:
        STORE_PUT(&s->projects, c->u.project, s->projects.v[at_].id == c->u.project.id);
        return;
    case CHANGE_USER:
        STORE_PUT(&s->users, c->u.user, s->users.v[at_].id == c->u.user.id);
        return;
    case CHANGE_RESERVATION: VEC_PUSH(&s->reservations, c->u.reservation); return;
    case CHANGE_RESERVATION_GONE:
        for (uint32_t i = 0; i < s->reservations.n; i++) {
            if (s->reservations.v[i].id != c->u.reservation.id) continue;
            VEC_REMOVE(&s->reservations, i);
            return;
        }
        fail_msg("a reservation is removed that was never stored");
        return;
    case CHANGE_HISTORY: return;
    case CHANGE_KINDS: break;
    }
    fail_msg("unknown change");
}

static bool same_object(const struct change *a, const struct change *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case CHANGE_SESSION: return a->u.session.id == b->u.session.id;
    case CHANGE_ALLOC:
    case CHANGE_ALLOC_GONE: return member_ref_cmp(a->u.alloc.ref, b->u.alloc.ref) == 0;
    case CHANGE_NODE:
    case CHANGE_NODE_GONE: return a->u.node.id == b->u.node.id;
    case CHANGE_GROUP: return a->u.group.id == b->u.group.id;
    case CHANGE_DOMAIN: return a->u.domain.id == b->u.domain.id;
    case CHANGE_PROJECT: return a->u.project.id == b->u.project.id;
    case CHANGE_USER: return a->u.user.id == b->u.user.id;
    case CHANGE_RESERVATION:
    case CHANGE_RESERVATION_GONE: return a->u.reservation.id == b->u.reservation.id;
    case CHANGE_HISTORY:
    case CHANGE_KINDS: break;
    }
    return false;
}

static void check_effects(const struct effects *fx)
{
    for (uint32_t i = 0; fx->changes.n < 200 && i < fx->changes.n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_false(same_object(&fx->changes.v[i], &fx->changes.v[k]));
        }
    }
    for (uint32_t i = 1; i < fx->nodes.n; i++) assert_true(fx->nodes.v[i - 1] < fx->nodes.v[i]);
    if (fx->verdict != VERDICT_OK) assert_true(fx->text[0] != '\0');
}

/* ---- the cluster */

static void audit(const struct lab *l)
{
    const char *why = world_audit(l->w);
    if (!why) why = index_audit(l->w);
    if (why) fail_msg("audit: %s", why);
}

struct lab *lab_new(enum on_blocked blocked)
{
    struct lab *l = mem_alloc(sizeof(*l));
    const char *why = NULL;
    l->now_ms = 1000;
    struct group g = group_make(1, "default", blocked);
    memset(g.time_limit_ms, 0, sizeof(g.time_limit_ms));
    VEC_PUSH(&l->store.groups, g);
    l->w = world_new();
    first_accounts(&l->store);
    load_accounts(&l->store, l->w);
    assert_true(world_put_group(l->w, &g));
    assert_true(world_ready(l->w, &why));
    audit(l);
    return l;
}

void lab_free(struct lab *l)
{
    world_free(l->w);
    effects_done(&l->fx);
    VEC_DONE(&l->store.sessions);
    VEC_DONE(&l->store.allocs);
    VEC_DONE(&l->store.nodes);
    VEC_DONE(&l->store.groups);
    VEC_DONE(&l->store.reservations);
    VEC_DONE(&l->store.domains);
    VEC_DONE(&l->store.projects);
    VEC_DONE(&l->store.users);
    for (uint32_t i = 0; i < l->n_nodes; i++) VEC_DONE(&l->nodes[i].list);
    mem_free(l);
}

enum verdict lab_step(struct lab *l, const struct event *ev)
{
    struct event timed = *ev;
    timed.now_ms = l->now_ms;
    timed.wall_ms = 1700000000000 + l->now_ms;
    timed.more_coming = ev->more_coming || l->more_coming;
    uint64_t last = l->w->last_session;
    l->w->turn++;
    step(l->w, &timed, &l->fx);
    check_effects(&l->fx);
    VEC_EACH(c, &l->fx.changes) store_change(&l->store, c);
    if (l->fx.verdict != VERDICT_OK) assert_int_equal(l->w->last_session, last);
    audit(l);
    return l->fx.verdict;
}

enum verdict lab_tick(struct lab *l, int64_t ms)
{
    l->now_ms += ms;
    enum verdict v = lab_step(l, &(struct event){.kind = EVENT_TICK});
    assert_int_equal(v, VERDICT_OK);
    return v;
}

char *lab_dump(const struct world *w)
{
    struct strbuf b;
    strbuf_init(&b, 64 << 20);
    world_dump(w, &b);
    assert_false(b.full);
    return strbuf_steal(&b);
}

void lab_restart(struct lab *l)
{
    struct world *w = world_new();
    const char *why = NULL;
    load_accounts(&l->store, w);
    /* Backwards: rows come in any order. */
    for (uint32_t i = l->store.allocs.n; i > 0; i--) {
        assert_true(world_put_alloc(w, &l->store.allocs.v[i - 1]));
    }
    for (uint32_t i = l->store.sessions.n; i > 0; i--) {
        const struct session_row *r = &l->store.sessions.v[i - 1];
        if (session_live(&r->session)) assert_true(world_put_session_row(w, r));
    }
    for (uint32_t i = l->store.nodes.n; i > 0; i--) {
        assert_true(world_put_node(w, &l->store.nodes.v[i - 1]));
    }
    VEC_EACH(g, &l->store.groups) assert_true(world_put_group(w, g));
    VEC_EACH(r, &l->store.reservations) assert_true(world_put_reservation(w, r));
    w->last_session = l->store.last_session;
    w->turn = l->w->turn;
    w->now_ms = l->w->now_ms;
    if (!world_ready(w, &why)) fail_msg("reload: %s", why);
    char *before = lab_dump(l->w), *after = lab_dump(w);
    assert_string_equal(before, after);
    mem_free(before);
    mem_free(after);
    world_free(l->w);
    l->w = w;
    audit(l);
}

/* ---- accounts */

uint32_t lab_domain(struct lab *l, const char *name)
{
    struct event ev = {.kind = EVENT_DOMAIN_PUT};
    assert_true(TEXT_SET(ev.u.domain.name, str_of(name)));
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    return l->fx.account;
}

uint32_t lab_project(struct lab *l, uint32_t domain, const char *name)
{
    struct event ev = {.kind = EVENT_PROJECT_PUT};
    ev.u.project.domain = domain;
    assert_true(TEXT_SET(ev.u.project.name, str_of(name)));
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    return l->fx.account;
}

uint32_t lab_user(struct lab *l, uint32_t domain, const char *name)
{
    struct event ev = {.kind = EVENT_USER_PUT};
    ev.u.user = (struct user){.domain = domain, .role = ROLE_MEMBER};
    assert_true(TEXT_SET(ev.u.user.name, str_of(name)));
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    return l->fx.account;
}

static void set_limit(struct limits *l, enum limit_kind k, int64_t max)
{
    l->set |= UINT32_C(1) << k;
    l->max[k] = max;
}

void lab_limit(struct lab *l, enum account_level level, uint32_t id, enum limit_kind k,
               int64_t max)
{
    struct event ev = {.kind = EVENT_USER_PUT};
    switch (level) {
    case LEVEL_USER:
        ev.u.user = *world_user(l->w, id);
        set_limit(&ev.u.user.limits, k, max);
        break;
    case LEVEL_PROJECT:
        ev.kind = EVENT_PROJECT_PUT;
        ev.u.project = *world_project(l->w, id);
        set_limit(&ev.u.project.limits, k, max);
        break;
    case LEVEL_DOMAIN:
        ev.kind = EVENT_DOMAIN_PUT;
        ev.u.domain = *world_domain(l->w, id);
        set_limit(&ev.u.domain.limits, k, max);
        break;
    case ACCOUNT_LEVELS: fail_msg("no such level");
    }
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
}

/* ---- requests */

struct slots lab_slots(int64_t cpu, int64_t gib, int64_t gpu)
{
    return (struct slots){{cpu * 1000, gib * GIB, gpu}};
}

struct session lab_request(uint32_t members, int64_t cpu, int64_t gib, int64_t gpu)
{
    struct session s = {.user = 1, .project = 1, .group = 1, .kind = KIND_BATCH, .priority = 10,
                        .n_roles = 1, .grace_ms = 30000, .stop_on_member = true};
    s.roles[0] = (struct role){.name = "main", .count = members,
                               .slots = lab_slots(cpu, gib, gpu)};
    return s;
}

enum verdict lab_submit(struct lab *l, const struct session *req)
{
    struct event ev = {.kind = EVENT_SUBMIT, .actor = req->user};
    ev.u.submit.session = *req;
    return lab_step(l, &ev);
}

uint64_t lab_run(struct lab *l, const struct session *req)
{
    if (lab_submit(l, req) != VERDICT_OK) fail_msg("submit: %s", l->fx.text);
    return l->fx.session;
}

enum verdict lab_stop(struct lab *l, uint64_t session, int64_t grace_ms)
{
    return lab_step(l, &(struct event){.kind = EVENT_STOP, .actor = 1,
                                       .u.stop = {session, OUTCOME_CANCELLED, grace_ms}});
}

/* ---- nodes */

static struct node described(const char *name, int64_t cpu, int64_t gib, int64_t gpu)
{
    struct node n = {.group = 1, .n_devices = (uint32_t)gpu, .epoch = 1,
                     .capacity = lab_slots(cpu, gib, gpu)};
    text_fmt(n.name, sizeof(n.name), "%s", name);
    text_fmt(n.boot_id, sizeof(n.boot_id), "boot-1");
    text_fmt(n.labels, sizeof(n.labels), "rack=%d", name[strlen(name) - 1] % 2);
    for (uint32_t i = 0; i < n.n_devices; i++) {
        text_fmt(n.devices[i].uuid, sizeof(n.devices[i].uuid), "%s-gpu%u", name, i);
        n.devices[i].health = DEVICE_HEALTHY;
        n.devices[i].simulated = true;
    }
    return n;
}

uint32_t lab_join(struct lab *l, const char *name, int64_t cpu, int64_t gib, int64_t gpu)
{
    assert_true(l->n_nodes < LAB_NODES);
    struct event ev = {.kind = EVENT_NODE_JOIN};
    ev.u.join.node = described(name, cpu, gib, gpu);
    if (lab_step(l, &ev) != VERDICT_OK) fail_msg("join: %s", l->fx.text);
    l->nodes[l->n_nodes] = (struct lab_node){.id = l->fx.node, .epoch = 1};
    assert_int_equal(lab_report_at(l, l->n_nodes, 0), VERDICT_OK); /* it acted on nothing yet */
    return l->n_nodes++;
}

enum verdict lab_rejoin(struct lab *l, uint32_t node, int64_t gpu, const char *boot)
{
    struct lab_node *n = &l->nodes[node];
    const struct node *was = world_node(l->w, n->id);
    struct event ev = {.kind = EVENT_NODE_JOIN};
    ev.u.join.node = described(was->name, was->capacity.v[SLOT_CPU] / 1000,
                               was->capacity.v[SLOT_MEM] / GIB, gpu);
    text_fmt(ev.u.join.node.boot_id, sizeof(ev.u.join.node.boot_id), "%s", boot);
    ev.u.join.node.epoch = ++n->epoch;
    n->seq = n->turn = 0;
    return lab_step(l, &ev);
}

static uint32_t rank(const struct lab_node *n, struct member_ref ref)
{
    uint32_t at = 0;
    while (at < n->list.n && member_ref_cmp(n->list.v[at].ref, ref) < 0) at++;
    return at;
}

static struct member_report *find(struct lab_node *n, struct member_ref ref)
{
    uint32_t at = rank(n, ref);
    bool there = at < n->list.n && member_ref_cmp(n->list.v[at].ref, ref) == 0;
    return there ? &n->list.v[at] : NULL;
}

static struct member_report *find_or_add(struct lab_node *n, struct member_ref ref)
{
    struct member_report *m = find(n, ref);
    if (m) return m;
    struct member_report fresh = {.ref = ref};
    uint32_t at = rank(n, ref);
    VEC_INSERT(&n->list, at, fresh);
    return &n->list.v[at];
}

void lab_set(struct lab *l, uint32_t node, uint64_t session, uint32_t member,
             enum member_phase phase, const struct member_end *end)
{
    const struct session *s = world_session(l->w, session);
    assert_non_null(s);
    struct member_report *m = find_or_add(
        &l->nodes[node],
        (struct member_ref){.session = session, .attempt = s->attempt, .member = member});
    m->phase = phase;
    if (end) m->end = *end;
}

void lab_forget(struct lab *l, uint32_t node, uint64_t session)
{
    struct lab_node *n = &l->nodes[node];
    for (uint32_t i = n->list.n; i > 0; i--) {
        if (n->list.v[i - 1].ref.session == session) VEC_REMOVE(&n->list, i - 1);
    }
}

enum verdict lab_report_at(struct lab *l, uint32_t node, uint64_t turn)
{
    struct lab_node *n = &l->nodes[node];
    struct event ev = {.kind = EVENT_NODE_REPORT};
    n->turn = turn;
    ev.u.report = (struct event_report){.node = n->id, .epoch = n->epoch, .seq = ++n->seq,
                                        .turn = turn, .members = n->list.v,
                                        .n_members = n->list.n};
    return lab_step(l, &ev);
}

enum verdict lab_report(struct lab *l, uint32_t node) { return lab_report_at(l, node, l->w->turn); }

enum verdict lab_say(struct lab *l, uint32_t node, uint64_t session, uint32_t member,
                     enum member_phase phase)
{
    lab_set(l, node, session, member, phase, NULL);
    return lab_report(l, node);
}

enum verdict lab_exit(struct lab *l, uint32_t node, uint64_t session, uint32_t member, int code)
{
    lab_set(l, node, session, member, MEMBER_EXITED, &(struct member_end){.exit_code = code});
    return lab_report(l, node);
}

static bool advance_containers(struct lab_node *n)
{
    bool moved = false;
    VEC_EACH(m, &n->list) {
        if (m->phase != MEMBER_PREPARING && m->phase != MEMBER_STARTING) continue;
        m->phase = (enum member_phase)(m->phase + 1);
        moved = true;
    }
    return moved;
}

static void carry_out(struct lab_node *n, const struct plan_step *s)
{
    struct member_report *m = find(n, s->ref);
    switch (s->act) {
    case PLAN_CREATE: find_or_add(n, s->ref)->phase = MEMBER_PREPARING; return;
    case PLAN_GO: m->phase = MEMBER_STARTING; return;
    case PLAN_SIGNAL: m->signal_done = s->signal_no; return;
    case PLAN_STOP:
        m->phase = m->phase >= MEMBER_STARTING ? MEMBER_EXITED : MEMBER_FAILED;
        m->end = (struct member_end){.exit_code = 143};
        return;
    case PLAN_CLEAN: VEC_REMOVE(&n->list, rank(n, s->ref)); return;
    }
    fail_msg("unknown act");
}

bool lab_act(struct lab *l, uint32_t node)
{
    struct lab_node *n = &l->nodes[node];
    struct member_want *wants;
    struct plan plan = {0};
    uint32_t n_wants;
    bool moved = advance_containers(n);
    const struct node *in_world = world_node(l->w, n->id);
    assert_non_null(in_world);
    step_wants(l->w, in_world, &wants, &n_wants);
    plan_node(wants, n_wants, n->list.v, n->list.n, &plan);
    VEC_EACH(s, &plan.steps) carry_out(n, s);
    moved = moved || plan.steps.n > 0;
    plan_done(&plan);
    mem_free(wants);
    assert_int_equal(lab_report(l, node), VERDICT_OK);
    return moved || l->fx.changes.n > 0;
}

void lab_settle(struct lab *l)
{
    for (uint32_t round = 0; round < 100; round++) {
        bool moved = false;
        for (uint32_t i = 0; i < l->n_nodes; i++) moved = lab_act(l, i) || moved;
        if (!moved) return;
    }
    fail_msg("the cluster does not come to rest");
}

/* ---- looking */

static const struct session_row *stored_row(const struct lab *l, uint64_t session)
{
    VEC_EACH(r, &l->store.sessions) if (r->session.id == session) return r;
    fail_msg("session %llu was never stored", (unsigned long long)session);
    return NULL;
}

const struct session *lab_stored(const struct lab *l, uint64_t session)
{
    return &stored_row(l, session)->session;
}

const struct member_end *lab_end(const struct lab *l, uint64_t session)
{
    return &stored_row(l, session)->end;
}

enum session_state lab_state(const struct lab *l, uint64_t session)
{
    const struct session *s = world_session(l->w, session);
    assert_int_equal(lab_stored(l, session)->state, s ? s->state : SESSION_ENDED);
    return s ? s->state : SESSION_ENDED;
}

enum session_outcome lab_outcome(const struct lab *l, uint64_t session)
{
    assert_int_equal(lab_state(l, session), SESSION_ENDED);
    return lab_stored(l, session)->outcome;
}

uint32_t lab_rows(const struct lab *l)
{
    uint32_t n = 0;
    VEC_EACH(a, &l->w->allocs) n += a->live;
    assert_int_equal(n, l->store.allocs.n);
    return n;
}

const struct change *lab_change(const struct lab *l, enum change_kind kind)
{
    VEC_EACH(c, &l->fx.changes) if (c->kind == kind) return c;
    return NULL;
}

uint32_t lab_changes(const struct lab *l, enum change_kind kind)
{
    uint32_t n = 0;
    VEC_EACH(c, &l->fx.changes) n += c->kind == kind;
    return n;
}

enum want_act lab_want(const struct lab *l, uint32_t node, uint64_t session, uint32_t member)
{
    struct member_want *wants;
    uint32_t n;
    enum want_act found = 0;
    step_wants(l->w, world_node(l->w, l->nodes[node].id), &wants, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (wants[i].ref.session == session && wants[i].ref.member == member) found = wants[i].act;
    }
    mem_free(wants);
    return found;
}

void lab_expect_why(const struct lab *l, uint64_t session, enum why_kind kind, const char *text)
{
    struct why why;
    struct strbuf b;
    const struct session *s = world_session(l->w, session);
    assert_non_null(s);
    explain_session(l->w, s, &why);
    strbuf_init(&b, 4096);
    explain_text(l->w, s, &why, &b);
    assert_string_equal(why_kind_name(why.kind), why_kind_name(kind));
    if (text) assert_string_equal(b.p, text);
    assert_true(b.n > 0);
    strbuf_done(&b);
}
