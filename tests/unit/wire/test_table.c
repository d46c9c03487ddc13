/* Laws of every table that Rota has: what is printed reads back, copies are
 * equal and own their parts, a document cut short or spoilt is refused whole. */
#include <jansson.h>

#include "test.h"

#include "wire/member.h"

#define ROUNDS 60

static void printed(const struct wire_table *t, const void *obj, struct strbuf *b)
{
    strbuf_init(b, (size_t)8 << 20);
    wire_print(t, obj, b);
    assert_false(b->full);
}

static void parse_inverts_print(void **state)
{
    (void)state;
    struct rng rng = {1};
    for (uint32_t i = 0; all_tables[i]; i++) {
        const struct wire_table *t = all_tables[i];
        for (int round = 0; round < ROUNDS; round++) {
            AUTO_FREE void *a = mem_alloc(t->size), *b = mem_alloc(t->size);
            AUTO_STRBUF struct strbuf x, y;
            struct err err = {0};
            arbitrary(t, &rng, a);
            printed(t, a, &x);
            int rc = wire_parse(t, strbuf_str(&x), b, &err);
            if (rc) fail_msg("%s: %s\n%s", t->name, err.text, x.p);
            printed(t, b, &y);
            assert_string_equal(x.p, y.p);
            assert_true(wire_equal(t, a, b));
            wire_free(t, a);
            wire_free(t, b);
        }
    }
}

static void a_copy_is_equal_and_its_own(void **state)
{
    (void)state;
    struct rng rng = {2};
    for (uint32_t i = 0; all_tables[i]; i++) {
        const struct wire_table *t = all_tables[i];
        for (int round = 0; round < 10; round++) {
            AUTO_FREE void *a = mem_alloc(t->size), *b = mem_alloc(t->size);
            AUTO_STRBUF struct strbuf x, y;
            arbitrary(t, &rng, a);
            wire_copy(t, a, b);
            printed(t, a, &x);
            wire_free(t, a);
            printed(t, b, &y);
            assert_string_equal(x.p, y.p);
            wire_free(t, b);
        }
    }
}

/* Every prefix, and every document with one byte replaced: refused or read, never
 * a crash, and a refusal leaves the object alone. */
static void spoilt_documents_change_nothing(void **state)
{
    (void)state;
    struct rng rng = {3};
    for (uint32_t i = 0; all_tables[i]; i++) {
        const struct wire_table *t = all_tables[i];
        AUTO_FREE void *a = mem_alloc(t->size), *out = mem_alloc(t->size);
        AUTO_FREE char *before = mem_alloc(t->size);
        AUTO_STRBUF struct strbuf x;
        arbitrary(t, &rng, a);
        printed(t, a, &x);
        wire_free(t, a);
        memset(out, 0xa5, t->size);
        memcpy(before, out, t->size);
        size_t step = 1 + x.n / 200;
        for (size_t n = 0; n < x.n; n += step) {
            struct err err = {0};
            assert_true(wire_parse(t, str_n(x.p, n), out, &err) < 0);
            assert_memory_equal(out, before, t->size);
            assert_true(err.code < 0);
            assert_true(err.text[0] != '\0');
            char kept = x.p[n];
            x.p[n] = "\"{}[]:,0x\xff\n-"[rng_below(&rng, 12)];
            if (wire_parse(t, strbuf_str(&x), out, &err) == 0) {
                wire_free(t, out);
                memset(out, 0xa5, t->size);
            }
            assert_memory_equal(out, before, t->size);
            x.p[n] = kept;
        }
    }
}

static void every_table_is_sound(void **state)
{
    (void)state;
    for (uint32_t i = 0; all_tables[i]; i++) {
        const struct wire_table *t = all_tables[i];
        assert_true(t->n_fields > 0);
        assert_true(t->n_fields <= 64);
        for (uint32_t j = 0; j < t->n_fields; j++) {
            const struct wire_field *f = &t->fields[j];
            assert_true(f->offset + f->size <= t->size);
            assert_string_not_equal(f->name, "v"); /* of the version */
            if (f->alias) assert_true(f->flags & (WIRE_CPU | WIRE_BYTES | WIRE_DURATION));
            if (member_is_number(f) && f->type != WIRE_BOOL && f->type != WIRE_ENUM &&
                !(f->flags & (WIRE_OMIT | WIRE_REQUIRED))) { /* what a default prints as, reads */
                int64_t min, max;
                member_range(f, &min, &max);
                assert_true(min <= f->def && f->def <= max);
            }
            bool listed = f->type == WIRE_TEXTS || f->type == WIRE_MAP;
            if (listed) assert_true(f->max > 0 && f->max_bytes > 0);
            if (f->type == WIRE_LIST || f->type == WIRE_STRING || f->type == WIRE_RAW) {
                assert_true(f->max > 0);
            }
            for (uint32_t k = 0; k < j; k++) {
                assert_string_not_equal(f->name, t->fields[k].name);
                if (f->alias) assert_string_not_equal(f->alias, t->fields[k].name);
            }
        }
    }
}

static void every_schema_is_json(void **state)
{
    (void)state;
    for (uint32_t i = 0; all_tables[i]; i++) {
        AUTO_STRBUF struct strbuf b;
        strbuf_init(&b, 1 << 20);
        wire_schema(all_tables[i], &b);
        json_t *root = json_loadb(b.p, b.n, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        json_t *properties = json_object_get(root, "properties");
        assert_true(json_object_size(properties) >= all_tables[i]->n_fields);
        json_decref(root);
    }
}

static void secrets_are_not_shown(void **state)
{
    (void)state;
    struct join_request r = {.protocol = 1, .token = mem_strndup("hush", 4), .node = "n1",
                             .role = "agent", .csr = mem_strndup("pem", 3)};
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    wire_print_public(&wire_join_request, &r, &b);
    assert_null(strstr(b.p, "hush"));
    assert_non_null(strstr(b.p, "\"token\":\"***\""));
    strbuf_reset(&b);
    wire_print(&wire_join_request, &r, &b);
    assert_non_null(strstr(b.p, "hush"));
    wire_free(&wire_join_request, &r);
    struct err err = {0};
    int rc = wire_parse(&wire_join_request,
                        STR("{\"protocol\":1,\"token\":{\"hush\":1},\"node\":\"n\",\"csr\":\"\"}"),
                        &r, &err);
    assert_int_equal(rc, ERR_INVALID);
    assert_null(strstr(err.text, "hush"));
}

static void a_full_buffer_says_so(void **state)
{
    (void)state;
    struct rng rng = {4};
    AUTO_FREE struct session_view *v = mem_alloc(sizeof(*v));
    AUTO_STRBUF struct strbuf b;
    arbitrary(&wire_session_view, &rng, v);
    strbuf_init(&b, 100);
    wire_print(&wire_session_view, v, &b);
    assert_true(b.full);
    wire_free(&wire_session_view, v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_inverts_print),
        cmocka_unit_test(a_copy_is_equal_and_its_own),
        cmocka_unit_test(spoilt_documents_change_nothing),
        cmocka_unit_test(every_table_is_sound),
        cmocka_unit_test(every_schema_is_json),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(a_full_buffer_says_so),
    };
    return RUN(tests);
}
