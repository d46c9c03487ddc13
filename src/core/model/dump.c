/* core/model/dump.c - the stored facts as text, for comparing worlds.
 *
 * Everything that the store keeps and nothing else: indexes, what was heard and
 * the time are left out, because a restarted manager builds them anew. */
#include "base/check.h"
#include "core/model/order.h"
#include "core/model/world.h"

static void put_slots(struct strbuf *out, const struct slots *s)
{
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        strbuf_fmt(out, " %s=%lld", slot_name(k), (long long)s->v[k]);
    }
}

static void put_text(struct strbuf *out, const char *key, const char *text)
{
    strbuf_fmt(out, " %s=", key);
    strbuf_json(out, str_of(text));
}

static void put_end(struct strbuf *out, const struct member_end *e)
{
    strbuf_fmt(out, " exit=%d signal=%d oom=%d timed_out=%d fatal=%d fenced=%d", e->exit_code,
               e->signal, e->oom, e->timed_out, e->fatal, e->fenced);
    put_text(out, "detail", e->detail);
    if (e->cpu_us > 0) strbuf_fmt(out, " cpu_us=%lld", (long long)e->cpu_us);
    if (e->mem_peak_bytes > 0) strbuf_fmt(out, " mem_peak=%lld", (long long)e->mem_peak_bytes);
}

static void put_ms(struct strbuf *out, const char *key, int64_t ms)
{
    strbuf_fmt(out, " %s=%lld", key, (long long)ms);
}

static void put_limits(struct strbuf *out, const struct limits *l)
{
    for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) {
        if (limit_has(l, k)) strbuf_fmt(out, " %s<=%lld", limit_name(k), (long long)l->max[k]);
    }
    strbuf_putc(out, '\n');
}

static void dump_accounts(const struct world *w, struct strbuf *out)
{
    for (uint32_t i = 0; i < w->domains.n; i++) {
        const struct domain *d = &w->domains.v[i];
        strbuf_fmt(out, "domain %u name=%s", d->id, d->name);
        put_limits(out, &d->limits);
    }
    for (uint32_t i = 0; i < w->projects.n; i++) {
        const struct project *p = &w->projects.v[i];
        strbuf_fmt(out, "project %u domain=%u name=%s", p->id, p->domain, p->name);
        put_limits(out, &p->limits);
    }
    for (uint32_t i = 0; i < w->users.n; i++) {
        const struct user *u = &w->users.v[i];
        strbuf_fmt(out, "user %u domain=%u name=%s role=%d uid=%u gid=%u disabled=%d", u->id,
                   u->domain, u->name, (int)u->role, u->uid, u->gid, u->disabled);
        put_limits(out, &u->limits);
    }
}

static void dump_group(const struct group *g, struct strbuf *out)
{
    const struct preempt_policy *p = &g->preempt;
    strbuf_fmt(out, "group %u name=%s order=%s on_blocked=%s depth=%u tests=%u undated=%lld", g->id,
               g->name, queue_order_name(g->order), on_blocked_name(g->on_blocked),
               g->reserve_depth, g->test_depth, (long long)g->undated_ms);
    strbuf_fmt(out, " shortest=%d lower=%u/%d strategy=%s preempt=%d,%s,%s,%s,%lld",
               g->backfill_shortest, g->lower_after, g->lower_by,
               place_strategy_name(g->strategy), p->enabled, preempt_mode_name(p->mode),
               preempt_scope_name(p->scope), preempt_order_name(p->order),
               (long long)p->min_runtime_ms);
    strbuf_fmt(out, " host_network=%d round_robin_node=%u", g->host_network, g->round_robin_node);
    for (uint32_t i = 0; i < g->n_projects; i++) strbuf_fmt(out, " project=%u", g->projects[i]);
    strbuf_fmt(out, " fence=%lld max=%lld limits=", (long long)g->fence_ms,
               (long long)g->time_max_ms);
    for (int k = KIND_BATCH; k < SESSION_KINDS; k++) {
        strbuf_fmt(out, "%s%lld", k > KIND_BATCH ? "," : "", (long long)g->time_limit_ms[k]);
    }
    strbuf_putc(out, '\n');
}

static void dump_node(const struct node *n, struct strbuf *out)
{
    strbuf_fmt(out, "node %u name=%s group=%u", n->id, n->name, n->group);
    put_slots(out, &n->capacity);
    strbuf_fmt(out, " cordoned=%d epoch=%llu", n->cordoned, (unsigned long long)n->epoch);
    put_text(out, "boot", n->boot_id);
    put_text(out, "addr", n->data_addr);
    put_text(out, "net", n->net_addr);
    put_text(out, "version", n->version);
    put_text(out, "facts", n->facts);
    put_text(out, "unhealthy", n->unhealthy);
    put_text(out, "labels", n->labels);
    put_text(out, "arch", n->arch);
    if (n->links[0]) put_text(out, "links", n->links);
    strbuf_fmt(out, " quarantined=%d accepted=%d draining=%d by=%u", n->quarantined,
               n->silence_accepted, n->draining, n->cordon_by);
    put_text(out, "reason", n->cordon_reason);
    put_ms(out, "drain", n->drain_ms);
    put_ms(out, "cordon_wall", n->cordon_wall_ms);
    for (uint32_t i = 0; i < n->failed_row; i++) {
        strbuf_fmt(out, " failed_by=%llu", (unsigned long long)n->failed_by[i].session);
    }
    strbuf_putc(out, '\n');
    for (uint32_t i = 0; i < n->n_devices; i++) {
        const struct device *d = &n->devices[i];
        strbuf_fmt(out, "device %u.%u", n->id, i);
        put_text(out, "uuid", d->uuid);
        put_text(out, "model", d->model);
        put_text(out, "pci", d->pci);
        put_text(out, "why", d->why);
        strbuf_fmt(out, " mem=%lld health=%s since=%lld simulated=%d", (long long)d->mem_bytes,
                   device_health_name(d->health), (long long)d->since_ms, d->simulated);
        if (d->numa) strbuf_fmt(out, " numa=%u", d->numa - 1);
        if (d->xid_no) strbuf_fmt(out, " xids=%u", d->xid_no);
        strbuf_putc(out, '\n');
    }
}

static void dump_wishes(const struct session *s, struct strbuf *out)
{
    const struct constraint *c = &s->where;
    strbuf_fmt(out, " lowered=%d preemptible=%d hold=%d unproved=%d requeue=%d strategy=%d",
               s->lowered, s->preemptible, s->hold, s->unproved, s->requeue, (int)s->strategy);
    put_text(out, "models", c->gpu_models);
    put_text(out, "labels", c->labels);
    put_text(out, "arch", c->arch);
    strbuf_fmt(out, " node=%u preferred=%d", c->node, c->node_preferred);
    for (uint32_t i = 0; i < s->n_depends; i++) {
        strbuf_fmt(out, " after=%llu:%s", (unsigned long long)s->depends[i].session,
                   depend_on_name(s->depends[i].on));
    }
    strbuf_fmt(out, " array=%llu.%u/%u%%%u restarts=%u,%u/%u blocked=%u",
               (unsigned long long)s->array, s->array_index, s->array_count, s->array_limit,
               s->restarts, s->failures, s->restart_max, s->blocked_tries);
    put_ms(out, "blocked_ms", s->blocked_ms);
    put_ms(out, "start_after", s->start_after_ms);
}

static void dump_session(const struct world *w, const struct session *s, struct strbuf *out)
{
    strbuf_fmt(out, "session %llu user=%u project=%u group=%u", (unsigned long long)s->id, s->user,
               s->project, s->group);
    put_text(out, "name", s->name);
    strbuf_fmt(out, " kind=%s state=%s outcome=%s priority=%d", session_kind_name(s->kind),
               session_state_name(s->state), session_outcome_name(s->outcome), s->priority);
    strbuf_fmt(out, " one_node=%d stop_on_member=%d alarm=%d", s->one_node, s->stop_on_member,
               s->alarm);
    for (uint32_t i = 0; i < s->n_roles; i++) {
        put_text(out, "role", s->roles[i].name);
        strbuf_fmt(out, " count=%u", s->roles[i].count);
        put_slots(out, &s->roles[i].slots);
    }
    strbuf_fmt(out, " attempt=%u failed_starts=%u signal_no=%u sig=%d", s->attempt,
               s->failed_starts, s->signal_no, s->signal);
    for (uint32_t i = 0; i < s->n_failed_on; i++) {
        strbuf_fmt(out, " failed_on=%u*%u", s->failed_on[i].node, s->failed_on[i].times);
    }
    dump_wishes(s, out);
    put_ms(out, "submitted", s->submitted_ms);
    put_ms(out, "since", s->since_ms);
    put_ms(out, "deadline", s->deadline_ms);
    put_ms(out, "not_before", s->not_before_ms);
    put_ms(out, "started", s->started_ms);
    put_ms(out, "time_limit", s->time_limit_ms);
    put_ms(out, "grace", s->grace_ms);
    put_ms(out, "fence", s->fence_ms);
    put_ms(out, "pending_timeout", s->pending_timeout_ms);
    put_ms(out, "submitted_wall", s->submitted_wall_ms);
    put_ms(out, "started_wall", s->started_wall_ms);
    put_end(out, ends_of(w, s));
    strbuf_putc(out, '\n');
}

static void dump_alloc(const struct alloc *a, struct strbuf *out)
{
    strbuf_fmt(out, "alloc %llu.%u.%u node=%u", (unsigned long long)a->ref.session, a->ref.attempt,
               a->ref.member, a->node);
    put_slots(out, &a->slots);
    strbuf_fmt(out, " devices=%x turn=%llu revoked=%d revoked_turn=%llu phase=%s signal_done=%u",
               a->devices, (unsigned long long)a->turn, a->revoked,
               (unsigned long long)a->revoked_turn, member_phase_name(a->phase), a->signal_done);
    strbuf_putc(out, '\n');
}

static void dump_reservation(const struct reservation *r, struct strbuf *out)
{
    strbuf_fmt(out, "reservation %u group=%u user=%u project=%u since=%llu", r->id, r->group,
               r->user, r->project, (unsigned long long)r->since);
    put_text(out, "name", r->name);
    put_slots(out, &r->slots);
    for (uint32_t i = 0; i < r->n_parts; i++) {
        strbuf_fmt(out, " on=%u:%x", r->parts[i].node, r->parts[i].devices);
    }
    put_ms(out, "start", r->start_ms);
    put_ms(out, "end", r->end_ms);
    put_ms(out, "start_wall", r->start_wall_ms);
    put_ms(out, "end_wall", r->end_wall_ms);
    strbuf_putc(out, '\n');
}

static int cmp_sessions(const void *a, const void *b)
{
    return order_cmp_u64(&(*(const struct session *const *)a)->id,
                         &(*(const struct session *const *)b)->id);
}

static int cmp_allocs(const void *a, const void *b)
{
    return member_ref_cmp((*(const struct alloc *const *)a)->ref,
                          (*(const struct alloc *const *)b)->ref);
}

void world_dump(const struct world *w, struct strbuf *out)
{
    VEC(const struct session *) sessions = {0};
    VEC(const struct alloc *) allocs = {0};
    VEC_EACH(s, &w->sessions) if (s->id != 0) VEC_PUSH(&sessions, s);
    VEC_EACH(a, &w->allocs) if (a->live) VEC_PUSH(&allocs, a);
    order_sort(sessions.v, sessions.n, sizeof(*sessions.v), cmp_sessions);
    order_sort(allocs.v, allocs.n, sizeof(*allocs.v), cmp_allocs);
    strbuf_fmt(out, "last_session %llu\n", (unsigned long long)w->last_session);
    dump_accounts(w, out);
    VEC_EACH(g, &w->groups) if (g->id != 0) dump_group(g, out);
    VEC_EACH(n, &w->nodes) if (n->name[0] != '\0') dump_node(n, out);
    for (uint32_t i = 0; i < sessions.n; i++) dump_session(w, sessions.v[i], out);
    for (uint32_t i = 0; i < allocs.n; i++) dump_alloc(allocs.v[i], out);
    VEC_EACH(r, &w->reservations) dump_reservation(r, out);
    VEC_DONE(&sessions);
    VEC_DONE(&allocs);
}
