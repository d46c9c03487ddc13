/* sim/rotation_trace.c - reading a trace of requests, and making days of it.
 *
 * Invariant: rows are sorted by (at_ms, seq), so the same text gives the same
 * arrivals whatever the sort does with equals. */
#include "sim/rotation_trace.h"
#include <stdlib.h>
#include "base/check.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define TILE_GAP_MS 1000      /* between the last request of a tile and the next tile */
#define POOL_SHIFT_MS (3 * HOUR_MS)

static bool digits(struct str s, size_t at, size_t n, int64_t *ret)
{
    uint64_t v;
    if (s.n < at + n || !str_to_u64(str_n(s.p + at, n), &v)) return false;
    *ret = (int64_t)v;
    return true;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar (Hinnant's algorithm). */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* "2023-11-16 18:17:03.9799600": milliseconds, rounded down. */
static bool parse_time(struct str s, int64_t *ret_ms)
{
    int64_t y, mo, d, h, mi, sec, ms = 0;
    if (!digits(s, 0, 4, &y) || !digits(s, 5, 2, &mo) || !digits(s, 8, 2, &d)) return false;
    if (!digits(s, 11, 2, &h) || !digits(s, 14, 2, &mi) || !digits(s, 17, 2, &sec)) return false;
    if (s.p[4] != '-' || s.p[7] != '-' || s.p[10] != ' ' || s.p[13] != ':' || s.p[16] != ':')
        return false;
    if (y < 1970 || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || sec > 60)
        return false;
    if (s.n > 19 && (s.p[19] != '.' || !digits(s, 20, 3, &ms))) return false;
    *ret_ms = ((days_of(y, mo, d) * 24 + h) * 60 + mi) * 60000 + sec * 1000 + ms;
    return true;
}

static bool parse_row(struct str line, struct rotation_row *ret)
{
    struct str time, context, generated;
    uint64_t c, g;
    if (!str_cut(&line, ',', &time) || !str_cut(&line, ',', &context)) return false;
    generated = line;
    if (!str_to_u64(context, &c) || !str_to_u64(generated, &g)) return false;
    if (c > ROTATION_TOKENS_MAX || g > ROTATION_TOKENS_MAX) return false;
    ret->context = (uint32_t)c;
    ret->generated = (uint32_t)g;
    return parse_time(time, &ret->at_ms);
}

static int by_time(const void *a, const void *b)
{
    const struct rotation_row *x = a, *y = b;
    if (x->at_ms != y->at_ms) return x->at_ms < y->at_ms ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void settle(struct rotation_trace *t)
{
    qsort(t->rows.v, t->rows.n, sizeof(*t->rows.v), by_time);
    int64_t first = t->rows.v[0].at_ms;
    VEC_EACH(r, &t->rows) r->at_ms -= first;
    t->span_ms = t->rows.v[t->rows.n - 1].at_ms + TILE_GAP_MS;
}

static int parse_rows(struct str csv, struct rotation_trace *t, struct err *err)
{
    struct str line;
    for (uint32_t number = 1; csv.n > 0; number++) {
        str_cut(&csv, '\n', &line);
        if (line.n > 0 && line.p[line.n - 1] == '\r') line.n--;
        if (number == 1 || line.n == 0) continue; /* the names of the columns */
        if (t->rows.n == ROTATION_TRACE_ROWS_MAX)
            return err_set(err, ERR_LIMIT, "more than %u requests", ROTATION_TRACE_ROWS_MAX);
        struct rotation_row row = {.seq = t->rows.n};
        if (!parse_row(line, &row))
            return err_set(err, ERR_INVALID, "line %u: expected TIME,CONTEXT,GENERATED such as "
                           "2023-11-16 18:17:03.9799600,4808,10", number);
        VEC_PUSH(&t->rows, row);
    }
    if (t->rows.n == 0) return err_set(err, ERR_INVALID, "no request in it");
    return 0;
}

int rotation_trace_parse(struct str csv, struct rotation_trace *ret, struct err *err)
{
    struct rotation_trace t = {0};
    int rc = parse_rows(csv, &t, err);
    if (rc != 0) {
        rotation_trace_done(&t);
        return rc;
    }
    settle(&t);
    *ret = t;
    return 0;
}

/* A few answers and a few prompts are long: they are what a bounded drain meets. */
void rotation_trace_make(struct rotation_trace *t, uint64_t seed)
{
    struct rng rng = {seed};
    *t = (struct rotation_trace){0};
    bool on = true;
    for (int64_t minute = 0; minute < 60; minute++) {
        on = on ? rng_below(&rng, 8) != 0 : rng_below(&rng, 3) == 0;
        uint64_t n = on ? 60 + rng_below(&rng, 300) : rng_below(&rng, 4);
        for (uint64_t i = 0; i < n; i++) {
            struct rotation_row row = {.seq = t->rows.n}; /* the lots in this order, always */
            row.at_ms = minute * 60000 + (int64_t)rng_below(&rng, 60000);
            row.context = 100 + (uint32_t)rng_below(&rng, 4000);
            row.generated = 5 + (uint32_t)rng_below(&rng, 60);
            if (rng_below(&rng, 50) == 0) row.generated = 1500 + (uint32_t)rng_below(&rng, 2000);
            if (rng_below(&rng, 200) == 0) row.context = 100000 + (uint32_t)rng_below(&rng, 90000);
            VEC_PUSH(&t->rows, row);
        }
    }
    settle(t);
}

void rotation_trace_done(struct rotation_trace *t)
{
    VEC_DONE(&t->rows);
    *t = (struct rotation_trace){0};
}

uint32_t rotation_trace_curve(int64_t time_ms)
{
    static const uint16_t hours[25] = {0, 0, 0, 0, 0, 0, 10, 60, 250, 650, 950, 1000, 900,
                                       950, 1000, 1000, 900, 700, 400, 200, 100, 50, 20, 0, 0};
    CHECK(time_ms >= 0);
    int64_t of_day = time_ms % DAY_MS, part = of_day % HOUR_MS;
    uint32_t a = hours[of_day / HOUR_MS], b = hours[of_day / HOUR_MS + 1];
    return (uint32_t)((a * (HOUR_MS - part) + b * part) / HOUR_MS);
}

void rotation_arrivals_init(struct rotation_arrivals *a, const struct rotation_trace *trace,
                            uint32_t pools, uint64_t seed, int64_t clock_ms)
{
    CHECK(clock_ms >= 0);
    CHECK(trace->rows.n > 0);
    CHECK(trace->span_ms > 0);
    CHECK(pools > 0);
    *a = (struct rotation_arrivals){.trace = trace, .pools = pools, .rng = {seed},
                                    .clock_ms = clock_ms};
}

struct rotation_request rotation_arrivals_next(struct rotation_arrivals *a)
{
    for (;;) { /* a trace of a day may fall into the night for ever: hence the bound */
        if (a->next == a->trace->rows.n) {
            a->next = 0;
            a->tile_ms += a->trace->span_ms;
        }
        const struct rotation_row *row = &a->trace->rows.v[a->next];
        int64_t at = a->tile_ms + row->at_ms;
        if (at >= ROTATION_NEVER_MS) return (struct rotation_request){.at_ms = ROTATION_NEVER_MS};
        uint32_t pool = (uint32_t)rng_below(&a->rng, a->pools);
        a->next++;
        int64_t local = at + a->clock_ms + (int64_t)pool * POOL_SHIFT_MS;
        if (rng_below(&a->rng, 1000) >= rotation_trace_curve(local)) continue;
        return (struct rotation_request){at, pool, row->context, row->generated};
    }
}
