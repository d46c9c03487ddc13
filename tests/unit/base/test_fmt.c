/* Quantities as people write and read them. */
#include "test.h"

#include "base/fmt.h"

#define BAD INT64_MIN /* the text must be refused and the output left alone */

struct read_row {
    const char *text;
    int64_t value;
};

static void check_reader(bool (*parse)(struct str, int64_t *), const struct read_row *rows,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = 12345;
        bool fine = parse(str_of(rows[i].text), &value);
        ROW_TRUE(rows[i].text, fine == (rows[i].value != BAD));
        ROW_TRUE(rows[i].text, value == (fine ? rows[i].value : 12345));
    }
}

static void reads_bytes(void **state)
{
    (void)state;
    static const struct read_row rows[] = {
        {"0", 0}, {"4096", 4096}, {"4096B", 4096}, {"7b", 7}, {"512M", 512 * FMT_MIB},
        {"512m", 512 * FMT_MIB}, {"2GiB", 2 * FMT_GIB}, {"2GB", 2 * FMT_GIB},
        {"2Gi", 2 * FMT_GIB}, {"512 MiB", 512 * FMT_MIB}, {"1.5G", 1536 * FMT_MIB},
        {"1.25 KiB", 1280}, {"0.1K", 102}, {"1K", 1024}, {"1T", 1024 * FMT_GIB},
        {"8388607T", INT64_C(8388607) << 40}, {"8388608T", BAD},
        {"9223372036854775807", INT64_MAX}, {"9223372036854775808", BAD},
        {"99999999999999999999999", BAD},
        {"8388607.999999T", (INT64_C(8388607) << 40) + (INT64_C(999999) << 40) / 1000000},
        {"", BAD}, {" ", BAD}, {"M", BAD}, {"-1", BAD}, {"+1", BAD}, {"1.5", BAD}, {"1.5B", BAD},
        {"1.", BAD}, {".5G", BAD}, {"1.2.3G", BAD}, {"1.0000001G", BAD}, {"1G ", BAD},
        {" 1G", BAD}, {"1  G", BAD}, {"1 ", BAD}, {"1iB", BAD}, {"1GiBB", BAD}, {"1GG", BAD},
        {"1P", BAD}, {"1e3", BAD}, {"0x10", BAD}, {"1,5G", BAD}, {"1IB", BAD}, {"1GIB", BAD},
    };
    check_reader(fmt_parse_bytes, rows, ARRAY_LEN(rows));
}

static void reads_cpu(void **state)
{
    (void)state;
    static const struct read_row rows[] = {
        {"2", 2000}, {"0.5", 500}, {"1500m", 1500}, {"0", 0}, {"0m", 0}, {"1.25", 1250},
        {"0.001", 1}, {"64", 64000}, {"9223372036854775", INT64_C(9223372036854775000)},
        {"9223372036854775.807", INT64_MAX}, {"9223372036854775.808", BAD},
        {"9223372036854776", BAD}, {"9223372036854775808m", BAD}, {"0.0001", BAD}, {"", BAD},
        {"m", BAD}, {"-1", BAD}, {"1.5m", BAD}, {"1M", BAD}, {"1 m", BAD}, {"1.", BAD},
        {".5", BAD}, {"two", BAD}, {"1c", BAD}, {"1mm", BAD},
    };
    check_reader(fmt_parse_cpu, rows, ARRAY_LEN(rows));
}

static void reads_durations(void **state)
{
    (void)state;
    static const struct read_row rows[] = {
        {"90", 90000}, {"90s", 90000}, {"10m", 600000}, {"2h", 7200000}, {"1d", 86400000},
        {"1h30m", 5400000}, {"1d2h3m4s5ms", 93784005}, {"250ms", 250}, {"0", 0}, {"0s", 0},
        {"1m0s", 60000}, {"9223372036854775s", INT64_C(9223372036854775000)},
        {"9223372036854776s", BAD}, {"9223372036854775807ms", INT64_MAX},
        {"9223372036854775s808ms", BAD}, {"106751991167d8h", BAD}, {"18446744073709551616s", BAD},
        {"", BAD}, {"s", BAD}, {"h1", BAD}, {"1h30", BAD}, {"30m1h", BAD}, {"1m1m", BAD},
        {"-5s", BAD}, {"1.5h", BAD}, {"5 s", BAD}, {"5S", BAD}, {"1w", BAD}, {"1hour", BAD},
        {"1s ", BAD}, {"1ms1s", BAD},
    };
    check_reader(fmt_parse_duration, rows, ARRAY_LEN(rows));
}

struct write_row {
    int64_t value;
    const char *text;
};

static void check_writer(void (*write)(struct strbuf *, int64_t), const struct write_row *rows,
                         size_t n)
{
    struct strbuf b;
    strbuf_init(&b, 100);
    for (size_t i = 0; i < n; i++) {
        strbuf_reset(&b);
        write(&b, rows[i].value);
        assert_string_equal(b.p, rows[i].text);
    }
    strbuf_done(&b);
}

static void writes_bytes(void **state)
{
    (void)state;
    static const struct write_row rows[] = {
        {0, "0 B"}, {1, "1 B"}, {1023, "1023 B"}, {1024, "1 KiB"}, {1536, "1.5 KiB"},
        {512 * FMT_MIB, "512 MiB"}, {1536 * FMT_MIB, "1.5 GiB"}, {FMT_GIB - 1, "1023.9 MiB"},
        {FMT_GIB, "1 GiB"}, {2048 * FMT_GIB, "2 TiB"}, {INT64_MAX, "8388607.9 TiB"},
        {-1536, "-1.5 KiB"}, {INT64_MIN, "-8388608 TiB"},
    };
    check_writer(fmt_bytes, rows, ARRAY_LEN(rows));
}

static void writes_cpu(void **state)
{
    (void)state;
    static const struct write_row rows[] = {
        {0, "0"}, {2000, "2"}, {500, "0.5"}, {1250, "1.25"}, {1, "0.001"}, {10, "0.01"},
        {-1500, "-1.5"}, {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };
    check_writer(fmt_cpu, rows, ARRAY_LEN(rows));
}

static void writes_durations(void **state)
{
    (void)state;
    static const struct write_row rows[] = {
        {0, "0 ms"}, {850, "850 ms"}, {999, "999 ms"}, {1000, "1 s"}, {12999, "12 s"},
        {60000, "1 min"}, {200000, "3 min 20 s"}, {3600000, "1 h"}, {7500000, "2 h 5 min"},
        {7259999, "2 h"}, {86400000, "1 d"}, {97200000, "1 d 3 h"}, {-200000, "-3 min 20 s"},
        {INT64_MAX, "106751991167 d 7 h"}, {INT64_MIN, "-106751991167 d 7 h"},
    };
    check_writer(fmt_duration, rows, ARRAY_LEN(rows));
}

static void writes_ages(void **state)
{
    (void)state;
    static const struct write_row rows[] = {
        {-5000, "0s"}, {0, "0s"}, {999, "0s"}, {12000, "12s"}, {59999, "59s"}, {60000, "1m"},
        {3599999, "59m"}, {7200000, "2h"}, {86399999, "23h"}, {432000000, "5d"},
        {INT64_MAX, "106751991167d"},
    };
    check_writer(fmt_age, rows, ARRAY_LEN(rows));
}

/* What was written can be read back, and is at most a tenth of its unit less. */
static void round_trip(void **state)
{
    (void)state;
    struct strbuf b;
    strbuf_init(&b, 100);
    for (int64_t v = 1; v < INT64_MAX / 3; v = v * 3 + 1) {
        int64_t back = -1;
        strbuf_reset(&b);
        fmt_bytes(&b, v);
        assert_true(fmt_parse_bytes(strbuf_str(&b), &back));
        assert_true(back <= v && v - back <= v / 10);
        strbuf_reset(&b);
        fmt_cpu(&b, v);
        assert_true(fmt_parse_cpu(strbuf_str(&b), &back));
        assert_true(back == v);
    }
    strbuf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_bytes),      cmocka_unit_test(reads_cpu),
        cmocka_unit_test(reads_durations),  cmocka_unit_test(writes_bytes),
        cmocka_unit_test(writes_cpu),       cmocka_unit_test(writes_durations),
        cmocka_unit_test(writes_ages),      cmocka_unit_test(round_trip),
    };
    return RUN(tests);
}
