/* core/sched/bounds.c - maxima that are never too small. */
#include "core/sched/bounds.h"

#include "base/check.h"

static void list_nodes(const struct world *w, struct bounds *b, uint32_t group)
{
    VEC_CLEAR(&b->nodes);
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        if (w->rooms.v[i].group == group) VEC_PUSH(&b->nodes, i);
    }
    b->regroupings = w->regroupings;
}

static void look(const struct world *w, struct bounds *b)
{
    memset(b->cpu, 0, sizeof(b->cpu));
    memset(b->mem, 0, sizeof(b->mem));
    memset(b->members, 0, sizeof(b->members));
    VEC_EACH(at, &b->nodes) {
        const struct room *r = &w->rooms.v[*at];
        if (!r->usable) continue;
        uint32_t most = (uint32_t)r->free.v[SLOT_GPU];
        CHECK(most <= NODE_DEVICES_MAX);
        if (b->cpu[most] < r->free.v[SLOT_CPU]) b->cpu[most] = r->free.v[SLOT_CPU];
        if (b->mem[most] < r->free.v[SLOT_MEM]) b->mem[most] = r->free.v[SLOT_MEM];
        for (uint32_t k = 1; k <= most; k++) b->members[k] += most / k;
    }
    for (uint32_t k = NODE_DEVICES_MAX; k > 0; k--) { /* who has more has so many as well */
        if (b->cpu[k - 1] < b->cpu[k]) b->cpu[k - 1] = b->cpu[k];
        if (b->mem[k - 1] < b->mem[k]) b->mem[k - 1] = b->mem[k];
    }
    b->walk = w->walks;
}

/* How often it fits on the node, at most `enough`. */
static uint32_t times(const struct slots *need, const struct slots *free, uint32_t enough)
{
    int64_t n = enough;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > 0 && free->v[k] / need->v[k] < n) n = free->v[k] / need->v[k];
    }
    return (uint32_t)n;
}

static void bring_up_to_date(struct world *w, struct bounds *b, uint32_t group)
{
    if (b->nodes.n == 0 || b->regroupings != w->regroupings) list_nodes(w, b, group);
    if (b->walk != w->walks) look(w, b);
}

bool bounds_fit(struct world *w, struct bounds *b, const struct queue_entry *e, uint32_t choices)
{
    const struct family *f = &w->families.v[e->family];
    struct slots need = {{e->cpu, e->mem, f->demands[0].v[SLOT_GPU]}};
    uint32_t n = 0;
    CHECK(f->n_demands == 1);
    bring_up_to_date(w, b, f->group);
    for (uint32_t i = 0; i < b->nodes.n && n < choices; i++) {
        const struct room *r = &w->rooms.v[b->nodes.v[i]];
        if (r->usable && slots_fit(&need, &r->free)) n += times(&need, &r->free, choices - n);
    }
    return n >= choices;
}

bool bounds_allow(struct world *w, struct bounds *b, const struct queue_entry *e,
                  uint32_t choices, struct slots *ret_corner)
{
    const struct family *f = &w->families.v[e->family];
    int64_t devices = f->demands[0].v[SLOT_GPU];
    CHECK(f->n_demands == 1);
    bring_up_to_date(w, b, f->group);
    *ret_corner = (struct slots){{0}};
    if (devices > NODE_DEVICES_MAX) return false;
    if (devices > 0 && b->members[devices] < choices) return false;
    ret_corner->v[SLOT_CPU] = b->cpu[devices] + 1;
    if (e->cpu > b->cpu[devices]) return false;
    ret_corner->v[SLOT_CPU] = 0;
    ret_corner->v[SLOT_MEM] = b->mem[devices] + 1;
    return e->mem <= b->mem[devices];
}

void bounds_done(struct bounds *b) { VEC_DONE(&b->nodes); }
