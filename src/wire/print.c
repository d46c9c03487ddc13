/* wire/print.c - an object as compact JSON, straight into the buffer.
 *
 * Fields come in the table's order.  Values are our own: one that its table does
 * not allow is a bug. */
#include "base/check.h"
#include "wire/member.h"

struct printer { struct strbuf *out; bool hide; };

static void print_object(struct printer *p, const struct wire_table *t, const void *obj);

static void print_number(struct printer *p, const struct wire_field *f, const void *m)
{
    int64_t v = member_get(f, m);
    if (f->type == WIRE_BOOL) {
        strbuf_put(p->out, v ? STR("true") : STR("false"));
    } else if (f->type == WIRE_ENUM) {
        const char *name = wire_name_of(f->names, (int32_t)v);
        CHECK(name != NULL);
        strbuf_json(p->out, str_of(name));
    } else {
        strbuf_i64(p->out, v);
    }
}

static void print_texts(struct printer *p, const struct wire_texts *t, bool digits)
{
    strbuf_putc(p->out, '[');
    for (uint32_t i = 0; i < t->n; i++) {
        if (i) strbuf_putc(p->out, ',');
        if (digits) strbuf_puts(p->out, t->v[i]);
        else strbuf_json(p->out, str_of(t->v[i]));
    }
    strbuf_putc(p->out, ']');
}

static void print_map(struct printer *p, const struct wire_map *m)
{
    strbuf_putc(p->out, '{');
    for (uint32_t i = 0; i < m->n; i++) {
        if (i) strbuf_putc(p->out, ',');
        strbuf_json(p->out, str_of(m->v[i].name));
        strbuf_putc(p->out, ':');
        strbuf_json(p->out, str_of(m->v[i].value));
    }
    strbuf_putc(p->out, '}');
}

static void print_items(struct printer *p, const struct wire_field *f, const void *obj)
{
    struct member_items items = member_items(f, obj);
    strbuf_putc(p->out, '[');
    for (uint32_t i = 0; i < items.n; i++) {
        if (i) strbuf_putc(p->out, ',');
        print_object(p, f->table, items.v + (size_t)i * f->table->size);
    }
    strbuf_putc(p->out, ']');
}

static void print_value(struct printer *p, const struct wire_field *f, const void *obj)
{
    const void *m = (const char *)obj + f->offset;
    if (p->hide && (f->flags & WIRE_SECRET)) {
        strbuf_put(p->out, STR("\"***\""));
        return;
    }
    switch (f->type) {
    case WIRE_BOOL:
    case WIRE_ENUM:
    case WIRE_I32:
    case WIRE_U32:
    case WIRE_I64:
    case WIRE_U64: print_number(p, f, m); return;
    case WIRE_TEXT: strbuf_json(p->out, str_n(m, strnlen(m, f->size))); return;
    case WIRE_STRING: strbuf_json(p->out, str_of(*(char *const *)m)); return;
    case WIRE_RAW: strbuf_puts(p->out, *(char *const *)m); return;
    case WIRE_OBJECT: print_object(p, f->table, m); return;
    case WIRE_ARRAY:
    case WIRE_LIST: print_items(p, f, obj); return;
    case WIRE_TEXTS: print_texts(p, m, (f->flags & WIRE_DIGITS) != 0); return;
    case WIRE_MAP: print_map(p, m); return;
    }
    UNREACHABLE();
}

static bool left_out(const struct wire_field *f, const void *obj)
{
    if (f->type == WIRE_STRING || f->type == WIRE_RAW) return member_default(f, obj);
    return (f->flags & WIRE_OMIT) && member_default(f, obj);
}

static void print_object(struct printer *p, const struct wire_table *t, const void *obj)
{
    strbuf_putc(p->out, '{');
    bool first = true;
    if (t->version) {
        strbuf_put(p->out, STR("\"v\":"));
        strbuf_u64(p->out, t->version);
        first = false;
    }
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const struct wire_field *f = &t->fields[i];
        if (left_out(f, obj)) continue;
        if (!first) strbuf_putc(p->out, ',');
        first = false;
        strbuf_putc(p->out, '"'); /* names of fields need no escapes */
        strbuf_puts(p->out, f->name);
        strbuf_put(p->out, STR("\":"));
        print_value(p, f, obj);
    }
    strbuf_putc(p->out, '}');
}

void wire_print(const struct wire_table *t, const void *obj, struct strbuf *out)
{
    struct printer p = {.out = out};
    print_object(&p, t, obj);
}

void wire_print_public(const struct wire_table *t, const void *obj, struct strbuf *out)
{
    struct printer p = {.out = out, .hide = true};
    print_object(&p, t, obj);
}
