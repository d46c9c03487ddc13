/* core/model/names.c - open addressing with linear probing, as in base/map.c.
 *
 * The hash is kept beside the slot: growing and closing a gap need not read the
 * sessions.  A removal shifts the run behind it back, so there are no tombstones. */
#include "core/model/names.h"

#include "base/check.h"
#include "core/model/world.h"

#define NAMES_FIRST 16u

static bool is_named(const struct world *w, const struct name_place *p, uint32_t user,
                     struct str name)
{
    CHECK(p->taken <= w->sessions.n);
    const struct session *s = &w->sessions.v[p->taken - 1];
    CHECK(s->id > 0);
    return s->user == user && str_eq(str_of(s->name), name);
}

/* Where it is, or the free place where it belongs. */
static uint32_t place_of(const struct world *w, uint32_t user, struct str name, uint32_t hash)
{
    const struct name_index *x = &w->names;
    uint32_t mask = x->cap - 1, at = hash & mask;
    CHECK(x->n < x->cap);
    for (; x->v[at].taken; at = (at + 1) & mask) {
        if (x->v[at].hash == hash && is_named(w, &x->v[at], user, name)) break;
    }
    return at;
}

uint32_t names_find(const struct world *w, uint32_t user, struct str name)
{
    if (w->names.n == 0) return MAP_NONE;
    uint32_t at = place_of(w, user, name, map_str_hash(name, user));
    return w->names.v[at].taken ? w->names.v[at].taken - 1 : MAP_NONE;
}

/* At most three quarters are taken. */
static void make_room(struct name_index *x)
{
    if ((uint64_t)(x->n + 1) * 4 <= (uint64_t)x->cap * 3) return;
    uint32_t cap = x->cap > 0 ? x->cap * 2 : NAMES_FIRST;
    CHECK(cap > x->cap);
    struct name_place *bigger = mem_array(cap, sizeof(*bigger));
    for (uint32_t i = 0; i < x->cap; i++) {
        if (!x->v[i].taken) continue;
        uint32_t at = x->v[i].hash & (cap - 1);
        while (bigger[at].taken) at = (at + 1) & (cap - 1);
        bigger[at] = x->v[i];
    }
    mem_free(x->v);
    x->v = bigger;
    x->cap = cap;
}

void names_add(struct world *w, uint32_t slot)
{
    CHECK(slot < w->sessions.n);
    const struct session *s = &w->sessions.v[slot];
    struct str name = str_of(s->name);
    uint32_t hash = map_str_hash(name, s->user);
    make_room(&w->names);
    uint32_t at = place_of(w, s->user, name, hash);
    CHECK(w->names.v[at].taken == 0);
    w->names.v[at] = (struct name_place){hash, slot + 1};
    w->names.n++;
}

bool names_remove(struct world *w, uint32_t slot)
{
    struct name_index *x = &w->names;
    CHECK(slot < w->sessions.n);
    const struct session *s = &w->sessions.v[slot];
    if (x->n == 0) return false;
    uint32_t mask = x->cap - 1;
    uint32_t hole = place_of(w, s->user, str_of(s->name), map_str_hash(str_of(s->name), s->user));
    if (x->v[hole].taken != slot + 1) return false;
    for (uint32_t at = (hole + 1) & mask; x->v[at].taken; at = (at + 1) & mask) {
        uint32_t home = x->v[at].hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask)) continue; /* its probe begins behind */
        x->v[hole] = x->v[at];
        hole = at;
    }
    x->v[hole] = (struct name_place){0};
    x->n--;
    return true;
}

void names_done(struct name_index *x)
{
    mem_free(x->v);
    *x = (struct name_index){0};
}
