/* tests/unit/agent/image/test_ref.c - names of images and digests, good and bad. */
#include "../test.h"
#include "agent/image/ref.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void good_names(void **state)
{
    static const struct {
        const char *text;
        enum image_kind kind;
        const char *name, *tag, *digest, *registry;
    } rows[] = {
        {"host", IMAGE_HOST, "", "", "", ""},
        {"oci:/a/b", IMAGE_OCI, "/a/b", "", "", ""},
        {"oci:/a/b:v1", IMAGE_OCI, "/a/b", "v1", "", ""},
        {"oci:/a:b/c", IMAGE_OCI, "/a:b/c", "", "", ""},
        {"docker://busybox", IMAGE_DOCKER, "busybox", "latest", "", "docker.io"},
        {"docker://a/b:v1.2-x_y", IMAGE_DOCKER, "a/b", "v1.2-x_y", "", "docker.io"},
        {"docker://localhost/b", IMAGE_DOCKER, "localhost/b", "latest", "", "localhost"},
        {"docker://127.0.0.1:5000/b:1", IMAGE_DOCKER, "127.0.0.1:5000/b", "1", "",
         "127.0.0.1:5000"},
        {"docker://r.example/x/y@sha256:" HEX, IMAGE_DOCKER, "r.example/x/y", "", "sha256:" HEX,
         "r.example"},
        {"docker://r.example/x:t@sha256:" HEX, IMAGE_DOCKER, "r.example/x", "t", "sha256:" HEX,
         "r.example"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct image_ref r;
        struct err err = {0};
        if (image_ref_parse(rows[i].text, &r, &err) != 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_int_equal(r.kind, rows[i].kind);
        assert_string_equal(r.name, rows[i].name);
        assert_string_equal(r.tag, rows[i].tag);
        assert_string_equal(r.digest, rows[i].digest);
        assert_string_equal(r.registry, rows[i].registry);
    }
}

static void bad_names(void **state)
{
    static const char *const rows[] = {
        "", "hosts", "pytorch", "oci:", "oci:relative", "oci:/a:", "oci:/a:b c", "oci:/a\nb",
        "docker://", "docker:///x", "docker://a//b", "docker://a/", "docker://-x", "docker://a b",
        "docker://a:", "docker://a:-t", "docker://a:.t", "docker://a@", "docker://a@sha256:12",
        "docker://a@sha512:" HEX, "docker://a@sha256:" HEX "0", "docker://a;b", "docker://a\n",
        "docker://a$b", "docker:a", "Docker://a",
        "docker://a@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct image_ref r = {.tag = "kept"};
        struct err err = {0};
        if (image_ref_parse(rows[i], &r, &err) != ERR_INVALID) fail_msg("'%s' was taken", rows[i]);
        assert_true(err.text[0] != '\0');
        assert_string_equal(r.tag, "kept");
    }
    struct image_ref r;
    char longest[600] = "docker://";
    memset(longest + 9, 'a', 400);
    assert_int_equal(image_ref_parse(longest, &r, NULL), ERR_INVALID);
    memcpy(longest, "oci:/", 5);
    assert_int_equal(image_ref_parse(longest, &r, NULL), ERR_INVALID);
}

static void digests_are_what_they_name(void **state)
{
    static const char empty[] =
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    char d[DIGEST_TEXT], hex[DIGEST_HEX];
    struct digest_sum sum;
    (void)state;
    digest_of(STR(""), d);
    assert_string_equal(d, empty);
    digest_hex(d, hex);
    assert_string_equal(hex, empty + 7);
    digest_begin(&sum);
    digest_add(&sum, "a", 1);
    digest_add(&sum, "bc", 2);
    digest_end(&sum, d);
    assert_string_equal(
        d, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_names),
        cmocka_unit_test(bad_names),
        cmocka_unit_test(digests_are_what_they_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
