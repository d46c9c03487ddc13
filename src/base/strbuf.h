/* base/strbuf.h - growing text with a cap.
 *
 * Past the cap nothing is appended and `full` is set for good: check it once,
 * at the end.  The content is always terminated. */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H
#include <stdarg.h>
#include <stdbool.h>
#include "base/mem.h"
#include "base/str.h"

struct strbuf {
    char *p;
    size_t n, cap, max;
    bool full;
};

void strbuf_init(struct strbuf *b, size_t max);
void strbuf_done(struct strbuf *b);
void strbuf_reset(struct strbuf *b); /* keeps the memory */
void strbuf_put(struct strbuf *b, struct str s);
void strbuf_putc(struct strbuf *b, char c);
void strbuf_puts(struct strbuf *b, const char *c);
void strbuf_u64(struct strbuf *b, uint64_t v);
void strbuf_i64(struct strbuf *b, int64_t v);
void strbuf_fmt(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vfmt(struct strbuf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void strbuf_json(struct strbuf *b, struct str s);
void strbuf_drop(struct strbuf *b, size_t n); /* removes the first n bytes */
static inline struct str strbuf_str(const struct strbuf *b) { return (struct str){b->p, b->n}; }
char *strbuf_steal(struct strbuf *b); /* terminated, caller frees; b is empty (p NULL) again */
#define AUTO_STRBUF CLEANUP(strbuf_done)

#endif
