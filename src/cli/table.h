/* cli/table.h - rows for a person, fitted to the terminal. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "base/vec.h"
#include "cli/term.h"

enum { TABLE_COLUMNS_MAX = 16 };
enum {
    COL_RIGHT = 1, /* numbers */
    COL_FLEX = 2,  /* may be cut when the terminal is narrow */
    COL_WIDE = 4,  /* only with -o wide */
};
struct table_column {
    const char *title; /* NULL ends the list */
    uint32_t flags;
};
struct table_cell { char *text; enum term_color color; };

struct table {
    const struct table_column *columns;
    uint32_t n_columns;
    VEC(struct table_cell) cells; /* row after row */
};

void table_init(struct table *t, const struct table_column *columns);
void table_done(struct table *t);
/* Cells come from left to right, all of them, also those that are not shown.
 * An empty one shows as "-". */
void table_put(struct table *t, struct str text);
void table_put_color(struct table *t, struct str text, enum term_color color);
void table_putf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* width 0: nothing is cut. */
void table_print(const struct table *t, uint32_t width, bool wide, bool color, struct strbuf *out);

#endif
