/* core/rotate/metrics.c - from values of an answer to what they prove.
 *
 * A part (counter, gauge, start) is known only when every value that the profile asks for was
 * there and exact; the first flaw stays.  docs/engines.md */
#include "core/rotate/metrics.h"

#include "base/check.h"

static const char *const STATE_TEXTS[] = {
    [METRICS_UNREAD] = "was not read",
    [METRICS_KNOWN] = "is known",
    [METRICS_UNNAMED] = "is not named in the engine's profile",
    [METRICS_ABSENT] = "is missing from the engine's answer",
    [METRICS_NEGATIVE] = "is negative",
    [METRICS_NAN] = "is not a finite number",
    [METRICS_ROUNDED] = "is printed with its last digits cut off",
    [METRICS_TOO_BIG] = "is too big to be exact",
    [METRICS_MALFORMED] = "stands in an answer that is not of the format in the profile",
    [METRICS_CUT] = "stands in an answer that ends in the middle of a line",
    [METRICS_TOO_LONG] = "stands in an answer that is too long",
};
_Static_assert(sizeof(STATE_TEXTS) / sizeof(STATE_TEXTS[0]) == METRICS_STATES, "one text each");

const char *metrics_state_text(enum metrics_state s)
{
    CHECK(s < METRICS_STATES);
    CHECK(STATE_TEXTS[s] != NULL);
    return STATE_TEXTS[s];
}

uint32_t metrics_terms(const struct metrics_profile *p, enum metrics_part part)
{
    CHECK(p->n_counters <= METRICS_TERMS_MAX);
    CHECK(p->n_gauges <= METRICS_TERMS_MAX);
    switch (part) {
    case METRICS_COUNTER: return p->n_counters;
    case METRICS_GAUGE: return p->n_gauges;
    case METRICS_START: return p->identity == METRICS_BY_PROCESS ? 0 : 1;
    }
    UNREACHABLE();
}

const struct metrics_term *metrics_term(const struct metrics_profile *p, enum metrics_part part,
                                        uint32_t at)
{
    CHECK(at < metrics_terms(p, part));
    if (part == METRICS_START) return NULL;
    return part == METRICS_COUNTER ? &p->counters[at] : &p->gauges[at];
}

struct str metrics_term_name(const struct metrics_profile *p, enum metrics_part part, uint32_t at)
{
    const struct metrics_term *t = metrics_term(p, part, at);
    return str_of(t ? t->name : p->identity_metric);
}

void metrics_begin(struct metrics_reading *r, const struct metrics_profile *p)
{
    CHECK(p->format != METRICS_NONE);
    CHECK(p->digits >= 1);
    CHECK(p->digits <= METRICS_DIGITS_MAX);
    *r = (struct metrics_reading){.p = p};
}

/* The first number that the engine no longer prints to its last digit, in thousandths.  A double
 * has no digit to spare beyond 2^53, whatever the engine prints. */
static int64_t exact_end(uint32_t digits)
{
    int64_t end = 1;
    for (uint32_t i = 0; i < digits; i++) end *= 10;
    return (end < METRICS_EXACT_MAX ? end : METRICS_EXACT_MAX) * 1000;
}

/* What keeps this number from counting, or METRICS_KNOWN. */
static enum metrics_state flaw_of(const struct metrics_profile *p, enum metrics_part part,
                                  const struct metrics_number *n)
{
    if (n->state != METRICS_KNOWN) return n->state == METRICS_MALFORMED ? METRICS_NAN : n->state;
    if (n->negative) return METRICS_NEGATIVE;
    if (part != METRICS_COUNTER) return METRICS_KNOWN;
    if (n->rounded) return METRICS_ROUNDED;
    if (n->milli < exact_end(p->digits)) return METRICS_KNOWN;
    return p->digits < METRICS_DIGITS_MAX ? METRICS_ROUNDED : METRICS_TOO_BIG;
}

/* Sums of series: if they are equal, so is each of them, for a work counter only grows. */
void metrics_see(struct metrics_reading *r, enum metrics_part part, uint32_t term,
                 struct metrics_number n)
{
    CHECK(term < metrics_terms(r->p, part));
    struct metrics_value *v = &r->part[part];
    enum metrics_state flaw = flaw_of(r->p, part, &n);
    r->seen[part] |= 1u << term;
    if (v->state != METRICS_UNREAD && v->state != METRICS_KNOWN) return;
    if (flaw == METRICS_KNOWN && __builtin_add_overflow(v->milli, n.milli, &v->milli)) {
        flaw = METRICS_TOO_BIG;
    }
    v->state = flaw;
    if (flaw != METRICS_KNOWN) v->milli = 0;
}

/* Optional terms may be missing, but not all that there are. */
static bool complete(const struct metrics_reading *r, enum metrics_part part)
{
    if (r->seen[part] == 0) return false;
    for (uint32_t i = 0; i < metrics_terms(r->p, part); i++) {
        const struct metrics_term *t = metrics_term(r->p, part, i);
        if (!(t && t->optional) && !(r->seen[part] & 1u << i)) return false;
    }
    return true;
}

static struct metrics_value close_part(const struct metrics_reading *r, enum metrics_part part)
{
    if (metrics_terms(r->p, part) == 0) return (struct metrics_value){METRICS_UNNAMED, 0};
    if (!complete(r, part)) return (struct metrics_value){METRICS_ABSENT, 0};
    return r->part[part];
}

static struct metrics_value node_view(int64_t start_ms)
{
    return start_ms ? (struct metrics_value){METRICS_KNOWN, start_ms}
                    : (struct metrics_value){METRICS_ABSENT, 0};
}

struct metrics metrics_end(const struct metrics_reading *r, int64_t start_ms)
{
    struct metrics m = {
        .counter = close_part(r, METRICS_COUNTER),
        .gauge = close_part(r, METRICS_GAUGE),
        .start = close_part(r, METRICS_START),
    };
    if (r->p->identity == METRICS_BY_PROCESS) m.start = node_view(start_ms);
    if (r->p->identity == METRICS_BY_EITHER && m.start.state == METRICS_ABSENT) {
        m.start = node_view(start_ms);
    }
    CHECK(m.counter.state != METRICS_UNREAD);
    CHECK(m.gauge.state != METRICS_UNREAD);
    CHECK(m.counter.state == METRICS_KNOWN || m.counter.milli == 0);
    CHECK(m.gauge.state == METRICS_KNOWN || m.gauge.milli == 0);
    CHECK(m.start.state == METRICS_KNOWN || m.start.milli == 0);
    return m;
}

struct metrics metrics_refuse(enum metrics_state why, uint32_t line)
{
    CHECK(why != METRICS_KNOWN);
    CHECK(why < METRICS_STATES);
    return (struct metrics){
        .counter = {why, 0}, .gauge = {why, 0}, .start = {why, 0}, .line = line,
    };
}

struct metrics metrics_unasked(int64_t start_ms)
{
    return (struct metrics){
        .counter = {METRICS_UNNAMED, 0},
        .gauge = {METRICS_UNNAMED, 0},
        .start = node_view(start_ms),
    };
}

struct quiet_profile metrics_promises(const struct metrics_profile *p, bool port_counted)
{
    return (struct quiet_profile){
        .counter = p->n_counters > 0 || port_counted, .gauge = p->n_gauges > 0,
    };
}

static struct reading reading_of(const struct metrics_value *v)
{
    return v->state == METRICS_KNOWN ? READING(v->milli) : (struct reading){0};
}

/* Is there anything in it at all? */
static bool was_read(enum metrics_state s)
{
    return s != METRICS_UNREAD && s != METRICS_MALFORMED && s != METRICS_CUT &&
           s != METRICS_TOO_LONG;
}

struct quiet_sample metrics_sample(const struct metrics *m, struct reading port_bytes,
                                   int64_t at_ms)
{
    CHECK(at_ms >= 0);
    CHECK(m->counter.milli >= 0);
    CHECK(m->gauge.milli >= 0);
    return (struct quiet_sample){
        .at_ms = at_ms,
        .failed = !was_read(m->counter.state),
        .start = reading_of(&m->start),
        .counter = m->counter.state == METRICS_UNNAMED ? port_bytes : reading_of(&m->counter),
        .gauge = reading_of(&m->gauge),
    };
}

enum fact metrics_busy(const struct metrics *m)
{
    if (m->gauge.state == METRICS_UNNAMED) return FACT_NO;
    if (m->gauge.state != METRICS_KNOWN) return FACT_UNKNOWN;
    return m->gauge.milli > 0 ? FACT_YES : FACT_NO;
}

/* ---- numbers ---- */

/* A decimal taken apart: mantissa * 10^exponent. */
struct decimal {
    uint64_t mantissa;
    int32_t exponent;
    bool cut, any; /* digits did not fit; there was a digit */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void take_digits(struct str *s, struct decimal *d, bool fraction)
{
    for (; s->n && is_digit(s->p[0]); s->p++, s->n--) {
        uint64_t digit = (uint64_t)(s->p[0] - '0');
        d->any = true;
        if (d->mantissa <= (UINT64_MAX - 9) / 10) {
            d->mantissa = d->mantissa * 10 + digit;
            if (fraction) d->exponent--;
        } else {
            if (digit) d->cut = true;
            if (!fraction) d->exponent++;
        }
    }
}

/* "e+06"; far beyond what can be a value it stops growing. */
static bool take_exponent(struct str *s, struct decimal *d)
{
    if (!s->n || (s->p[0] != 'e' && s->p[0] != 'E')) return true;
    *s = str_n(s->p + 1, s->n - 1);
    bool minus = s->n && s->p[0] == '-';
    if (s->n && (s->p[0] == '-' || s->p[0] == '+')) *s = str_n(s->p + 1, s->n - 1);
    if (!s->n || !is_digit(s->p[0])) return false;
    int32_t e = 0;
    for (; s->n && is_digit(s->p[0]); s->p++, s->n--) {
        if (e < 100000) e = e * 10 + (s->p[0] - '0');
    }
    d->exponent += minus ? -e : e;
    return true;
}

static struct metrics_number to_milli(const struct decimal *d, bool negative)
{
    static const struct metrics_number too_big = {.state = METRICS_TOO_BIG};
    uint64_t milli = d->mantissa;
    int32_t shift = d->exponent + 3;
    bool rounded = d->cut;
    if (milli == 0) return (struct metrics_number){.state = METRICS_KNOWN};
    for (; shift < 0 && milli; shift++) {
        if (milli % 10) rounded = true;
        milli /= 10;
    }
    for (; shift > 0; shift--) {
        if (__builtin_mul_overflow(milli, UINT64_C(10), &milli)) return too_big;
    }
    if (rounded) milli++; /* no overflow: digits were divided away, or a cut mantissa is below */
    if (milli > INT64_MAX) return too_big;
    CHECK(milli > 0);
    return (struct metrics_number){METRICS_KNOWN, negative, rounded, (int64_t)milli};
}

static bool is_word(struct str s)
{
    static const struct str words[] = {{"nan", 3}, {"inf", 3}, {"infinity", 8}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_eq_nocase(s, words[i])) return true;
    }
    return false;
}

struct metrics_number metrics_number(struct str s)
{
    static const struct metrics_number malformed = {.state = METRICS_MALFORMED};
    struct decimal d = {0};
    bool negative = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) s = str_n(s.p + 1, s.n - 1);
    if (is_word(s)) return (struct metrics_number){.state = METRICS_NAN};
    take_digits(&s, &d, false);
    if (s.n && s.p[0] == '.') {
        s = str_n(s.p + 1, s.n - 1);
        take_digits(&s, &d, true);
    }
    if (!d.any || !take_exponent(&s, &d) || s.n) return malformed;
    return to_milli(&d, negative);
}
