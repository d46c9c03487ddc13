/* base/map.h - hash maps from a number or a text to a slot number.
 *
 * Open addressing, power-of-two tables, no iteration order is ever exposed:
 * whoever needs an order keeps a sorted array. */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

#define MAP_NONE UINT32_MAX

struct map_u64 { /* zeroed is empty; key 0 is allowed */
    uint64_t *keys;
    uint32_t *vals; /* MAP_NONE marks a free place */
    uint32_t n, cap;
};
uint32_t map_u64_get(const struct map_u64 *m, uint64_t key); /* MAP_NONE if absent */
void map_u64_put(struct map_u64 *m, uint64_t key, uint32_t val); /* val != MAP_NONE */
bool map_u64_del(struct map_u64 *m, uint64_t key);
void map_u64_done(struct map_u64 *m);

struct map_str_entry { char *key; uint32_t len, hash, val; };
struct map_str { /* zeroed is empty; copies its keys */
    struct map_str_entry *e;
    uint32_t n, cap;
};
uint32_t map_str_get(const struct map_str *m, struct str key);
void map_str_put(struct map_str *m, struct str key, uint32_t val);
bool map_str_del(struct map_str *m, struct str key);
void map_str_done(struct map_str *m);
/* For a table of one's own, whose keys are a text and a number. */
uint32_t map_str_hash(struct str text, uint64_t number);

#endif
