/* tests/unit/agent/image/test_manifest.c - documents of images, as registries send them. */
#include "../test.h"
#include "agent/image/manifest.h"
#include "base/strbuf.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define D "sha256:" HEX
#define PART(more) "{\"mediaType\":\"m\",\"digest\":\"" D "\",\"size\":7" more "}"
#define FOR(arch) PART(",\"platform\":{\"os\":\"linux\",\"architecture\":\"" arch "\"}")
#define TAGGED(tag) PART(",\"annotations\":{\"org.opencontainers.image.ref.name\":\"" tag "\"}")

static void what_registries_send_is_read(void **state)
{
    struct image_doc d;
    struct err err = {0};
    (void)state;
    if (image_doc_parse(STR("{\"schemaVersion\":2,\"mediaType\":\"x\",\"config\":" PART("")
                            ",\"layers\":[" PART("") "," PART(",\"urls\":null")
                            "],\"annotations\":{\"a\":\"b\"},\"subject\":1.5}"), &d, &err) != 0)
        fail_msg("%s", err.text);
    assert_false(image_doc_is_index(&d));
    assert_int_equal(d.layers.n, 2);
    assert_int_equal(d.layers.v[1].size, 7);
    image_doc_done(&d);
}

static void documents_that_are_none(void **state)
{
    static const struct { const char *json; int code; } rows[] = {
        {"", ERR_INVALID},
        {"[]", ERR_INVALID},
        {"{}", ERR_INVALID},
        {"{\"schemaVersion\":1}", ERR_UNSUPPORTED},
        {"{\"schemaVersion\":2}", ERR_UNSUPPORTED},
        {"{\"schemaVersion\":2,\"config\":" PART("") ",\"layers\":[]}", ERR_UNSUPPORTED},
        {"{\"schemaVersion\":2,\"config\":{\"digest\":\"../../etc\",\"size\":1}}", ERR_INVALID},
        {"{\"schemaVersion\":2,\"config\":{\"digest\":\"" D "\",\"size\":-1}}", ERR_INVALID},
        {"{\"schemaVersion\":2,\"config\":{\"digest\":\"" D "\"}}", ERR_INVALID},
        {"{\"schemaVersion\":2,\"layers\":{}}", ERR_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct image_doc d;
        struct err err = {0};
        int rc = image_doc_parse(str_of(rows[i].json), &d, &err);
        if (rc != rows[i].code) fail_msg("%s: %d %s", rows[i].json, rc, err.text);
    }
    struct strbuf b; /* more layers than any overlay */
    strbuf_init(&b, 1 << 20);
    strbuf_puts(&b, "{\"schemaVersion\":2,\"config\":" PART("") ",\"layers\":[");
    for (int i = 0; i <= IMAGE_LAYERS_MAX; i++) strbuf_puts(&b, i ? "," PART("") : PART(""));
    strbuf_puts(&b, "]}");
    struct image_doc d;
    assert_int_equal(image_doc_parse(strbuf_str(&b), &d, NULL), ERR_INVALID);
    strbuf_done(&b);
}

static void the_manifest_for_this_machine(void **state)
{
    static const struct { const char *list, *tag; int rc; } rows[] = {
        {FOR("arm64") "," FOR("amd64"), "", 0},
        {FOR("arm64"), "", ERR_NOT_FOUND},
        {TAGGED("a") "," TAGGED("b"), "a", 0},
        {TAGGED("a") "," TAGGED("b"), "c", ERR_NOT_FOUND},
        {TAGGED("a") "," TAGGED("b"), "", ERR_INVALID}, /* which? */
        {TAGGED("a"), "", 0},
        {PART(",\"platform\":{\"os\":\"windows\",\"architecture\":\"amd64\"}"), "", ERR_NOT_FOUND},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char json[2048];
        struct image_doc d;
        struct image_part p;
        struct err err = {0};
        text_fmt(json, sizeof(json), "{\"schemaVersion\":2,\"manifests\":[%s]}", rows[i].list);
        assert_int_equal(image_doc_parse(str_of(json), &d, &err), 0);
        assert_true(image_doc_is_index(&d));
        int rc = image_doc_choose(&d, "amd64", rows[i].tag, &p, &err);
        if (rc != rows[i].rc) fail_msg("row %zu: %d %s", i, rc, err.text);
        if (rc == 0) assert_string_equal(p.digest, D);
        image_doc_done(&d);
    }
    assert_string_equal(image_arch("x86_64"), "amd64");
    assert_string_equal(image_arch("riscv64"), "riscv64");
}

static void a_configuration_may_say_nothing(void **state)
{
    struct image_config c;
    (void)state;
    assert_int_equal(image_config_parse(STR("{\"os\":\"linux\",\"config\":{\"Env\":null,\"Cmd\":["
                                            "\"a\"],\"Labels\":{\"x\":\"y\"},\"User\":\"0\"}}"),
                                        &c, NULL), 0);
    assert_int_equal(c.config.env.n, 0);
    assert_int_equal(c.config.cmd.n, 1);
    image_config_done(&c);
    assert_int_equal(image_config_parse(STR("{\"config\":null}"), &c, NULL), 0);
    image_config_done(&c);
    assert_int_equal(image_config_parse(STR("{\"config\":{\"Env\":\"A=B\"}}"), &c, NULL),
                     ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_registries_send_is_read),
        cmocka_unit_test(documents_that_are_none),
        cmocka_unit_test(the_manifest_for_this_machine),
        cmocka_unit_test(a_configuration_may_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
