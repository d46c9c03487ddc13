/* A line of the device probe, with whatever a driver made of it: what is accepted prints and
 * reads back, and its links and events name what is there. */
#include <stdint.h>

#include "base/check.h"
#include "wire/probe.h"

static void accepted(struct probe_report *r)
{
    struct probe_report again;
    struct err err = {0};
    AUTO_STRBUF struct strbuf json;
    strbuf_init(&json, (size_t)8 << 20);
    CHECK(r->seq > 0 && r->n_devices <= NODE_DEVICES_MAX);
    CHECK(!r->complete || !r->mismatch);
    VEC_EACH (l, &r->links) CHECK(l->a < l->b && l->b < r->n_devices && l->path < PROBE_PATHS);
    VEC_EACH (e, &r->events) CHECK(e->xid > 0 && (e->uuid[0] || e->pci[0]));
    wire_print(&wire_probe_report, r, &json);
    CHECK(!json.full);
    int rc = wire_parse(&wire_probe_report, strbuf_str(&json), &again, &err);
    CHECK(rc == 0);
    CHECK(wire_equal(&wire_probe_report, r, &again));
    wire_free(&wire_probe_report, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct probe_report r;
    struct err err = {0};
    int rc = wire_parse(&wire_probe_report, str_n((const char *)data, n), &r, &err);
    if (rc) {
        CHECK(err.code == rc && err.text[0]);
        return 0;
    }
    accepted(&r);
    wire_free(&wire_probe_report, &r);
    return 0;
}
