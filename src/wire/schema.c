/* wire/schema.c - a table as JSON Schema (2020-12), for the description of the API. */
#include "base/check.h"
#include "wire/member.h"

static void print_schema(const struct wire_table *t, struct strbuf *out);

static void put_number(struct strbuf *out, const char *key, int64_t v)
{
    strbuf_fmt(out, ",\"%s\":%lld", key, (long long)v);
}

static void put_integer(const struct wire_field *f, struct strbuf *out)
{
    int64_t min = 0, max = 0;
    member_range(f, &min, &max);
    strbuf_put(out, member_is_quantity(f) ? STR("\"type\":[\"integer\",\"string\"]")
                                          : STR("\"type\":\"integer\""));
    if (min > INT64_MIN) put_number(out, "minimum", min);
    if (max < INT64_MAX) put_number(out, "maximum", max);
    if (f->def >= min && f->def <= max) put_number(out, "default", f->def);
}

/* Under the alias a number has no unit of its own, so no bounds either. */
static void put_alias(const struct wire_field *f, struct strbuf *out)
{
    strbuf_json(out, str_of(f->alias));
    strbuf_put(out, STR(":{\"type\":[\"integer\",\"string\"],\"description\":"));
    strbuf_fmt(out, "\"Instead of %s, as people write it.\"}", f->name);
}

static void put_enum(const struct wire_field *f, struct strbuf *out)
{
    strbuf_put(out, STR("\"enum\":["));
    for (const struct wire_name *n = f->names; n->name; n++) {
        if (n != f->names) strbuf_putc(out, ',');
        strbuf_json(out, str_of(n->name));
    }
    strbuf_putc(out, ']');
}

static void put_list(const struct wire_field *f, struct strbuf *out)
{
    bool fixed = f->type == WIRE_ARRAY;
    strbuf_put(out, STR("\"type\":\"array\",\"items\":"));
    if (f->flags & WIRE_DIGITS) strbuf_put(out, STR("{\"type\":\"integer\"}"));
    else if (f->type == WIRE_TEXTS) strbuf_put(out, STR("{\"type\":\"string\"}"));
    else print_schema(f->table, out);
    if (f->min > 0) put_number(out, "minItems", f->min);
    put_number(out, "maxItems", fixed ? f->size / f->table->size : f->max);
}

static void put_type(const struct wire_field *f, struct strbuf *out)
{
    switch (f->type) {
    case WIRE_BOOL:
        strbuf_fmt(out, "\"type\":\"boolean\",\"default\":%s", f->def ? "true" : "false");
        return;
    case WIRE_I32:
    case WIRE_U32:
    case WIRE_I64:
    case WIRE_U64: put_integer(f, out); return;
    case WIRE_ENUM: put_enum(f, out); return;
    case WIRE_TEXT:
    case WIRE_STRING:
        strbuf_put(out, STR("\"type\":\"string\""));
        put_number(out, "maxLength", f->type == WIRE_TEXT ? (int64_t)f->size - 1 : f->max);
        return;
    case WIRE_OBJECT:
        strbuf_put(out, STR("\"allOf\":["));
        print_schema(f->table, out);
        strbuf_putc(out, ']');
        return;
    case WIRE_ARRAY:
    case WIRE_LIST:
    case WIRE_TEXTS: put_list(f, out); return;
    case WIRE_MAP:
        strbuf_put(out, STR("\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}"));
        put_number(out, "maxProperties", f->max);
        return;
    case WIRE_RAW: strbuf_put(out, STR("\"type\":\"object\"")); return;
    }
    UNREACHABLE();
}

static void put_required(const struct wire_table *t, struct strbuf *out)
{
    bool first = true;
    for (uint32_t i = 0; i < t->n_fields; i++) {
        if (!(t->fields[i].flags & WIRE_REQUIRED)) continue;
        strbuf_put(out, first ? STR(",\"required\":[") : STR(","));
        strbuf_json(out, str_of(t->fields[i].name));
        first = false;
    }
    if (!first) strbuf_putc(out, ']');
}

static void put_property(const struct wire_field *f, struct strbuf *out)
{
    strbuf_json(out, str_of(f->name));
    strbuf_put(out, STR(":{"));
    put_type(f, out);
    if (f->doc) {
        strbuf_put(out, STR(",\"description\":"));
        strbuf_json(out, str_of(f->doc));
    }
    if (f->flags & WIRE_READ_ONLY) strbuf_put(out, STR(",\"readOnly\":true"));
    strbuf_putc(out, '}');
}

static void print_schema(const struct wire_table *t, struct strbuf *out)
{
    strbuf_put(out, STR("{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"));
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const struct wire_field *f = &t->fields[i];
        if (i) strbuf_putc(out, ',');
        put_property(f, out);
        if (!f->alias) continue;
        strbuf_putc(out, ',');
        put_alias(f, out);
    }
    strbuf_putc(out, '}');
    put_required(t, out);
    strbuf_putc(out, '}');
}

void wire_schema(const struct wire_table *t, struct strbuf *out) { print_schema(t, out); }
