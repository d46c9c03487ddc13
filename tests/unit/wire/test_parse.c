/* Strict JSON: what is refused, which field is named, and in which words. */
#include "test.h"

struct refusal { const char *json; const char *field; const char *says; };

#define C "\"command\":[\"true\"]"

static const struct refusal refusals[] = {
    {"", "", "not JSON"},
    {"[]", "", "expected an object"},
    {"null", "", "not JSON"},
    {"{" C "} x", "", "not JSON"},
    {"{" C "}{}", "", "not JSON"},
    {"{" C "," C "}", "", "a field is given twice"},
    {"{}", "command", "command: is required"},
    {"{\"image\":\"host\"}", "command", "command: is required"},
    {"{\"command\":[\"x\"],\"disk\":-1}", "disk", "like \"512M\""},
    {"{\"command\":[\"x\"],\"disk\":\"lots\"}", "disk", "like \"512M\""},
    {"{\"comand\":[]}", "comand", "unknown field \"comand\"; did you mean \"command\"?"},
    {"{" C ",\"zzzzzzz\":1}", "zzzzzzz", "unknown field \"zzzzzzz\""},
    {"{" C ",\"cmd\\n\":1}", "cmd?", "unknown field \"cmd?\""},
    {"{\"command\":\"true\"}", "command", "command: expected a list of texts, got \"true\""},
    {"{\"command\":[1]}", "command[0]", "command[0]: expected a text, got 1"},
    {"{\"command\":[\"a\",null]}", "command[1]", "expected a text, got null"},
    {"{\"command\":[\"\"]}", "command", "first word must not be empty"},
    {"{\"command\":[\"a\\u0000b\"]}", "", "a zero byte in a text"},
    {"{\"command\":[\"\xff\"]}", "", "bytes that are not UTF-8"},
    {"{\"command\":[\"\\ud800\"]}", "", "not JSON"},
    {"{" C ",\"priority\":101}", "priority", "priority: expected 0 to 100, got 101"},
    {"{" C ",\"priority\":-1}", "priority", "expected 0 to 100, got -1"},
    {"{" C ",\"priority\":1.0}", "priority", "expected a whole number, got a fraction"},
    {"{" C ",\"priority\":1e2}", "priority", "expected a whole number, got a fraction"},
    {"{" C ",\"priority\":\"10\"}", "priority", "expected a whole number, got \"10\""},
    {"{" C ",\"priority\":true}", "priority", "expected a whole number, got true"},
    {"{" C ",\"priority\":4294967306}", "priority", "expected 0 to 100"},
    {"{" C ",\"priority\":99999999999999999999}", "", "too big"},
    {"{" C ",\"priority\":NaN}", "", "not JSON"},
    {"{" C ",\"tty\":1}", "tty", "expected true or false, got 1"},
    {"{" C ",\"tty\":\"true\"}", "tty", "expected true or false"},
    {"{" C ",\"kind\":\"bach\"}", "kind",
     "expected one of batch, interactive, service, got \"bach\""},
    {"{" C ",\"name\":\"Upper\"}", "name", "expected a name of a-z"},
    {"{" C ",\"name\":\"s17\"}", "name", "looks like an id"},
    {"{" C ",\"name\":\"17\"}", "name", "looks like an id"},
    {"{" C ",\"name\":\"-a\"}", "name", "expected a name"},
    {"{" C ",\"group\":\"\"}", "group", "expected at least 1 bytes"},
    {"{" C ",\"env\":{\"1A\":\"x\"}}", "env.1A", "not a possible name"},
    {"{" C ",\"env\":{\"A=B\":\"x\"}}", "env.A=B", "not a possible name"},
    {"{" C ",\"env\":{\"\":\"x\"}}", "env.", "not a possible name"},
    {"{" C ",\"env\":{\"A\":1}}", "env.A", "env.A: expected a text, got 1"},
    {"{" C ",\"env\":[]}", "env", "expected an object of texts, got a list"},
    {"{" C ",\"workdir\":\"tmp\"}", "workdir", "absolute path"},
    {"{" C ",\"cpu_milli\":0}", "cpu_milli", "expected 1 to"},
    {"{" C ",\"cpu_milli\":4503599627370497}", "cpu_milli", "expected 1 to"},
    {"{" C ",\"cpu\":\"two\"}", "cpu", "an amount of CPU"},
    {"{" C ",\"cpu\":0.5}", "cpu", "an amount of CPU like \"0.5\""},
    {"{" C ",\"cpu\":\"-1\"}", "cpu", "an amount of CPU"},
    {"{" C ",\"mem\":\"1X\"}", "mem", "an amount of memory"},
    {"{" C ",\"mem\":\"9999999999T\"}", "mem", "memory"},
    {"{" C ",\"time_limit\":\"soon\"}", "time_limit", "a duration"},
    {"{" C ",\"time_limit\":-5}", "time_limit", "a duration"},
    {"{" C ",\"cpu\":1,\"cpu_milli\":1000}", "cpu_milli", "given twice (as cpu_milli and cpu)"},
    {"{" C ",\"roles\":[{\"name\":\"a\"},{\"count\":1}]}", "roles[1].name",
     "roles[1].name: is required"},
    {"{" C ",\"roles\":[{\"name\":\"a\",\"cpuu\":1}]}", "roles[0].cpuu", "did you mean \"cpu\"?"},
    {"{" C ",\"roles\":[{\"name\":\"a\",\"count\":0}]}", "roles[0].count", "expected 1 to 512"},
    {"{" C ",\"roles\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "roles", "same name"},
    {"{" C ",\"roles\":[{\"name\":\"a\"}],\"cpu\":1}", "roles", "give one of both"},
    {"{" C ",\"roles\":[{\"name\":\"a\",\"count\":512},{\"name\":\"b\"}]}", "roles",
     "at most 512"},
    {"{" C ",\"roles\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"},{\"name\":\"d\"},"
     "{\"name\":\"e\"}]}", "roles", "expected 0 to 4 items, got 5"},
    {"{" C ",\"roles\":{}}", "roles", "expected a list"},
    {"{" C ",\"roles\":[3]}", "roles[0]", "expected an object (role)"},
    {"{\"roles\":[{\"name\":\"a\",\"command\":[\"x\"]},{\"name\":\"b\"}]}", "command",
     "is required"},
};

static void refused_with_the_field_and_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct refusal *row = &refusals[i];
        struct session_spec s;
        struct err err = {0};
        int rc = wire_parse_input(&wire_session_spec, str_of(row->json), &s, &err);
        if (rc == 0) fail_msg("accepted: %s", row->json);
        if (rc != ERR_INVALID || err.code != rc || strcmp(err.field, row->field) != 0 ||
            !strstr(err.text, row->says)) {
            fail_msg("%s: %d [%s] %s", row->json, rc, err.field, err.text);
        }
        assert_int_equal(wire_parse_input(&wire_session_spec, str_of(row->json), &s, NULL), rc);
    }
}

static void quantities_in_both_spellings(void **state)
{
    (void)state;
    static const struct { const char *json; int64_t cpu, mem, limit; } rows[] = {
        {"{" C "}", 1000, 536870912, -1},
        {"{" C ",\"cpu\":2,\"mem\":\"2G\",\"time_limit\":\"1h30m\"}", 2000, INT64_C(2) << 30,
         5400000},
        {"{" C ",\"cpu\":\"0.5\",\"mem\":4096,\"time_limit\":90}", 500, 4096, 90000},
        {"{" C ",\"cpu_milli\":2,\"mem_bytes\":5,\"time_limit_ms\":7}", 2, 5, 7},
        {"{" C ",\"cpu_milli\":\"2\",\"mem_bytes\":\"1K\",\"time_limit_ms\":\"2s\"}", 2000, 1024,
         2000},
        {"{" C ",\"cpu\":\"250m\",\"time_limit\":0}", 250, 536870912, 0},
        {"{" C ",\"roles\":[{\"name\":\"a\",\"cpu\":\"1.5\",\"mem\":\"1.5G\"}]}", 1500,
         INT64_C(3) << 29, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct session_spec s;
        struct err err = {0};
        int rc = wire_parse_input(&wire_session_spec, str_of(rows[i].json), &s, &err);
        if (rc) fail_msg("%s: %s", rows[i].json, err.text);
        assert_int_equal(s.n_roles, 1);
        assert_int_equal(s.roles[0].cpu_milli, rows[i].cpu);
        assert_int_equal(s.roles[0].mem_bytes, rows[i].mem);
        assert_int_equal(s.time_limit_ms, rows[i].limit);
        assert_int_equal(s.cpu_milli, -1);
        wire_free(&wire_session_spec, &s);
    }
}

struct foreign { char name[8]; uint32_t n; };
static const struct wire_field foreign_fields[] = {
    WIRE_F_TEXT(struct foreign, name, "name", .flags = WIRE_REQUIRED),
    WIRE_F_U32(struct foreign, n, "n", .def = 7),
};
static const struct wire_table foreign_table =
    WIRE_TABLE("foreign", struct foreign, foreign_fields, .lenient = true);

static void what_others_write_may_say_more(void **state)
{
    (void)state;
    struct foreign f;
    struct err err = {0};
    assert_int_equal(wire_parse(&foreign_table,
                                STR("{\"name\":\"a\",\"n\":null,\"more\":[{\"x\":1.5}]}"), &f,
                                &err), 0);
    assert_string_equal(f.name, "a");
    assert_int_equal(f.n, 7);
    /* What is known must still be right, and what is required be there. */
    assert_int_equal(wire_parse(&foreign_table, STR("{\"name\":null}"), &f, &err), ERR_INVALID);
    assert_int_equal(wire_parse(&foreign_table, STR("{\"name\":\"a\",\"n\":-1}"), &f, &err),
                     ERR_INVALID);
    assert_int_equal(wire_parse(&foreign_table, STR("{\"name\":\"123456789\"}"), &f, &err),
                     ERR_INVALID);
}

static void another_image_may_bring_the_command(void **state)
{
    (void)state;
    struct session_spec s;
    assert_int_equal(wire_parse_input(&wire_session_spec,
                                      STR("{\"image\":\"docker://x\",\"disk\":\"10G\"}"), &s,
                                      NULL), 0);
    assert_int_equal(s.command.n, 0);
    assert_int_equal(s.disk_bytes, INT64_C(10) << 30);
    wire_free(&wire_session_spec, &s);
}

static void a_submission_takes_its_defaults(void **state)
{
    (void)state;
    struct session_spec s;
    struct session shape;
    assert_int_equal(wire_parse_input(&wire_session_spec,
                                      STR("{\"command\":[\"a\",\"\"],\"containers\":3,\"gpu\":2}"),
                                      &s, NULL), 0);
    assert_string_equal(s.group, "default");
    assert_string_equal(s.project, "default");
    assert_string_equal(s.image, "host");
    assert_string_equal(s.name, "");
    assert_int_equal(s.kind, KIND_BATCH);
    assert_int_equal(s.priority, 10);
    assert_int_equal(s.grace_ms, 30000);
    assert_true(s.stop_on_member);
    assert_null(s.command.v[2]); /* an argv */
    session_spec_shape(&s, &shape);
    assert_int_equal(shape.members, 3);
    assert_int_equal(shape.n_roles, 1);
    assert_string_equal(shape.roles[0].name, "main");
    assert_int_equal(shape.roles[0].slots.v[SLOT_GPU], 2);
    assert_int_equal(shape.roles[0].slots.v[SLOT_CPU], 1000);
    assert_int_equal(shape.time_limit_ms, -1);
    assert_int_equal(shape.grace_ms, 30000);
    assert_int_equal(shape.state, 0);
    wire_free(&wire_session_spec, &s);
}

/* A document of n repetitions of `piece` inside head and tail. */
static char *repeated(const char *head, const char *piece, size_t n, const char *tail)
{
    struct strbuf b;
    strbuf_init(&b, (size_t)64 << 20);
    strbuf_puts(&b, head);
    for (size_t i = 0; i < n; i++) strbuf_puts(&b, piece);
    strbuf_puts(&b, tail);
    assert_false(b.full);
    return strbuf_steal(&b);
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *head, *piece; size_t n; const char *tail; int rc; const char *says;
    } rows[] = {
        {"{\"command\":[\"a\"", ",\"b\"", 255, "]}", 0, ""},
        {"{\"command\":[\"a\"", ",\"b\"", 256, "]}", ERR_INVALID, "expected 0 to 256 items"},
        {"{\"command\":[\"", "x", 65536, "\"]}", 0, ""},
        {"{\"command\":[\"", "x", 65537, "\"]}", ERR_INVALID, "at most 65536 bytes in all"},
        {"{\"command\":[\"", "x", 1 << 20, "\"]}", ERR_LIMIT, "at most 1048576 bytes"},
        {"{" C ",\"name\":\"", "x", 63, "\"}", 0, ""},
        {"{" C ",\"name\":\"", "x", 64, "\"}", ERR_INVALID, "at most 63 bytes, got 64"},
        {"{" C ",\"workdir\":\"/", "x", 4095, "\"}", ERR_INVALID, "at most 4095 bytes, got 4096"},
        {"{\"a\":", "[", 200000, "", ERR_INVALID, "nested too deep"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FREE char *json = repeated(rows[i].head, rows[i].piece, rows[i].n, rows[i].tail);
        struct session_spec s;
        struct err err = {0};
        int rc = wire_parse_input(&wire_session_spec, str_of(json), &s, &err);
        if (rc != rows[i].rc || !strstr(err.text, rows[i].says)) {
            fail_msg("row %zu: %d %s", i, rc, err.text);
        }
        if (rc == 0) wire_free(&wire_session_spec, &s);
    }
}

struct locked { int64_t id; char name[16]; char *extra; };
static const struct wire_field locked_fields[] = {
    WIRE_F_I64(struct locked, id, "id", .flags = WIRE_READ_ONLY),
    WIRE_F_TEXT(struct locked, name, "name", .flags = WIRE_OMIT),
    WIRE_F_RAW(struct locked, extra, "extra", 64),
};
static const struct wire_table locked_table =
    WIRE_TABLE("locked", struct locked, locked_fields, .version = 3);

static void read_only_versions_and_raw_parts(void **state)
{
    (void)state;
    static const struct { const char *json; bool input; int rc; const char *says; } rows[] = {
        {"{\"v\":3,\"id\":5}", false, 0, ""},
        {"{\"v\":3,\"id\":5}", true, ERR_INVALID, "id: cannot be set"},
        {"{\"v\":3,\"name\":\"x\"}", true, 0, ""},
        {"{\"id\":5}", false, ERR_INVALID, "version"},
        {"{\"v\":4}", false, ERR_UNSUPPORTED, "of version 4; this program reads version 3"},
        {"{\"v\":\"3\"}", false, ERR_INVALID, "version"},
        {"{\"v\":3,\"extra\":{\"a\":[1, 2]}}", false, 0, ""},
        {"{\"v\":3,\"extra\":[1]}", false, ERR_INVALID, "extra: expected an object, got a list"},
        {"{\"v\":3,\"extra\":{\"a\":\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"}}",
         false, ERR_INVALID, "at most 64 bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct locked o = {0};
        struct err err = {0};
        int rc = rows[i].input ? wire_parse_input(&locked_table, str_of(rows[i].json), &o, &err)
                               : wire_parse(&locked_table, str_of(rows[i].json), &o, &err);
        if (rc != rows[i].rc || !strstr(err.text, rows[i].says)) {
            fail_msg("%s: %d %s", rows[i].json, rc, err.text);
        }
        if (o.extra) assert_string_equal(o.extra, "{\"a\":[1,2]}");
        wire_free(&locked_table, &o);
    }
}

static void lists_of_members_are_in_order(void **state)
{
    (void)state;
#define HEAD \
    "{\"protocol\":1,\"cluster\":\"0123456789abcdef0123456789abcdef\"," \
    "\"incarnation\":\"0123456789abcdef0123456789abcdef\",\"turn\":1,\"wants\":["
#define WANT(s, a, m) "{\"session\":" s ",\"attempt\":" a ",\"member\":" m ",\"act\":\"run\"}"
    static const struct { const char *json; const char *says; } rows[] = {
        {HEAD "]}", NULL},
        {HEAD WANT("1", "1", "0") "," WANT("1", "1", "1") "," WANT("2", "1", "0") "]}", NULL},
        {HEAD WANT("1", "1", "0") "," WANT("1", "1", "0") "]}", "wants: entry 1"},
        {HEAD WANT("1", "2", "0") "," WANT("1", "1", "5") "]}", "wants: entry 1"},
        {HEAD WANT("0", "1", "0") "]}", "wants[0].session: expected 1"},
        {HEAD WANT("1", "0", "0") "]}", "wants[0].attempt: expected 1"},
        {HEAD WANT("1", "1", "512") "]}", "wants[0].member: expected 0 to 511"},
        {HEAD WANT("9223372036854775807", "4294967295", "511") "]}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sync_answer a;
        struct err err = {0};
        int rc = wire_parse(&wire_sync_answer, str_of(rows[i].json), &a, &err);
        if ((rc == 0) != (rows[i].says == NULL) || (rc && !strstr(err.text, rows[i].says))) {
            fail_msg("row %zu: %d %s", i, rc, err.text);
        }
        if (rc == 0) wire_free(&wire_sync_answer, &a);
    }
}

static void signals_by_name_and_number(void **state)
{
    (void)state;
    static const struct { const char *text; int32_t no; } rows[] = {
        {"INT", 2},   {"SIGINT", 2}, {"sigterm", 15}, {"9", 9}, {"31", 31},   {"usr1", 10},
        {"0", 0},     {"32", 0},     {"SIG", 0},      {"", 0},  {"INTX", 0}, {"-1", 0},
        {"SIGSIGINT", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int32_t no = 0;
        bool ok = signal_parse(str_of(rows[i].text), &no);
        if (ok != (rows[i].no != 0) || no != rows[i].no) fail_msg("%s: %d", rows[i].text, no);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_with_the_field_and_the_reason),
        cmocka_unit_test(quantities_in_both_spellings),
        cmocka_unit_test(what_others_write_may_say_more),
        cmocka_unit_test(another_image_may_bring_the_command),
        cmocka_unit_test(a_submission_takes_its_defaults),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(read_only_versions_and_raw_parts),
        cmocka_unit_test(lists_of_members_are_in_order),
        cmocka_unit_test(signals_by_name_and_number),
    };
    return RUN(tests);
}
