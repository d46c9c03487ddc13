/* base/text.c - fixed text arrays: always terminated, never half a character.
 *
 * Declared in base/str.h. */
#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/str.h"

/* The length of p[0..n) without a UTF-8 sequence that was cut off at its end.
 * Text that is not UTF-8 is left as it is. */
static size_t whole_characters(const char *p, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)p[n - back];
        if (c < 0x80) return n;
        if (c < 0xc0) continue; /* the first byte is still further left */
        size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
        return len > back ? n - back : n;
    }
    return n;
}

bool text_set(char *dst, size_t cap, struct str s)
{
    if (s.n >= cap) return false;
    if (s.n > 0) {
        if (memchr(s.p, '\0', s.n)) return false;
        memmove(dst, s.p, s.n);
    }
    dst[s.n] = '\0';
    return true;
}

void text_clip(char *dst, size_t cap, struct str s)
{
    CHECK(cap > 0);
    const char *nul = s.n > 0 ? memchr(s.p, '\0', s.n) : NULL;
    if (nul) s.n = (size_t)(nul - s.p);
    if (s.n >= cap) s.n = whole_characters(s.p, cap - 1);
    if (s.n > 0) memmove(dst, s.p, s.n);
    dst[s.n] = '\0';
}

int text_fmt(char *dst, size_t cap, const char *fmt, ...)
{
    CHECK(cap > 0);
    va_list ap;
    va_start(ap, fmt);
    int wanted = vsnprintf(dst, cap, fmt, ap);
    va_end(ap);
    size_t n = wanted > 0 ? (size_t)wanted : 0;
    if (n >= cap) n = whole_characters(dst, cap - 1);
    dst[n] = '\0';
    return (int)n;
}
