/* tests/unit/manager/test_auth.c - tokens of people and join tokens. */
#include "harness.h"
#include "manager/auth.h"

#define CA "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void test_bearer(void **state)
{
    (void)state;
    struct auth a = {0};
    struct store_token t;
    char text[AUTH_TOKEN_TEXT], header[128];
    auth_new_api(7, STR("x"), 1000, &t, text);
    assert_true(str_starts(str_of(text), STR("rota-")));
    assert_null(strstr(t.hash, text + 5)); /* the secret is not in what is stored */
    auth_add(&a, &t);
    const struct { const char *fmt; uint32_t user; } cases[] = {
        {"Bearer %s", 7}, {"bearer %s", 7}, {"BEARER  %s ", 7}, {"Basic %s", 0}, {"%s", 0},
        {"Bearer x%s", 0}, {"Bearer %sx", 0}, {"Bearer", 0}, {"Bearer ", 0}, {"", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf b;
        strbuf_init(&b, 200);
        const char *at = strstr(cases[i].fmt, "%s");
        size_t n = at ? (size_t)(at - cases[i].fmt) : strlen(cases[i].fmt);
        strbuf_put(&b, str_n(cases[i].fmt, n));
        if (at) strbuf_puts(&b, text);
        if (at) strbuf_puts(&b, at + 2);
        text_clip(header, sizeof(header), strbuf_str(&b));
        strbuf_done(&b);
        if (auth_user(&a, str_of(header), 2000) != cases[i].user) fail_msg("%s", cases[i].fmt);
    }
    auth_remove(&a, t.hash);
    text_fmt(header, sizeof(header), "Bearer %s", text);
    assert_int_equal(auth_user(&a, str_of(header), 2000), 0);
    auth_done(&a);
}

static void test_expiry(void **state)
{
    (void)state;
    struct auth a = {0};
    struct store_token t;
    char text[AUTH_TOKEN_TEXT], header[128];
    auth_new_api(7, STR("x"), 1000, &t, text);
    t.expires_wall_ms = 5000;
    auth_add(&a, &t);
    text_fmt(header, sizeof(header), "Bearer %s", text);
    assert_int_equal(auth_user(&a, str_of(header), 4999), 7);
    assert_int_equal(auth_user(&a, str_of(header), 5000), 0);
    auth_done(&a);
}

static void test_join(void **state)
{
    (void)state;
    struct auth a = {0};
    struct store_token t, bound;
    char text[AUTH_JOIN_TEXT], header[256];
    auth_new_join(1, 1000, 500, CA, &t, text);
    assert_true(str_ends(str_of(text), STR("." CA)));
    auth_add(&a, &t);
    assert_non_null(auth_join(&a, str_of(text), STR("agent:n1"), 1400));
    assert_null(auth_join(&a, str_of(text), STR("agent:n1"), 1500)); /* expired */
    assert_null(auth_join(&a, STR("rota-join-x." CA), STR("agent:n1"), 1400));
    assert_null(auth_join(&a, STR(""), STR("agent:n1"), 1400));
    /* It belongs to the first name that used it. */
    bound = t;
    assert_true(TEXT_SET(bound.name, STR("agent:n1")));
    auth_add(&a, &bound);
    assert_int_equal(a.tokens.n, 1);
    assert_non_null(auth_join(&a, str_of(text), STR("agent:n1"), 1400));
    assert_null(auth_join(&a, str_of(text), STR("agent:n2"), 1400));
    assert_null(auth_join(&a, str_of(text), STR("proxy:n1"), 1400));
    /* A join token opens no API, an API token joins nothing. */
    *strchr(text, '.') = '\0';
    text_fmt(header, sizeof(header), "Bearer %s", text);
    assert_int_equal(auth_user(&a, str_of(header), 1400), 0);
    char api[AUTH_TOKEN_TEXT], as_join[AUTH_JOIN_TEXT];
    auth_new_api(7, STR("x"), 1000, &t, api);
    auth_add(&a, &t);
    text_fmt(as_join, sizeof(as_join), "%s.%s", api, CA);
    assert_null(auth_join(&a, str_of(as_join), STR("agent:n1"), 1400));
    auth_done(&a);
}

static void test_removal_keeps_the_others(void **state)
{
    (void)state;
    struct auth a = {0};
    struct store_token t[5];
    char text[5][AUTH_TOKEN_TEXT], header[128];
    for (uint32_t i = 0; i < 5; i++) {
        auth_new_api(i + 1, STR("x"), 1, &t[i], text[i]);
        auth_add(&a, &t[i]);
    }
    auth_remove(&a, t[0].hash);
    auth_remove(&a, t[3].hash);
    auth_remove(&a, t[3].hash);
    for (uint32_t i = 0; i < 5; i++) {
        text_fmt(header, sizeof(header), "Bearer %s", text[i]);
        uint32_t want = i == 0 || i == 3 ? 0 : i + 1;
        assert_int_equal(auth_user(&a, str_of(header), 2), want);
    }
    auth_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bearer),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_removal_keeps_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
