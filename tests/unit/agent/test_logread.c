/* Reading logs: order, rotation, torn ends, tails, losses. */
#include "test.h"

#include "agent/logread.h"
#include "base/strbuf.h"

#define F0 "log.000000000000"

/* Appends record `seq` with stream, flag and text. */
static void put(const char *dir, const char *file, uint64_t seq, char stream, char flag,
                const char *text)
{
    char line[256];
    text_fmt(line, sizeof(line), "%012llx %012x %014x %c %c %s\n", (unsigned long long)seq, 1u, 2u,
             stream, flag, text);
    test_append(dir, file, line);
}

/* Everything that can be read now, as "text\n" and "text+" for parts; losses as "(n)". */
static void drain(struct logread *r, struct strbuf *out)
{
    struct shim_log_record rec;
    uint64_t lost;
    while (logread_next(r, &rec, &lost)) {
        if (lost > 0) strbuf_fmt(out, "(%llu)", (unsigned long long)lost);
        strbuf_put(out, str_n(rec.text, rec.n));
        strbuf_putc(out, rec.newline ? '\n' : '+');
    }
}

static void expect(struct logread *r, const char *want)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    drain(r, &out);
    assert_string_equal(out.p != NULL ? out.p : "", want);
    strbuf_done(&out);
}

struct log_fixture { char dir[64]; struct logread *r; };

static void open_log(struct log_fixture *f)
{
    struct err err;
    assert_int_equal(logread_open(f->dir, &f->r, &err), 0);
}

static void reads_in_order_and_goes_on(void **state)
{
    struct log_fixture f;
    (void)state;
    test_dir_new(f.dir);
    open_log(&f);
    expect(f.r, "");
    put(f.dir, F0, 0, 'o', 'F', "one");
    put(f.dir, F0, 1, 'e', 'P', "two");
    expect(f.r, "one\ntwo+");
    put(f.dir, F0, 2, 'o', 'F', "");
    expect(f.r, "\n");
    expect(f.r, "");
    logread_free(f.r);
    test_dir_free(f.dir);
}

/* CLK10: a line's place is that of its number, whatever the clocks said. */
static void clk10_clocks_that_go_back(void **state)
{
    struct log_fixture f;
    (void)state;
    test_dir_new(f.dir);
    open_log(&f);
    test_append(f.dir, F0, "000000000000 000000000009 00000000000009 o F first\n"
                           "000000000001 000000000003 00000000000002 o F then\n"
                           "000000000002 000000000003 00000000000001 o F last\n");
    expect(f.r, "first\nthen\nlast\n");
    logread_free(f.r);
    test_dir_free(f.dir);
}

static void a_torn_line_waits_for_its_end(void **state)
{
    struct log_fixture f;
    (void)state;
    test_dir_new(f.dir);
    put(f.dir, F0, 0, 'o', 'F', "whole");
    test_append(f.dir, F0, "000000000001 000000000001 00000000000002 o F to");
    open_log(&f);
    expect(f.r, "whole\n");
    test_append(f.dir, F0, "rn\n");
    expect(f.r, "torn\n");
    logread_free(f.r);
    test_dir_free(f.dir);
}

static void a_torn_end_is_left_behind_at_the_next_file(void **state)
{
    struct log_fixture f;
    (void)state;
    test_dir_new(f.dir);
    put(f.dir, F0, 0, 'o', 'F', "a");
    test_append(f.dir, F0, "000000000001 0000");
    put(f.dir, "log.000000000001", 1, 'o', 'F', "b");
    open_log(&f);
    expect(f.r, "a\nb\n");
    logread_free(f.r);
    test_dir_free(f.dir);
}

static void follows_rotation_in_order_of_numbers(void **state)
{
    struct log_fixture f;
    char name[32];
    (void)state;
    test_dir_new(f.dir);
    for (unsigned i = 12; i-- > 0;) { /* written in the wrong order on purpose */
        text_fmt(name, sizeof(name), "log.%012x", i);
        char text[8];
        text_fmt(text, sizeof(text), "%u", i);
        put(f.dir, name, i, 'o', 'F', text);
    }
    test_file(f.dir, "log.zzz", "not a log");
    test_file(f.dir, "other", "not a log");
    open_log(&f);
    expect(f.r, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    logread_free(f.r);
    test_dir_free(f.dir);
}

static void says_how_much_was_rotated_away(void **state)
{
    struct log_fixture f;
    char path[128];
    (void)state;
    test_dir_new(f.dir);
    put(f.dir, F0, 0, 'o', 'F', "a");
    open_log(&f);
    expect(f.r, "a\n");
    put(f.dir, "log.000000000001", 1, 'o', 'F', "gone");
    put(f.dir, "log.000000000002", 2, 'o', 'F', "c");
    text_fmt(path, sizeof(path), "%s/log.000000000001", f.dir);
    unlink(path);
    expect(f.r, "(1)c\n");
    logread_free(f.r);
    test_dir_free(f.dir);
}

static void damage_and_echoes_are_skipped(void **state)
{
    struct log_fixture f;
    (void)state;
    test_dir_new(f.dir);
    put(f.dir, F0, 5, 'o', 'F', "a");
    test_append(f.dir, F0, "rubbish\n\n");
    put(f.dir, F0, 5, 'o', 'F', "again"); /* a replaced supervisor repeats itself */
    put(f.dir, F0, 6, 'o', 'F', "b");
    open_log(&f);
    expect(f.r, "a\nb\n");
    logread_free(f.r);
    test_dir_free(f.dir);
}

static void endless_line_does_not_stop_the_rest(void **state)
{
    struct log_fixture f;
    (void)state;
    test_dir_new(f.dir);
    char *junk = mem_alloc(400 * 1024);
    memset(junk, 'x', 400 * 1024 - 1);
    test_append(f.dir, F0, junk);
    test_append(f.dir, F0, "\n");
    put(f.dir, F0, 0, 'o', 'F', "after");
    open_log(&f);
    expect(f.r, "after\n");
    logread_free(f.r);
    mem_free(junk);
    test_dir_free(f.dir);
}

static void goes_on_where_the_files_were_moved(void **state)
{
    struct log_fixture f;
    char to[64], a[160], b[160];
    struct err err;
    (void)state;
    test_dir_new(f.dir);
    test_dir_new(to);
    put(f.dir, F0, 0, 'o', 'F', "a");
    put(f.dir, "log.000000000001", 1, 'o', 'F', "b");
    open_log(&f);
    struct shim_log_record rec;
    uint64_t lost;
    assert_true(logread_next(f.r, &rec, &lost));
    static const char *const files[] = {F0, "log.000000000001"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        text_fmt(a, sizeof(a), "%s/%s", f.dir, files[i]);
        text_fmt(b, sizeof(b), "%s/%s", to, files[i]);
        assert_int_equal(rename(a, b), 0);
    }
    expect(f.r, "");
    assert_int_equal(logread_move(f.r, to, &err), 0);
    expect(f.r, "b\n");
    logread_free(f.r);
    test_dir_free(f.dir);
    test_dir_free(to);
}

static void tails(void **state)
{
    static const struct { uint64_t lines; const char *want; } cases[] = {
        {0, ""}, {1, "f\n"}, {2, "d+e\nf\n"}, {3, "c\nd+e\nf\n"}, {4, "b\nc\nd+e\nf\n"},
        {5, "a\nb\nc\nd+e\nf\n"}, {6, "a\nb\nc\nd+e\nf\n"}, {UINT64_MAX, "a\nb\nc\nd+e\nf\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct log_fixture f;
        test_dir_new(f.dir);
        put(f.dir, F0, 0, 'o', 'F', "a");
        put(f.dir, F0, 1, 'o', 'F', "b");
        put(f.dir, "log.000000000002", 2, 'o', 'F', "c");
        put(f.dir, "log.000000000002", 3, 'o', 'P', "d");
        put(f.dir, "log.000000000002", 4, 'o', 'F', "e");
        put(f.dir, "log.000000000002", 5, 'e', 'F', "f");
        test_append(f.dir, "log.000000000002", "torn");
        open_log(&f);
        logread_tail(f.r, cases[i].lines);
        expect(f.r, cases[i].want);
        logread_free(f.r);
        test_dir_free(f.dir);
    }
}

/* A tail over many blocks of the reader that goes backwards. */
static void tail_of_a_long_file(void **state)
{
    struct log_fixture f;
    struct strbuf want, file;
    enum { LINES = 5000, TAIL = 3210 };
    (void)state;
    test_dir_new(f.dir);
    strbuf_init(&want, 1 << 24);
    strbuf_init(&file, 1 << 24);
    for (unsigned i = 0; i < LINES; i++) {
        char text[200];
        memset(text, 'a' + (int)(i % 26), sizeof(text));
        int n = (int)(i * 7 % 150);
        strbuf_fmt(&file, "%012x %012x %014x o F %u%.*s\n", i, 0u, 0u, i, n, text);
        if (i >= LINES - TAIL) strbuf_fmt(&want, "%u%.*s\n", i, n, text);
    }
    test_file(f.dir, F0, file.p);
    open_log(&f);
    logread_tail(f.r, TAIL);
    struct strbuf got;
    strbuf_init(&got, 1 << 24);
    drain(f.r, &got);
    assert_int_equal(got.n, want.n);
    assert_memory_equal(got.p, want.p, want.n);
    strbuf_done(&got);
    strbuf_done(&want);
    strbuf_done(&file);
    logread_free(f.r);
    test_dir_free(f.dir);
}

static void no_directory_is_not_found(void **state)
{
    struct logread *r = NULL;
    struct err err;
    (void)state;
    assert_int_equal(logread_open("/nonexistent/logs", &r, &err), ERR_NOT_FOUND);
    assert_null(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_in_order_and_goes_on),
        cmocka_unit_test(clk10_clocks_that_go_back),
        cmocka_unit_test(a_torn_line_waits_for_its_end),
        cmocka_unit_test(a_torn_end_is_left_behind_at_the_next_file),
        cmocka_unit_test(follows_rotation_in_order_of_numbers),
        cmocka_unit_test(says_how_much_was_rotated_away),
        cmocka_unit_test(damage_and_echoes_are_skipped),
        cmocka_unit_test(endless_line_does_not_stop_the_rest),
        cmocka_unit_test(goes_on_where_the_files_were_moved),
        cmocka_unit_test(tails),
        cmocka_unit_test(tail_of_a_long_file),
        cmocka_unit_test(no_directory_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
