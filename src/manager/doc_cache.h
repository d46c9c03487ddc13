/* manager/doc_cache.h - submission documents that agents are about to ask for.
 *
 * The store holds every document; this keeps the most recently used ones in
 * memory, bounded by bytes, so that a start does not wait for a read.  Absence
 * means nothing but "ask the store". */
#ifndef MANAGER_DOC_CACHE_H
#define MANAGER_DOC_CACHE_H
#include <stddef.h>
#include <stdint.h>
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct doc_entry { uint64_t session; char *text; size_t n; uint32_t newer, older; };

struct doc_cache { /* zeroed but for `max` is empty */
    struct map_u64 by_session;
    VEC(struct doc_entry) entries;
    VEC(uint32_t) free;
    uint32_t newest, oldest; /* index + 1; 0: none */
    size_t bytes, max;
};

void doc_cache_init(struct doc_cache *c, size_t max_bytes);
void doc_cache_done(struct doc_cache *c);
void doc_cache_clear(struct doc_cache *c);
/* Copies; a text larger than the whole cache is not kept. */
void doc_cache_put(struct doc_cache *c, uint64_t session, struct str text);
/* p NULL: not here.  Valid until the next put. */
struct str doc_cache_get(struct doc_cache *c, uint64_t session);

#endif
