/* manager/doc_cache.c - a hash and a list ordered by use.
 *
 * Invariants: `bytes` is the sum of the entries' lengths and never above `max`
 * after a call; an entry is in the hash exactly when it is in the list. */
#include "manager/doc_cache.h"
#include "base/check.h"
#include "base/mem.h"

void doc_cache_init(struct doc_cache *c, size_t max_bytes)
{
    memset(c, 0, sizeof(*c));
    c->max = max_bytes;
}

static void unlink_entry(struct doc_cache *c, uint32_t at)
{
    struct doc_entry *e = &c->entries.v[at];
    if (e->newer) c->entries.v[e->newer - 1].older = e->older;
    else c->newest = e->older;
    if (e->older) c->entries.v[e->older - 1].newer = e->newer;
    else c->oldest = e->newer;
    e->newer = e->older = 0;
}

static void link_newest(struct doc_cache *c, uint32_t at)
{
    struct doc_entry *e = &c->entries.v[at];
    e->newer = 0;
    e->older = c->newest;
    if (c->newest) c->entries.v[c->newest - 1].newer = at + 1;
    c->newest = at + 1;
    if (!c->oldest) c->oldest = at + 1;
}

static void drop(struct doc_cache *c, uint32_t at)
{
    struct doc_entry *e = &c->entries.v[at];
    unlink_entry(c, at);
    CHECK(c->bytes >= e->n);
    c->bytes -= e->n;
    map_u64_del(&c->by_session, e->session);
    mem_free(e->text);
    e->text = NULL;
    VEC_PUSH(&c->free, at);
}

void doc_cache_clear(struct doc_cache *c)
{
    while (c->oldest) drop(c, c->oldest - 1);
    CHECK(c->bytes == 0);
}

void doc_cache_done(struct doc_cache *c)
{
    doc_cache_clear(c);
    map_u64_done(&c->by_session);
    VEC_DONE(&c->entries);
    VEC_DONE(&c->free);
}

void doc_cache_put(struct doc_cache *c, uint64_t session, struct str text)
{
    uint32_t old = map_u64_get(&c->by_session, session);
    if (old != MAP_NONE) drop(c, old);
    if (text.n > c->max) return;
    while (c->bytes + text.n > c->max) drop(c, c->oldest - 1);
    uint32_t at;
    if (c->free.n > 0) {
        at = VEC_POP(&c->free);
    } else {
        at = c->entries.n;
        VEC_ADD(&c->entries);
    }
    c->entries.v[at] = (struct doc_entry){.session = session,
                                          .text = mem_strndup(text.p, text.n),
                                          .n = text.n};
    c->bytes += text.n;
    map_u64_put(&c->by_session, session, at);
    link_newest(c, at);
}

struct str doc_cache_get(struct doc_cache *c, uint64_t session)
{
    uint32_t at = map_u64_get(&c->by_session, session);
    if (at == MAP_NONE) return (struct str){NULL, 0};
    unlink_entry(c, at);
    link_newest(c, at);
    return str_n(c->entries.v[at].text, c->entries.v[at].n);
}
