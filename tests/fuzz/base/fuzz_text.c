/* Everything in base that reads text from outside, with laws that must hold for
 * any bytes whatsoever. */
#include "base/check.h"
#include "base/fmt.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What was read can be written, and then reads as itself. */
static void quantities(struct str s)
{
    int64_t v = 0, again = 0;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 1000);
    if (fmt_parse_cpu(s, &v)) {
        CHECK(v >= 0);
        fmt_cpu(&b, v);
        CHECK(fmt_parse_cpu(strbuf_str(&b), &again));
        CHECK(v == again);
    }
    strbuf_reset(&b);
    if (fmt_parse_bytes(s, &v)) {
        CHECK(v >= 0);
        fmt_bytes(&b, v);
        CHECK(fmt_parse_bytes(strbuf_str(&b), &again));
        CHECK(again <= v); /* rounded down */
    }
    strbuf_reset(&b);
    if (fmt_parse_duration(s, &v)) CHECK(v >= 0);
    if (!str_to_i64(s, &v)) return;
    strbuf_i64(&b, v);
    CHECK(str_to_i64(strbuf_str(&b), &again));
    CHECK(v == again);
}

static void texts(struct str s)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 6 * s.n + 2);
    strbuf_json(&b, s);
    CHECK(!b.full);
    CHECK(str_is_utf8(strbuf_str(&b)));
    char clip[16];
    TEXT_CLIP(clip, s);
    CHECK(str_starts(s, str_of(clip)));
    if (str_is_utf8(s)) CHECK(str_is_utf8(str_of(clip)));
    CHECK(str_is_name(s, 100) <= str_is_utf8(s));
}

/* Two halves, compared both ways. */
static void order(struct str s)
{
    struct str a = str_n(s.p, s.n / 2), b = str_n(s.p + s.n / 2, s.n - s.n / 2);
    CHECK(str_natural_cmp(a, b) == -str_natural_cmp(b, a));
    CHECK((str_natural_cmp(a, b) == 0) == str_eq(a, b));
    CHECK((str_cmp(a, b) == 0) == str_eq(a, b));
    CHECK(str_eq_secret(a, b) == str_eq(a, b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = str_n((const char *)data, n);
    quantities(s);
    quantities(str_trim(s));
    texts(s);
    order(s);
    return 0;
}
