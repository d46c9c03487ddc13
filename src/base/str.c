/* base/str.c - slices of text: comparing, cutting, reading numbers.
 *
 * A slice of length 0 may have no pointer, so nothing here hands one to the C
 * library without looking at the length first. */
#include "base/str.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

static int compare_bytes(const char *a, const char *b, size_t n)
{
    return n > 0 ? memcmp(a, b, n) : 0;
}

bool str_eq(struct str a, struct str b) { return a.n == b.n && compare_bytes(a.p, b.p, a.n) == 0; }

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.n != b.n) return false;
    for (size_t i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != lower(b.p[i])) return false;
    }
    return true;
}

int str_cmp(struct str a, struct str b)
{
    int order = compare_bytes(a.p, b.p, a.n < b.n ? a.n : b.n);
    if (order != 0) return order < 0 ? -1 : 1;
    return (a.n > b.n) - (a.n < b.n);
}

/* Cuts the digits off the front of *s and returns them without leading zeros. */
static struct str take_number(struct str *s)
{
    size_t n = 0, zeros = 0;
    while (n < s->n && is_digit(s->p[n])) n++;
    while (zeros < n && s->p[zeros] == '0') zeros++;
    struct str number = {s->p + zeros, n - zeros};
    *s = (struct str){s->p + n, s->n - n};
    return number;
}

/* Both texts are read as characters and whole numbers, and these are compared
 * one by one; "a1" and "a01" are then equal, and their bytes decide. */
int str_natural_cmp(struct str a, struct str b)
{
    struct str x = a, y = b;
    while (x.n > 0 && y.n > 0) {
        if (is_digit(x.p[0]) && is_digit(y.p[0])) {
            struct str p = take_number(&x), q = take_number(&y);
            if (p.n != q.n) return p.n < q.n ? -1 : 1;
            int order = compare_bytes(p.p, q.p, p.n);
            if (order != 0) return order < 0 ? -1 : 1;
            continue;
        }
        unsigned char c = (unsigned char)*x.p, d = (unsigned char)*y.p;
        if (c != d) return c < d ? -1 : 1;
        x = (struct str){x.p + 1, x.n - 1};
        y = (struct str){y.p + 1, y.n - 1};
    }
    if (x.n > 0 || y.n > 0) return x.n > 0 ? 1 : -1;
    return str_cmp(a, b);
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && compare_bytes(s.p, prefix.p, prefix.n) == 0;
}

bool str_ends(struct str s, struct str suffix)
{
    if (s.n < suffix.n) return false;
    if (suffix.n == 0) return true;
    return memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0;
}

struct str str_trim(struct str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) s = (struct str){s.p + 1, s.n - 1};
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) s.n--;
    return s;
}

bool str_cut(struct str *s, char sep, struct str *head)
{
    const char *at = s->n > 0 ? memchr(s->p, sep, s->n) : NULL;
    struct str whole = *s;
    if (!at) {
        *s = (struct str){whole.n > 0 ? whole.p + whole.n : whole.p, 0};
        *head = whole;
        return false;
    }
    size_t before = (size_t)(at - whole.p);
    *s = (struct str){at + 1, whole.n - before - 1};
    *head = (struct str){whole.p, before};
    return true;
}

bool str_to_u64(struct str s, uint64_t *ret)
{
    if (s.n == 0) return false;
    uint64_t value = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i])) return false;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (__builtin_mul_overflow(value, UINT64_C(10), &value)) return false;
        if (__builtin_add_overflow(value, digit, &value)) return false;
    }
    *ret = value;
    return true;
}

bool str_to_i64(struct str s, int64_t *ret)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    if (negative) s = (struct str){s.p + 1, s.n - 1};
    uint64_t value = 0;
    if (!str_to_u64(s, &value)) return false;
    if (value > (uint64_t)INT64_MAX + (negative ? 1 : 0)) return false;
    if (!negative) *ret = (int64_t)value;
    else *ret = value > 0 ? -(int64_t)(value - 1) - 1 : 0; /* reaches INT64_MIN */
    return true;
}

/* The Unicode standard, table 3-7 (well-formed UTF-8 byte sequences): only the
 * second byte has a range of its own. */
size_t str_utf8_len(struct str s)
{
    if (s.n == 0) return 0;
    const unsigned char *p = (const unsigned char *)s.p;
    unsigned char first = p[0], low = 0x80, high = 0xbf;
    size_t len;
    if (first < 0x80) return 1;
    else if (first >= 0xc2 && first <= 0xdf) len = 2;
    else if (first >= 0xe0 && first <= 0xef) len = 3;
    else if (first >= 0xf0 && first <= 0xf4) len = 4;
    else return 0;
    if (first == 0xe0) low = 0xa0;  /* no longer than needed */
    if (first == 0xed) high = 0x9f; /* no surrogates */
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f; /* not beyond U+10FFFF */
    if (s.n < len || p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < len; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf) return 0;
    }
    return len;
}

bool str_is_utf8(struct str s)
{
    while (s.n > 0) {
        size_t len = str_utf8_len(s);
        if (len == 0 || s.p[0] == '\0') return false;
        s = (struct str){s.p + len, s.n - len};
    }
    return true;
}

bool str_is_name(struct str s, size_t max)
{
    if (s.n == 0 || s.n > max) return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if ((c >= 'a' && c <= 'z') || is_digit(c)) continue;
        bool inside = i > 0 && i + 1 < s.n;
        if (!inside || (c != '.' && c != '_' && c != '-')) return false;
    }
    return true;
}

bool str_eq_secret(struct str a, struct str b)
{
    if (a.n != b.n) return false;
    /* volatile: the compiler may not leave the loop at the first difference */
    volatile unsigned char differing = 0;
    for (size_t i = 0; i < a.n; i++) {
        unsigned char difference = (unsigned char)(a.p[i] ^ b.p[i]);
        differing = (unsigned char)(differing | difference);
    }
    return differing == 0;
}
