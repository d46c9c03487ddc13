/* wire/decode.h - a jansson tree into an object, by its table.  For src/wire alone. */
#ifndef WIRE_DECODE_H
#define WIRE_DECODE_H
#include <jansson.h>

#include "base/map.h"
#include "wire/table.h"

/* Where each value of a YAML text stood.  All its scalars are JSON strings; only
 * the field decides what a plain one means. */
struct decode_mark {
    uint32_t line, col;         /* of the value, from 1 */
    uint32_t key_line, key_col; /* of its key, when it has one */
    bool plain;                 /* a scalar without quotes */
};
struct decode_marks {
    const char *file;
    struct map_u64 by_value;    /* address of the json_t -> index */
    VEC(struct decode_mark) v;
};

/* As wire_parse; marks NULL: the tree came from JSON. */
int decode(const struct wire_table *t, json_t *root, const struct decode_marks *marks, bool input,
           void *obj, struct err *err);

#endif
