/* The strict subset of YAML: places of errors, and what a plain scalar means. */
#include "test.h"

#define C "command: [\"true\"]\n"

static void refused_at_the_right_place(void **state)
{
    (void)state;
    static const struct { const char *yaml; const char *says; } rows[] = {
        {"", "job.yaml:1:1: there is nothing in it"},
        {"# only a remark\n", "there is nothing in it"},
        {"- a\n", "job.yaml:1:1: expected an object"},
        {"just text\n", "job.yaml:1:1: expected an object"},
        {C "comand: x\n", "job.yaml:2:1: unknown field \"comand\"; did you mean \"command\"?"},
        {C "env:\n  A: 1\n  A: 2\n", "job.yaml:4:3: this key stands here for the second time"},
        {C "env:\n  1A: x\n", "job.yaml:3:3: env.1A: is not a possible name"},
        {C "priority: 101\n", "job.yaml:2:11: priority: expected 0 to 100, got 101"},
        {C "priority: '10'\n", "job.yaml:2:11: priority: expected a whole number, got \"10\""},
        {C "priority: 1.5\n", "expected a whole number, got \"1.5\""},
        {C "priority: 0x10\n", "expected a whole number"},
        {C "priority:\n", "expected a whole number"},
        {C "tty: yes\n", "job.yaml:2:6: tty: expected true or false, got \"yes\""},
        {C "tty: \"true\"\n", "expected true or false"},
        {C "name: ~\n", "name: expected a text, got nothing"},
        {C "name:\n", "name: expected a text, got nothing"},
        {C "name: null\n", "expected a text, got nothing"},
        {C "kind: bach\n", "kind: expected one of batch, interactive, service, got \"bach\""},
        {C "cpu: two\n", "job.yaml:2:6: cpu: expected an amount of CPU"},
        {"command: &a [x]\n", "job.yaml:1:10: anchors are not supported"},
        {"command: [*a]\n", "job.yaml:1:11: aliases are not supported"},
        {"command: !!seq [x]\n", "tags are not supported"},
        {"command: [!x y]\n", "tags are not supported"},
        {C "<<: {tty: true}\n", "job.yaml:2:1: unknown field \"<<\""},
        {"%YAML 1.1\n---\n" C, "directives are not supported"},
        {C "---\n" C, "only one document"},
        {"? [a]\n: b\n", "job.yaml:1:3: a key must be a plain text"},
        {"command: [x\n", "job.yaml:"},
        {"command: \"\\0\"\n", "command: expected a list of texts"},
        {"command: [\"a\\0b\"]\n", "job.yaml:1:11: command[0]: expected UTF-8 text"},
        {"\"a\\0b\": 1\n", "job.yaml:1:1: this is no possible key"},
        {C "roles:\n- name: a\n  count: 0\n", "job.yaml:4:10: roles[0].count: expected 1 to 512"},
        {C "roles:\n- count: 2\n", "job.yaml:3:3: roles[0].name: is required"},
        {"tty: true\n", "job.yaml:1:1: command: is required"},
        {C "workdir: tmp\n", "workdir: expected an absolute path"},
        {C "env: {A: [1]}\n", "env.A: expected a text, got a list"},
        {"command: [x]\n\tname: y\n", "job.yaml:2:"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct session_spec s;
        struct err err = {0};
        int rc = wire_parse_yaml(&wire_session_spec, str_of(rows[i].yaml), "job.yaml", &s, &err);
        if (rc == 0) fail_msg("accepted: %s", rows[i].yaml);
        if (rc != ERR_INVALID || !strstr(err.text, rows[i].says) ||
            !str_starts(str_of(err.text), STR("job.yaml:"))) {
            fail_msg("%s\n%d %s", rows[i].yaml, rc, err.text);
        }
        rc = wire_parse_yaml(&wire_session_spec, str_of(rows[i].yaml), "job.yaml", &s, NULL);
        assert_int_equal(rc, ERR_INVALID);
    }
}

static void plain_scalars_mean_what_the_field_says(void **state)
{
    (void)state;
    static const char text[] =
        "# a job\n"
        "name: 7up\n"
        "command: [sleep, 5, 1.5, true, \"no\"]\n"
        "cpu: 0.5\n"
        "mem: 2G\n"
        "gpu: 1\n"
        "containers: 2\n"
        "time_limit: 1h30m\n"
        "grace_ms: 1500\n"
        "tty: true\n"
        "stop_on_member: false\n"
        "env:\n"
        "  PORT: 8080\n"
        "  DEBUG: true\n"
        "  TEXT: |\n"
        "    two\n"
        "    lines\n"
        "  EMPTY: ''\n";
    struct session_spec s;
    struct err err = {0};
    int rc = wire_parse_yaml(&wire_session_spec, str_of(text), "job.yaml", &s, &err);
    if (rc) fail_msg("%s", err.text);
    static const char *const argv[] = {"sleep", "5", "1.5", "true", "no"};
    assert_int_equal(s.command.n, 5);
    for (size_t i = 0; i < 5; i++) assert_string_equal(s.command.v[i], argv[i]);
    assert_string_equal(s.name, "7up");
    assert_int_equal(s.roles[0].cpu_milli, 500);
    assert_int_equal(s.roles[0].mem_bytes, INT64_C(2) << 30);
    assert_int_equal(s.roles[0].gpu, 1);
    assert_int_equal(s.roles[0].count, 2);
    assert_int_equal(s.time_limit_ms, 5400000);
    assert_int_equal(s.grace_ms, 1500);
    assert_true(s.tty);
    assert_false(s.stop_on_member);
    assert_string_equal(wire_map_get(&s.env, STR("PORT")), "8080");
    assert_string_equal(wire_map_get(&s.env, STR("DEBUG")), "true");
    assert_string_equal(wire_map_get(&s.env, STR("TEXT")), "two\nlines\n");
    assert_string_equal(wire_map_get(&s.env, STR("EMPTY")), "");
    assert_null(wire_map_get(&s.env, STR("NONE")));
    wire_free(&wire_session_spec, &s);
}

/* JSON is YAML, and means the same here: as long as texts stand in quotes. */
static void json_reads_the_same(void **state)
{
    (void)state;
    static const char *const docs[] = {
        "{\"command\": [\"a\", \"b c\"], \"cpu\": 2, \"mem\": \"1G\", \"tty\": true}",
        "{\"command\": [\"x\"], \"roles\": [{\"name\": \"a\", \"count\": 2, \"gpu\": 1}]}",
        "{\"command\": [\"x\"], \"env\": {\"A\": \"\\u00e9\"}, \"time_limit_ms\": 5}",
    };
    for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
        struct session_spec a, b;
        struct err err = {0};
        assert_int_equal(wire_parse_input(&wire_session_spec, str_of(docs[i]), &a, &err), 0);
        int rc = wire_parse_yaml(&wire_session_spec, str_of(docs[i]), "x", &b, &err);
        if (rc) fail_msg("%s: %s", docs[i], err.text);
        assert_true(wire_equal(&wire_session_spec, &a, &b));
        wire_free(&wire_session_spec, &a);
        wire_free(&wire_session_spec, &b);
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[4096] = "a: ";
    for (size_t n = 3; n < 3000; n++) text[n] = '[';
    struct session_spec s;
    struct err err = {0};
    assert_int_equal(wire_parse_yaml(&wire_session_spec, str_of(text), "x", &s, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "nested too deep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_at_the_right_place),
        cmocka_unit_test(plain_scalars_mean_what_the_field_says),
        cmocka_unit_test(json_reads_the_same),
        cmocka_unit_test(depth_is_bounded),
    };
    return RUN(tests);
}
