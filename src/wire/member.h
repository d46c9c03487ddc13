/* wire/member.h - the members behind a table's fields.  For src/wire alone. */
#ifndef WIRE_MEMBER_H
#define WIRE_MEMBER_H
#include "wire/table.h"

static inline void *member_of(const struct wire_field *f, void *obj)
{
    return (char *)obj + f->offset;
}
static inline bool member_is_number(const struct wire_field *f)
{
    return f->type >= WIRE_BOOL && f->type <= WIRE_ENUM;
}
static inline bool member_is_quantity(const struct wire_field *f)
{
    return (f->flags & (WIRE_CPU | WIRE_BYTES | WIRE_DURATION)) != 0;
}
/* Of number-like fields (BOOL to ENUM); m is the member itself. */
int64_t member_get(const struct wire_field *f, const void *m);
void member_set(const struct wire_field *f, void *m, int64_t v); /* v is in range */
void member_range(const struct wire_field *f, int64_t *ret_min, int64_t *ret_max);

struct member_items { char *v; uint32_t n; }; /* f->table->size bytes each */
struct member_items member_items(const struct wire_field *f, const void *obj);
bool member_default(const struct wire_field *f, const void *obj);

#endif
