/* manager/view_use.c - see view_use.h.
 *
 * A sum is known when each part of it is: what one container used is no answer to what
 * all of them used. */
#include "manager/view_use.h"
#include <stdlib.h>
#include "base/check.h"
#include "manager/use.h"

static void sum(int64_t *to, int64_t v)
{
    if (*to < 0 || v < 0 || *to > INT64_MAX - v) *to = METER_UNKNOWN;
    else *to += v;
}

static int64_t known_or(struct reading r) { return r.known ? r.v : METER_UNKNOWN; }

/* ---- one container ---- */

static void add_points(const struct use_node *u, const struct use_entry *e, int64_t now_ms,
                       struct member_use_view *v)
{
    int64_t since = now_ms - u->heard_ms;
    for (uint32_t i = 0; i < e->ring.n; i++) {
        struct meter_point p = meter_at(&e->ring, i);
        struct use_point_view *pv = VEC_ADD(&v->points);
        pv->ago_ms = u->used_ms - p.at_ms + since;
        pv->mem_bytes = p.mem_bytes;
        pv->cpu_milli = METER_UNKNOWN;
        if (i == 0) continue;
        struct meter_point b = meter_at(&e->ring, i - 1);
        if (b.cpu_us >= 0 && p.cpu_us >= b.cpu_us && p.at_ms - b.at_ms <= USE_GAP_MS)
            pv->cpu_milli = (p.cpu_us - b.cpu_us) / (p.at_ms - b.at_ms);
    }
}

static void fill_member(const struct use_node *u, const struct use_entry *e, bool points,
                        struct member_use_view *v)
{
    int64_t now_ms = net_now_ms();
    v->age_ms = now_ms - e->heard_ms;
    v->m = e->row.m;
    v->cpu_milli = known_or(use_cpu_milli(u, e, USE_NOW_MS, now_ms));
    v->cpu_peak_milli = e->row.cpu_peak_milli;
    if (points) add_points(u, e, now_ms, v);
}

static int by_member(const void *a, const void *b)
{
    const struct member_use_view *x = a, *y = b;
    return (x->member > y->member) - (x->member < y->member);
}

/* ---- sessions ---- */

void view_session_use(const struct manager *m, const struct session *s, bool points,
                      struct session_use_view *ret)
{
    const struct world *w = turns_world(m->turns);
    const struct user *owner = world_user(w, s->user);
    const struct group *g = world_group(w, s->group);
    struct slots total = {0};
    uint32_t rows = 0;
    wire_init(&wire_session_use_view, ret);
    session_id_format(s->id, ret->id);
    TEXT_CLIP(ret->name, str_of(s->name));
    TEXT_CLIP(ret->owner, str_of(owner ? owner->name : ""));
    TEXT_CLIP(ret->group, str_of(g ? g->name : ""));
    ret->state = s->state;
    if (session_total(s, &total)) {
        ret->cpu_limit_milli = total.v[SLOT_CPU];
        ret->mem_limit_bytes = total.v[SLOT_MEM];
        ret->gpu = total.v[SLOT_GPU];
    }
    ret->cpu_milli = ret->cpu_us = ret->mem_bytes = 0;
    for (const struct alloc *a = world_allocs_of_session(w, s); a;
         a = world_next_of_session(w, a)) {
        const struct node *n = world_node(w, a->node);
        if (!n || a->revoked || a->ref.attempt != s->attempt) continue;
        rows++;
        const struct use_node *u = beat_use(m, str_of(n->name));
        const struct use_entry *e = u ? use_find(u, a->ref) : NULL;
        struct member_use_view none, *v = &none;
        if (e) v = VEC_ADD(&ret->members);
        memset(v, 0, sizeof(*v));
        v->m = METER_NONE;
        v->age_ms = v->cpu_milli = v->cpu_peak_milli = METER_UNKNOWN;
        v->attempt = a->ref.attempt;
        v->member = a->ref.member;
        TEXT_CLIP(v->node, str_of(n->name));
        if (e) fill_member(u, e, points, v);
        sum(&ret->cpu_milli, v->cpu_milli);
        sum(&ret->cpu_us, v->m.cpu_us);
        sum(&ret->mem_bytes, v->m.mem_bytes);
    }
    if (rows == 0) ret->cpu_milli = ret->cpu_us = ret->mem_bytes = METER_UNKNOWN;
    if (ret->members.n > 1)
        qsort(ret->members.v, ret->members.n, sizeof(ret->members.v[0]), by_member);
}

void view_add_use(const struct manager *m, const struct session *s, struct session_view *v)
{
    struct session_use_view u;
    if (s->state < SESSION_RUNNING || s->state > SESSION_STOPPING) return;
    view_session_use(m, s, false, &u);
    v->cpu_used_milli = u.cpu_milli;
    v->cpu_us = u.cpu_us;
    v->mem_used_bytes = u.mem_bytes;
    VEC_EACH(e, &u.members)
        if (e->m.mem_peak_bytes > v->mem_peak_bytes) v->mem_peak_bytes = e->m.mem_peak_bytes;
    wire_free(&wire_session_use_view, &u);
}

void view_add_totals(const struct store_placements *all, struct session_view *v)
{
    int64_t cpu_us = 0, peak = METER_UNKNOWN;
    uint32_t ran = 0;
    VEC_EACH(p, &all->v) {
        if (p->alloc.phase != MEMBER_EXITED) continue;
        ran++;
        sum(&cpu_us, p->end.cpu_us > 0 ? p->end.cpu_us : METER_UNKNOWN);
        if (p->end.mem_peak_bytes > peak) peak = p->end.mem_peak_bytes;
    }
    v->cpu_us = ran > 0 ? cpu_us : METER_UNKNOWN;
    v->mem_peak_bytes = peak > 0 ? peak : METER_UNKNOWN;
}

/* ---- nodes ---- */

void view_node_use(const struct manager *m, const struct node *n, struct node_use_view *ret)
{
    const struct use_node *u = beat_use(m, str_of(n->name));
    int64_t now_ms = net_now_ms();
    wire_init(&wire_node_use_view, ret);
    TEXT_CLIP(ret->name, str_of(n->name));
    if (!u || u->used_ms == 0) return;
    ret->age_ms = now_ms - u->heard_ms;
    ret->containers = u->entries.n;
    ret->cpu_milli = ret->mem_bytes = 0;
    VEC_EACH(e, &u->entries) {
        sum(&ret->cpu_milli, known_or(use_cpu_milli(u, *e, USE_NOW_MS, now_ms)));
        sum(&ret->mem_bytes, (*e)->row.m.mem_bytes);
    }
    ret->n_devices = u->n_devices;
    memcpy(ret->devices, u->devices, sizeof(ret->devices));
}
