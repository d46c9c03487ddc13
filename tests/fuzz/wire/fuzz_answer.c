/* A JSON answer of an engine from anybody: known values that are not negative, or unknown ones
 * with a reason.  A path that leads nowhere is never zero. */
#include <stdint.h>

#include "base/check.h"
#include "wire/engine.h"

static const struct metrics_profile profile = {
    .format = METRICS_JSON,
    .identity = METRICS_BY_METRIC,
    .identity_metric = "up.since",
    .digits = METRICS_DIGITS_MAX,
    .n_counters = 2,
    .n_gauges = 2,
    .counters = {{.name = "model_stats[].inference_stats.success.count"},
                 {.name = "model_stats[].inference_stats.fail.count", .optional = true}},
    .gauges = {{.name = "[].is_processing"}, {.name = "exec_info.queue_remaining",
                                              .optional = true}},
};

static void check_value(const struct metrics_value *v)
{
    CHECK(v->state != METRICS_UNREAD);
    CHECK(v->state != METRICS_UNNAMED);
    CHECK(v->milli >= 0);
    CHECK(v->state == METRICS_KNOWN || v->milli == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct metrics m = engine_read_json(&profile, str_n((const char *)data, n), 0);
    check_value(&m.counter);
    check_value(&m.gauge);
    check_value(&m.start);
    /* An answer is an object or a list: never both. */
    CHECK(!(m.counter.state == METRICS_KNOWN && m.gauge.state == METRICS_KNOWN));
    return 0;
}
