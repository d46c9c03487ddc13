/* wire/decode.c - a jansson tree into an object, by its table.
 *
 * The object is built beside the caller's and moved over when it is whole.  The
 * way to the value at hand ("roles[1].count") is a chain of crumbs on the stack,
 * written out only when something is wrong.  Whatever stands in the tree came
 * from outside. */
#include "wire/decode.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/fmt.h"
#include "wire/member.h"
#include "wire/nearest.h"

#define SHOWN_MAX 40 /* bytes of a foreign value that an error repeats */

struct crumb {
    const struct crumb *up;
    const char *key; /* NULL: an index */
    size_t index;
};

struct decoder {
    const struct decode_marks *marks; /* NULL: JSON */
    bool input;
    struct err *err;
    const struct crumb *at; /* NULL: the root */
};

/* One value and what the table says of it. */
struct place { const struct wire_field *f; json_t *v; bool alias; };

/* ---- saying what is wrong, and where ---- */

static const struct decode_mark *mark_of(const struct decoder *d, const json_t *v)
{
    if (!d->marks || !v) return NULL;
    uint32_t at = map_u64_get(&d->marks->by_value, (uint64_t)(uintptr_t)v);
    return at == MAP_NONE ? NULL : &d->marks->v.v[at];
}

/* Steps down; the caller owns the crumb and steps back up with leave(). */
static void enter(struct decoder *d, struct crumb *c, const char *key, size_t index)
{
    *c = (struct crumb){d->at, key, index};
    d->at = c;
}

static void leave(struct decoder *d)
{
    CHECK(d->at != NULL);
    d->at = d->at->up;
}

static void put_path(struct strbuf *b, const struct crumb *c)
{
    if (!c) return;
    put_path(b, c->up);
    if (!c->key) {
        strbuf_fmt(b, "[%zu]", c->index);
        return;
    }
    if (b->n) strbuf_putc(b, '.');
    for (const char *p = c->key; *p && p < c->key + SHOWN_MAX; p++) { /* may be foreign */
        strbuf_putc(b, (unsigned char)*p < ' ' || *p == '"' ? '?' : *p);
    }
}

static int fail_at(struct decoder *d, const struct decode_mark *mark, bool key, const char *text)
{
    char where[128] = "";
    if (mark) {
        text_fmt(where, sizeof(where), "%s:%u:%u: ", d->marks->file,
                 key ? mark->key_line : mark->line, key ? mark->key_col : mark->col);
    }
    AUTO_STRBUF struct strbuf path;
    strbuf_init(&path, ERR_TEXT_MAX);
    put_path(&path, d->at);
    err_set(d->err, ERR_INVALID, "%s%s%s%s", where, path.p, path.n ? ": " : "", text);
    err_field(d->err, path.p);
    return ERR_INVALID;
}

static int fail(struct decoder *d, const json_t *v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct decoder *d, const json_t *v, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    CHECK(n >= 0);
    return fail_at(d, mark_of(d, v), false, text);
}

/* A short form of a foreign value for an error; secrets are not repeated. */
static const char *shown(const struct wire_field *f, const json_t *v, char ret[SHOWN_MAX + 8])
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",   [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a fraction", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    text_fmt(ret, SHOWN_MAX + 8, "%s", kinds[json_typeof(v)]);
    if (f->flags & WIRE_SECRET) return ret;
    if (json_is_integer(v)) text_fmt(ret, SHOWN_MAX + 8, "%lld", (long long)json_integer_value(v));
    if (!json_is_string(v)) return ret;
    char clipped[SHOWN_MAX];
    TEXT_CLIP(clipped, str_n(json_string_value(v), json_string_length(v)));
    for (char *c = clipped; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == '"') *c = '?';
    }
    text_fmt(ret, SHOWN_MAX + 8, "\"%s\"%s", clipped,
             json_string_length(v) >= SHOWN_MAX ? "..." : "");
    return ret;
}

static int wrong(struct decoder *d, const struct place *at, const char *expected)
{
    char got[SHOWN_MAX + 8];
    return fail(d, at->v, "expected %s, got %s", expected, shown(at->f, at->v, got));
}

/* ---- texts and numbers ---- */

static struct str text_of(const json_t *v)
{
    return str_n(json_string_value(v), json_string_length(v));
}

static bool is_plain(const struct decoder *d, const json_t *v)
{
    const struct decode_mark *mark = mark_of(d, v);
    return mark && mark->plain;
}

static int get_text(struct decoder *d, const struct place *at, struct str *ret)
{
    if (!json_is_string(at->v)) return wrong(d, at, "a text");
    struct str s = text_of(at->v);
    bool nothing = s.n == 0 || str_eq(s, STR("~")) || str_eq(s, STR("null"));
    if (nothing && is_plain(d, at->v)) return fail(d, at->v, "expected a text, got nothing");
    if (!str_is_utf8(s)) return fail(d, at->v, "expected UTF-8 text without zero bytes");
    *ret = s;
    return 0;
}

static const char *quantity_hint(const struct wire_field *f)
{
    if (f->flags & WIRE_CPU) return "an amount of CPU like \"0.5\" or \"500m\"";
    if (f->flags & WIRE_BYTES) return "an amount of memory like \"512M\" or \"2G\"";
    return "a duration like \"90s\" or \"1h30m\"";
}

static bool parse_quantity(const struct wire_field *f, struct str s, int64_t *ret)
{
    if (f->flags & WIRE_CPU) return fmt_parse_cpu(s, ret);
    if (f->flags & WIRE_BYTES) return fmt_parse_bytes(s, ret);
    return fmt_parse_duration(s, ret);
}

/* Under its own name a bare number is in the field's unit; a text, and a number
 * under the alias, is what people mean by it. */
static int get_quantity(struct decoder *d, const struct place *at, int64_t *ret)
{
    if (json_is_integer(at->v)) {
        int64_t v = json_integer_value(at->v);
        if (!at->alias) {
            *ret = v;
            return 0;
        }
        char digits[24];
        text_fmt(digits, sizeof(digits), "%lld", (long long)v);
        if (parse_quantity(at->f, str_of(digits), ret)) return 0;
    } else if (json_is_string(at->v)) {
        struct str s = text_of(at->v);
        if (!at->alias && is_plain(d, at->v) && str_to_i64(s, ret)) return 0;
        if (parse_quantity(at->f, s, ret)) return 0;
    }
    return wrong(d, at, quantity_hint(at->f));
}

static int get_number(struct decoder *d, const struct place *at, int64_t *ret)
{
    if (json_is_integer(at->v)) {
        *ret = json_integer_value(at->v);
        return 0;
    }
    if (is_plain(d, at->v) && str_to_i64(text_of(at->v), ret)) return 0;
    return wrong(d, at, "a whole number");
}

static int decode_number(struct decoder *d, const struct place *at, void *m)
{
    int64_t v = 0, min = 0, max = 0;
    int rc = member_is_quantity(at->f) ? get_quantity(d, at, &v) : get_number(d, at, &v);
    if (rc) return rc;
    member_range(at->f, &min, &max);
    if (v < min || v > max) {
        return fail(d, at->v, "expected %lld to %lld, got %lld", (long long)min, (long long)max,
                    (long long)v);
    }
    member_set(at->f, m, v);
    return 0;
}

static int decode_bool(struct decoder *d, const struct place *at, void *m)
{
    bool plain = is_plain(d, at->v);
    bool yes = json_is_true(at->v) || (plain && str_eq(text_of(at->v), STR("true")));
    bool no = json_is_false(at->v) || (plain && str_eq(text_of(at->v), STR("false")));
    if (!yes && !no) return wrong(d, at, "true or false");
    *(bool *)m = yes;
    return 0;
}

static int decode_enum(struct decoder *d, const struct place *at, void *m)
{
    struct str s = {0};
    int32_t value = 0;
    int rc = get_text(d, at, &s);
    if (rc) return rc;
    if (wire_name_find(at->f->names, s, &value)) {
        member_set(at->f, m, value);
        return 0;
    }
    char all[ERR_TEXT_MAX / 2] = "", longer[ERR_TEXT_MAX];
    for (const struct wire_name *n = at->f->names; n->name; n++) {
        if (!n->name[0]) continue;
        text_fmt(longer, sizeof(longer), "%s%s%s", all, all[0] ? ", " : "", n->name);
        TEXT_CLIP(all, str_of(longer));
    }
    text_fmt(longer, sizeof(longer), "one of %s", all);
    return wrong(d, at, longer);
}

static int decode_text(struct decoder *d, const struct place *at, char *m)
{
    struct str s = {0};
    int rc = get_text(d, at, &s);
    if (rc) return rc;
    if (s.n >= at->f->size) {
        return fail(d, at->v, "expected at most %u bytes, got %zu", at->f->size - 1, s.n);
    }
    if ((int64_t)s.n < at->f->min) {
        return fail(d, at->v, "expected at least %lld bytes, got %zu", (long long)at->f->min, s.n);
    }
    if ((at->f->flags & WIRE_NAME) && s.n && !str_is_name(s, at->f->size - 1)) {
        return wrong(d, at, "a name of a-z, 0-9, '.', '_' and '-'");
    }
    bool fits = text_set(m, at->f->size, s);
    CHECK(fits);
    return 0;
}

static int decode_string(struct decoder *d, const struct place *at, char **m)
{
    struct str s = {0};
    int rc = get_text(d, at, &s);
    if (rc) return rc;
    if ((int64_t)s.n > at->f->max) {
        return fail(d, at->v, "expected at most %lld bytes, got %zu", (long long)at->f->max, s.n);
    }
    *m = mem_strndup(s.p, s.n);
    return 0;
}

static int decode_raw(struct decoder *d, const struct place *at, char **m)
{
    if (d->marks) return fail(d, at->v, "cannot be given in YAML");
    if (!json_is_object(at->v)) return wrong(d, at, "an object");
    char *text = json_dumps(at->v, JSON_COMPACT);
    if (!text) return fail(d, at->v, "is nested too deep");
    size_t n = strlen(text);
    int rc = 0;
    if ((int64_t)n > at->f->max) {
        rc = fail(d, at->v, "expected at most %lld bytes, got %zu", (long long)at->f->max, n);
    } else {
        *m = mem_strndup(text, n);
    }
    free(text);
    return rc;
}

/* ---- collections ---- */

static int check_count(struct decoder *d, const struct place *at, size_t n, int64_t max)
{
    if ((int64_t)n < at->f->min || (int64_t)n > max) {
        return fail(d, at->v, "expected %lld to %lld items, got %zu", (long long)at->f->min,
                    (long long)max, n);
    }
    return 0;
}

static int check_bytes(struct decoder *d, const struct place *at, size_t n)
{
    if (n <= at->f->max_bytes) return 0;
    return fail(d, at->v, "expected at most %u bytes in all", at->f->max_bytes);
}

/* An item of WIRE_DIGITS, into `digits`. */
static int get_digits(struct decoder *d, const struct place *at, char digits[24], struct str *ret)
{
    int64_t v = 0;
    int rc = get_number(d, at, &v);
    if (rc) return rc;
    if (v < 0) return wrong(d, at, "a whole number from 0");
    text_fmt(digits, 24, "%lld", (long long)v);
    *ret = str_of(digits);
    return 0;
}

static int decode_texts(struct decoder *d, const struct place *at, struct wire_texts *m)
{
    bool numbers = (at->f->flags & WIRE_DIGITS) != 0;
    char digits[24];
    if (!json_is_array(at->v)) {
        return wrong(d, at, numbers ? "a list of numbers" : "a list of texts");
    }
    size_t n = json_array_size(at->v), bytes = 0;
    int rc = check_count(d, at, n, at->f->max);
    for (size_t i = 0; i < n && !rc; i++) {
        struct place item = {at->f, json_array_get(at->v, i), false};
        struct str s = {0};
        struct crumb c;
        enter(d, &c, NULL, i);
        rc = numbers ? get_digits(d, &item, digits, &s) : get_text(d, &item, &s);
        leave(d);
        if (rc) break;
        bytes += s.n;
        rc = check_bytes(d, at, bytes);
        if (!rc) wire_texts_add(m, s);
    }
    return rc;
}

static bool is_env_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return s.n > 0;
}

static int decode_map(struct decoder *d, const struct place *at, struct wire_map *m)
{
    if (!json_is_object(at->v)) return wrong(d, at, "an object of texts");
    int rc = check_count(d, at, json_object_size(at->v), at->f->max);
    size_t bytes = 0;
    const char *key;
    json_t *v;
    json_object_foreach(at->v, key, v) {
        if (rc) return rc;
        struct place item = {at->f, v, false};
        struct str s = {0};
        struct crumb c;
        enter(d, &c, key, 0);
        bool bad = at->f->flags & WIRE_ENV ? !is_env_name(str_of(key)) : !key[0];
        if (bad) rc = fail_at(d, mark_of(d, v), true, "is not a possible name here");
        else rc = get_text(d, &item, &s);
        leave(d);
        if (rc) return rc;
        bytes += strlen(key) + s.n;
        rc = check_bytes(d, at, bytes);
        if (!rc) wire_map_add(m, str_of(key), s);
    }
    return rc;
}

static int decode_object(struct decoder *d, const struct wire_table *t, json_t *v, void *obj);

static int decode_items(struct decoder *d, const struct place *at, void *obj)
{
    const struct wire_table *t = at->f->table;
    bool fixed = at->f->type == WIRE_ARRAY;
    if (!json_is_array(at->v)) return wrong(d, at, "a list");
    size_t n = json_array_size(at->v);
    int rc = check_count(d, at, n, fixed ? at->f->size / t->size : at->f->max);
    if (rc) return rc;
    char *items = member_of(at->f, obj);
    uint32_t *count = (void *)((char *)obj + at->f->count_offset);
    if (!fixed) {
        struct wire_vec *vec = (void *)items;
        vec->v = items = n ? mem_array(n, t->size) : NULL;
        vec->cap = (uint32_t)n;
        count = &vec->n;
    }
    *count = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        struct crumb c;
        enter(d, &c, NULL, i);
        char *item = items + i * t->size;
        wire_init(t, item);
        ++*count; /* from here on wire_free reaches it */
        rc = decode_object(d, t, json_array_get(at->v, i), item);
        leave(d);
    }
    return rc;
}

static int decode_member(struct decoder *d, const struct place *at, void *obj)
{
    void *m = member_of(at->f, obj);
    switch (at->f->type) {
    case WIRE_BOOL: return decode_bool(d, at, m);
    case WIRE_I32:
    case WIRE_U32:
    case WIRE_I64:
    case WIRE_U64: return decode_number(d, at, m);
    case WIRE_ENUM: return decode_enum(d, at, m);
    case WIRE_TEXT: return decode_text(d, at, m);
    case WIRE_STRING: return decode_string(d, at, m);
    case WIRE_RAW: return decode_raw(d, at, m);
    case WIRE_OBJECT: return decode_object(d, at->f->table, at->v, m);
    case WIRE_ARRAY:
    case WIRE_LIST: return decode_items(d, at, obj);
    case WIRE_TEXTS: return decode_texts(d, at, m);
    case WIRE_MAP: return decode_map(d, at, m);
    }
    UNREACHABLE();
}

/* ---- objects ---- */

static int unknown_key(struct decoder *d, const struct wire_table *t, const char *key,
                       const json_t *v)
{
    char text[ERR_TEXT_MAX], printable[SHOWN_MAX];
    struct nearest near = nearest_to(str_of(key));
    for (uint32_t i = 0; i < t->n_fields; i++) {
        nearest_offer(&near, t->fields[i].name);
        if (t->fields[i].alias) nearest_offer(&near, t->fields[i].alias);
    }
    TEXT_CLIP(printable, str_of(key));
    for (char *c = printable; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == '"') *c = '?';
    }
    const char *best = nearest_best(&near);
    text_fmt(text, sizeof(text), "unknown field \"%s\"%s%s%s", printable,
             best ? "; did you mean \"" : "", best ? best : "", best ? "\"?" : "");
    int rc = fail_at(d, mark_of(d, v), true, text);
    if (!d->err) return rc;
    AUTO_STRBUF struct strbuf path; /* the field at fault is the unknown one itself */
    struct crumb c;
    strbuf_init(&path, ERR_TEXT_MAX);
    enter(d, &c, key, 0);
    put_path(&path, d->at);
    leave(d);
    TEXT_CLIP(d->err->field, strbuf_str(&path));
    return rc;
}

static const struct wire_field *find_field(const struct wire_table *t, const char *key,
                                           bool *ret_alias)
{
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const struct wire_field *f = &t->fields[i];
        bool alias = f->alias && strcmp(key, f->alias) == 0;
        if (!alias && strcmp(key, f->name) != 0) continue;
        *ret_alias = alias;
        return f;
    }
    return NULL;
}

static int decode_key(struct decoder *d, const struct wire_table *t, const char *key, json_t *v,
                      void *obj, uint64_t *seen)
{
    struct place at = {.v = v};
    at.f = find_field(t, key, &at.alias);
    if (t->lenient && (!at.f || json_is_null(v))) return 0;
    if (!at.f) return unknown_key(d, t, key, v);
    uint64_t bit = UINT64_C(1) << (at.f - t->fields);
    struct crumb c;
    enter(d, &c, key, 0);
    int rc = 0;
    if (*seen & bit) rc = fail(d, v, "is given twice (as %s and %s)", at.f->name, at.f->alias);
    else if (d->input && (at.f->flags & WIRE_READ_ONLY)) rc = fail(d, v, "cannot be set");
    else rc = decode_member(d, &at, obj);
    *seen |= bit;
    leave(d);
    return rc;
}

static int decode_version(struct decoder *d, const struct wire_table *t, const json_t *object)
{
    const json_t *v = json_object_get(object, "v");
    if (!json_is_integer(v)) return fail(d, object, "the version \"v\" is missing");
    if (json_integer_value(v) == t->version) return 0;
    return err_set(d->err, ERR_UNSUPPORTED, "%s of version %lld; this program reads version %u",
                   t->name, (long long)json_integer_value(v), t->version);
}

static int check_required(struct decoder *d, const struct wire_table *t, const json_t *v,
                          uint64_t seen)
{
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const struct wire_field *f = &t->fields[i];
        if (!(f->flags & WIRE_REQUIRED) || (seen & (UINT64_C(1) << i))) continue;
        struct crumb c;
        enter(d, &c, f->name, 0);
        int rc = fail(d, v, "is required");
        leave(d);
        return rc;
    }
    return 0;
}

/* What the table's own check says gets the path in front. */
static int finish(struct decoder *d, const struct wire_table *t, const json_t *v, void *obj)
{
    struct err own = {0};
    if (!t->finish || t->finish(obj, &own) == 0) return 0;
    const struct crumb *here = d->at, c = {here, own.field, 0};
    if (own.field[0]) d->at = &c;
    int rc = fail_at(d, mark_of(d, v), false, own.text);
    d->at = here;
    return rc;
}

static int decode_object(struct decoder *d, const struct wire_table *t, json_t *v, void *obj)
{
    CHECK(t->n_fields <= 64);
    if (!json_is_object(v)) return fail(d, v, "expected an object (%s)", t->name);
    uint64_t seen = 0;
    int rc = t->version ? decode_version(d, t, v) : 0;
    const char *key;
    json_t *value;
    json_object_foreach(v, key, value) {
        if (rc) return rc;
        if (t->version && strcmp(key, "v") == 0) continue;
        rc = decode_key(d, t, key, value, obj, &seen);
    }
    if (!rc) rc = check_required(d, t, v, seen);
    if (!rc) rc = finish(d, t, v, obj);
    return rc;
}

int decode(const struct wire_table *t, json_t *root, const struct decode_marks *marks, bool input,
           void *obj, struct err *err)
{
    struct decoder d = {.marks = marks, .input = input, .err = err};
    AUTO_FREE void *built = mem_alloc(t->size);
    wire_init(t, built);
    int rc = decode_object(&d, t, root, built);
    if (rc) {
        wire_free(t, built);
        return rc;
    }
    memcpy(obj, built, t->size);
    return 0;
}
