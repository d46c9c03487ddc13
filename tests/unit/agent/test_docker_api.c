/* tests/unit/agent/test_docker_api.c - what is made of an engine's answers, the bad ones above
 * all: nothing is ever concluded from one that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "agent/docker/api.h"
#include "agent/docker/http.h"
#include "base/mem.h"
#include "fake_engine.h"
#include "host/proc.h"

#define HEAD(status) "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n"
#define JSON(status, body) HEAD(status) "\r\n" body
#define CUT(status, body) HEAD(status) "Content-Length: 999\r\n\r\n" body
#define CHUNKS HEAD("200 OK") "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNKED CHUNKS "46\r\n" /* as long as STATE */
#define PING(name) "HTTP/1.1 200 OK\r\nServer: " name "\r\nContent-Length: 2\r\n\r\nOK"
#define STATE "{\"Id\":\"abc\",\"X\":[null,1.5],\"State\":{\"Running\":true,\"Pid\":77,\"Y\":null}}"

static void answers_are_read_for_what_they_say(void **state)
{
    static const struct { struct fake_answer a; int rc; const char *says; } cases[] = {
        {{.bytes = JSON("200 OK", STATE)}, 0, ""},
        {{.bytes = CHUNKED STATE "\r\n0\r\n\r\n"}, 0, ""},
        {{.bytes = "HTTP/1.1 100 Continue\r\n\r\n" JSON("200 OK", STATE)}, 0, ""},
        {{.bytes = JSON("404 Not Found", "{\"message\":\"No such thing\\n\"}")}, ERR_NOT_FOUND,
         "No such thing "},
        {{.bytes = JSON("409 Conflict", "{\"message\":\"held\"}")}, ERR_CONFLICT, "held"},
        {{.bytes = JSON("400 Bad Request", "{\"message\":\"bad!\"}")}, ERR_INVALID, "bad!"},
        {{.bytes = JSON("500 Internal", "oops")}, ERR_IO, "the container engine answered 500"},
        {{.bytes = JSON("500 Internal", "{\"message\":17}")}, ERR_IO,
         "the container engine answered 500"},
        /* no answers */
        {{.bytes = CUT("200 OK", STATE)}, ERR_UNAVAILABLE, "broke its answer off"},
        {{.bytes = CHUNKED STATE "\r\n"},
         ERR_UNAVAILABLE, "broke its answer off"},
        {{.bytes = "HTTP/1.1 200 OK\r\nConte"}, ERR_UNAVAILABLE, "broke its answer off"},
        {{.bytes = ""}, ERR_UNAVAILABLE, "broke its answer off"},
        {{.bytes = "SSH-2.0-OpenSSH\r\n\r\n"}, ERR_UNAVAILABLE, "unreadable"},
        {{.bytes = JSON("200 OK", "oops")}, ERR_UNAVAILABLE, "unreadable"},
        {{.bytes = JSON("200 OK", "{}")}, ERR_UNAVAILABLE, "unreadable"},
        {{.bytes = JSON("200 OK", "[]")}, ERR_UNAVAILABLE, "unreadable"},
        {{.bytes = JSON("200 OK", "{\"Id\":\"abc\",\"State\":{\"Pid\":\"no\"},\"X\":{}}  ")},
         ERR_UNAVAILABLE, "unreadable"},
        {{.bytes = CHUNKS "zz\r\n"}, ERR_INVALID, "unreadable"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake_engine f;
        struct docker_state s = {.pid = -7};
        struct err err = {0};
        fake_engine_start(&f, &cases[i].a, 1);
        int rc = docker_inspect(f.path, "a/b", &s, &err);
        fake_engine_stop(&f);
        if (rc != cases[i].rc || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %d, '%s'", i, rc, err.text);
        assert_string_equal(f.asked, "GET /containers/a%2Fb/json HTTP/1.1\n");
        assert_int_equal(s.pid, rc == 0 ? 77 : -7); /* untouched */
    }
}

static void an_answer_without_end_is_bounded(void **state)
{
    char *block = mem_alloc(1 << 20);
    struct fake_engine f;
    struct docker_state s;
    struct err err = {0};
    (void)state;
    memset(block, ' ', 1 << 20);
    static const char head[] = HEAD("200 OK") "\r\n";
    memcpy(block, head, sizeof(head) - 1);
    const struct fake_answer endless = {block, 1 << 20, false, 64};
    fake_engine_start(&f, &endless, 1);
    assert_int_equal(docker_inspect(f.path, "x", &s, &err), ERR_LIMIT);
    fake_engine_stop(&f);
    mem_free(block);
}

static void silence_has_an_end(void **state)
{
    static const struct fake_answer cases[] = {
        {"", 0, true, 0},
        {"HTTP/1.1 200 OK\r\n", 0, true, 0},
        {HEAD("200 OK") "Content-Length: 100\r\n\r\n{", 0, true, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake_engine f;
        struct strbuf b;
        struct err err = {0};
        int status = 0;
        strbuf_init(&b, 4096);
        fake_engine_start(&f, &cases[i], 1);
        struct docker_call c = {.socket = f.path, .method = "GET", .target = "/x",
                                .timeout_ms = 100};
        int64_t from = proc_mono_us();
        assert_int_equal(docker_call(&c, &status, &b, &err), ERR_UNAVAILABLE);
        assert_true(proc_mono_us() - from < 5000000);
        assert_non_null(strstr(err.text, "does not answer"));
        fake_engine_stop(&f);
        strbuf_done(&b);
    }
}

static void nobody_there_is_told(void **state)
{
    struct docker_version v;
    struct err err = {0};
    (void)state;
    assert_int_equal(docker_version("/tmp/rota-no-such-socket", &v, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "no container engine at /tmp/rota-no-such-socket"));
}

static void it_is_known_by_its_name(void **state)
{
    static const struct { struct fake_answer a; int rc; enum docker_kind kind; const char *v; }
    cases[] = {
        {{.bytes = PING("Docker/20.10.24+dfsg1 (linux)")}, 0, DOCKER_DOCKER, "20.10.24+dfsg1"},
        {{.bytes = PING("Libpod/4.3.1 (linux)")}, 0,
         DOCKER_PODMAN, "4.3.1"},
        {{.bytes = PING("nginx")}, ERR_UNSUPPORTED, 0, ""},
        {{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"}, ERR_UNSUPPORTED, 0, ""},
        {{.bytes = "HTTP/1.1 503 Busy\r\nServer: Docker/1\r\nContent-Length: 0\r\n\r\n"},
         ERR_UNAVAILABLE, 0,
         ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake_engine f;
        struct docker_version v = {0};
        struct err err = {0};
        fake_engine_start(&f, &cases[i].a, 1);
        assert_int_equal(docker_version(f.path, &v, &err), cases[i].rc);
        fake_engine_stop(&f);
        assert_int_equal(v.kind, cases[i].kind);
        assert_string_equal(v.version, cases[i].v);
    }
}

/* Only "there is none" frees anything. */
static void gone_is_what_the_engine_says_is_gone(void **state)
{
#define NONE {.bytes = JSON("404 Not Found", "{\"message\":\"none\"}")}
#define DONE {.bytes = "HTTP/1.1 204 No Content\r\n\r\n"}
#define HERE {.bytes = JSON("200 OK", STATE)}
    static const struct { struct fake_answer a[4]; size_t n; int rc; } cases[] = {
        {{NONE}, 1, 0},
        {{DONE, NONE}, 2, 0},
        {{DONE, HERE, DONE, NONE}, 4, 0}, /* accepted is not done */
        {{{.bytes = JSON("409 Conflict", "{\"message\":\"busy\"}")}, NONE}, 2, 0},
        {{{.bytes = JSON("500 Internal", "oops")}}, 1, ERR_IO},
        {{{.bytes = ""}}, 1, ERR_UNAVAILABLE},
        {{{.bytes = JSON("403 Forbidden", "oops")}}, 1, ERR_DENIED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake_engine f;
        struct err err = {0};
        fake_engine_start(&f, cases[i].a, cases[i].n);
        int rc = docker_remove(f.path, "x", &err);
        fake_engine_stop(&f);
        if (rc != cases[i].rc) fail_msg("case %zu: %d %s", i, rc, err.text);
    }
}

static void a_pull_fails_in_its_own_stream(void **state)
{
#define STREAM(body) {.bytes = HEAD("200 OK") "\r\n" body}
    static const struct { struct fake_answer a; int rc; } cases[] = {
        {STREAM("{\"status\":\"Pulling\"}\n{\"status\":\"Done\",\"progressDetail\":{}}\n"), 0},
        {STREAM("{\"status\":\"Pulling\"}\nnonsense\n"), 0}, /* the image is looked for anyway */
        {STREAM("{\"error\":\"manifest for x not found\"}\n"), ERR_NOT_FOUND},
        {STREAM("{\"status\":\"x\"}\n{\"error\":\"pull access denied\"}\n{\"status\":\"y\"}\n"),
         ERR_DENIED},
        {STREAM("{\"error\":\"no space left on device\"}\n"), ERR_IO},
        {{.bytes = JSON("404 Not Found", "{\"message\":\"x does not exist\"}")},
         ERR_NOT_FOUND},
        {{.bytes = CUT("500 Internal", "{\"message\":\"unauthorized: login\"}")},
         ERR_UNAVAILABLE},
        {{.bytes = JSON("500 Internal", "{\"message\":\"unauthorized: login\"}")},
         ERR_DENIED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake_engine f;
        struct err err = {0};
        fake_engine_start(&f, &cases[i].a, 1);
        int rc = docker_pull(f.path, "reg:5000/x", &err);
        fake_engine_stop(&f);
        if (rc != cases[i].rc) fail_msg("case %zu: %d %s", i, rc, err.text);
        assert_string_equal(f.asked,
                            "POST /images/create?fromImage=reg%3A5000%2Fx&tag=latest HTTP/1.1\n");
    }
}

static void a_list_has_all_names(void **state)
{
    static const struct fake_answer a = {
        .bytes = HEAD("200 OK") "\r\n[{\"Names\":[\"/a\"],\"Labels\":null},"
                 "{\"Names\":[\"b\",\"/c\"]}]", 0,
        false, 0};
    static const struct fake_answer bad = {.bytes = HEAD("200 OK") "\r\n{\"Names\":[]}"};
    struct docker_list l;
    struct fake_engine f;
    struct err err = {0};
    (void)state;
    fake_engine_start(&f, &a, 1);
    assert_int_equal(docker_list(f.path, "x=y", &l, &err), 0);
    fake_engine_stop(&f);
    assert_int_equal(l.items.n, 3);
    assert_string_equal(l.items.v[0].name, "a");
    assert_string_equal(l.items.v[2].name, "c");
    docker_list_done(&l);
    fake_engine_start(&f, &bad, 1);
    assert_int_equal(docker_list(f.path, "x=y", &l, &err), ERR_UNAVAILABLE);
    fake_engine_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_read_for_what_they_say),
        cmocka_unit_test(an_answer_without_end_is_bounded),
        cmocka_unit_test(silence_has_an_end),
        cmocka_unit_test(nobody_there_is_told),
        cmocka_unit_test(it_is_known_by_its_name),
        cmocka_unit_test(gone_is_what_the_engine_says_is_gone),
        cmocka_unit_test(a_pull_fails_in_its_own_stream),
        cmocka_unit_test(a_list_has_all_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
