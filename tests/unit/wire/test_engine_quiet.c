/* The pitfalls of each engine, as stories: answers go in, and the quiet clock must not be fooled.
 * Each line of a story is one sample, read with the profile that is built in. */
#include "test.h"

#include "base/vec.h"
#include "core/rotate/clocks.h"
#include "core/rotate/gate.h"
#include "wire/engine.h"

#define SECOND INT64_C(1000)

struct story {
    struct engines engines;
    const struct engine_profile *e;
    struct rotate_limits limits;
    struct quiet quiet;
    struct reading port; /* bytes */
    int64_t start_ms, now_ms;
};

static struct story story_of(const char *engine)
{
    struct story s = {.limits = ROTATE_LIMITS_DEFAULT, .start_ms = 77};
    engine_builtin(&s.engines);
    s.e = engine_find(&s.engines, str_of(engine));
    assert_non_null(s.e);
    return s;
}

static void end(struct story *s) { engine_free(&s->engines); }

static void sample(struct story *s, int64_t at_s, const char *answer)
{
    struct quiet_profile promises = metrics_promises(&s->e->metrics, s->port.known);
    struct metrics m = engine_read(s->e, str_of(answer), s->start_ms);
    struct quiet_sample q = metrics_sample(&m, s->port, at_s * SECOND);
    quiet_add(&s->limits, &promises, &s->quiet, &q);
    s->now_ms = at_s * SECOND + SECOND;
}

static void quiet_is(const struct story *s, int64_t want_s)
{
    struct reading span = quiet_span(&s->limits, &s->quiet, s->now_ms);
    if (!span.known) fail_msg("unknown, wanted %lld s", (long long)want_s);
    if (span.v != want_s * SECOND) {
        fail_msg("%lld ms, wanted %lld s", (long long)span.v, (long long)want_s);
    }
}

static void quiet_is_unknown(const struct story *s)
{
    struct reading span = quiet_span(&s->limits, &s->quiet, s->now_ms);
    if (span.known) fail_msg("%lld ms, wanted unknown", (long long)span.v);
    assert_int_equal(quiet_now(&s->limits, &s->quiet, s->now_ms), FACT_UNKNOWN);
}

/* ---- vLLM ---- */

#define VLLM(prompt, done, running) \
    "vllm:request_success_total{finished_reason=\"stop\"} " done "\n" \
    "vllm:prompt_tokens_total " prompt "\nvllm:generation_tokens_total 9\n" \
    "vllm:num_requests_running " running "\nvllm:num_requests_waiting 0\n" \
    "process_start_time_seconds 1.79080983295e+09\n"

static void vllm_flat_counters_prove_silence(void **state)
{
    (void)state;
    struct story s = story_of("vllm");
    sample(&s, 0, VLLM("100", "5", "0"));
    sample(&s, 600, VLLM("1e+02", "5.0", "0.0")); /* the same, written otherwise */
    sample(&s, 1200, VLLM("100", "5", "0"));
    quiet_is(&s, 1200);
    end(&s);
}

/* The gauges are back to zero, the counter is not where it was. */
static void vllm_a_request_between_two_samples(void **state)
{
    (void)state;
    struct story s = story_of("vllm");
    sample(&s, 0, VLLM("100", "5", "0"));
    sample(&s, 1190, VLLM("101", "5", "0"));
    sample(&s, 1200, VLLM("101", "5", "0"));
    quiet_is(&s, 10);
    end(&s);
}

/* After aborts a gauge may stay above zero for ever: shown, and refused all the same. */
static void vllm_a_gauge_that_sticks(void **state)
{
    (void)state;
    struct story s = story_of("vllm");
    for (int64_t at = 0; at <= 1500; at += 10) {
        sample(&s, at, VLLM("100", "5", "1"));
        assert_int_equal(quiet_stuck(&s.limits, &s.quiet, s.now_ms), at >= 600);
    }
    quiet_is(&s, 0);
    assert_int_equal(quiet_now(&s.limits, &s.quiet, s.now_ms), FACT_NO);
    end(&s);
}

static void vllm_a_gauge_below_zero(void **state)
{
    (void)state;
    struct story s = story_of("vllm");
    sample(&s, 0, VLLM("100", "5", "0"));
    sample(&s, 10, VLLM("100", "5", "-1"));
    quiet_is_unknown(&s);
    end(&s);
}

/* Whoever reads /load has a gauge alone: it proves nothing across a hole, and below zero it is
 * no gauge.  The port's bytes are what it is trusted with. */
static void vllm_load_is_no_signal(void **state)
{
    (void)state;
    struct story s = story_of("vllm");
    struct engines own;
    struct err err = {0};
    int rc = engine_parse(STR("engines:\n- name: load\n  format: json\n  path: /load\n"
                              "  gauges: [{name: server_load}]\n"), "own.yaml", &own, &err);
    if (rc) fail_msg("%s", err.text);
    s.e = engine_find(&own, STR("load"));
    sample(&s, 0, "{\"server_load\":0}");
    sample(&s, 600, "{\"server_load\":0}");
    sample(&s, 610, "{\"server_load\":0}");
    quiet_is(&s, 10);
    sample(&s, 615, "{\"server_load\":-1}");
    quiet_is_unknown(&s);
    s.port = READING(4096);
    s.quiet = (struct quiet){0};
    sample(&s, 620, "{\"server_load\":0}");
    s.port = READING(9000); /* it is constant 0 while somebody is served */
    sample(&s, 1800, "{\"server_load\":0}");
    quiet_is(&s, 0);
    engine_free(&own);
    end(&s);
}

/* The value that tells the process disappears: for the clock that is another process. */
static void vllm_the_identity_goes(void **state)
{
    (void)state;
    struct story s = story_of("vllm");
    const char *with = VLLM("100", "5", "0");
    AUTO_FREE char *without = mem_strndup(with, (size_t)(strstr(with, "process") - with));
    sample(&s, 0, with);
    sample(&s, 50, without);
    sample(&s, 100, without);
    quiet_is(&s, 50);
    end(&s);
}

/* ---- SGLang ---- */

#define SGLANG "sglang:num_requests_total 7\nsglang:prompt_tokens_total 8\n" \
               "sglang:generation_tokens_total 9\n" \
               "sglang:num_running_reqs 0\nsglang:num_queue_reqs 0\n"

static void sglang_the_first_abort_is_work(void **state)
{
    (void)state;
    struct story s = story_of("sglang");
    sample(&s, 0, SGLANG);
    sample(&s, 30, SGLANG "sglang:num_aborted_requests_total 1\n");
    sample(&s, 60, SGLANG "sglang:num_aborted_requests_total 1\n");
    quiet_is(&s, 30);
    end(&s);
}

/* Nothing was ever asked of it: that is not silence, it is nothing to read. */
static void sglang_before_the_first_request(void **state)
{
    (void)state;
    struct story s = story_of("sglang");
    sample(&s, 0, "sglang:num_running_reqs 0\nsglang:num_queue_reqs 0\n");
    quiet_is_unknown(&s);
    end(&s);
}

/* ---- Triton ---- */

#define TRITON(done) \
    "nv_inference_request_success{model=\"m\",version=\"1\"} " done "\n" \
    "nv_inference_request_failure{model=\"m\",reason=\"OTHER\",version=\"1\"} 0\n" \
    "nv_inference_pending_request_count{model=\"m\",version=\"1\"} 0\n"

/* What executes is not pending and not yet counted: Triton's own numbers look silent until it
 * ends.  The device is not, so the node's own demand stands against the drain. */
static void triton_what_executes_is_not_pending(void **state)
{
    (void)state;
    struct story s = story_of("triton");
    sample(&s, 0, TRITON("4"));
    sample(&s, 1200, TRITON("4"));
    quiet_is(&s, 1200);
    struct gate_demand d = {.queued = FACT_NO, .engine = ENGINE_QUIET,
                            .port_bytes = READING(0), .device_milli = READING(970)};
    assert_int_equal(gate_node_demand(&d), FACT_YES);
    sample(&s, 1210, TRITON("5"));
    quiet_is(&s, 0);
    end(&s);
}

/* A model was unloaded: fewer series, a smaller sum, a new beginning. */
static void triton_a_counter_that_falls(void **state)
{
    (void)state;
    struct story s = story_of("triton");
    sample(&s, 0, TRITON("4") "nv_inference_request_success{model=\"n\",version=\"1\"} 3\n");
    sample(&s, 40, TRITON("4"));
    sample(&s, 70, TRITON("4"));
    quiet_is(&s, 30);
    end(&s);
}

/* ---- llama.cpp ---- */

#define LLAMA(decodes) "llamacpp:n_decode_total " decodes "\n" \
                       "llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n"

/* Six digits: from a million on, the same text is not the same number. */
static void llamacpp_a_million_decodes(void **state)
{
    (void)state;
    struct story s = story_of("llama.cpp");
    sample(&s, 0, LLAMA("999999"));
    sample(&s, 30, LLAMA("999999"));
    quiet_is(&s, 30);
    sample(&s, 40, LLAMA("1e+06"));
    quiet_is_unknown(&s);
    sample(&s, 50, LLAMA("1e+06"));
    quiet_is_unknown(&s);
    end(&s);
}

/* ---- any engine ---- */

static void a_restart_with_the_same_count(void **state)
{
    (void)state;
    struct story s = story_of("tgi");
    const char *zero = "tgi_request_count 1\ntgi_queue_size 0\ntgi_batch_current_size 0\n";
    sample(&s, 0, zero);
    s.start_ms = 900 * SECOND; /* restarted, and one canary later the count is 1 again */
    sample(&s, 900, zero);
    sample(&s, 910, zero);
    quiet_is(&s, 10);
    end(&s);
}

static void an_answer_that_is_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "te_request_count 5\n", "te_queue_size 0\n", "te_request_count 5\nte_queue_size 0",
        "te_request_count NaN\nte_queue_size 0\n", "te_request_count 5\nte_queue_size NaN\n",
        "<html>502 Bad Gateway</html>\n", "{\"error\":\"loading\"}\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct story s = story_of("tei");
        sample(&s, 0, "te_request_count 5\nte_queue_size 0\n");
        sample(&s, 20, bad[i]);
        quiet_is_unknown(&s);
        sample(&s, 1200, "te_request_count 5\nte_queue_size 0\n");
        quiet_is(&s, 1200); /* the counter and the process bridge it */
        end(&s);
    }
}

/* Ollama, whisper.cpp, ComfyUI: the bytes on the port are the work. */
static void the_port_counts(void **state)
{
    (void)state;
    static const char *const engines[] = {"ollama", "whisper.cpp", "comfyui", "tensorrt-llm",
                                          "other"};
    for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
        struct story s = story_of(engines[i]);
        sample(&s, 0, "");
        quiet_is_unknown(&s); /* and where the port is not counted, nothing is known */
        s.port = READING(100);
        sample(&s, 10, "");
        s.port = READING(101);
        sample(&s, 20, "");
        sample(&s, 1220, "");
        quiet_is(&s, 1200);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vllm_flat_counters_prove_silence),
        cmocka_unit_test(vllm_a_request_between_two_samples),
        cmocka_unit_test(vllm_a_gauge_that_sticks),
        cmocka_unit_test(vllm_a_gauge_below_zero),
        cmocka_unit_test(vllm_load_is_no_signal),
        cmocka_unit_test(vllm_the_identity_goes),
        cmocka_unit_test(sglang_the_first_abort_is_work),
        cmocka_unit_test(sglang_before_the_first_request),
        cmocka_unit_test(triton_what_executes_is_not_pending),
        cmocka_unit_test(triton_a_counter_that_falls),
        cmocka_unit_test(llamacpp_a_million_decodes),
        cmocka_unit_test(a_restart_with_the_same_count),
        cmocka_unit_test(an_answer_that_is_none),
        cmocka_unit_test(the_port_counts),
    };
    return RUN(tests);
}
