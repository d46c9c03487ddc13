/* tests/unit/manager/test_settings.c */
#include "harness.h"
#include "manager/settings.h"

static void test_file(void **state)
{
    (void)state;
    const struct { const char *text, *error; } cases[] = {
        {"listen: 127.0.0.1:1\ninsecure: true\n", NULL},
        {"dir: /tmp/x\nproxy_url: https://p\n", NULL},
        {"lisen: 127.0.0.1:1\n", "listen"},   /* the nearest key */
        {"listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", "f.yaml:2"},
        {"insecure: yes\n", "f.yaml:1"},
        {"admin_uid: -1\n", "admin_uid"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct settings s;
        struct err err = {0};
        settings_defaults(&s);
        int rc = settings_parse(&s, str_of(cases[i].text), "f.yaml", &err);
        if (!cases[i].error && rc != 0) fail_msg("%s: %s", cases[i].text, err.text);
        if (cases[i].error && (rc == 0 || !strstr(err.text, cases[i].error)))
            fail_msg("%s: \"%s\" does not say %s", cases[i].text, err.text, cases[i].error);
    }
}

static void test_plain_http_stays_on_loopback(void **state)
{
    (void)state;
    const struct { const char *listen; bool insecure, ok; } cases[] = {
        {"127.0.0.1:7410", false, true},  {"[::1]:7410", false, true},
        {"localhost:7410", false, true},  {"unix:/tmp/x", false, true},
        {"0.0.0.0:7410", false, false},   {"*:7410", false, false},
        {"10.0.0.1:7410", false, false},  {"10.0.0.1:7410", true, true},
        {"example.org:7410", false, false}, {"127.0.0.1", false, false}, {"", true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct settings s;
        struct err err = {0};
        settings_defaults(&s);
        assert_true(TEXT_SET(s.listen, str_of(cases[i].listen)));
        s.insecure = cases[i].insecure;
        bool ok = settings_check(&s, &err) == 0;
        if (ok != cases[i].ok) fail_msg("%s: %s", cases[i].listen, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_plain_http_stays_on_loopback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
