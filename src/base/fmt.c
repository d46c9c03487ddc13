/* base/fmt.c - quantities as people write and read them.
 *
 * Reading is exact or refused; writing rounds down, so that nobody is shown
 * more than there is. */
#include "base/fmt.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Cuts leading digits off *s. */
static struct str take_digits(struct str *s)
{
    size_t n = 0;
    while (n < s->n && is_digit(s->p[n])) n++;
    struct str digits = str_n(s->p, n);
    *s = str_n(s->p + n, s->n - n);
    return digits;
}

/* "12" or "12.5" at the front of *s, in thousandths or finer: value is
 * whole * scale + fraction, where scale is 10^(digits behind the point). */
struct decimal {
    int64_t whole, fraction, scale;
};

#define FRACTION_DIGITS_MAX 6

static bool take_decimal(struct str *s, struct decimal *ret)
{
    struct str rest = *s;
    if (rest.n == 0) return false;
    uint64_t whole = 0, fraction = 0;
    if (!str_to_u64(take_digits(&rest), &whole) || whole > INT64_MAX) return false;
    int64_t scale = 1;
    if (rest.n > 0 && rest.p[0] == '.') {
        rest = str_n(rest.p + 1, rest.n - 1);
        struct str digits = take_digits(&rest);
        if (digits.n > FRACTION_DIGITS_MAX || !str_to_u64(digits, &fraction)) return false;
        for (size_t i = 0; i < digits.n; i++) scale *= 10;
    }
    *s = rest;
    *ret = (struct decimal){(int64_t)whole, (int64_t)fraction, scale};
    return true;
}

/* d * unit, rounded down; unit is at most 2^40, so the fraction cannot overflow. */
static bool times(const struct decimal *d, int64_t unit, int64_t *ret)
{
    int64_t whole = 0, sum = 0;
    if (__builtin_mul_overflow(d->whole, unit, &whole)) return false;
    if (__builtin_add_overflow(whole, d->fraction * unit / d->scale, &sum)) return false;
    *ret = sum;
    return true;
}

bool fmt_parse_bytes(struct str s, int64_t *ret_bytes)
{
    static const char letters[] = "kmgt";
    struct decimal d;
    if (!take_decimal(&s, &d)) return false;
    if (s.n > 1 && s.p[0] == ' ') s = str_n(s.p + 1, s.n - 1);
    int64_t unit = 1;
    for (size_t i = 0; s.n > 0 && i < 4; i++) {
        if ((s.p[0] | 0x20) != letters[i]) continue;
        unit <<= 10 * (i + 1);
        s = str_n(s.p + 1, s.n - 1);
        if (s.n > 0 && s.p[0] == 'i') s = str_n(s.p + 1, s.n - 1);
        break;
    }
    if (s.n > 0 && !str_eq_nocase(s, STR("B"))) return false;
    if (unit == 1 && d.scale != 1) return false; /* there is no half byte */
    return times(&d, unit, ret_bytes);
}

bool fmt_parse_cpu(struct str s, int64_t *ret_milli)
{
    struct decimal d;
    if (!take_decimal(&s, &d)) return false;
    if (s.n == 0) return d.scale <= 1000 && times(&d, 1000, ret_milli);
    if (!str_eq(s, STR("m")) || d.scale != 1) return false;
    *ret_milli = d.whole;
    return true;
}

bool fmt_parse_duration(struct str s, int64_t *ret_ms)
{
    static const struct { struct str name; int64_t ms; } units[] = {
        {STR("d"), 86400000}, {STR("h"), 3600000}, {STR("m"), 60000}, {STR("s"), 1000},
        {STR("ms"), 1},
    };
    int64_t total = 0;
    if (s.n == 0) return false;
    for (size_t next = 0; s.n > 0;) { /* units only get smaller */
        bool first = next == 0;
        uint64_t value = 0;
        if (!str_to_u64(take_digits(&s), &value) || value > INT64_MAX) return false;
        size_t n = 0;
        while (n < s.n && !is_digit(s.p[n])) n++;
        struct str name = n == 0 && first ? STR("s") : str_n(s.p, n);
        while (next < 5 && !str_eq(units[next].name, name)) next++;
        if (next == 5) return false;
        int64_t part = 0;
        if (__builtin_mul_overflow((int64_t)value, units[next].ms, &part)) return false;
        if (__builtin_add_overflow(total, part, &total)) return false;
        s = str_n(s.p + n, s.n - n);
        next++;
    }
    *ret_ms = total;
    return true;
}

/* The sign goes out first, so that the rest has only magnitudes to write. */
static uint64_t put_sign(struct strbuf *b, int64_t v)
{
    if (v >= 0) return (uint64_t)v;
    strbuf_putc(b, '-');
    return -(uint64_t)v;
}

void fmt_bytes(struct strbuf *b, int64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint64_t v = put_sign(b, bytes);
    size_t unit = 0;
    while (unit < 4 && v >> (10 * (unit + 1)) > 0) unit++;
    uint64_t one = UINT64_C(1) << (10 * unit);
    strbuf_u64(b, v / one);
    uint64_t tenth = v % one * 10 / one;
    if (tenth > 0) strbuf_fmt(b, ".%u", (unsigned)tenth);
    strbuf_fmt(b, " %s", names[unit]);
}

void fmt_cpu(struct strbuf *b, int64_t milli)
{
    uint64_t v = put_sign(b, milli);
    strbuf_u64(b, v / 1000);
    unsigned rest = (unsigned)(v % 1000), digits = 3;
    if (rest == 0) return;
    for (; rest % 10 == 0; rest /= 10) digits--;
    strbuf_fmt(b, ".%0*u", (int)digits, rest);
}

void fmt_duration(struct strbuf *b, int64_t ms)
{
    static const struct { const char *name; uint64_t ms; } units[] = {
        {"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000},
    };
    uint64_t v = put_sign(b, ms);
    if (v < 1000) {
        strbuf_fmt(b, "%u ms", (unsigned)v);
        return;
    }
    size_t i = 0;
    while (v < units[i].ms) i++;
    strbuf_u64(b, v / units[i].ms);
    strbuf_fmt(b, " %s", units[i].name);
    uint64_t rest = i < 3 ? v % units[i].ms / units[i + 1].ms : 0;
    if (rest > 0) strbuf_fmt(b, " %u %s", (unsigned)rest, units[i + 1].name);
}

void fmt_age(struct strbuf *b, int64_t ms)
{
    static const struct { char name; int64_t ms; } units[] = {
        {'d', 86400000}, {'h', 3600000}, {'m', 60000}, {'s', 1000},
    };
    if (ms < 0) ms = 0; /* clocks of two machines: what looks like the future is now */
    size_t i = 0;
    while (i < 3 && ms < units[i].ms) i++;
    strbuf_i64(b, ms / units[i].ms);
    strbuf_putc(b, units[i].name);
}
