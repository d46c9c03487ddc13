/* wire/collect.c - lists of texts and maps of texts, grown one by one.
 *
 * v[n] of a list that has items is always NULL: it can be handed to exec. */
#include "base/check.h"
#include "wire/table.h"

/* Room for one more after n: the arrays double, and the power of two is not kept
 * anywhere but follows from n. */
static bool grows(uint32_t n) { return (n & (n - 1)) == 0; }

void wire_texts_add(struct wire_texts *t, struct str s)
{
    CHECK(t->n < UINT32_MAX / 4);
    if (grows(t->n)) t->v = mem_resize(t->v, (t->n ? (size_t)t->n * 2 : 1) + 1, sizeof(char *));
    t->v[t->n++] = mem_strndup(s.p, s.n);
    t->v[t->n] = NULL;
}

void wire_texts_free(struct wire_texts *t)
{
    for (uint32_t i = 0; i < t->n; i++) mem_free(t->v[i]);
    mem_free(t->v);
    *t = (struct wire_texts){0};
}

void wire_map_add(struct wire_map *m, struct str name, struct str value)
{
    CHECK(m->n < UINT32_MAX / 4);
    if (grows(m->n)) m->v = mem_resize(m->v, m->n ? (size_t)m->n * 2 : 1, sizeof(*m->v));
    m->v[m->n++] = (struct wire_pair){mem_strndup(name.p, name.n), mem_strndup(value.p, value.n)};
}

const char *wire_map_get(const struct wire_map *m, struct str name)
{
    for (uint32_t i = 0; i < m->n; i++) {
        if (str_eq(name, str_of(m->v[i].name))) return m->v[i].value;
    }
    return NULL;
}

void wire_map_free(struct wire_map *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        mem_free(m->v[i].name);
        mem_free(m->v[i].value);
    }
    mem_free(m->v);
    *m = (struct wire_map){0};
}
