/* A file of rotation cases from anybody: every row passes or is named among the failures, and
 * the same text says the same twice. */
#include <stdint.h>

#include "base/check.h"
#include "sim/cases.h"

static int run(struct str text, struct strbuf *out, struct cases_result *ret)
{
    struct err err = {0};
    int rc = cases_run(text, out, ret, &err);
    CHECK(rc == err.code);
    CHECK((rc == 0) == (err.text[0] == '\0'));
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_n((const char *)data, size);
    struct cases_result a = {0}, b = {0};
    struct strbuf first, second;
    strbuf_init(&first, 1 << 22);
    strbuf_init(&second, 1 << 22);
    int rc = run(text, &first, &a);
    CHECK(rc == run(text, &second, &b));
    CHECK(a.passed == b.passed && a.failed == b.failed);
    CHECK(str_eq(strbuf_str(&first), strbuf_str(&second)));
    CHECK((a.failed > 0) == (first.n > 0));
    strbuf_done(&first);
    strbuf_done(&second);
    return 0;
}
