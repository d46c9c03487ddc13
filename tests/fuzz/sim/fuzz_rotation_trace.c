/* A trace of requests from anybody: refused with a reason, or sorted from 0 on; and what is
 * made of it comes in the order of time. */
#include <stdint.h>

#include "base/check.h"
#include "sim/rotation_trace.h"

#define REQUESTS 100

static void check(const struct rotation_trace *t)
{
    int64_t last = 0;
    CHECK(t->rows.n > 0);
    CHECK(t->rows.v[0].at_ms == 0);
    VEC_EACH(r, &t->rows) {
        CHECK(r->at_ms >= last);
        last = r->at_ms;
    }
    CHECK(t->span_ms > last);
    struct rotation_arrivals a;
    rotation_arrivals_init(&a, t, 3, 1, 0);
    last = 0;
    for (int i = 0; i < REQUESTS; i++) {
        struct rotation_request r = rotation_arrivals_next(&a);
        CHECK(r.at_ms >= last);
        CHECK(r.at_ms <= ROTATION_NEVER_MS);
        CHECK(r.pool < 3);
        last = r.at_ms;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rotation_trace t = {0};
    struct err err = {0};
    int rc = rotation_trace_parse(str_n((const char *)data, size), &t, &err);
    CHECK(rc == err.code);
    CHECK((rc == 0) == (t.rows.n > 0));
    if (rc == 0) check(&t);
    rotation_trace_done(&t);
    return 0;
}
