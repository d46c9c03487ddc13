/* wire/time.c - RFC 3339 instants, by the calendar arithmetic of Hinnant ("chrono-compatible
 * low-level date algorithms"): no time zone, no locale, no library state. */
#include "wire/time.h"

#define DAY_MS INT64_C(86400000)
#define LAST_MS (INT64_C(253402300799999)) /* the end of 9999 */

static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void wire_time_format(int64_t wall_ms, char ret[WIRE_TIME_TEXT])
{
    ret[0] = '\0';
    if (wall_ms <= 0 || wall_ms > LAST_MS) return;
    int64_t z = wall_ms / DAY_MS + 719468, ms = wall_ms % DAY_MS;
    int64_t era = z / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    int64_t y = yoe + era * 400 + (m <= 2);
    text_fmt(ret, WIRE_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)y, (int)m, (int)d,
             (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
}

/* Cuts exactly n digits and, after them, the separator (0: none). */
static bool take(struct str *s, size_t n, char then, int64_t *ret)
{
    uint64_t v = 0;
    size_t whole = n + (then ? 1 : 0);
    if (s->n < whole || !str_to_u64(str_n(s->p, n), &v)) return false;
    if (then && s->p[n] != then) return false;
    *s = str_n(s->p + whole, s->n - whole);
    *ret = (int64_t)v;
    return true;
}

static bool take_fraction(struct str *s, int64_t *ret_ms)
{
    *ret_ms = 0;
    if (s->n == 0 || s->p[0] != '.') return true;
    int64_t scale = 100;
    size_t n = 1;
    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++, scale /= 10) {
        *ret_ms += (s->p[n] - '0') * scale;
    }
    bool some = n > 1;
    *s = str_n(s->p + n, s->n - n);
    return some;
}

static bool take_zone(struct str s, int64_t *ret_ms)
{
    int64_t h = 0, m = 0;
    *ret_ms = 0;
    if (str_eq(s, STR("Z"))) return true;
    if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-')) return false;
    int64_t sign = s.p[0] == '-' ? -1 : 1;
    s = str_n(s.p + 1, s.n - 1);
    if (!take(&s, 2, ':', &h) || !take(&s, 2, 0, &m) || h > 23 || m > 59) return false;
    *ret_ms = sign * (h * 60 + m) * 60000;
    return true;
}

static int64_t month_days(int64_t y, int64_t m)
{
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return days[m - 1] + (m == 2 && leap ? 1 : 0);
}

bool wire_time_parse(struct str s, int64_t *ret_wall_ms)
{
    int64_t y, m, d, h, min, sec, frac, zone;
    if (!take(&s, 4, '-', &y) || !take(&s, 2, '-', &m) || !take(&s, 2, 'T', &d)) return false;
    if (!take(&s, 2, ':', &h) || !take(&s, 2, ':', &min) || !take(&s, 2, 0, &sec)) return false;
    if (!take_fraction(&s, &frac) || !take_zone(s, &zone)) return false;
    if (y < 1970 || m < 1 || m > 12 || d < 1 || d > month_days(y, m)) return false;
    if (h > 23 || min > 59 || sec > 59) return false;
    int64_t ms = days_of(y, m, d) * DAY_MS + ((h * 60 + min) * 60 + sec) * 1000 + frac - zone;
    if (ms < 0 || ms > LAST_MS) return false;
    *ret_wall_ms = ms;
    return true;
}
