/* core/draft.c - marks during the step, copies at its end. */
#include "core/draft.h"

#include <stdarg.h>

#include "base/check.h"
#include "core/model/order.h"
#include "core/model/pool.h"

void draft_session(struct draft *d, const struct session *s)
{
    CHECK(s->id > 0);
    VEC_PUSH(&d->sessions, (uint32_t)(s - d->w->sessions.v));
    ledger_date(d->w, s);
}

void draft_alloc(struct draft *d, const struct alloc *a)
{
    CHECK(a->live);
    VEC_PUSH(&d->allocs, ledger_slot(d->w, a));
}

void draft_node(struct draft *d, const struct node *n)
{
    CHECK(n->id > 0);
    VEC_PUSH(&d->nodes, n->id - 1);
}

void draft_group(struct draft *d, const struct group *g)
{
    CHECK(g->id > 0);
    VEC_PUSH(&d->groups, g->id - 1);
}

void draft_wants(struct draft *d, uint32_t node)
{
    CHECK(node > 0);
    VEC_PUSH(&d->out->nodes, node);
}

void draft_wants_of(struct draft *d, const struct session *s)
{
    for (struct alloc *a = world_allocs_of_session(d->w, s); a;
         a = world_next_of_session(d->w, a)) {
        draft_wants(d, a->node);
    }
}

void draft_ends_sooner(struct draft *d, const struct session *s)
{
    for (struct alloc *a = world_allocs_of_session(d->w, s); a;
         a = world_next_of_session(d->w, a)) {
        pool_freed(d->w, world_node(d->w, a->node));
    }
}

void draft_end(struct draft *d, struct alloc *a, const struct member_end *end)
{
    CHECK(a->live);
    CHECK(alloc_ended(a));
    VEC_PUSH(&d->ends, *end);
    a->end = d->ends.n;
}

const struct member_end *draft_end_of(const struct draft *d, const struct alloc *a)
{
    static const struct member_end nothing;
    if (a->end == 0) return &nothing;
    CHECK(a->end <= d->ends.n);
    return &d->ends.v[a->end - 1];
}

void draft_release(struct draft *d, struct alloc *a)
{
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_ALLOC_GONE;
    c->u.alloc_row = (struct alloc_row){*a, *draft_end_of(d, a)};
    c->u.alloc.end = 0;
    draft_wants(d, a->node);
    uint32_t node = a->node;
    ledger_release(d->w, a);
    pool_freed(d->w, world_node(d->w, node));
}

struct history *draft_history(struct draft *d, enum history_what what)
{
    CHECK(what < HISTORY_KINDS);
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_HISTORY;
    c->u.history.what = what;
    c->u.history.actor = d->actor;
    c->u.history.wall_ms = d->ev->wall_ms;
    c->u.history.now_ms = d->w->now_ms;
    return &c->u.history;
}

struct history *draft_session_history(struct draft *d, enum history_what what,
                                      const struct session *s)
{
    struct history *h = draft_history(d, what);
    h->session = s->id;
    h->state = s->state;
    h->outcome = s->outcome;
    h->attempt = s->attempt;
    return h;
}

struct history *draft_node_history(struct draft *d, enum history_what what, const struct node *n)
{
    struct history *h = draft_history(d, what);
    h->node = n->id;
    TEXT_CLIP(h->text, str_of(n->name));
    return h;
}

void draft_refuse(struct draft *d, enum verdict v, const char *field, const char *fmt, ...)
{
    CHECK(v != VERDICT_OK);
    CHECK(d->out->changes.n == 0);
    struct strbuf text;
    va_list ap;
    strbuf_init(&text, sizeof(d->out->text) * 4);
    va_start(ap, fmt);
    strbuf_vfmt(&text, fmt, ap);
    va_end(ap);
    d->out->verdict = v;
    TEXT_CLIP(d->out->field, str_of(field));
    TEXT_CLIP(d->out->text, strbuf_str(&text));
    strbuf_done(&text);
}

struct session *draft_find(struct draft *d, uint64_t id, const char *field)
{
    struct session *s = world_session(d->w, id);
    if (s) return s;
    bool was = id > 0 && id <= d->w->last_session;
    draft_refuse(d, was ? VERDICT_ENDED : VERDICT_NOT_FOUND, field,
                 was ? "session s%llu has ended" : "there is no session s%llu",
                 (unsigned long long)id);
    return NULL;
}

/* ---- the end of a step */

static struct change *add(struct draft *d, enum change_kind kind)
{
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = kind;
    return c;
}

static void copy_sessions(struct draft *d)
{
    d->sessions.n = order_unique(d->sessions.v, d->sessions.n);
    for (uint32_t i = 0; i < d->sessions.n; i++) {
        struct session *s = &d->w->sessions.v[d->sessions.v[i]];
        CHECK(s->id > 0);
        add(d, CHANGE_SESSION)->u.session_row = (struct session_row){*s, *ends_of(d->w, s)};
        if (!session_live(s)) world_drop_session(d->w, s);
    }
}

static void copy_allocs(struct draft *d)
{
    d->allocs.n = order_unique(d->allocs.v, d->allocs.n);
    for (uint32_t i = 0; i < d->allocs.n; i++) {
        const struct alloc *a = &d->w->allocs.v[d->allocs.v[i]];
        if (a->live) add(d, CHANGE_ALLOC)->u.alloc = *a; /* else it is released by now */
    }
}

static void copy_nodes(struct draft *d)
{
    d->nodes.n = order_unique(d->nodes.v, d->nodes.n);
    for (uint32_t i = 0; i < d->nodes.n; i++) {
        const struct node *n = &d->w->nodes.v[d->nodes.v[i]];
        if (n->name[0] != '\0') add(d, CHANGE_NODE)->u.node = *n;
    }
}

static void copy_groups(struct draft *d)
{
    d->groups.n = order_unique(d->groups.v, d->groups.n);
    for (uint32_t i = 0; i < d->groups.n; i++) {
        add(d, CHANGE_GROUP)->u.group = d->w->groups.v[d->groups.v[i]];
    }
}

/* Wishes of a node that was forgotten in this very step interest nobody. */
static void settle_nodes(struct draft *d)
{
    struct effects *out = d->out;
    uint32_t kept = 0;
    out->nodes.n = order_unique(out->nodes.v, out->nodes.n);
    for (uint32_t i = 0; i < out->nodes.n; i++) {
        if (world_node(d->w, out->nodes.v[i])) out->nodes.v[kept++] = out->nodes.v[i];
    }
    out->nodes.n = kept;
}

void draft_finish(struct draft *d)
{
    copy_groups(d);
    copy_nodes(d);
    copy_sessions(d);
    copy_allocs(d);
    settle_nodes(d);
    CHECK(d->out->verdict == VERDICT_OK || d->ev->kind != EVENT_SUBMIT || d->out->session == 0 ||
          d->out->verdict == VERDICT_NAME_TAKEN);
    CHECK(d->ended.n == 0); /* each was told to its dependents */
    VEC_DONE(&d->ended);
    VEC_DONE(&d->ends);
    VEC_DONE(&d->sessions);
    VEC_DONE(&d->allocs);
    VEC_DONE(&d->nodes);
    VEC_DONE(&d->groups);
}
