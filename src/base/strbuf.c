/* base/strbuf.c - growing text with a cap.
 *
 * p is never NULL between strbuf_init and strbuf_done, except right after
 * strbuf_steal; n <= max; p[n] is the terminating zero.  Each call appends all
 * of its text or nothing. */
#include "base/strbuf.h"

#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"

#define STRBUF_FIRST 64u

void strbuf_init(struct strbuf *b, size_t max)
{
    CHECK(max < PTRDIFF_MAX);
    size_t cap = max + 1 < STRBUF_FIRST ? max + 1 : STRBUF_FIRST;
    *b = (struct strbuf){.p = mem_alloc(cap), .cap = cap, .max = max};
}

void strbuf_done(struct strbuf *b)
{
    mem_free(b->p);
    *b = (struct strbuf){0};
}

void strbuf_reset(struct strbuf *b)
{
    b->n = 0;
    b->full = false;
    if (b->p) b->p[0] = '\0';
}

/* Makes room for `more` bytes and the zero behind them; false when that passes
 * the cap, or the cap was passed before. */
static bool reserve(struct strbuf *b, size_t more)
{
    CHECK(b->n <= b->max);
    if (b->full || more > b->max - b->n) {
        b->full = true;
        return false;
    }
    size_t need = b->n + more + 1;
    if (need <= b->cap) return true;
    size_t cap = b->cap > 0 ? b->cap : STRBUF_FIRST;
    while (cap < need) cap *= 2;
    if (cap > b->max + 1) cap = b->max + 1;
    b->p = mem_resize(b->p, cap, 1);
    b->cap = cap;
    return true;
}

void strbuf_put(struct strbuf *b, struct str s)
{
    if (!reserve(b, s.n)) return;
    if (s.n > 0) memcpy(b->p + b->n, s.p, s.n);
    b->n += s.n;
    b->p[b->n] = '\0';
}

void strbuf_putc(struct strbuf *b, char c) { strbuf_put(b, (struct str){&c, 1}); }

void strbuf_puts(struct strbuf *b, const char *c) { strbuf_put(b, str_of(c)); }

void strbuf_u64(struct strbuf *b, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    strbuf_put(b, (struct str){digits + at, sizeof(digits) - at});
}

void strbuf_i64(struct strbuf *b, int64_t v)
{
    if (v >= 0) {
        strbuf_u64(b, (uint64_t)v);
        return;
    }
    if (!reserve(b, 2)) return; /* a sign is not left alone at the end */
    size_t before = b->n;
    strbuf_putc(b, '-');
    strbuf_u64(b, -(uint64_t)v);
    if (b->full) {
        b->n = before;
        b->p[before] = '\0';
    }
}

void strbuf_vfmt(struct strbuf *b, const char *fmt, va_list ap)
{
    if (!reserve(b, 0)) return;
    va_list again;
    va_copy(again, ap);
    size_t room = b->cap - b->n;
    int wanted = vsnprintf(b->p + b->n, room, fmt, ap);
    CHECK(wanted >= 0);
    size_t n = (size_t)wanted;
    if (n >= room) {
        if (reserve(b, n)) {
            int second = vsnprintf(b->p + b->n, n + 1, fmt, again);
            CHECK(second == wanted);
        } else {
            n = 0;
        }
    }
    va_end(again);
    b->n += n;
    b->p[b->n] = '\0';
}

void strbuf_fmt(struct strbuf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strbuf_vfmt(b, fmt, ap);
    va_end(ap);
}

/* What stands for one ASCII byte inside a JSON string. */
static void json_escape(struct strbuf *b, unsigned char c)
{
    static const char shorts[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                  ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    static const char hex[] = "0123456789abcdef";
    if (c < sizeof(shorts) && shorts[c]) {
        strbuf_put(b, (struct str){(char[]){'\\', shorts[c]}, 2});
    } else {
        strbuf_put(b, (struct str){(char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6});
    }
}

void strbuf_json(struct strbuf *b, struct str s)
{
    size_t before = b->n;
    strbuf_putc(b, '"');
    size_t plain = 0; /* bytes at the front of s that need no change */
    while (plain < s.n) {
        unsigned char c = (unsigned char)s.p[plain];
        size_t len = c < 0x80 ? 1 : str_utf8_len(str_n(s.p + plain, s.n - plain));
        if (len > 0 && c >= 0x20 && c != '"' && c != '\\') {
            plain += len;
            continue;
        }
        strbuf_put(b, str_n(s.p, plain));
        if (len == 0) strbuf_put(b, STR("\xef\xbf\xbd"));
        else json_escape(b, c);
        s = str_n(s.p + plain + 1, s.n - plain - 1);
        plain = 0;
    }
    strbuf_put(b, s);
    strbuf_putc(b, '"');
    if (b->full && b->p) {
        b->n = before;
        b->p[before] = '\0';
    }
}

void strbuf_drop(struct strbuf *b, size_t n)
{
    CHECK(n <= b->n);
    if (n == 0) return;
    b->n -= n;
    memmove(b->p, b->p + n, b->n + 1);
}

char *strbuf_steal(struct strbuf *b)
{
    char *p = b->p ? b->p : mem_alloc(1);
    *b = (struct strbuf){.max = b->max};
    return p;
}
