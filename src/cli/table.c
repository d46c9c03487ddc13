/* cli/table.c - columns as wide as their content, cut where the terminal ends.
 *
 * Only columns marked COL_FLEX are cut, the widest first, so that ids, states
 * and numbers always stand whole. */
#include "cli/table.h"

enum { GAP = 2, FLEX_MIN = 8 };

void table_init(struct table *t, const struct table_column *columns)
{
    *t = (struct table){.columns = columns};
    while (columns[t->n_columns].title) t->n_columns++;
    CHECK(t->n_columns <= TABLE_COLUMNS_MAX);
}

void table_done(struct table *t)
{
    VEC_EACH (cell, &t->cells) mem_free(cell->text);
    VEC_DONE(&t->cells);
}

void table_put_color(struct table *t, struct str text, enum term_color color)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    if (text.n == 0) strbuf_putc(&b, '-');
    term_safe(&b, text);
    struct table_cell *cell = VEC_ADD(&t->cells);
    cell->text = strbuf_steal(&b);
    cell->color = color;
}

void table_put(struct table *t, struct str text) { table_put_color(t, text, TERM_PLAIN); }

void table_putf(struct table *t, const char *fmt, ...)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    table_put(t, strbuf_str(&b));
}

static bool shown(const struct table *t, uint32_t col, bool wide)
{
    return wide || !(t->columns[col].flags & COL_WIDE);
}

static void measure(const struct table *t, bool wide, uint32_t *widths)
{
    for (uint32_t c = 0; c < t->n_columns; c++)
        widths[c] = shown(t, c, wide) ? term_columns(str_of(t->columns[c].title)) : 0;
    for (uint32_t i = 0; i < t->cells.n; i++) {
        uint32_t c = i % t->n_columns, n = term_columns(str_of(t->cells.v[i].text));
        if (shown(t, c, wide) && n > widths[c]) widths[c] = n;
    }
}

/* Takes what is too much from the widest flexible column, one at a time. */
static void shrink(const struct table *t, uint32_t width, uint32_t *widths)
{
    for (;;) {
        uint32_t total = 0, widest = TABLE_COLUMNS_MAX;
        for (uint32_t c = 0; c < t->n_columns; c++) {
            if (widths[c] == 0) continue;
            total += widths[c] + GAP;
            if ((t->columns[c].flags & COL_FLEX) && widths[c] > FLEX_MIN &&
                (widest == TABLE_COLUMNS_MAX || widths[c] > widths[widest]))
                widest = c;
        }
        if (total <= width + GAP || widest == TABLE_COLUMNS_MAX) return;
        uint32_t excess = total - width - GAP;
        uint32_t room = widths[widest] - FLEX_MIN;
        /* By steps, so that two wide columns end equally wide. */
        uint32_t step = excess > 4 ? excess / 4 : 1;
        widths[widest] -= step < room ? step : room;
    }
}

static void put_cell(struct strbuf *out, struct str text, uint32_t width, bool right, bool last,
                     enum term_color paint)
{
    uint32_t n = term_columns(text);
    AUTO_STRBUF struct strbuf cut;
    strbuf_init(&cut, 64 * 1024);
    if (n > width) {
        uint32_t keep = width > 2 ? width - 2 : width;
        size_t bytes = 0;
        for (uint32_t left = keep; left > 0 && bytes < text.n; left--) {
            size_t len = str_utf8_len(str_n(text.p + bytes, text.n - bytes));
            bytes += len > 0 ? len : 1;
        }
        strbuf_put(&cut, str_n(text.p, bytes));
        if (width > 2) strbuf_puts(&cut, "..");
        text = strbuf_str(&cut);
        n = width;
    }
    uint32_t pad = width - n;
    if (right) strbuf_fmt(out, "%*s", (int)pad, "");
    term_paint(out, paint != TERM_PLAIN, paint, text);
    if (!right && !last) strbuf_fmt(out, "%*s", (int)pad, "");
}

void table_print(const struct table *t, uint32_t width, bool wide, bool color, struct strbuf *out)
{
    CHECK(t->cells.n % t->n_columns == 0);
    uint32_t widths[TABLE_COLUMNS_MAX] = {0};
    measure(t, wide, widths);
    if (width > 0) shrink(t, width, widths);
    uint32_t last = 0;
    for (uint32_t c = 0; c < t->n_columns; c++)
        if (shown(t, c, wide)) last = c;
    for (uint32_t row = 0; row <= t->cells.n / t->n_columns; row++) {
        for (uint32_t c = 0; c <= last; c++) {
            if (!shown(t, c, wide)) continue;
            const struct table_cell *cell =
                row > 0 ? &t->cells.v[(row - 1) * t->n_columns + c] : NULL;
            struct str text = str_of(cell ? cell->text : t->columns[c].title);
            enum term_color paint = !color ? TERM_PLAIN : cell ? cell->color : TERM_BOLD;
            put_cell(out, text, widths[c], t->columns[c].flags & COL_RIGHT, c == last, paint);
            if (c != last) strbuf_fmt(out, "%*s", GAP, "");
        }
        strbuf_putc(out, '\n');
    }
}
