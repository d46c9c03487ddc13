/* Reading batch logs, and small ones worked out by hand. */
#include "test.h"

#include "base/strbuf.h"
#include "sim/swf.h"

/* One line of the log: submit, run, processors, estimate. */
struct row { int64_t submit, run; uint32_t procs; int64_t estimate; };

static void put(struct strbuf *b, struct row r)
{
    strbuf_fmt(b, "1 %lld -1 %lld %u -1 -1 %u %lld -1 1 1 1 -1 -1 -1 -1 -1\n", (long long)r.submit,
               (long long)r.run, r.procs, r.procs, (long long)r.estimate);
}

static void run_rows(const struct row *rows, uint32_t n, const struct swf_options *o,
                     struct swf_result *ret, int64_t *starts)
{
    struct strbuf text;
    struct swf_log log;
    struct err err = {0};
    strbuf_init(&text, 1 << 20);
    for (uint32_t i = 0; i < n; i++) put(&text, rows[i]);
    assert_int_equal(swf_parse(strbuf_str(&text), o, &log, &err), 0);
    if (swf_run(&log, o, ret, &err) != 0) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < log.jobs.n; i++) starts[log.jobs.v[i].record] = log.jobs.v[i].start_s;
    swf_log_done(&log);
    strbuf_done(&text);
}

/* 100 CPU: B holds 50 until 90; A (60) must wait for it; B2 (50 for 90 s) would delay A and
 * C (50 for 30 s) would not. */
static const struct row ONE_NODE[] = {
    {0, 90, 50, 90}, {10, 60, 60, 60}, {20, 90, 50, 90}, {30, 30, 50, 30}};

static void one_node_backfill(void **state)
{
    (void)state;
    static const struct { enum swf_backfill kind; int64_t starts[4]; } cases[] = {
        {SWF_NONE, {0, 90, 150, 150}},
        {SWF_EASY, {0, 90, 150, 30}},
        {SWF_CONSERVATIVE, {0, 90, 150, 30}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct swf_options o = {.procs = 100, .order = ORDER_FIFO, .backfill = cases[i].kind};
        struct swf_result m;
        int64_t starts[4];
        run_rows(ONE_NODE, 4, &o, &m, starts);
        for (int k = 0; k < 4; k++) assert_int_equal(starts[k], cases[i].starts[k]);
        assert_int_equal(m.makespan_s, 240);
        assert_int_equal(m.work, 90 * 50 + 60 * 60 + 90 * 50 + 30 * 50);
    }
}

/* Orders of the queue: all wait behind the first. */
static void orders(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {0, 10, 4, 10}, {1, 30, 1, 30}, {2, 10, 4, 10}, {3, 20, 1, 20}};
    static const struct { enum queue_order order; int64_t starts[4]; } cases[] = {
        {ORDER_FIFO, {0, 10, 40, 50}},     /* the wide one waits for the second to end */
        {ORDER_SHORTEST, {0, 20, 10, 20}},
        {ORDER_LONGEST, {0, 10, 40, 10}},
        {ORDER_SMALLEST, {0, 10, 40, 10}}, /* 20, 30, 40 processor seconds */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct swf_options o = {.procs = 4, .order = cases[i].order};
        struct swf_result m;
        int64_t starts[4];
        run_rows(rows, 4, &o, &m, starts);
        for (int k = 0; k < 4; k++) assert_int_equal(starts[k], cases[i].starts[k]);
    }
}

/* Ends come before submissions of the same second, and these before the pass. */
static void one_instant(void **state)
{
    (void)state;
    static const struct row rows[] = {{0, 10, 4, 10}, {10, 5, 3, 5}, {10, 5, 1, 5}};
    struct swf_options o = {.procs = 4, .order = ORDER_FIFO};
    struct swf_result m;
    int64_t starts[3];
    run_rows(rows, 3, &o, &m, starts);
    assert_int_equal(starts[1], 10);
    assert_int_equal(starts[2], 10);
    assert_int_equal(m.wait_s, 0);
    assert_true(m.bsld_sum == 3.0);
}

static void overruns(void **state)
{
    (void)state;
    static const struct row rows[] = {{0, 100, 1, 60}};
    struct swf_options o = {.procs = 1, .order = ORDER_FIFO};
    struct swf_result m;
    int64_t start;
    run_rows(rows, 1, &o, &m, &start);
    assert_int_equal(m.makespan_s, 100);
    o.overrun = SWF_KILL;
    run_rows(rows, 1, &o, &m, &start);
    assert_int_equal(m.makespan_s, 60);
    o.repeat = 3; /* again and again, a second after the last submission */
    run_rows(rows, 1, &o, &m, &start);
    assert_int_equal(m.makespan_s, 180);
}

static const char GOOD[] = "1 5 0 10 2 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n";

static void lines(void **state)
{
    (void)state;
    static const struct { const char *head, *line; int rc; uint32_t jobs, dropped; } cases[] = {
        {"; MaxProcs: 4\n", GOOD, 0, 1, 0},
        {"; MaxNodes: 4\r\n;\n\n", GOOD, 0, 1, 0},
        {"; MaxNodes: 9\n; MaxProcs: 1\n", GOOD, 0, 0, 1}, /* too wide */
        {"", GOOD, ERR_INVALID, 0, 0},                     /* P is not known */
        {"; MaxProcs: 4\n", "1 5 0 10 2\n", ERR_INVALID, 0, 0},
        {"; MaxProcs: 4\n", "1 5 0 x 2 1 1 1 1 1 1 1 1 1 1 1 1 1\n", ERR_INVALID, 0, 0},
        {"; MaxProcs: 4\n", "1 5 0 -1 2 1 1 1 1 1 1 1 1 1 1 1 1 1\n", 0, 0, 1},
        {"; MaxProcs: 4\n", "1 -5 0 10 2 1 1 1 1 1 1 1 1 1 1 1 1 1\n", 0, 0, 1},
        {"; MaxProcs: 4\n", "1 5 0 10 0 1 1 0 1 1 1 1 1 1 1 1 1 1\n", 0, 0, 1},
        {"; MaxProcs: 4\n", "1 5 0 10.75 2 1.5 1 2 30 1 1 1 1 1 1 1 1 1\n", 0, 1, 0},
        {"; MaxProcs: 4\n", "1 5 0 315619201 2 1 1 2 9 1 1 1 1 1 1 1 1 1\n", ERR_INVALID, 0, 0},
        {"; MaxProcs: 4\n", "1 5 0 9 2 1 1 2 315619201 1 1 1 1 1 1 1 1 1\n", ERR_INVALID, 0, 0},
        {"; MaxProcs: 4\n", "1 5 0 315619200 2 1 1 2 9 1 1 1 1 1 1 1 1 1\n", 0, 1, 0},
        {"; MaxProcs: 4\n", "1 99999999999999 0 10 2 1 1 1 1 1 1 1 1 1 1 1 1 1\n", ERR_INVALID, 0,
         0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf text;
        struct swf_log log = {.procs = 77};
        struct swf_options o = {.order = ORDER_FIFO};
        struct err err = {0};
        strbuf_init(&text, 4096);
        strbuf_puts(&text, cases[i].head);
        strbuf_puts(&text, cases[i].line);
        assert_int_equal(swf_parse(strbuf_str(&text), &o, &log, &err), cases[i].rc);
        strbuf_done(&text);
        if (cases[i].rc != 0) {
            assert_int_equal(log.procs, 77); /* untouched */
            assert_non_null(strstr(err.text, "line "));
            continue;
        }
        assert_int_equal(log.jobs.n, cases[i].jobs);
        assert_int_equal(log.dropped, cases[i].dropped);
        swf_log_done(&log);
    }
}

static void without_a_job(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n\n", "; MaxProcs: 4\n", "; MaxJobs: 1000000000\n\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct swf_log log = {.procs = 77};
        struct swf_options o = {.procs = 4, .order = ORDER_FIFO};
        struct err err = {0};
        assert_int_equal(swf_parse(str_of(texts[i]), &o, &log, &err), ERR_INVALID);
        assert_string_equal(err.text, "no job in it");
        assert_int_equal(log.procs, 77);
    }
}

/* The longest run there may be is one that step() takes. */
static void ten_years(void **state)
{
    (void)state;
    static const struct row rows[] = {{0, 315619200, 1, 315619200}, {1, 10, 1, 10}};
    struct swf_options o = {.procs = 1, .order = ORDER_FIFO};
    struct swf_result m;
    int64_t starts[2];
    run_rows(rows, 2, &o, &m, starts);
    assert_int_equal(starts[1], 315619200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_backfill), cmocka_unit_test(orders),
        cmocka_unit_test(one_instant),       cmocka_unit_test(overruns),
        cmocka_unit_test(lines),             cmocka_unit_test(without_a_job),
        cmocka_unit_test(ten_years),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
