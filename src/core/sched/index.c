/* core/sched/index.c - classes, buckets and blocks.
 *
 * Invariants: an entry is where its stored amounts say; a block is never empty and
 * never has more than INDEX_BLOCK entries; ranks are those of all named nodes, so
 * they shift when one comes or goes and no entry has to move for that.
 * docs/spec/scheduling.md, "Placement" */
#include "core/sched/index.h"

#include "base/check.h"
#include "core/sched/blocks.h"
#include "core/sched/plan.h"
#include "core/sched/sched.h"

/* ---- the natural order of names */

static struct str name_at(const struct world *w, uint32_t at)
{
    return str_of(w->nodes.v[at].name);
}

static void name_add(const struct world *w, struct place_index *x, uint32_t at)
{
    uint32_t low = 0, high = x->names.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (str_natural_cmp(name_at(w, x->names.v[mid]), name_at(w, at)) < 0) low = mid + 1;
        else high = mid;
    }
    VEC_INSERT(&x->names, low, at);
    for (uint32_t i = low; i < x->names.n; i++) x->nodes.v[x->names.v[i]].rank = i;
    x->nodes.v[at].named = true;
}

static void name_remove(struct place_index *x, uint32_t at)
{
    uint32_t rank = x->nodes.v[at].rank;
    CHECK(x->names.v[rank] == at);
    VEC_REMOVE(&x->names, rank);
    for (uint32_t i = rank; i < x->names.n; i++) x->nodes.v[x->names.v[i]].rank = i;
    x->nodes.v[at].named = false;
}

uint32_t index_rank(const struct place_index *x, uint32_t at)
{
    CHECK(at < x->nodes.n);
    return x->nodes.v[at].rank;
}

bool index_cmp_names(const struct place_index *x, uint32_t a, uint32_t b, int *ret)
{
    if (a >= x->nodes.n || b >= x->nodes.n) return false;
    const struct index_node *na = &x->nodes.v[a], *nb = &x->nodes.v[b];
    if (!na->named || !nb->named) return false;
    *ret = na->rank < nb->rank ? -1 : na->rank > nb->rank;
    return true;
}

/* ---- classes */

static uint32_t kinds_of(const struct slots *capacity)
{
    uint32_t kinds = 0;
    for (int k = 0; k < SLOT_KINDS; k++) kinds |= (uint32_t)(capacity->v[k] > 0) << k;
    return kinds;
}

/* Each model once, in order: which device has which is nothing to a class. */
static void put_models(const struct node *n, struct strbuf *key)
{
    const char *last = NULL;
    for (;;) {
        const char *next = NULL;
        for (uint32_t i = 0; i < n->n_devices; i++) {
            const char *m = n->devices[i].model;
            if (last && strcmp(m, last) <= 0) continue;
            if (!next || strcmp(m, next) < 0) next = m;
        }
        if (!next) return;
        strbuf_putc(key, '\n');
        strbuf_puts(key, next);
        last = next;
    }
}

static uint32_t class_of(struct place_index *x, const struct node *n)
{
    struct strbuf key;
    strbuf_init(&key, 4096);
    uint32_t kinds = kinds_of(&n->capacity);
    strbuf_fmt(&key, "%u %u\n%s\n%s", n->group, kinds, n->arch, n->labels);
    put_models(n, &key);
    CHECK(!key.full);
    uint32_t id = map_str_get(&x->class_by_key, strbuf_str(&key));
    if (id == MAP_NONE) {
        id = x->classes.n;
        VEC_PUSH(&x->classes, mem_alloc(sizeof(struct index_class)));
        x->classes.v[id]->group = n->group;
        x->classes.v[id]->kinds = kinds;
        map_str_put(&x->class_by_key, strbuf_str(&key), id);
    }
    strbuf_done(&key);
    return id;
}

/* ---- taking in changes */

static void leave(struct place_index *x, uint32_t at)
{
    struct index_node *in = &x->nodes.v[at];
    if (in->where == INDEXED_RESERVED) {
        uint32_t i = 0;
        while (x->reserved.v[i] != at) i++;
        VEC_REMOVE(&x->reserved, i);
    } else if (in->where == INDEXED_BLOCK) {
        struct index_class *c = x->classes.v[in->class];
        struct index_entry e = {in->cpu, in->mem, at};
        blocks_remove(x, &c->buckets[in->gpu], &e);
        CHECK(c->n > 0);
        c->n--;
        if (c->buckets[in->gpu].blocks.n == 0) c->filled &= ~(UINT32_C(1) << in->gpu);
    }
    in->where = INDEXED_NOWHERE;
}

static void enter(struct place_index *x, uint32_t at, const struct room *r)
{
    struct index_node *in = &x->nodes.v[at];
    struct index_class *c = x->classes.v[in->class];
    struct index_entry e = {r->free.v[SLOT_CPU], r->free.v[SLOT_MEM], at};
    CHECK(in->where == INDEXED_NOWHERE);
    CHECK(r->free.v[SLOT_GPU] <= NODE_DEVICES_MAX);
    in->gpu = (uint32_t)r->free.v[SLOT_GPU];
    in->cpu = e.cpu;
    in->mem = e.mem;
    in->where = INDEXED_BLOCK;
    if (!c->known) c->capacity = r->capacity;
    c->known = true;
    c->mixed = c->mixed || memcmp(&c->capacity, &r->capacity, sizeof(c->capacity)) != 0;
    blocks_add(x, &c->buckets[in->gpu], &e);
    c->filled |= UINT32_C(1) << in->gpu;
    c->n++;
}

static void take_in(const struct world *w, struct place_index *x, uint32_t at)
{
    const struct node *n = &w->nodes.v[at];
    const struct room *r = &w->rooms.v[at];
    struct index_node *in = &x->nodes.v[at];
    bool named = n->name[0] != '\0';
    bool same = in->where == INDEXED_BLOCK && r->usable && in->stamp == n->kind_stamp &&
                in->gpu == r->free.v[SLOT_GPU] && in->cpu == r->free.v[SLOT_CPU] &&
                in->mem == r->free.v[SLOT_MEM] && !plan_promised(w, at + 1);
    if (same) return;
    leave(x, at);
    if (named && !in->named) name_add(w, x, at);
    if (!named && in->named) name_remove(x, at);
    if (!r->usable) return;
    CHECK(named);
    if (plan_promised(w, at + 1)) {
        in->where = INDEXED_RESERVED;
        VEC_PUSH(&x->reserved, at);
        return;
    }
    if (!in->classed || in->stamp != n->kind_stamp) {
        in->class = class_of(x, n);
        in->stamp = n->kind_stamp;
        in->classed = true;
    }
    enter(x, at, r);
}

void index_sync(struct world *w)
{
    struct sched *sched = sched_of(w);
    if (!sched->index) sched->index = mem_alloc(sizeof(*sched->index));
    struct place_index *x = sched->index;
    while (x->nodes.n < w->nodes.n) (void)VEC_ADD(&x->nodes);
    /* First who is gone: the order of names is that of names that are there. */
    VEC_EACH(at, &w->changed)
        if (w->nodes.v[*at].name[0] == '\0') take_in(w, x, *at);
    VEC_EACH(at, &w->changed) take_in(w, x, *at);
}

void index_free(struct place_index *x)
{
    if (!x) return;
    VEC_EACH(c, &x->classes) {
        for (uint32_t g = 0; g <= NODE_DEVICES_MAX; g++) blocks_done(&(*c)->buckets[g]);
        mem_free(*c);
    }
    VEC_DONE(&x->classes);
    VEC_DONE(&x->nodes);
    VEC_DONE(&x->names);
    VEC_DONE(&x->reserved);
    map_str_done(&x->class_by_key);
    mem_free(x);
}

const uint32_t *index_reserved(const struct place_index *x, uint32_t *ret_n)
{
    *ret_n = x->reserved.n;
    return x->reserved.v;
}

/* ---- audit */

static const char *audit_node(const struct world *w, const struct place_index *x, uint32_t at)
{
    const struct index_node *in = &x->nodes.v[at];
    const struct room *r = &w->rooms.v[at];
    bool named = w->nodes.v[at].name[0] != '\0';
    if (in->named != named) return "the index knows another set of names";
    if (named && x->names.v[in->rank] != at) return "the index knows another order of names";
    if ((in->where != INDEXED_NOWHERE) != r->usable) return "the index has another set of nodes";
    bool reserved = r->usable && plan_promised(w, at + 1);
    if ((in->where == INDEXED_RESERVED) != reserved) return "the index missed a promise";
    if (in->where != INDEXED_BLOCK) return NULL;
    struct index_entry e = {r->free.v[SLOT_CPU], r->free.v[SLOT_MEM], at};
    const struct index_class *c = x->classes.v[in->class];
    if (!c->mixed && memcmp(&c->capacity, &r->capacity, sizeof(c->capacity)) != 0) {
        return "a class knows another capacity";
    }
    if (c->group != r->group || c->kinds != kinds_of(&r->capacity)) return "a class is stale";
    if (!blocks_have(x, &c->buckets[r->free.v[SLOT_GPU]], &e)) return "an entry is stale";
    return NULL;
}

const char *index_audit(const struct world *w)
{
    const struct place_index *x = w->sched ? w->sched->index : NULL;
    if (!x || w->changed.n > 0) return NULL;
    const char *why = x->nodes.n == w->nodes.n ? NULL : "the index misses nodes";
    uint32_t entries = 0, indexed = 0;
    for (uint32_t i = 0; !why && i < x->nodes.n; i++) {
        why = audit_node(w, x, i);
        indexed += x->nodes.v[i].where == INDEXED_BLOCK;
    }
    for (uint32_t c = 0; !why && c < x->classes.n; c++) {
        for (uint32_t g = 0; !why && g <= NODE_DEVICES_MAX; g++) {
            why = blocks_audit(x, &x->classes.v[c]->buckets[g], &entries);
        }
    }
    if (!why && entries != indexed) why = "the index has an entry too many";
    return why;
}
