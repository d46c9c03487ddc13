/* wire/parse.c - strict JSON into an object.
 *
 * jansson refuses double keys, NUL, bad UTF-8 and numbers beyond 64 bits; the
 * table refuses the rest. */
#include <jansson.h>

#include "base/check.h"
#include "wire/decode.h"

/* The library's words are for programmers; these are the faults people make. */
static const char *what_is_wrong(const json_error_t *why)
{
    enum json_error_code code = json_error_code(why);
    if (code == json_error_null_character) return "a zero byte in a text";
    if (code == json_error_invalid_utf8) return "bytes that are not UTF-8";
    if (code == json_error_duplicate_key) return "a field is given twice";
    if (code == json_error_numeric_overflow) return "a number is too big";
    if (code == json_error_stack_overflow) return "nested too deep";
    return why->text;
}

static int parse(const struct wire_table *t, struct str json, bool input, void *obj,
                 struct err *err)
{
    size_t max = t->max_bytes ? t->max_bytes : WIRE_DOC_MAX;
    if (json.n > max) {
        return err_set(err, ERR_LIMIT, "%s: expected at most %zu bytes, got %zu", t->name, max,
                       json.n);
    }
    json_error_t why;
    json_t *root = json_loadb(json.n ? json.p : "", json.n, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        CHECK(json_error_code(&why) != json_error_out_of_memory);
        return err_set(err, ERR_INVALID, "%s: not JSON: line %d, column %d: %s", t->name, why.line,
                       why.column, what_is_wrong(&why));
    }
    int rc = decode(t, root, NULL, input, obj, err);
    json_decref(root);
    return rc;
}

int wire_parse(const struct wire_table *t, struct str json, void *obj, struct err *err)
{
    return parse(t, json, false, obj, err);
}

int wire_parse_input(const struct wire_table *t, struct str json, void *obj, struct err *err)
{
    return parse(t, json, true, obj, err);
}
