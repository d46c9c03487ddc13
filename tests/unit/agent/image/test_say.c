/* tests/unit/agent/image/test_say.c - a fetcher's words, as they really are, and what they
 * mean for whoever waits. */
#include "../test.h"
#include "agent/image/say.h"

#define FATAL "time=\"2026-12-01T15:55:03Z\" level=fatal msg=\"Error parsing image name "

static void words_have_meanings(void **state)
{
    static const struct { const char *words; int code; bool fatal; } rows[] = {
        {FATAL "\\\"docker://r/y:v1\\\": reading manifest v1 in r/y: manifest unknown: manifest "
               "unknown\"\n", ERR_NOT_FOUND, true},
        {FATAL "reading manifest latest in docker.io/library/nonesuch: errors:\\ndenied: "
               "requested access to the resource is denied\"\n", ERR_DENIED, true},
        {FATAL "Get \\\"http://127.0.0.1:5078/v2/\\\": dial tcp 127.0.0.1:5078: connect: "
               "connection refused\"\n", ERR_UNAVAILABLE, false},
        {FATAL "http: server gave HTTP response to HTTPS client\"\n", ERR_UNSUPPORTED, true},
        {FATAL "lookup nosuch.invalid on 10.0.0.1:53: no such host\"\n", ERR_UNAVAILABLE, false},
        {"time=\"x\" level=fatal msg=\"writing blob: storing blob to file \\\"/x/oci-put-blob1"
         "\\\": write /x: no space left on device\"\n", ERR_UNAVAILABLE, false},
        {FATAL "received unexpected HTTP status: 500 Internal Server Error\"\n", ERR_IO, false},
        {FATAL "net/http: TLS handshake timeout\"\n", ERR_UNAVAILABLE, false},
        {FATAL "toomanyrequests: You have reached your pull rate limit\"\n", ERR_UNAVAILABLE,
         false},
        {FATAL "open /root/auth.json: permission denied\"\n", ERR_IO, false},
        {"panic: whatever\n", ERR_IO, false},
        {"", ERR_IO, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        int rc = say_why(str_of(rows[i].words), "docker://r/y:v1", &err);
        if (rc != rows[i].code) fail_msg("%s: %d %s", rows[i].words, rc, err.text);
        assert_int_equal(say_is_fatal(rc), rows[i].fatal);
        assert_non_null(strstr(err.text, "docker://r/y:v1"));
        for (const char *c = err.text; *c; c++) assert_true((unsigned char)*c >= ' ');
    }
}

static void unknown_words_are_passed_on(void **state)
{
    struct err err = {0};
    (void)state;
    say_why(STR(FATAL "received unexpected HTTP status: 500 Internal Server Error\"\n"), "x", &err);
    assert_non_null(strstr(err.text, "500 Internal Server Error"));
    assert_null(strstr(err.text, "level="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_have_meanings),
        cmocka_unit_test(unknown_words_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
