/* base/map.c - hash maps with linear probing.
 *
 * At most three quarters of the places are taken, so every probe ends at a free
 * one.  A removal shifts the run behind it back (Knuth 6.4, algorithm R): there
 * are no tombstones, and a table that breathes in and out does not decay. */
#include "base/map.h"

#include "base/check.h"
#include "base/mem.h"

#define MAP_FIRST 16u
#define MAP_MOST (UINT32_C(1) << 31)

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The room for one more entry, which is `cap` itself while that is enough. */
static uint32_t room_for_one_more(uint32_t n, uint32_t cap)
{
    if ((uint64_t)(n + 1) * 4 <= (uint64_t)cap * 3) return cap;
    CHECK(cap < MAP_MOST);
    return cap > 0 ? cap * 2 : MAP_FIRST;
}

/* Whether the entry at `at`, whose probe began at `home`, may move to `hole`. */
static bool may_fill(uint32_t hole, uint32_t at, uint32_t home, uint32_t mask)
{
    return ((at - home) & mask) >= ((at - hole) & mask);
}

/* ---- numbers */

static uint32_t u64_find(const struct map_u64 *m, uint64_t key)
{
    uint32_t mask = m->cap - 1, at = (uint32_t)mix(key) & mask;
    while (m->vals[at] != MAP_NONE && m->keys[at] != key) at = (at + 1) & mask;
    return at;
}

uint32_t map_u64_get(const struct map_u64 *m, uint64_t key)
{
    return m->n > 0 ? m->vals[u64_find(m, key)] : MAP_NONE;
}

static void u64_resize(struct map_u64 *m, uint32_t cap)
{
    struct map_u64 bigger = {.n = m->n, .cap = cap};
    bigger.keys = mem_array(cap, sizeof(*bigger.keys));
    bigger.vals = mem_array(cap, sizeof(*bigger.vals));
    memset(bigger.vals, 0xff, cap * sizeof(*bigger.vals));
    for (uint32_t i = 0; i < m->cap; i++) {
        if (m->vals[i] == MAP_NONE) continue;
        uint32_t at = u64_find(&bigger, m->keys[i]);
        bigger.keys[at] = m->keys[i];
        bigger.vals[at] = m->vals[i];
    }
    map_u64_done(m);
    *m = bigger;
}

void map_u64_put(struct map_u64 *m, uint64_t key, uint32_t val)
{
    CHECK(val != MAP_NONE);
    uint32_t cap = room_for_one_more(m->n, m->cap);
    if (cap != m->cap) u64_resize(m, cap);
    uint32_t at = u64_find(m, key);
    if (m->vals[at] == MAP_NONE) m->n++;
    m->keys[at] = key;
    m->vals[at] = val;
}

bool map_u64_del(struct map_u64 *m, uint64_t key)
{
    if (m->n == 0) return false;
    uint32_t mask = m->cap - 1, hole = u64_find(m, key);
    if (m->vals[hole] == MAP_NONE) return false;
    for (uint32_t at = (hole + 1) & mask; m->vals[at] != MAP_NONE; at = (at + 1) & mask) {
        if (!may_fill(hole, at, (uint32_t)mix(m->keys[at]) & mask, mask)) continue;
        m->keys[hole] = m->keys[at];
        m->vals[hole] = m->vals[at];
        hole = at;
    }
    m->vals[hole] = MAP_NONE;
    m->n--;
    return true;
}

void map_u64_done(struct map_u64 *m)
{
    mem_free(m->keys);
    mem_free(m->vals);
    *m = (struct map_u64){0};
}

/* ---- texts: a place is free while its key is NULL */

uint32_t map_str_hash(struct str s, uint64_t number)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ s.n ^ mix(number);
    while (s.n >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, s.p, sizeof(word));
        h = mix(h ^ word) + word;
        s.p += sizeof(word);
        s.n -= sizeof(word);
    }
    uint64_t tail = 0;
    if (s.n > 0) memcpy(&tail, s.p, s.n);
    return (uint32_t)mix(h ^ tail);
}

static uint32_t str_find(const struct map_str *m, struct str key, uint32_t hash)
{
    uint32_t mask = m->cap - 1, at = hash & mask;
    for (; m->e[at].key; at = (at + 1) & mask) {
        const struct map_str_entry *e = &m->e[at];
        if (e->hash == hash && str_eq(str_n(e->key, e->len), key)) break;
    }
    return at;
}

uint32_t map_str_get(const struct map_str *m, struct str key)
{
    if (m->n == 0) return MAP_NONE;
    const struct map_str_entry *e = &m->e[str_find(m, key, map_str_hash(key, 0))];
    return e->key ? e->val : MAP_NONE;
}

static void str_resize(struct map_str *m, uint32_t cap)
{
    struct map_str_entry *bigger = mem_array(cap, sizeof(*bigger));
    for (uint32_t i = 0; i < m->cap; i++) {
        if (!m->e[i].key) continue;
        uint32_t at = m->e[i].hash & (cap - 1); /* keys are distinct: no comparison */
        while (bigger[at].key) at = (at + 1) & (cap - 1);
        bigger[at] = m->e[i];
    }
    mem_free(m->e);
    m->e = bigger;
    m->cap = cap;
}

void map_str_put(struct map_str *m, struct str key, uint32_t val)
{
    CHECK(val != MAP_NONE);
    CHECK(key.n < UINT32_MAX);
    uint32_t cap = room_for_one_more(m->n, m->cap);
    if (cap != m->cap) str_resize(m, cap);
    uint32_t hash = map_str_hash(key, 0);
    struct map_str_entry *e = &m->e[str_find(m, key, hash)];
    if (!e->key) {
        e->key = mem_strndup(key.p, key.n);
        e->len = (uint32_t)key.n;
        e->hash = hash;
        m->n++;
    }
    e->val = val;
}

bool map_str_del(struct map_str *m, struct str key)
{
    if (m->n == 0) return false;
    uint32_t mask = m->cap - 1, hole = str_find(m, key, map_str_hash(key, 0));
    if (!m->e[hole].key) return false;
    mem_free(m->e[hole].key);
    for (uint32_t at = (hole + 1) & mask; m->e[at].key; at = (at + 1) & mask) {
        if (!may_fill(hole, at, m->e[at].hash & mask, mask)) continue;
        m->e[hole] = m->e[at];
        hole = at;
    }
    m->e[hole] = (struct map_str_entry){0};
    m->n--;
    return true;
}

void map_str_done(struct map_str *m)
{
    for (uint32_t i = 0; i < m->cap; i++) mem_free(m->e[i].key);
    mem_free(m->e);
    *m = (struct map_str){0};
}
