/* sim/oracle.c - the promises of docs/spec, checked against the machines themselves. */
#include "sim/oracle.h"
#include "base/check.h"
#include "core/explain.h"
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
    if (bad) cluster_broken(c, "audit: %s", bad);
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->state == 0) continue;
        has_reason(c, s);
    }
}

void oracle_step(struct cluster *c)
{
    oracle_world(c);
    machines_hold(c);
    const struct world *w = c->leader.w;
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->state == 0 || s->deadline_ms == 0 || s->alarm) continue;
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
    if (s->outcome == OUTCOME_FAILED && !job->member_failed)
        cluster_broken(c, "s%llu failed although nothing of it did", id);
    if (s->outcome == OUTCOME_CANCELLED && !job->stop_wanted)
        cluster_broken(c, "s%llu was cancelled by nobody", id);
    if (s->outcome == OUTCOME_LOST) return; /* the only end without proof */
    for (uint32_t i = 0; i < c->n_machines; i++) {
        VEC_EACH(b, &c->machines[i].boxes) {
            if (b->ref.session == s->id && box_alive(b))
                cluster_broken(c, "s%llu ended but lives on n%u", id, i + 1);
        }
    }
}

void oracle_durable(struct cluster *c, const struct turn *t)
{
    VEC_EACH(ch, &t->changes) {
        if (ch->kind == CHANGE_SESSION && !session_live(&ch->u.session))
            end_is_true(c, &ch->u.session);
    }
    VEC_EACH(j, &c->jobs) {
        if (j->acked && !disk_live(&c->disk, j->session) && !disk_ended(&c->disk, j->session))
            cluster_broken(c, "s%llu was acknowledged and is lost", (unsigned long long)j->session);
    }
}

void oracle_reload(struct cluster *c)
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

void oracle_end(struct cluster *c)
{
    if (c->disk.live.n > 0)
        cluster_broken(c, "s%llu is %s for ever", (unsigned long long)c->disk.live.v[0].id,
                       session_state_name(c->disk.live.v[0].state));
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
