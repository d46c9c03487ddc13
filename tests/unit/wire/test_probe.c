/* Reports of the device probe: what is accepted, what is not, what stays unknown. */
#include "test.h"

#include "wire/probe.h"

static int parse(const char *json, struct probe_report *r, struct err *err)
{
    *err = (struct err){0};
    return wire_parse(&wire_probe_report, str_of(json), r, err);
}

static void a_report_reads_back(void **state)
{
    (void)state;
    static const char json[] =
        "{\"seq\":3,\"complete\":true,\"driver\":\"550.54.15\",\"library\":\"550.54.15\","
        "\"xid_kmsg\":true,\"devices\":["
        "{\"vendor\":\"nvidia\",\"index\":0,\"uuid\":\"GPU-a\",\"model\":\"NVIDIA H200\","
        "\"pci\":\"0000:3b:00.0\",\"mem_bytes\":1000,\"ecc_uncorrected\":0,"
        "\"nodes\":[{\"path\":\"/dev/nvidia0\",\"major\":195,\"minor\":0}],"
        "\"processes_known\":true,\"processes\":[{\"pid\":7,\"mem_bytes\":5},{\"pid\":8}]},"
        "{\"vendor\":\"amd\",\"index\":0,\"uuid\":\"AMD-b\",\"lost\":true}],"
        "\"links\":[{\"a\":0,\"b\":1,\"path\":\"link18\"}],"
        "\"events\":[{\"uuid\":\"GPU-a\",\"xid\":79,\"at_ms\":5,\"text\":\"fell off\"}]}";
    struct probe_report r;
    struct err err;
    assert_int_equal(parse(json, &r, &err), 0);
    assert_int_equal(r.n_devices, 2);
    const struct probe_device *d = &r.devices[0];
    assert_int_equal(d->mem_bytes, 1000);
    assert_int_equal(d->ecc_uncorrected, 0);
    assert_int_equal(d->sm_percent, PROBE_UNKNOWN);
    assert_int_equal(d->recovery_action, PROBE_UNKNOWN);
    assert_int_equal(d->processes.n, 2);
    assert_int_equal(d->processes.v[1].mem_bytes, PROBE_UNKNOWN);
    assert_false(r.devices[1].processes_known);
    assert_true(r.devices[1].lost);
    assert_int_equal(r.devices[1].mem_bytes, PROBE_UNKNOWN);
    assert_int_equal(r.links.v[0].path, PROBE_PATH_LINK18);
    AUTO_STRBUF struct strbuf out;
    strbuf_init(&out, 1 << 20);
    wire_print(&wire_probe_report, &r, &out);
    assert_string_equal(out.p, json);
    wire_free(&wire_probe_report, &r);
}

#define DEVICE(uuid, pci) \
    "{\"vendor\":\"nvidia\",\"index\":0,\"uuid\":\"" uuid "\",\"pci\":\"" pci "\"}"
#define REPORT(complete, rest) "{\"seq\":1,\"complete\":" complete "," rest "}"
#define TWO "\"devices\":[" DEVICE("a", "1") "," DEVICE("b", "2") "],"
#define ONE_LINK(a, b) "{\"a\":" a ",\"b\":" b ",\"path\":\"node\"}"

static const struct { const char *json, *field; } refused[] = {
    {"", ""},
    {"[]", ""},
    {"{\"seq\":1,\"complete\":true}", "devices"},
    {"{\"seq\":0,\"complete\":true,\"devices\":[]}", "seq"},
    {REPORT("true", "\"devices\":[],\"mismatch\":true"), "complete"},
    {REPORT("true", "\"devices\":[" DEVICE("", "1") "]"), "devices"},
    {REPORT("false", "\"devices\":[" DEVICE("", "") "]"), "devices"},
    {REPORT("true", "\"devices\":[" DEVICE("a", "1") "," DEVICE("a", "2") "]"), "devices"},
    {REPORT("true", "\"devices\":[" DEVICE("a", "1") "," DEVICE("b", "1") "]"), "devices"},
    {REPORT("true", TWO "\"links\":[" ONE_LINK("1", "0") "]"), "links"},
    {REPORT("true", TWO "\"links\":[" ONE_LINK("0", "0") "]"), "links"},
    {REPORT("true", TWO "\"links\":[" ONE_LINK("0", "2") "]"), "links"},
    {REPORT("true", TWO "\"links\":[" ONE_LINK("0", "1") "," ONE_LINK("0", "1") "]"), "links"},
    {REPORT("true", TWO "\"links\":[{\"a\":0,\"b\":1,\"path\":\"link19\"}]"), "links[0].path"},
    {REPORT("true", TWO "\"events\":[{\"xid\":79,\"at_ms\":1}]"), "events"},
    {REPORT("true", TWO "\"events\":[{\"pci\":\"1\",\"xid\":0,\"at_ms\":1}]"), "events[0].xid"},
    {REPORT("true", "\"devices\":[{\"vendor\":\"matrox\",\"index\":0,\"uuid\":\"a\"}]"),
     "devices[0].vendor"},
    {REPORT("true", "\"devices\":[{\"vendor\":\"amd\",\"index\":0,\"uuid\":\"a\","
                    "\"sm_percent\":101}]"), "devices[0].sm_percent"},
    {REPORT("true", "\"devices\":[{\"vendor\":\"amd\",\"index\":0,\"uuid\":\"a\","
                    "\"mem_bytes\":-2}]"), "devices[0].mem_bytes"},
    {REPORT("true", "\"devices\":[],\"surprise\":1"), "surprise"},
};

static void nonsense_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct probe_report r;
        struct err err;
        if (parse(refused[i].json, &r, &err) != ERR_INVALID)
            fail_msg("accepted: %s", refused[i].json);
        assert_string_equal(err.field, refused[i].field);
        assert_true(err.text[0] != '\0');
    }
}

static void zero_and_an_error_differ_GPU10(void **state)
{
    (void)state;
    struct probe_report none, unread;
    struct err err;
    assert_int_equal(parse(REPORT("true", "\"devices\":[]"), &none, &err), 0);
    assert_int_equal(parse(REPORT("false", "\"error\":\"no driver\",\"devices\":[]"), &unread,
                           &err), 0);
    assert_true(none.complete);
    assert_false(unread.complete);
    assert_false(wire_equal(&wire_probe_report, &none, &unread));
}

static void a_fresh_device_knows_nothing(void **state)
{
    (void)state;
    struct probe_device d;
    memset(&d, 0x55, sizeof(d));
    probe_device_init(&d);
    assert_int_equal(d.mem_bytes, PROBE_UNKNOWN);
    assert_int_equal(d.ecc_uncorrected, PROBE_UNKNOWN);
    assert_int_equal(d.numa_node, PROBE_UNKNOWN);
    assert_string_equal(d.uuid, "");
    assert_int_equal(d.processes.n, 0);
    assert_false(d.processes_known || d.lost || d.mig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_reads_back),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(zero_and_an_error_differ_GPU10),
        cmocka_unit_test(a_fresh_device_knows_nothing),
    };
    return RUN(tests);
}
