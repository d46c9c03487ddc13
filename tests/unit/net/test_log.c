/* Lines that machines can read whatever the values are. */
#include "net/log.h"
#include "test.h"

static uint32_t line_of(char *dst, uint32_t cap, const char *event, const struct log_field *f,
                        uint32_t n)
{
    const struct log_line line = {INT64_C(1767323045678), LOG_WARN, event, f, n};
    return log_format_line(dst, cap, &line);
}

static void lines(void **state)
{
    (void)state;
    const struct log_field fields[] = {
        LOG_S("plain", "n1"), LOG_S("space", "a b"), LOG_S("quote", "a\"b\\"), LOG_S("empty", ""),
        LOG_S("line", "a\nb\x01"), LOG_S("none", NULL), LOG_I("int", -5), LOG_U("big", UINT64_MAX),
        LOG_B("yes", true), LOG_S("utf", "\xc3\xa4"), LOG_S("eq", "a=b"),
    };
    char line[4096];
    log_setup(LOG_INFO, LOG_LOGFMT, NULL);
    uint32_t n = line_of(line, sizeof(line), "agent.join", fields, ARRAY_LEN(fields));
    line[n] = '\0';
    assert_string_equal(line,
                        "time=2026-01-02T03:04:05.678Z level=warn event=agent.join plain=n1 "
                        "space=\"a b\" quote=\"a\\\"b\\\\\" empty=\"\" line=\"a\\nb\\u0001\" "
                        "none=\"\" int=-5 big=18446744073709551615 yes=true utf=\"\xc3\xa4\" "
                        "eq=\"a=b\"\n");
    log_setup(LOG_INFO, LOG_JSON, "agent");
    n = line_of(line, sizeof(line), "x", fields, 4);
    line[n] = '\0';
    assert_string_equal(line, "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"warn\","
                              "\"event\":\"x\",\"role\":\"agent\",\"plain\":\"n1\",\"space\":"
                              "\"a b\",\"quote\":\"a\\\"b\\\\\",\"empty\":\"\"}\n");
}

static void bounds(void **state)
{
    (void)state;
    char *big = mem_array(20000, 1), line[8192];
    memset(big, 'v', 19999);
    struct log_field f[20];
    for (int i = 0; i < 20; i++) f[i] = LOG_S("k", big);
    for (int format = LOG_LOGFMT; format <= LOG_JSON; format++) {
        log_setup(LOG_INFO, (enum log_format)format, NULL);
        uint32_t n = line_of(line, sizeof(line), "e", f, 1);
        assert_in_range(n, 1024, 1100); /* a value is cut */
        n = line_of(line, sizeof(line), "e", f, 20);
        assert_in_range(n, 6000, sizeof(line)); /* a line is cut, between fields */
        assert_int_equal(line[n - 1], '\n');
        assert_int_equal(line[n - 2], format == LOG_JSON ? '}' : 'v');
        for (uint32_t cap = 200; cap < 1500; cap++) {
            n = line_of(line, cap, "e", f, 2);
            assert_true(n <= cap);
            assert_int_equal(line[n - 1], '\n');
        }
    }
    mem_free(big);
}

static void levels(void **state)
{
    (void)state;
    enum log_level level = LOG_INFO;
    assert_true(log_level_parse(STR("debug"), &level));
    assert_int_equal(level, LOG_DEBUG);
    assert_false(log_level_parse(STR("loud"), &level));
    assert_int_equal(level, LOG_DEBUG);
    log_setup(LOG_WARN, LOG_LOGFMT, NULL);
    assert_false(log_on(LOG_INFO));
    assert_true(log_on(LOG_WARN));
    int evaluated = 0;
    log_event(LOG_INFO, "x", LOG_I("n", evaluated++));
    assert_int_equal(evaluated, 0);
}

static void written(void **state)
{
    (void)state;
    int p[2], saved = dup(STDERR_FILENO);
    char got[256] = {0};
    assert_int_equal(pipe(p), 0);
    log_setup(LOG_INFO, LOG_LOGFMT, "test");
    dup2(p[1], STDERR_FILENO);
    log_event(LOG_INFO, "only.name");
    struct err e = {.text = "it broke"};
    log_event(LOG_ERROR, "second", LOG_ERR(&e), LOG_STR("s", STR("v")));
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(p[1]);
    assert_true(read(p[0], got, sizeof(got) - 1) > 0);
    close(p[0]);
    assert_non_null(strstr(got, " level=info event=only.name role=test\n"));
    assert_non_null(strstr(got, " level=error event=second role=test error=\"it broke\" s=v\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines), cmocka_unit_test(bounds), cmocka_unit_test(levels),
        cmocka_unit_test(written),
    };
    return RUN(tests);
}
