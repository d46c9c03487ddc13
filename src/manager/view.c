/* manager/view.c - sessions and their reasons as people read them. */
#include "manager/view.h"
#include <stdlib.h>
#include "base/check.h"
#include "core/access.h"
#include "core/explain.h"
#include "core/model/pool.h"
#include "manager/view_use.h"

static void put_session_id(char ret[24], uint64_t id)
{
    if (id) session_id_format(id, ret);
    else ret[0] = '\0';
}

void view_slots(const struct slots *s, struct slots_view *ret)
{
    ret->cpu_milli = s->v[SLOT_CPU];
    ret->mem_bytes = s->v[SLOT_MEM];
    ret->gpu = s->v[SLOT_GPU];
}

void view_end_text(const struct session_row *row, char *dst, size_t cap)
{
    const struct session *s = &row->session;
    const struct member_end *e = &row->end;
    struct strbuf b;
    strbuf_init(&b, 512);
    strbuf_puts(&b, session_outcome_name(s->outcome));
    if (s->started_ms > 0 && e->signal) strbuf_fmt(&b, ", signal %d", e->signal);
    else if (s->started_ms > 0 && e->exit_code >= 0) strbuf_fmt(&b, ", exit code %d", e->exit_code);
    if (e->oom) strbuf_puts(&b, ", out of memory");
    if (e->detail[0]) strbuf_fmt(&b, " (%s)", e->detail);
    text_clip(dst, cap, strbuf_str(&b));
    strbuf_done(&b);
}

/* When and how often it runs. */
static void fill_turn(const struct manager *m, const struct session *s, struct session_view *v)
{
    char text[48], id[24];
    v->preemptible = s->preemptible;
    v->hold = s->hold;
    v->lowered = s->lowered;
    v->restarts = s->restarts;
    v->restart_max = s->restart_max;
    put_session_id(v->array, s->array);
    v->array_index = s->array_index;
    v->array_count = s->array_count;
    v->array_limit = s->array_limit;
    for (uint32_t i = 0; i < s->n_depends; i++) {
        session_id_format(s->depends[i].session, id);
        text_fmt(text, sizeof(text), "%s:%s", id, depend_on_name(s->depends[i].on));
        wire_texts_add(&v->after, str_of(text));
    }
    int64_t left_ms = s->start_after_ms - turns_core_ms(m->turns);
    if (s->state == SESSION_PENDING && left_ms > 0) v->start_in_ms = left_ms;
}

/* Everything but nodes and reason. */
static void fill(const struct manager *m, const struct session *s, const struct member_end *end,
                 struct session_view *v)
{
    const struct world *w = turns_world(m->turns);
    const struct user *u = world_user(w, s->user);
    const struct project *p = world_project(w, s->project);
    const struct group *g = world_group(w, s->group);
    wire_init(&wire_session_view, v);
    session_id_format(s->id, v->id);
    TEXT_CLIP(v->name, str_of(s->name));
    TEXT_CLIP(v->owner, str_of(u ? u->name : ""));
    TEXT_CLIP(v->project, str_of(p ? p->name : ""));
    TEXT_CLIP(v->group, str_of(g ? g->name : ""));
    v->kind = s->kind;
    v->state = s->state;
    v->outcome = s->outcome;
    v->priority = s->priority;
    v->attempt = s->attempt;
    v->failed_starts = s->failed_starts;
    v->members = s->members;
    struct slots total;
    if (session_total(s, &total)) view_slots(&total, &v->total);
    v->n_roles = s->n_roles;
    for (uint32_t i = 0; i < s->n_roles; i++) {
        const struct role *r = &s->roles[i];
        struct role_view *rv = &v->roles[i];
        TEXT_CLIP(rv->name, str_of(r->name));
        rv->count = r->count;
        rv->cpu_milli = r->slots.v[SLOT_CPU];
        rv->mem_bytes = r->slots.v[SLOT_MEM];
        rv->gpu = r->slots.v[SLOT_GPU];
    }
    wire_time_format(s->submitted_wall_ms, v->submitted_at);
    wire_time_format(s->started_wall_ms, v->started_at);
    wire_time_format(s->ended_wall_ms, v->ended_at);
    v->time_limit_ms = s->time_limit_ms > 0 ? s->time_limit_ms : 0;
    int64_t age_ms = turns_core_ms(m->turns) - s->since_ms;
    v->age_ms = age_ms > 0 ? age_ms : 0;
    v->exit_code = -1;
    if (s->outcome != OUTCOME_NONE) {
        v->exit_code = s->started_ms > 0 || end->exit_code > 0 ? end->exit_code : -1;
        v->signal = end->signal;
        v->oom = end->oom;
        TEXT_CLIP(v->detail, str_of(end->detail));
    }
    v->alarm = s->alarm;
    fill_turn(m, s, v);
}

static int by_natural_name(const void *a, const void *b)
{
    return str_natural_cmp(str_of(*(char *const *)a), str_of(*(char *const *)b));
}

static void add_node(struct wire_texts *nodes, const char *name)
{
    for (uint32_t i = 0; i < nodes->n; i++)
        if (strcmp(nodes->v[i], name) == 0) return;
    wire_texts_add(nodes, str_of(name));
}

static void sort_nodes(struct wire_texts *nodes)
{
    if (nodes->n > 1) qsort(nodes->v, nodes->n, sizeof(nodes->v[0]), by_natural_name);
}

/* What the nodes say of its members while they live: what one waits for, or the image that
 * it runs.  One sentence: of the first that says something, or that they differ. */
static void add_said(const struct manager *m, const struct node *n, const struct alloc *a,
                     struct session_view *v)
{
    const struct member_report *r = beat_member(m, str_of(n->name), a->ref);
    if (!r || r->phase >= MEMBER_EXITED || r->end.detail[0] == '\0') return;
    if (v->detail[0] == '\0') TEXT_CLIP(v->detail, str_of(r->end.detail));
    else if (strcmp(v->detail, r->end.detail) != 0 && a->phase >= MEMBER_READY)
        TEXT_CLIP(v->detail, STR("its members run different images: name it by its digest"));
}

void view_live(const struct manager *m, const struct session *s, struct session_view *ret)
{
    const struct world *w = turns_world(m->turns);
    fill(m, s, ends_of(w, s), ret);
    for (const struct alloc *a = world_allocs_of_session(w, s); a;
         a = world_next_of_session(w, a)) {
        const struct node *n = world_node(w, a->node);
        if (!n || a->ref.attempt != s->attempt || a->revoked) continue;
        add_node(&ret->nodes, n->name);
        add_said(m, n, a, ret);
    }
    sort_nodes(&ret->nodes);
    view_add_use(m, s, ret);
    struct why why;
    explain_session(w, s, &why);
    why.viewer = s->user;
    struct strbuf b;
    strbuf_init(&b, 4096);
    explain_text(w, s, &why, &b);
    TEXT_CLIP(ret->reason, strbuf_str(&b));
    strbuf_done(&b);
}

int view_stored(struct manager *m, const struct session_row *row, struct session_view *ret,
                struct err *err)
{
    const struct session *s = &row->session;
    struct store_placements all = {0};
    int rc = store_read_placements(m->reader, s->id, &all, err);
    if (rc != 0) {
        VEC_DONE(&all.v);
        return rc;
    }
    fill(m, s, &row->end, ret);
    VEC_EACH(p, &all.v)
        if (p->alloc.ref.attempt == s->attempt) add_node(&ret->nodes, p->node);
    view_add_totals(&all, ret);
    VEC_DONE(&all.v);
    sort_nodes(&ret->nodes);
    view_end_text(row, ret->reason, sizeof(ret->reason));
    return 0;
}

void view_add_spec(struct manager *m, uint64_t session, struct session_view *v)
{
    struct str doc = doc_cache_get(&m->docs, session);
    if (doc.p) {
        v->spec = mem_strndup(doc.p, doc.n);
        return;
    }
    char *text = NULL;
    if (store_read_doc(m->reader, session, &text, NULL) == 0) v->spec = text;
}

/* ---- nodes, groups, history ---- */

static const char *node_state(const struct node *n)
{
    if (!n->heard) return "unheard";
    if (n->unreachable) return "unreachable";
    if (n->quarantined) return "quarantined";
    if (n->draining) return n->first_alloc == MAP_NONE ? "drained" : "draining";
    if (n->cordoned) return "cordoned";
    return n->unhealthy[0] != '\0' ? "unhealthy" : "ready";
}

void view_node_links(const struct node *n, struct node_view *ret)
{
    char word[8];
    for (uint32_t i = 0; i < n->n_devices && n->links[0] != '\0'; i++) {
        for (uint32_t k = 0; k < n->n_devices; k++) {
            if (k == i) TEXT_CLIP(word, STR("X"));
            else linkmap_word(linkmap_get(n->links, i, k), word);
            wire_texts_add(&ret->devices[i].links, str_of(word));
        }
    }
}

static void view_devices(const struct world *w, uint32_t user, const struct node *n,
                         struct node_view *v)
{
    const struct user *who = world_user(w, user);
    bool all = who && access_of(who->role, OBJECT_SESSION, ACTION_READ) == ACCESS_ALL;
    v->n_devices = n->n_devices;
    for (uint32_t i = 0; i < n->n_devices; i++) {
        const struct device *d = &n->devices[i];
        struct device_view *dv = &v->devices[i];
        dv->index = i;
        TEXT_CLIP(dv->uuid, str_of(d->uuid));
        TEXT_CLIP(dv->model, str_of(d->model));
        dv->mem_bytes = d->mem_bytes;
        TEXT_CLIP(dv->pci, str_of(d->pci));
        TEXT_CLIP(dv->why, str_of(d->why));
        dv->health = d->health;
        dv->since_ms = d->since_ms;
        dv->simulated = d->simulated;
        if (d->simulated) v->simulated = true;
        if (d->numa) text_fmt(dv->numa, sizeof(dv->numa), "%u", d->numa - 1);
    }
    for (const struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        const struct session *s = world_session(w, a->ref.session);
        bool named = all || (s && view_may_read(w, user, s));
        v->sessions++;
        for (uint32_t i = 0; i < n->n_devices; i++) {
            if (!(a->devices & (1u << i))) continue;
            if (named) put_session_id(v->devices[i].session, a->ref.session);
            else TEXT_CLIP(v->devices[i].session, STR("other"));
        }
    }
}

void view_node(const struct manager *m, uint32_t user, const struct node *n,
               struct node_view *ret)
{
    const struct world *w = turns_world(m->turns);
    wire_init(&wire_node_view, ret);
    ret->id = n->id;
    TEXT_CLIP(ret->name, str_of(n->name));
    const struct group *g = world_group(w, n->group);
    TEXT_CLIP(ret->group, str_of(g ? g->name : ""));
    TEXT_CLIP(ret->state, str_of(node_state(n)));
    ret->cordoned = n->cordoned;
    TEXT_CLIP(ret->cordon_reason, str_of(n->cordon_reason));
    const struct user *by = n->cordon_by ? world_user(w, n->cordon_by) : NULL;
    TEXT_CLIP(ret->cordoned_by, str_of(by ? by->name : ""));
    if (n->cordoned) wire_time_format(n->cordon_wall_ms, ret->cordoned_at);
    int64_t drain_in_ms = n->drain_ms - turns_core_ms(m->turns);
    if (n->drain_ms > 0) ret->drain_in_ms = drain_in_ms > 1 ? drain_in_ms : 1;
    ret->unreachable = n->unreachable;
    view_slots(&n->capacity, &ret->capacity);
    view_slots(&n->used, &ret->used);
    view_devices(w, user, n, ret);
    int64_t silent_ms = turns_core_ms(m->turns) - n->heard_ms;
    ret->silent_ms = silent_ms > 0 ? silent_ms : 0;
    TEXT_CLIP(ret->data_addr, str_of(n->data_addr));
    TEXT_CLIP(ret->version, str_of(n->version));
    TEXT_CLIP(ret->facts, str_of(n->facts));
    TEXT_CLIP(ret->unhealthy, str_of(n->unhealthy));
    TEXT_CLIP(ret->labels, str_of(n->labels));
    TEXT_CLIP(ret->arch, str_of(n->arch));
    ret->quarantined = n->quarantined;
    for (uint32_t i = 0; i < n->failed_row; i++) {
        char id[24];
        session_id_format(n->failed_by[i].session, id);
        wire_texts_add(&ret->failed_by, str_of(id));
    }
    TEXT_CLIP(ret->boot_id, str_of(n->boot_id));
}

void view_group(const struct manager *m, uint32_t user, const struct group *g,
                struct group_view *ret)
{
    const struct world *w = turns_world(m->turns);
    wire_init(&wire_group_view, ret);
    ret->id = g->id;
    TEXT_CLIP(ret->name, str_of(g->name));
    ret->order = g->order;
    ret->on_blocked = g->on_blocked;
    ret->reserve_depth = g->reserve_depth;
    ret->test_depth = g->test_depth;
    ret->undated_ms = g->undated_ms;
    ret->lower_after = g->lower_after;
    ret->lower_by = g->lower_by;
    ret->strategy = g->strategy;
    ret->preempt = g->preempt;
    ret->host_network = g->host_network;
    ret->time_max_ms = g->time_max_ms;
    ret->fence_after_ms = g->fence_ms;
    for (uint32_t i = 0; i < g->n_projects; i++) {
        const struct project *p = world_project(w, g->projects[i]);
        if (view_may_read_in(w, user, p->domain)) wire_texts_add(&ret->projects, str_of(p->name));
    }
    ret->restricted = g->n_projects > 0;
    ret->time_limit_batch_ms = g->time_limit_ms[KIND_BATCH];
    ret->time_limit_interactive_ms = g->time_limit_ms[KIND_INTERACTIVE];
    ret->time_limit_service_ms = g->time_limit_ms[KIND_SERVICE];
    VEC_EACH(n, &w->nodes)
        if (n->name[0] && n->group == g->id) ret->nodes++;
    VEC_EACH(s, &w->sessions)
        if (s->state && s->group == g->id) ret->live++;
    pool_entries(w, g->id, &ret->pending);
}

void view_event(struct manager *m, uint64_t turn, uint32_t index, const struct history *h,
                const char *session_name, struct event_view *ret)
{
    const struct world *w = turns_world(m->turns);
    wire_init(&wire_event_view, ret);
    text_fmt(ret->id, sizeof(ret->id), "%llu.%u", (unsigned long long)turn, index);
    TEXT_CLIP(ret->event, str_of(history_name(h->what)));
    wire_time_format(h->wall_ms, ret->at);
    put_session_id(ret->session, h->session);
    TEXT_CLIP(ret->name, str_of(session_name));
    const struct node *n = h->node && w ? world_node(w, h->node) : NULL;
    TEXT_CLIP(ret->node, str_of(n ? n->name : ""));
    const struct user *u = h->actor && w ? world_user(w, h->actor) : NULL;
    TEXT_CLIP(ret->actor, str_of(u ? u->name : ""));
    if (h->session && h->state) TEXT_CLIP(ret->state, str_of(session_state_name(h->state)));
    if (h->session && h->outcome) TEXT_CLIP(ret->outcome, str_of(session_outcome_name(h->outcome)));
    ret->attempt = h->attempt;
    TEXT_CLIP(ret->text, str_of(h->text));
}
