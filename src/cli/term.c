/* cli/term.c - the terminal's width and colours. */
#include "cli/term.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

uint32_t term_width(void)
{
    if (!isatty(STDOUT_FILENO)) return 0;
    struct winsize w = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
    const char *columns = getenv("COLUMNS");
    uint64_t n = 0;
    if (columns && str_to_u64(str_of(columns), &n) && n >= 20 && n <= 10000) return (uint32_t)n;
    return 80;
}

uint32_t term_height(void)
{
    struct winsize w = {0};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_row : 0;
}

bool term_can_clear(void)
{
    const char *term = getenv("TERM");
    return term && term[0] && strcmp(term, "dumb") != 0;
}

bool term_color_on(int fd)
{
    const char *no = getenv("NO_COLOR");
    if (no && no[0]) return false;
    const char *term = getenv("TERM");
    if (!term || strcmp(term, "dumb") == 0) return false;
    return isatty(fd) == 1;
}

static const char *const codes[] = {
    [TERM_PLAIN] = "", [TERM_RED] = "31", [TERM_GREEN] = "32",
    [TERM_YELLOW] = "33", [TERM_DIM] = "2", [TERM_BOLD] = "1",
};

void term_paint(struct strbuf *b, bool on, enum term_color c, struct str text)
{
    bool paint = on && c != TERM_PLAIN;
    if (paint) strbuf_fmt(b, "\033[%sm", codes[c]);
    strbuf_put(b, text);
    if (paint) strbuf_puts(b, "\033[0m");
}

uint32_t term_columns(struct str text)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        if (((unsigned char)text.p[i] & 0xc0) != 0x80) n++;
    return n;
}

void term_safe(struct strbuf *b, struct str text)
{
    while (text.n > 0) {
        size_t n = str_utf8_len(text);
        unsigned char c = (unsigned char)text.p[0];
        /* C1 controls are two bytes in UTF-8: c2 80..9f. */
        bool control = n == 0 || c < 0x20 || c == 0x7f ||
                       (n == 2 && c == 0xc2 && (unsigned char)text.p[1] < 0xa0);
        if (control) strbuf_putc(b, '?');
        else strbuf_put(b, str_n(text.p, n));
        size_t step = n > 0 ? n : 1;
        text = str_n(text.p + step, text.n - step);
    }
}
