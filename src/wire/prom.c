/* wire/prom.c - see prom.h. */
#include "wire/prom.h"

#include "base/check.h"
#include "base/str.h"

void prom_family(struct strbuf *b, const char *name, const char *type, const char *help)
{
    bool counter = strcmp(type, "counter") == 0;
    CHECK(!counter || str_ends(str_of(name), STR("_total")));
    CHECK(strchr(help, '\n') == NULL && strchr(help, '\\') == NULL);
    strbuf_fmt(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_value(struct strbuf *b, const char *value)
{
    for (const char *p = value; *p; p++) {
        if (*p == '\\') strbuf_puts(b, "\\\\");
        else if (*p == '"') strbuf_puts(b, "\\\"");
        else if (*p == '\n') strbuf_puts(b, "\\n");
        else strbuf_putc(b, *p);
    }
}

static void put_name(struct strbuf *b, const char *name, const struct prom_label *labels)
{
    strbuf_puts(b, name);
    if (!labels || !labels->name) return;
    strbuf_putc(b, '{');
    for (const struct prom_label *l = labels; l->name; l++) {
        strbuf_fmt(b, "%s%s=\"", l > labels ? "," : "", l->name);
        put_value(b, l->value);
        strbuf_putc(b, '"');
    }
    strbuf_putc(b, '}');
}

void prom_put(struct strbuf *b, const char *name, const struct prom_label *labels, int64_t v)
{
    if (v < 0) return;
    put_name(b, name, labels);
    strbuf_fmt(b, " %lld\n", (long long)v);
}

void prom_put_micro(struct strbuf *b, const char *name, const struct prom_label *labels,
                    int64_t v)
{
    if (v < 0) return;
    put_name(b, name, labels);
    strbuf_fmt(b, " %lld.%06lld\n", (long long)(v / 1000000), (long long)(v % 1000000));
}

void prom_one(struct strbuf *b, const char *name, const char *type, const char *help, int64_t v)
{
    prom_family(b, name, type, help);
    prom_put(b, name, NULL, v);
}
