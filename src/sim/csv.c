/* sim/csv.c - a row at a time, nothing copied. */
#include "sim/csv.h"

/* The length of the cell that s begins with: to the next comma or line end outside quotes. */
static size_t cell_len(struct str s)
{
    bool quoted = false;
    size_t i = 0;
    for (; i < s.n; i++) {
        if (s.p[i] == '"') quoted = !quoted;
        else if (!quoted && (s.p[i] == ',' || s.p[i] == '\n')) break;
    }
    return i;
}

static struct str without_quotes(struct str cell)
{
    if (cell.n > 0 && cell.p[cell.n - 1] == '\r') cell.n--;
    bool quoted = cell.n >= 2 && cell.p[0] == '"' && cell.p[cell.n - 1] == '"';
    return quoted ? str_n(cell.p + 1, cell.n - 2) : cell;
}

bool csv_row(struct str *rest, struct str *cells, uint32_t max)
{
    if (rest->n == 0) return false;
    uint32_t n = 0;
    bool more = true;
    while (more) {
        size_t len = cell_len(*rest);
        if (n < max) cells[n++] = without_quotes(str_n(rest->p, len));
        more = len < rest->n && rest->p[len] == ',';
        if (len < rest->n) len++;
        *rest = str_n(rest->p + len, rest->n - len);
    }
    while (n < max) cells[n++] = STR("");
    return true;
}
