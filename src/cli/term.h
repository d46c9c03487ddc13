/* cli/term.h - what the terminal can do, asked once. */
#ifndef CLI_TERM_H
#define CLI_TERM_H
#include <stdbool.h>
#include <stdint.h>
#include "base/strbuf.h"

enum term_color { TERM_PLAIN = 0, TERM_RED, TERM_GREEN, TERM_YELLOW, TERM_DIM, TERM_BOLD };

/* Columns of the terminal behind standard output; 0 when it is none: no limit. */
uint32_t term_width(void);
uint32_t term_height(void); /* likewise its lines */
/* The screen behind standard output can be cleared and drawn anew. */
bool term_can_clear(void);
/* Colour only on a terminal that is not dumb, and never with NO_COLOR set. */
bool term_color_on(int fd);
void term_paint(struct strbuf *b, bool on, enum term_color c, struct str text);
/* Columns that UTF-8 text takes: characters, wide ones not looked up. */
uint32_t term_columns(struct str text);
/* Text from outside as it may be shown: control bytes become '?'. */
void term_safe(struct strbuf *b, struct str text);

#endif
