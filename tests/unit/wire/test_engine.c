/* Engine profiles: the file that is built in, what is refused, and answers of the engines that
 * it names (tests/trace/engines, whose README says how each was made). */
#include "test.h"

#include <stdio.h>

#include "wire/engine.h"

#define K METRICS_KNOWN
#define HEAD "engines:\n- name: x\n  "
#define PROM HEAD "format: prometheus\n  path: /metrics\n  "
#define JSON HEAD "format: json\n  path: /stats\n  "
#define ONE "counters: [{name: a}]\n"

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rbe");
    if (!f) fail_msg("%s is missing", path);
    char *text = mem_alloc(1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    assert_true(n < (1 << 20) - 1);
    fclose(f);
    return text;
}

/* ---- the file ---- */

/* The table of the page on rotation, row by row: counters and gauges. */
static const struct { const char *engine; enum metrics_format format;
                      const char *counters[5], *gauges[3]; } PAGE[] = {
    {"vllm", METRICS_PROMETHEUS,
     {"vllm:request_success_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total"},
     {"vllm:num_requests_running", "vllm:num_requests_waiting"}},
    {"sglang", METRICS_PROMETHEUS,
     {"sglang:num_requests_total", "sglang:num_aborted_requests_total",
      "sglang:prompt_tokens_total", "sglang:generation_tokens_total"},
     {"sglang:num_running_reqs", "sglang:num_queue_reqs"}},
    {"tgi", METRICS_PROMETHEUS, {"tgi_request_count"},
     {"tgi_queue_size", "tgi_batch_current_size"}},
    {"triton", METRICS_PROMETHEUS,
     {"nv_inference_request_success", "nv_inference_request_failure"},
     {"nv_inference_pending_request_count"}},
    {"llama.cpp", METRICS_PROMETHEUS, {"llamacpp:n_decode_total"},
     {"llamacpp:requests_processing", "llamacpp:requests_deferred"}},
    {"lmdeploy", METRICS_PROMETHEUS,
     {"lmdeploy:prompt_tokens_total", "lmdeploy:generation_tokens_total"},
     {"lmdeploy:num_requests_running", "lmdeploy:num_requests_waiting"}},
    {"tei", METRICS_PROMETHEUS, {"te_request_count"}, {"te_queue_size"}},
    {"ollama", METRICS_NONE, {NULL}, {NULL}},
    {"whisper.cpp", METRICS_NONE, {NULL}, {NULL}},
    {"comfyui", METRICS_NONE, {NULL}, {NULL}},
    {"other", METRICS_NONE, {NULL}, {NULL}},
};

static void every_engine_of_the_page(void **state)
{
    (void)state;
    struct engines e;
    engine_builtin(&e);
    for (size_t i = 0; i < ARRAY_LEN(PAGE); i++) {
        const struct engine_profile *p = engine_find(&e, str_of(PAGE[i].engine));
        if (!p) fail_msg("%s is missing", PAGE[i].engine);
        assert_int_equal(p->metrics.format, PAGE[i].format);
        uint32_t c = 0, g = 0;
        for (; PAGE[i].counters[c]; c++) {
            assert_string_equal(p->metrics.counters[c].name, PAGE[i].counters[c]);
        }
        for (; PAGE[i].gauges[g]; g++) {
            assert_string_equal(p->metrics.gauges[g].name, PAGE[i].gauges[g]);
        }
        assert_int_equal(p->metrics.n_counters, c);
        assert_int_equal(p->metrics.n_gauges, g);
    }
    assert_null(engine_find(&e, STR("vllm2")));
    assert_null(engine_find(&e, STR("a name that is longer than any engine's may be")));
    engine_free(&e);
}

static void the_file_is_what_is_built_in(void **state)
{
    (void)state;
    AUTO_FREE char *text = slurp(SHARE "/engines.yaml");
    struct engines built, read;
    struct err err = {0};
    engine_builtin(&built);
    int rc = engine_parse(str_of(text), "engines.yaml", &read, &err);
    if (rc) fail_msg("%s", err.text);
    assert_string_equal(text, engine_builtin_text);
    assert_true(wire_equal(&wire_engines, &built, &read));
    engine_free(&built);
    engine_free(&read);
}

/* Our own probes must never count as work. */
static void paths_that_are_never_asked(void **state)
{
    (void)state;
    static const struct { const char *engine, *path; } rows[] = {
        {"sglang", "/health_generate"}, {"sglang", "/health"},
        {"tensorrt-llm", "/health_generate"}, {"llama.cpp", "/slots"},
        {"vllm", "/load"}, {"ollama", "/api/ps"},
    };
    struct engines e;
    engine_builtin(&e);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct engine_profile *p = engine_find(&e, str_of(rows[i].engine));
        assert_non_null(p);
        assert_string_not_equal(p->path, rows[i].path);
        bool named = false;
        for (uint32_t k = 0; k < p->never.n; k++) {
            named = named || strcmp(p->never.v[k], rows[i].path) == 0;
        }
        if (!named) fail_msg("%s may be asked %s", rows[i].engine, rows[i].path);
    }
    engine_free(&e);
}

static const struct { const char *yaml, *says; } REFUSED[] = {
    {"engines: []\nx: 1\n", "unknown field \"x\""},
    {"engins: []\n", "did you mean \"engines\"?"},
    {HEAD "format: promethus\n", "expected one of none, prometheus, json"},
    {HEAD "path: /metrics\n", "format: is required"},
    {HEAD "format: none\n  path: /metrics\n", "format: is none: there is nothing to ask for"},
    {HEAD "format: none\n  " ONE, "is none"},
    {HEAD "format: none\n  port: 80\n", "is none"},
    {HEAD "format: none\n  identity: metric\n", "is none"},
    {HEAD "format: prometheus\n  " ONE, "path: expected a path such as /metrics"},
    {HEAD "format: prometheus\n  path: metrics\n  " ONE, "path: expected a path"},
    {HEAD "format: prometheus\n  path: \"/a b\"\n  " ONE, "path: expected a path without blanks"},
    {PROM "port: 65536\n  " ONE, "port: expected 0 to 65535"},
    {PROM "digits: 17\n  " ONE, "digits: expected 1 to 16"},
    {PROM "title: X\n", "counters: expected counters or gauges"},
    {PROM "counters: [{name: a, optional: true}]\n", "counters: all are optional"},
    {PROM "counters: [{name: a}, {name: a}]\n", "counters: the same value is added twice"},
    {PROM "counters: [{name: a}]\n  gauges: [{name: \"b c\"}]\n", "gauges: a name is not one"},
    {PROM "counters: [{name: 1a}]\n", "counters: a name is not one of this format"},
    {PROM "counters: [{name: a.b}]\n", "counters: a name is not one of this format"},
    {PROM "identity: metric\n  identity_metric: a.b\n  " ONE, "identity_metric: is not a name"},
    {PROM "never: [/metrics]\n  " ONE, "path: is one of `never`"},
    {PROM "never: [metrics]\n  " ONE, "never: expected paths such as /slots"},
    {HEAD "format: prometheus\n  path: /slots?all=1\n  never: [/slots]\n  " ONE, "is one of"},
    {HEAD "format: prometheus\n  path: /slots/0\n  never: [/slots]\n  " ONE, "is one of"},
    {JSON "counters: [{name: a, labels: [{name: b, value: c}]}]\n", "JSON has no labels"},
    {JSON "counters: [{name: a..b}]\n", "a name is not one of this format"},
    {JSON "counters: [{name: \"a[0].b\"}]\n", "a name is not one of this format"},
    {JSON "counters: [{name: a.}]\n", "a name is not one of this format"},
    {"engines:\n- {name: x, format: none}\n- {name: x, format: none}\n",
     "two engines have the same name"},
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        struct engines e;
        struct err err = {0};
        int rc = engine_parse(str_of(REFUSED[i].yaml), "my.yaml", &e, &err);
        if (rc == 0) fail_msg("accepted: %s", REFUSED[i].yaml);
        if (!strstr(err.text, REFUSED[i].says) || !str_starts(str_of(err.text), STR("my.yaml:"))) {
            fail_msg("%s\nsays: %s", REFUSED[i].yaml, err.text);
        }
    }
}

static void a_file_adds_and_replaces(void **state)
{
    (void)state;
    struct engines e, more;
    struct err err = {0};
    engine_builtin(&e);
    uint32_t before = e.engines.n;
    int rc = engine_parse(STR("engines:\n- name: tgi\n  format: none\n  notes: mine\n"
                              "- name: mine\n  format: prometheus\n  path: /metrics?all\n"
                              "  never: [/metrics_all]\n  gauges:\n  - name: busy\n"
                              "    labels: [{name: kind, value: run}]\n"
                              "  - {name: busy, labels: [{name: kind, value: wait}]}\n"),
                          "mine.yaml", &more, &err);
    if (rc) fail_msg("%s", err.text);
    assert_int_equal(engine_merge(&e, &more, &err), 0);
    assert_int_equal(e.engines.n, before + 1);
    assert_int_equal(engine_find(&e, STR("tgi"))->metrics.format, METRICS_NONE);
    assert_string_equal(engine_find(&e, STR("tgi"))->notes, "mine");
    assert_int_equal(engine_find(&e, STR("mine"))->metrics.n_gauges, 2);
    for (uint32_t i = 0; e.engines.n < ENGINES_MAX; i++) {
        char yaml[64];
        text_fmt(yaml, sizeof(yaml), "engines:\n- {name: n%u, format: none}\n", i);
        assert_int_equal(engine_parse(str_of(yaml), "n", &more, &err), 0);
        assert_int_equal(engine_merge(&e, &more, &err), 0);
    }
    assert_int_equal(engine_parse(STR("engines:\n- {name: toomany, format: none}\n"
                                      "- {name: tgi, format: none}\n"), "n", &more, &err), 0);
    assert_int_equal(engine_merge(&e, &more, &err), ERR_LIMIT);
    assert_string_equal(engine_find(&e, STR("tgi"))->notes, "mine");
    assert_int_equal(more.engines.n, 2);
    engine_free(&more);
    engine_free(&e);
}

/* ---- answers ---- */

static const struct { const char *file, *engine; struct metrics_value counter, gauge, start; }
    ANSWERS[] = {
        {"vllm.txt", "vllm", {K, INT64_C(5497468000)}, {K, 3000}, {K, INT64_C(1790809832950)}},
        {"vllm_workers.txt", "vllm", {K, 54357000}, {K, 0}, {K, 77}},
        {"sglang.txt", "sglang", {K, INT64_C(15697702000)}, {K, 0}, {K, 77}},
        /* the first abort: one more request, and a term that was not there before */
        {"sglang_aborted.txt", "sglang", {K, INT64_C(15697704000)}, {K, 0}, {K, 77}},
        {"sglang_fresh.txt", "sglang", {METRICS_ABSENT, 0}, {K, 0}, {K, 77}},
        {"tgi.txt", "tgi", {K, 1280000}, {K, 36000}, {K, 77}},
        {"tgi_fresh.txt", "tgi", {METRICS_ABSENT, 0}, {METRICS_ABSENT, 0}, {K, 77}},
        {"triton.txt", "triton", {K, 751000}, {K, 0}, {K, 77}},
        {"triton_stats.json", "triton-http", {K, 751000}, {METRICS_UNNAMED, 0}, {K, 77}},
        {"llamacpp.txt", "llama.cpp", {K, 332000}, {K, 1000}, {K, 77}},
        {"llamacpp_million.txt", "llama.cpp", {METRICS_ROUNDED, 0}, {K, 0}, {K, 77}},
        {"lmdeploy.txt", "lmdeploy", {K, 49212000}, {K, 0}, {K, INT64_C(1780545609660)}},
        {"tei.txt", "tei", {K, 222000}, {K, 0}, {K, 77}},
        /* not asked: their port counts */
        {"ollama_ps.json", "ollama", {METRICS_UNNAMED, 0}, {METRICS_UNNAMED, 0}, {K, 77}},
        {"comfyui_prompt.json", "comfyui", {METRICS_UNNAMED, 0}, {METRICS_UNNAMED, 0}, {K, 77}},
        /* the wrong engine behind a port */
        {"tgi.txt", "vllm", {METRICS_ABSENT, 0}, {METRICS_ABSENT, 0}, {K, 77}},
        {"triton_stats.json", "triton", {METRICS_MALFORMED, 0}, {METRICS_MALFORMED, 0},
         {METRICS_MALFORMED, 0}},
        {"triton.txt", "triton-http", {METRICS_MALFORMED, 0}, {METRICS_MALFORMED, 0},
         {METRICS_MALFORMED, 0}},
};

static bool same(const struct metrics_value *a, const struct metrics_value *b)
{
    return a->state == b->state && a->milli == b->milli;
}

static void recorded_answers(void **state)
{
    (void)state;
    struct engines e;
    engine_builtin(&e);
    for (size_t i = 0; i < ARRAY_LEN(ANSWERS); i++) {
        char path[512];
        text_fmt(path, sizeof(path), "%s/%s", ENGINES, ANSWERS[i].file);
        AUTO_FREE char *text = slurp(path);
        const struct engine_profile *p = engine_find(&e, str_of(ANSWERS[i].engine));
        assert_non_null(p);
        struct metrics m = engine_read(p, str_of(text), 77);
        if (!same(&m.counter, &ANSWERS[i].counter) || !same(&m.gauge, &ANSWERS[i].gauge) ||
            !same(&m.start, &ANSWERS[i].start)) {
            fail_msg("%s as %s: counter %d %lld gauge %d %lld start %d %lld line %u",
                     ANSWERS[i].file, ANSWERS[i].engine, (int)m.counter.state,
                     (long long)m.counter.milli, (int)m.gauge.state, (long long)m.gauge.milli,
                     (int)m.start.state, (long long)m.start.milli, m.line);
        }
    }
    engine_free(&e);
}

/* What is cut off in the middle of a line proves nothing, wherever that is. */
static void half_an_answer(void **state)
{
    (void)state;
    AUTO_FREE char *text = slurp(ENGINES "/vllm.txt");
    struct engines e;
    engine_builtin(&e);
    const struct engine_profile *p = engine_find(&e, STR("vllm"));
    for (size_t n = 1; n < strlen(text); n++) {
        struct metrics m = engine_read(p, str_n(text, n), 77);
        if (text[n - 1] != '\n') assert_int_equal(m.counter.state, METRICS_CUT);
    }
    engine_free(&e);
}

/* ---- JSON ---- */

static const struct { const char *path, *answer; struct metrics_value counter; } VALUES[] = {
    {"n", "{\"n\":5}", {K, 5000}},
    {"n", "{\"n\":0}", {K, 0}},
    {"n", "{\"n\":-0}", {K, 0}},
    {"n", "{\"n\":-1}", {METRICS_NEGATIVE, 0}},
    {"n", "{\"n\":5.0}", {K, 5000}},
    {"n", "{\"n\":5.125}", {K, 5125}},
    {"n", "{\"n\":0.1}", {K, 100}},
    {"n", "{\"n\":1790809832.954}", {K, INT64_C(1790809832954)}},
    {"n", "{\"n\":0.0001}", {METRICS_ROUNDED, 0}},
    {"n", "{\"n\":1.0005}", {METRICS_ROUNDED, 0}},
    {"n", "{\"n\":1e300}", {METRICS_TOO_BIG, 0}},
    {"n", "{\"n\":9007199254740991}", {K, INT64_C(9007199254740991000)}},
    {"n", "{\"n\":9007199254740992}", {METRICS_TOO_BIG, 0}},
    {"n", "{\"n\":9223372036854775807}", {METRICS_TOO_BIG, 0}},
    {"n", "{\"n\":-9223372036854775808}", {METRICS_TOO_BIG, 0}},
    {"n", "{\"n\":true}", {K, 1000}},
    {"n", "{\"n\":false}", {K, 0}},
    {"n", "{\"n\":null}", {METRICS_NAN, 0}},
    {"n", "{\"n\":\"5\"}", {METRICS_NAN, 0}},
    {"n", "{\"n\":[5]}", {METRICS_NAN, 0}},
    {"n", "{\"n\":{}}", {METRICS_NAN, 0}},
    {"n", "{}", {METRICS_ABSENT, 0}},
    {"n", "[]", {METRICS_ABSENT, 0}},
    {"n", "{\"N\":5}", {METRICS_ABSENT, 0}},
    {"a.b", "{\"a\":{\"b\":2}}", {K, 2000}},
    {"a.b", "{\"a\":2}", {METRICS_ABSENT, 0}},
    {"a.b", "{\"a\":[{\"b\":2}]}", {METRICS_ABSENT, 0}},
    {"a[].b", "{\"a\":[{\"b\":2},{\"b\":3}]}", {K, 5000}},
    {"a[].b", "{\"a\":[]}", {METRICS_ABSENT, 0}},
    {"a[].b", "{\"a\":[{\"b\":2},{\"c\":3}]}", {METRICS_ABSENT, 0}},
    {"a[].b", "{\"a\":[{\"b\":2},7]}", {METRICS_ABSENT, 0}},
    {"a[].b", "{\"a\":{\"b\":2}}", {METRICS_NAN, 0}},
    {"a[]", "{\"a\":[1,2,3]}", {K, 6000}},
    {"[].x", "[{\"x\":true},{\"x\":false},{\"x\":true}]", {K, 2000}},
    {"[].a[].x", "[{\"a\":[{\"x\":1}]},{\"a\":[{\"x\":2},{\"x\":4}]}]", {K, 7000}},
    {"n", "{\"n\":5,\"n\":0}", {METRICS_MALFORMED, 0}},
    {"n", "{\"n\":5", {METRICS_MALFORMED, 0}},
    {"n", "{\"n\":NaN}", {METRICS_MALFORMED, 0}},
    {"n", "{\"n\":5} trailing", {METRICS_MALFORMED, 0}},
    {"n", "n 5\n", {METRICS_MALFORMED, 0}},
    {"n", "", {METRICS_MALFORMED, 0}},
};

static void json_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(VALUES); i++) {
        struct metrics_profile p = {
            .format = METRICS_JSON, .digits = METRICS_DIGITS_MAX, .n_counters = 1,
        };
        assert_true(TEXT_SET(p.counters[0].name, str_of(VALUES[i].path)));
        struct metrics m = engine_read_json(&p, str_of(VALUES[i].answer), 77);
        if (!same(&m.counter, &VALUES[i].counter)) {
            fail_msg("%s in %s: %d %lld", VALUES[i].path, VALUES[i].answer, (int)m.counter.state,
                     (long long)m.counter.milli);
        }
    }
    struct metrics_profile p = {
        .format = METRICS_JSON, .digits = 16, .n_gauges = 1, .gauges = {{.name = "n"}},
    };
    struct metrics m = engine_read_json(&p, STR("{\"n\":0.0001}"), 77);
    assert_int_equal(metrics_busy(&m), FACT_YES); /* above zero, however little */
    AUTO_FREE char *big = mem_alloc(ENGINE_JSON_MAX + 1);
    memset(big, ' ', ENGINE_JSON_MAX + 1);
    m = engine_read_json(&p, str_n(big, ENGINE_JSON_MAX + 1), 77);
    assert_int_equal(m.gauge.state, METRICS_TOO_LONG);
}

/* A profile that a user might write: an item that an optional value lacks is no flaw. */
static void optional_in_lists(void **state)
{
    (void)state;
    struct engines e;
    struct err err = {0};
    int rc = engine_parse(STR(JSON "identity: metric\n  identity_metric: up.since\n"
                              "  counters:\n  - name: \"m[].ok\"\n"
                              "  - {name: \"m[].bad\", optional: true}\n"), "y", &e, &err);
    if (rc) fail_msg("%s", err.text);
    struct metrics m = engine_read(&e.engines.v[0],
        STR("{\"m\":[{\"ok\":1},{\"ok\":2,\"bad\":3}],\"up\":{\"since\":12.5}}"), 77);
    assert_true(m.counter.state == K && m.counter.milli == 6000);
    assert_true(m.start.state == K && m.start.milli == 12500);
    m = engine_read(&e.engines.v[0], STR("{\"m\":[{\"bad\":3}],\"up\":{}}"), 77);
    assert_int_equal(m.counter.state, METRICS_ABSENT);
    assert_int_equal(m.start.state, METRICS_ABSENT);
    engine_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine_of_the_page),
        cmocka_unit_test(the_file_is_what_is_built_in),
        cmocka_unit_test(paths_that_are_never_asked),
        cmocka_unit_test(refused),
        cmocka_unit_test(a_file_adds_and_replaces),
        cmocka_unit_test(recorded_answers),
        cmocka_unit_test(half_an_answer),
        cmocka_unit_test(json_values),
        cmocka_unit_test(optional_in_lists),
    };
    return RUN(tests);
}
