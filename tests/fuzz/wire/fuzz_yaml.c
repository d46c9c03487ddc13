/* YAML from anybody as a submission: an error always names the file; what is
 * accepted prints as JSON that means the same. */
#include <stdint.h>

#include "base/check.h"
#include "wire/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct session_spec spec, again;
    struct err err = {0};
    int rc = wire_parse_yaml(&wire_session_spec, str_n((const char *)data, n), "job.yaml", &spec,
                             &err);
    if (rc) {
        CHECK(err.code == rc);
        CHECK(str_starts(str_of(err.text), STR("job.yaml:")));
        return 0;
    }
    AUTO_STRBUF struct strbuf json;
    strbuf_init(&json, (size_t)64 << 20);
    wire_print(&wire_session_spec, &spec, &json);
    CHECK(!json.full);
    rc = wire_parse_input(&wire_session_spec, strbuf_str(&json), &again, &err);
    if (rc == 0) {
        CHECK(wire_equal(&wire_session_spec, &spec, &again));
        wire_free(&wire_session_spec, &again);
    } else {
        CHECK(rc == ERR_LIMIT); /* escapes can make the JSON longer than a document may be */
    }
    wire_free(&wire_session_spec, &spec);
    return 0;
}
