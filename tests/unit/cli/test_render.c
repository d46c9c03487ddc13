/* JSON text laid out as JSON and as YAML. */
#include "test.h"

#include "cli/render.h"

static void layouts(void **state)
{
    (void)state;
    static const struct { const char *in, *json, *yaml; } rows[] = {
        {"{}", "{}\n", "{}\n"},
        {"[]", "[]\n", "[]\n"},
        {"7", "7\n", "7\n"},
        {"{\"a\":1,\"b\":\"two\"}", "{\n  \"a\": 1,\n  \"b\": \"two\"\n}\n", "a: 1\nb: two\n"},
        {"{\"a\":{\"b\":[1,2]},\"c\":[]}",
         "{\n  \"a\": {\n    \"b\": [\n      1,\n      2\n    ]\n  },\n  \"c\": []\n}\n",
         "a:\n  b:\n    - 1\n    - 2\nc: []\n"},
        {"[{\"a\":1,\"b\":{}},{\"a\":2}]",
         "[\n  {\n    \"a\": 1,\n    \"b\": {}\n  },\n  {\n    \"a\": 2\n  }\n]\n",
         "- a: 1\n  b: {}\n- a: 2\n"},
        {"{\"s\":\"a \\\"quoted\\\" \\n, {text}\"}",
         "{\n  \"s\": \"a \\\"quoted\\\" \\n, {text}\"\n}\n",
         "s: \"a \\\"quoted\\\" \\n, {text}\"\n"},
        {"{ \"x\" : null , \"z\" : true }", "{\n  \"x\": null,\n  \"z\": true\n}\n",
         "x: null\nz: true\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf json, yaml;
        strbuf_init(&json, 4096);
        strbuf_init(&yaml, 4096);
        ROW_TRUE(rows[i].in, render_json(str_of(rows[i].in), &json, NULL) == 0);
        ROW_TRUE(rows[i].in, render_yaml(str_of(rows[i].in), &yaml, NULL) == 0);
        assert_string_equal(json.p, rows[i].json);
        assert_string_equal(yaml.p, rows[i].yaml);
        strbuf_done(&json);
        strbuf_done(&yaml);
    }
}

/* Words that a YAML reader would take for something else stay quoted. */
static void quotes_what_is_no_text(void **state)
{
    (void)state;
    static const struct { const char *value, *yaml; } rows[] = {
        {"running", "running"}, {"yes", "\"yes\""}, {"No", "\"No\""}, {"null", "\"null\""},
        {"17", "\"17\""}, {"1e3", "\"1e3\""}, {"", "\"\""}, {"-x", "\"-x\""}, {"a: b", "\"a: b\""},
        {"/usr/bin", "/usr/bin"}, {"~", "\"~\""}, {"s17", "s17"}, {"a#b", "\"a#b\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char in[64], expected[64];
        struct strbuf b;
        text_fmt(in, sizeof(in), "{\"v\":\"%s\"}", rows[i].value);
        text_fmt(expected, sizeof(expected), "v: %s\n", rows[i].yaml);
        strbuf_init(&b, 4096);
        ROW_TRUE(rows[i].value, render_yaml(str_of(in), &b, NULL) == 0);
        assert_string_equal(b.p, expected);
        strbuf_done(&b);
    }
}

static void refuses_what_is_no_json(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]", "[1 2]", "\"open", "{a:1}",
        "{} {}", "{\"a\":1}x",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf b;
        struct err err = {0};
        strbuf_init(&b, 4096);
        ROW_TRUE(rows[i], render_json(str_of(rows[i]), &b, &err) == ERR_INVALID);
        ROW_TRUE(rows[i], b.n == 0);
        strbuf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(quotes_what_is_no_text),
        cmocka_unit_test(refuses_what_is_no_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
