/* Engine profiles from anybody: what is accepted prints, and reads any answer without a CHECK. */
#include <stdint.h>

#include "base/check.h"
#include "wire/engine.h"

static const char *const answers[] = {
    "", "\n", "a 1\nb{x=\"y\"} 2\nprocess_start_time_seconds 7\n", "{}", "[{\"a\":[1,true,{}]}]",
    "{\"a\":{\"b\":[{\"c\":1},{\"c\":0.5}]},\"n\":-1}",
};

static void read_with(const struct engine_profile *e)
{
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct metrics m = engine_read(e, str_of(answers[i]), 77);
        CHECK(m.counter.state == METRICS_KNOWN || m.counter.milli == 0);
        CHECK(m.gauge.state == METRICS_KNOWN || m.gauge.milli == 0);
        CHECK(m.counter.state != METRICS_UNREAD);
        CHECK((m.counter.state == METRICS_UNNAMED) <= (e->metrics.n_counters == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct engines e, again;
    struct err err = {0};
    int rc = engine_parse(str_n((const char *)data, n), "mine.yaml", &e, &err);
    if (rc) {
        CHECK(err.code == rc);
        CHECK(str_starts(str_of(err.text), STR("mine.yaml:")));
        return 0;
    }
    AUTO_STRBUF struct strbuf json;
    strbuf_init(&json, (size_t)8 << 20);
    wire_print(&wire_engines, &e, &json);
    CHECK(!json.full);
    rc = wire_parse(&wire_engines, strbuf_str(&json), &again, &err);
    if (rc == 0) {
        CHECK(wire_equal(&wire_engines, &e, &again));
        engine_free(&again);
    } else {
        CHECK(rc == ERR_LIMIT); /* JSON can be longer than the YAML it came from */
    }
    VEC_EACH(one, &e.engines) read_with(one);
    engine_free(&e);
    return 0;
}
