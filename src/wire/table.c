/* wire/table.c - what every table can do without a document: defaults, copies, freeing.
 *
 * A member is reached by its offset alone; the macros of table.h have proved its
 * type when the table was compiled. */
#include "wire/table.h"

#include "base/check.h"
#include "wire/member.h"

void wire_init(const struct wire_table *t, void *obj)
{
    memset(obj, 0, t->size);
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const struct wire_field *f = &t->fields[i];
        void *m = member_of(f, obj);
        if (member_is_number(f)) member_set(f, m, f->def);
        else if (f->type == WIRE_OBJECT) wire_init(f->table, m);
        else if (f->type == WIRE_TEXT && f->def_text) {
            bool fits = text_set(m, f->size, str_of(f->def_text));
            CHECK(fits);
        }
    }
}

int64_t member_get(const struct wire_field *f, const void *m)
{
    switch (f->type) {
    case WIRE_BOOL: return *(const bool *)m;
    case WIRE_ENUM:
    case WIRE_I32: return *(const int32_t *)m;
    case WIRE_U32: return *(const uint32_t *)m;
    case WIRE_I64: {
        int64_t v;
        memcpy(&v, m, sizeof(v)); /* of a packed struct: perhaps not aligned */
        return v;
    }
    case WIRE_U64: {
        uint64_t v;
        memcpy(&v, m, sizeof(v));
        CHECK(v <= INT64_MAX);
        return (int64_t)v;
    }
    case WIRE_TEXT:
    case WIRE_STRING:
    case WIRE_OBJECT:
    case WIRE_ARRAY:
    case WIRE_LIST:
    case WIRE_TEXTS:
    case WIRE_MAP:
    case WIRE_RAW: break;
    }
    UNREACHABLE();
}

void member_set(const struct wire_field *f, void *m, int64_t v)
{
    switch (f->type) {
    case WIRE_BOOL: *(bool *)m = v != 0; return;
    case WIRE_ENUM:
    case WIRE_I32: *(int32_t *)m = (int32_t)v; return;
    case WIRE_U32: *(uint32_t *)m = (uint32_t)v; return;
    case WIRE_I64:
    case WIRE_U64: memcpy(m, &v, sizeof(v)); return;
    case WIRE_TEXT:
    case WIRE_STRING:
    case WIRE_OBJECT:
    case WIRE_ARRAY:
    case WIRE_LIST:
    case WIRE_TEXTS:
    case WIRE_MAP:
    case WIRE_RAW: break;
    }
    UNREACHABLE();
}

void member_range(const struct wire_field *f, int64_t *ret_min, int64_t *ret_max)
{
    int64_t min = f->min, max = f->max;
    if (min == 0 && max == 0) {
        min = f->type == WIRE_I32 ? INT32_MIN : f->type == WIRE_I64 ? INT64_MIN : 0;
        max = f->type == WIRE_I32   ? INT32_MAX
              : f->type == WIRE_U32 ? UINT32_MAX
                                    : INT64_MAX;
    }
    *ret_min = min;
    *ret_max = max;
}

struct member_items member_items(const struct wire_field *f, const void *obj)
{
    CHECK(f->type == WIRE_ARRAY || f->type == WIRE_LIST);
    const char *m = (const char *)obj + f->offset;
    if (f->type == WIRE_LIST) {
        const struct wire_vec *v = (const void *)m;
        return (struct member_items){v->v, v->n};
    }
    uint32_t n = *(const uint32_t *)(const void *)((const char *)obj + f->count_offset);
    CHECK(n <= f->size / f->table->size);
    union { const char *in; char *out; } cast = {.in = m};
    return (struct member_items){cast.out, n};
}

static bool object_default(const struct wire_table *t, const void *obj)
{
    for (uint32_t i = 0; i < t->n_fields; i++) {
        if (!member_default(&t->fields[i], obj)) return false;
    }
    return true;
}

bool member_default(const struct wire_field *f, const void *obj)
{
    const void *m = (const char *)obj + f->offset;
    switch (f->type) {
    case WIRE_BOOL:
    case WIRE_ENUM:
    case WIRE_I32:
    case WIRE_U32:
    case WIRE_I64:
    case WIRE_U64: return member_get(f, m) == f->def;
    case WIRE_TEXT: return str_eq(str_of(m), str_of(f->def_text ? f->def_text : ""));
    case WIRE_STRING:
    case WIRE_RAW: return *(char *const *)m == NULL;
    case WIRE_OBJECT: return object_default(f->table, m);
    case WIRE_ARRAY:
    case WIRE_LIST: return member_items(f, obj).n == 0;
    case WIRE_TEXTS: return ((const struct wire_texts *)m)->n == 0;
    case WIRE_MAP: return ((const struct wire_map *)m)->n == 0;
    }
    UNREACHABLE();
}

static void string_free(const struct wire_field *f, char **s)
{
    if (*s && (f->flags & WIRE_SECRET)) mem_zero_secret(*s, strlen(*s));
    mem_free(*s);
    *s = NULL;
}

static void member_free(const struct wire_field *f, void *obj)
{
    void *m = member_of(f, obj);
    if (f->type == WIRE_STRING || f->type == WIRE_RAW) string_free(f, m);
    else if (f->type == WIRE_OBJECT) wire_free(f->table, m);
    else if (f->type == WIRE_TEXTS) wire_texts_free(m);
    else if (f->type == WIRE_MAP) wire_map_free(m);
    else if (f->type == WIRE_TEXT && (f->flags & WIRE_SECRET)) mem_zero_secret(m, f->size);
    else if (f->type == WIRE_ARRAY || f->type == WIRE_LIST) {
        struct member_items items = member_items(f, obj);
        for (uint32_t i = 0; i < items.n; i++) {
            wire_free(f->table, items.v + (size_t)i * f->table->size);
        }
        if (f->type == WIRE_LIST) {
            mem_free(items.v);
            *(struct wire_vec *)m = (struct wire_vec){0};
        }
    }
}

void wire_free(const struct wire_table *t, void *obj)
{
    if (!obj) return;
    for (uint32_t i = 0; i < t->n_fields; i++) member_free(&t->fields[i], obj);
}

static char *string_copy(const char *s) { return s ? mem_strndup(s, strlen(s)) : NULL; }

/* dst was copied byte for byte: what it owns gets copies of its own. */
static void member_copy(const struct wire_field *f, const void *src, void *dst)
{
    void *m = member_of(f, dst);
    if (f->type == WIRE_STRING || f->type == WIRE_RAW) {
        char **s = m;
        *s = string_copy(*s);
    } else if (f->type == WIRE_OBJECT) {
        wire_copy(f->table, (const char *)src + f->offset, m);
    } else if (f->type == WIRE_TEXTS) {
        struct wire_texts from = *(struct wire_texts *)m, *to = m;
        *to = (struct wire_texts){0};
        for (uint32_t i = 0; i < from.n; i++) wire_texts_add(to, str_of(from.v[i]));
    } else if (f->type == WIRE_MAP) {
        struct wire_map from = *(struct wire_map *)m, *to = m;
        *to = (struct wire_map){0};
        for (uint32_t i = 0; i < from.n; i++) {
            wire_map_add(to, str_of(from.v[i].name), str_of(from.v[i].value));
        }
    } else if (f->type == WIRE_ARRAY || f->type == WIRE_LIST) {
        struct member_items from = member_items(f, src);
        char *to = m;
        if (f->type == WIRE_LIST) {
            to = from.n ? mem_array(from.n, f->table->size) : NULL;
            *(struct wire_vec *)m = (struct wire_vec){to, from.n, from.n};
        }
        for (uint32_t i = 0; i < from.n; i++) {
            size_t at = (size_t)i * f->table->size;
            wire_copy(f->table, from.v + at, to + at);
        }
    }
}

void wire_copy(const struct wire_table *t, const void *src, void *dst)
{
    CHECK(src != dst);
    memcpy(dst, src, t->size);
    for (uint32_t i = 0; i < t->n_fields; i++) member_copy(&t->fields[i], src, dst);
}

bool wire_equal(const struct wire_table *t, const void *a, const void *b)
{
    AUTO_STRBUF struct strbuf x, y;
    strbuf_init(&x, 4 * WIRE_DOC_MAX);
    strbuf_init(&y, 4 * WIRE_DOC_MAX);
    wire_print(t, a, &x);
    wire_print(t, b, &y);
    return !x.full && !y.full && str_eq(strbuf_str(&x), strbuf_str(&y));
}

const char *wire_name_of(const struct wire_name *names, int32_t value)
{
    for (; names->name; names++) {
        if (names->value == value) return names->name;
    }
    return NULL;
}

bool wire_name_find(const struct wire_name *names, struct str text, int32_t *ret)
{
    for (; names->name; names++) {
        if (!str_eq(text, str_of(names->name))) continue;
        *ret = names->value;
        return true;
    }
    return false;
}
