/* A text exposition from anybody: three values that are known and not negative, or unknown with
 * a reason.  The same answer twice over has twice the sums; remarks change nothing. */
#include <stdint.h>

#include "base/check.h"
#include "base/strbuf.h"
#include "core/rotate/metrics.h"

static const struct metrics_profile profile = {
    .format = METRICS_PROMETHEUS,
    .identity = METRICS_BY_EITHER,
    .identity_metric = "process_start_time_seconds",
    .digits = METRICS_DIGITS_MAX,
    .n_counters = 2,
    .n_gauges = 2,
    .counters = {{.name = "a"}, {.name = "vllm:prompt_tokens_total", .optional = true}},
    .gauges = {{.name = "g", .n_labels = 2, .labels = {{"kind", "run"}, {"to", ""}}},
               {.name = "vllm:num_requests_running"}},
};

static void check_value(const struct metrics_value *v)
{
    CHECK(v->state != METRICS_UNREAD);
    CHECK(v->state < METRICS_STATES);
    CHECK(v->milli >= 0);
    CHECK(v->state == METRICS_KNOWN || v->milli == 0);
}

static bool same(const struct metrics *a, const struct metrics *b)
{
    return a->counter.state == b->counter.state && a->counter.milli == b->counter.milli &&
           a->gauge.state == b->gauge.state && a->gauge.milli == b->gauge.milli &&
           a->start.state == b->start.state && a->start.milli == b->start.milli;
}

static void check_double(const struct metrics_value *one, const struct metrics_value *two)
{
    if (one->state != METRICS_KNOWN) CHECK(two->state == one->state);
    else if (two->state != METRICS_TOO_BIG) CHECK(two->milli == 2 * one->milli);
}

static void check_number(struct str s)
{
    struct metrics_number n = metrics_number(s);
    CHECK(n.milli >= 0);
    CHECK(n.state == METRICS_KNOWN || n.milli == 0);
    CHECK(!n.negative || n.milli > 0);
    CHECK(!n.rounded || n.milli > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n((const char *)data, n);
    struct metrics m = metrics_read(&profile, text, 0);
    check_value(&m.counter);
    check_value(&m.gauge);
    check_value(&m.start);
    check_number(text);
    if (n == 0 || data[n - 1] != '\n') return 0;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, (size_t)8 << 20);
    strbuf_puts(&b, "# TYPE a counter\n\n");
    strbuf_put(&b, text);
    strbuf_puts(&b, "#\n");
    struct metrics again = metrics_read(&profile, strbuf_str(&b), 0);
    CHECK(same(&m, &again));
    strbuf_put(&b, text);
    again = metrics_read(&profile, strbuf_str(&b), 0);
    check_double(&m.counter, &again.counter);
    check_double(&m.gauge, &again.gauge);
    return 0;
}
