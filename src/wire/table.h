/* wire/table.h - one table of fields per object: it parses, prints, frees and describes.
 *
 * What a table does not name does not exist: an unknown or double field is an
 * error, so is a wrong type, a number out of its range, a text too long for its
 * array.  Numbers are integers, always.  What wire_print wrote, wire_parse reads
 * back to an equal object.  docs/spec/wire.md
 *
 *     static const struct wire_field fields[] = {
 *         WIRE_F_TEXT(struct thing, name, "name", .flags = WIRE_REQUIRED, .doc = "..."),
 *         WIRE_F_I64(struct thing, mem_bytes, "mem_bytes", .alias = "mem", .flags = WIRE_BYTES),
 *     };
 *     const struct wire_table wire_thing = WIRE_TABLE("thing", struct thing, fields);
 */
#ifndef WIRE_TABLE_H
#define WIRE_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum wire_type {
    WIRE_BOOL = 1,
    WIRE_I32,
    WIRE_U32,
    WIRE_I64,
    WIRE_U64,    /* at most INT64_MAX: what JSON readers keep exact is less still */
    WIRE_ENUM,   /* a C enum of four bytes; `names` */
    WIRE_TEXT,   /* char[N], terminated */
    WIRE_STRING, /* char *, owned; at most `max` bytes; NULL is absent and never printed */
    WIRE_OBJECT, /* a struct by value; `table` */
    WIRE_ARRAY,  /* T[N] in the struct and a uint32_t count beside it; `table` */
    WIRE_LIST,   /* VEC(T); `table`; at most `max` items */
    WIRE_TEXTS,  /* struct wire_texts; at most `max` items and `max_bytes` in all */
    WIRE_MAP,    /* struct wire_map; at most `max` pairs and `max_bytes` in all */
    WIRE_RAW,    /* char *, owned: a JSON object as compact text, at most `max` bytes; or NULL */
};

enum wire_flag {
    WIRE_REQUIRED = 1u << 0,  /* absent is an error */
    WIRE_OMIT = 1u << 1,      /* not printed when it has its default */
    WIRE_READ_ONLY = 1u << 2, /* wire_parse_input refuses it: people do not set it */
    WIRE_SECRET = 1u << 3,    /* wire_print_public writes "***", wire_free overwrites it */
    WIRE_NAME = 1u << 4,      /* TEXT: "" or a name as in str_is_name */
    WIRE_ENV = 1u << 5,       /* MAP: keys are names of environment variables */
    WIRE_DIGITS = 1u << 6,    /* TEXTS: of integers from 0, kept as digits */
    /* Quantities: an integer is in the unit that the field's name ends with; a
     * text is what people write ("500m", "2G", "1h30m").  Under the alias a bare
     * number is what people mean, too: `cpu: 2` is two cores, `mem: 64` bytes,
     * `time_limit: 90` seconds. */
    WIRE_CPU = 1u << 8,
    WIRE_BYTES = 1u << 9,
    WIRE_DURATION = 1u << 10,
};

struct wire_name { int32_t value; const char *name; }; /* sentinel: name NULL */

struct wire_texts { char **v; uint32_t n; }; /* v[n] is NULL (an argv), or v is NULL when n is 0 */
struct wire_pair { char *name, *value; };
struct wire_map { struct wire_pair *v; uint32_t n; }; /* in the order given, no doubles */

struct wire_table;

struct wire_field {
    const char *name;
    const char *alias;      /* what people write instead (quantities), or NULL */
    const char *doc;
    enum wire_type type;
    uint32_t flags;
    uint32_t offset, size;  /* of the member */
    uint32_t count_offset;  /* ARRAY */
    uint32_t max_bytes;     /* TEXTS, MAP: of all texts together */
    int64_t min, max;       /* numbers: range, both 0: that of the type.  TEXT: min length.
                               STRING, RAW: most bytes.  LIST, TEXTS, MAP: fewest and most items */
    int64_t def;            /* numbers, BOOL, ENUM: value when absent */
    const char *def_text;   /* TEXT: when absent; NULL: "" */
    const struct wire_name *names;
    const struct wire_table *table;
};

struct wire_table {
    const char *name;
    const struct wire_field *fields;
    uint32_t n_fields;
    uint32_t size;          /* of the struct */
    uint32_t version;       /* of a stored form: printed first as "v", required; 0: has none */
    size_t max_bytes;       /* of a whole document; 0: WIRE_DOC_MAX */
    bool lenient;           /* others write these documents: unknown keys are skipped, and null
                               is as good as absent */
    int (*finish)(void *obj, struct err *err); /* what one field alone cannot tell, or NULL */
};

#define WIRE_DOC_MAX ((size_t)4 << 20)

/* Sets every field to its default (texts "", owned parts NULL). */
void wire_init(const struct wire_table *t, void *obj);
/* Fills obj, which owns the heap parts: wire_free.  What obj held before is
 * overwritten, not freed.  Errors: ERR_INVALID with err->field = "roles[1].cpu_milli"
 * and a sentence with what was expected and the nearest known field; ERR_LIMIT when the
 * document is too long.  obj is untouched then. */
int wire_parse(const struct wire_table *t, struct str json, void *obj, struct err *err);
/* The same for what people send: WIRE_READ_ONLY fields are refused. */
int wire_parse_input(const struct wire_table *t, struct str json, void *obj, struct err *err);
/* The same from YAML, a strict subset: no anchors, aliases, tags, second documents, merge or
 * doubled keys; true and false are the only booleans.  err->text starts "FILE:LINE:COLUMN: ". */
int wire_parse_yaml(const struct wire_table *t, struct str text, const char *file, void *obj,
                    struct err *err);
/* Appends compact JSON.  Look at out->full at the end. */
void wire_print(const struct wire_table *t, const void *obj, struct strbuf *out);
/* The same with secrets hidden: for logs and for people. */
void wire_print_public(const struct wire_table *t, const void *obj, struct strbuf *out);
/* A JSON Schema of the object, for the API's description. */
void wire_schema(const struct wire_table *t, struct strbuf *out);
void wire_free(const struct wire_table *t, void *obj);
/* A deep copy: dst owns its parts; what dst held before is overwritten, not freed. */
void wire_copy(const struct wire_table *t, const void *src, void *dst);
bool wire_equal(const struct wire_table *t, const void *a, const void *b);

const char *wire_name_of(const struct wire_name *names, int32_t value); /* NULL: none */
bool wire_name_find(const struct wire_name *names, struct str text, int32_t *ret);

void wire_texts_add(struct wire_texts *t, struct str s); /* keeps v[n] NULL */
void wire_texts_free(struct wire_texts *t);
void wire_map_add(struct wire_map *m, struct str name, struct str value); /* no look for doubles */
const char *wire_map_get(const struct wire_map *m, struct str name);      /* NULL: absent */
void wire_map_free(struct wire_map *m);

/* ---- tables are written with these; a member of the wrong type does not compile ---- */
#define WIRE_ZERO_IF_(cond, text) \
    ((uint32_t)(0 * sizeof(struct { _Static_assert(cond, text); char c; })))
#define WIRE_MEMBER_(st, m) (((st *)0)->m)
#define WIRE_IS_(st, m, type) __builtin_types_compatible_p(__typeof__(WIRE_MEMBER_(st, m)), type)
#define WIRE_F_(kind, st, m, nm, cond, text, ...) \
    {.name = (nm), .type = (kind), .size = (uint32_t)sizeof(WIRE_MEMBER_(st, m)), \
     .offset = (uint32_t)offsetof(st, m) + WIRE_ZERO_IF_(cond, text), __VA_ARGS__}

#define WIRE_F_BOOL(st, m, nm, ...) \
    WIRE_F_(WIRE_BOOL, st, m, nm, WIRE_IS_(st, m, bool), "not a bool", __VA_ARGS__)
#define WIRE_F_I32(st, m, nm, ...) \
    WIRE_F_(WIRE_I32, st, m, nm, WIRE_IS_(st, m, int32_t), "not an int32_t", __VA_ARGS__)
#define WIRE_F_U32(st, m, nm, ...) \
    WIRE_F_(WIRE_U32, st, m, nm, WIRE_IS_(st, m, uint32_t), "not a uint32_t", __VA_ARGS__)
#define WIRE_F_I64(st, m, nm, ...) \
    WIRE_F_(WIRE_I64, st, m, nm, WIRE_IS_(st, m, int64_t), "not an int64_t", __VA_ARGS__)
#define WIRE_F_U64(st, m, nm, ...) \
    WIRE_F_(WIRE_U64, st, m, nm, WIRE_IS_(st, m, uint64_t), "not a uint64_t", __VA_ARGS__)
#define WIRE_F_ENUM(st, m, nm, enum_names, ...) \
    WIRE_F_(WIRE_ENUM, st, m, nm, sizeof(WIRE_MEMBER_(st, m)) == 4, "not an enum", \
            .names = (enum_names), __VA_ARGS__)
#define WIRE_F_TEXT(st, m, nm, ...) \
    WIRE_F_(WIRE_TEXT, st, m, nm, WIRE_IS_(st, m, char[sizeof(WIRE_MEMBER_(st, m))]), \
            "not a char array", __VA_ARGS__)
#define WIRE_F_STRING(st, m, nm, most, ...) \
    WIRE_F_(WIRE_STRING, st, m, nm, WIRE_IS_(st, m, char *), "not a char *", .max = (most), \
            __VA_ARGS__)
#define WIRE_F_RAW(st, m, nm, most, ...) \
    WIRE_F_(WIRE_RAW, st, m, nm, WIRE_IS_(st, m, char *), "not a char *", .max = (most), \
            __VA_ARGS__)
#define WIRE_F_OBJECT(st, m, nm, sub, ...) \
    WIRE_F_(WIRE_OBJECT, st, m, nm, 1, "", .table = (sub), __VA_ARGS__)
#define WIRE_F_ARRAY(st, m, count, nm, sub, ...) \
    WIRE_F_(WIRE_ARRAY, st, m, nm, WIRE_IS_(st, count, uint32_t), "count is not a uint32_t", \
            .count_offset = (uint32_t)offsetof(st, count), .table = (sub), __VA_ARGS__)
#define WIRE_F_LIST(st, m, nm, sub, most, ...) \
    WIRE_F_(WIRE_LIST, st, m, nm, sizeof(WIRE_MEMBER_(st, m)) == sizeof(struct wire_vec), \
            "not a VEC", .table = (sub), .max = (most), __VA_ARGS__)
#define WIRE_F_TEXTS(st, m, nm, most, most_bytes, ...) \
    WIRE_F_(WIRE_TEXTS, st, m, nm, WIRE_IS_(st, m, struct wire_texts), "not wire_texts", \
            .max = (most), .max_bytes = (most_bytes), __VA_ARGS__)
#define WIRE_F_MAP(st, m, nm, most, most_bytes, ...) \
    WIRE_F_(WIRE_MAP, st, m, nm, WIRE_IS_(st, m, struct wire_map), "not a wire_map", \
            .max = (most), .max_bytes = (most_bytes), __VA_ARGS__)
#define WIRE_TABLE(nm, st, list, ...) \
    {.name = (nm), .fields = (list), .n_fields = (uint32_t)ARRAY_LEN(list), \
     .size = (uint32_t)sizeof(st), __VA_ARGS__}

struct wire_vec { void *v; uint32_t n, cap; }; /* what every VEC looks like */

#endif
