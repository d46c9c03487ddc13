/* tests/unit/shim/test_log.c - from pipes into numbered files: every byte, once. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "host/file.h"
#include "shim/log.h"

static char root[64];
static int dir;
static struct log logger;

static int open_dir(void **state)
{
    (void)state;
    text_fmt(root, sizeof(root), "/tmp/test-shim-XXXXXX");
    assert_non_null(mkdtemp(root));
    dir = file_open_dir(AT_FDCWD, root, NULL);
    return dir < 0;
}

static int close_dir(void **state)
{
    (void)state;
    file_close(&dir);
    return file_remove_tree(AT_FDCWD, root, NULL);
}

struct job { int out, err; };

static struct job log_job(void)
{
    int a[2], b[2];
    assert_int_equal(pipe2(a, O_CLOEXEC), 0);
    assert_int_equal(pipe2(b, O_CLOEXEC), 0);
    assert_int_equal(log_start(&logger, dir, a[0], b[0], false, NULL), 0);
    return (struct job){a[1], b[1]};
}

static void say(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        assert_true(w > 0);
        p += w;
        n -= (size_t)w;
    }
}

static void job_ends(struct job *j)
{
    close(j->out);
    close(j->err);
    log_finish(&logger, 5000);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}
static int is_log(const struct dirent *e) { return strncmp(e->d_name, "log.", 4) == 0; }

struct seen { struct strbuf out, err; uint64_t first, last; uint32_t records, files; };

/* Checks the order of names and numbers on the way. */
static void read_all(struct seen *s)
{
    struct dirent **names;
    *s = (struct seen){0};
    strbuf_init(&s->out, 64 << 20);
    strbuf_init(&s->err, 64 << 20);
    strbuf_puts(&s->out, "");
    strbuf_puts(&s->err, "");
    char *buf = mem_alloc(20 << 20);
    int n = scandir(root, &names, is_log, by_name);
    for (int i = 0; i < n; i++, s->files++) {
        size_t len = 0;
        uint64_t named = 0;
        bool first = true;
        struct shim_log_record r = {0};
        assert_int_equal(file_read(dir, names[i]->d_name, buf, 20 << 20, &len, NULL), 0);
        assert_true(shim_log_hex(names[i]->d_name + 4, 12, &named));
        struct str rest = str_n(buf, len), line;
        while (str_cut(&rest, '\n', &line)) {
            assert_true(shim_log_parse(line.p, line.n, &r));
            if (first) assert_int_equal(r.seq, named);
            if (s->records) assert_true(r.seq > s->last);
            else s->first = r.seq;
            first = false;
            s->last = r.seq;
            s->records++;
            strbuf_put(r.err ? &s->err : &s->out, str_n(r.text, r.n));
            if (r.newline) strbuf_putc(r.err ? &s->err : &s->out, '\n');
        }
        free(names[i]);
    }
    free(names);
    mem_free(buf);
}

static void seen_done(struct seen *s)
{
    strbuf_done(&s->out);
    strbuf_done(&s->err);
}

static void texts_come_back_byte_for_byte(void **state)
{
    static char long_line[40000];
    const struct str texts[] = {STR(""),
                                STR("line\n"),
                                STR("no end"),
                                STR("\n\n\n"),
                                STR("a\0b\r\n\tc\n"),
                                STR("P o F \n000000000001 x\n"),
                                {long_line, sizeof(long_line)}};
    (void)state;
    memset(long_line, 'x', sizeof(long_line));
    long_line[20000] = '\n';
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct seen s;
        open_dir(NULL);
        struct job j = log_job();
        say(j.out, texts[i].p, texts[i].n);
        say(j.err, "E\n", 2);
        job_ends(&j);
        read_all(&s);
        assert_int_equal(s.out.n, texts[i].n);
        if (texts[i].n) assert_memory_equal(s.out.p, texts[i].p, texts[i].n);
        assert_string_equal(s.err.p, "E\n");
        assert_int_equal(s.first, 1);
        assert_int_equal(s.last, s.records); /* without a gap */
        seen_done(&s);
        close_dir(NULL);
    }
}

static void an_unfinished_line_is_shown_soon_and_goes_on(void **state)
{
    struct seen s;
    (void)state;
    struct job j = log_job();
    say(j.out, "Password: ", 10);
    for (int i = 0;; i++) {
        read_all(&s);
        bool shown = s.out.n == 10;
        seen_done(&s);
        if (shown) break;
        assert_true(i < 5000);
        usleep(1000);
    }
    say(j.out, "secret\n", 7);
    job_ends(&j);
    read_all(&s);
    assert_string_equal(s.out.p, "Password: secret\n");
    assert_int_equal(s.records, 2);
    seen_done(&s);
}

static void files_turn_over_and_the_oldest_go(void **state)
{
    enum { LINES = 75000, LINE = 1000 }; /* 78 MB with their heads: five files of 16 MiB */
    char line[LINE];
    struct seen s;
    (void)state;
    struct job j = log_job();
    memset(line, 'y', sizeof(line));
    line[LINE - 1] = '\n';
    for (int i = 0; i < LINES; i++) say(j.out, line, sizeof(line));
    job_ends(&j);
    read_all(&s);
    assert_int_equal(s.files, SHIM_LOG_FILES);
    assert_int_equal(s.last, LINES);
    assert_true(s.first > 1);
    assert_int_equal(s.last - s.first + 1, s.records); /* what is kept has no gap */
    assert_true(s.out.n > (SHIM_LOG_FILES - 1) * (size_t)SHIM_LOG_FILE_MAX * 9 / 10);
    seen_done(&s);
}

static void a_successor_counts_on_behind_a_torn_line(void **state)
{
    struct seen s;
    (void)state;
    struct job j = log_job();
    say(j.out, "1\n2\n3\n", 6);
    job_ends(&j);
    int fd = openat(dir, "log.000000000001", O_WRONLY | O_APPEND);
    assert_true(fd >= 0);
    say(fd, "000000000004 0000", 17); /* the write that was cut off */
    close(fd);
    j = log_job();
    say(j.out, "4\n", 2);
    job_ends(&j);
    read_all(&s);
    assert_string_equal(s.out.p, "1\n2\n3\n4\n");
    assert_int_equal(s.last, 4);
    assert_int_equal(s.files, 2);
    seen_done(&s);
}

static void until_empty(int pipe_write)
{
    char path[40];
    int left = 1;
    text_fmt(path, sizeof(path), "/proc/self/fd/%d", pipe_write);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; left > 0; i++) {
        assert_int_equal(ioctl(fd, FIONREAD, &left), 0);
        assert_true(i < 10000);
        usleep(1000);
    }
    close(fd);
}

/* No room for a file, or no descriptors: what came meanwhile is missing, the rest is not. */
static void a_file_that_cannot_be_made_is_tried_again(void **state)
{
    enum { LINE = 1000 };
    char line[LINE];
    struct rlimit all;
    struct seen s;
    (void)state;
    struct job j = log_job();
    memset(line, 'z', sizeof(line));
    line[LINE - 1] = '\n';
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = all.rlim_max}; /* poll is left its three */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < SHIM_LOG_FILE_MAX / LINE + 1; i++) say(j.out, line, sizeof(line));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    until_empty(j.out);
    say(j.out, "after\n", 6);
    job_ends(&j);
    read_all(&s);
    assert_true(s.out.n > 6);
    assert_string_equal(s.out.p + s.out.n - 6, "after\n");
    seen_done(&s);
}

static void draining_ends_though_somebody_holds_the_pipe(void **state)
{
    struct seen s;
    (void)state;
    struct job j = log_job();
    say(j.out, "last words\n", 11);
    log_finish(&logger, 50); /* both pipes are still open for writing */
    close(j.out);
    close(j.err);
    read_all(&s);
    assert_string_equal(s.out.p, "last words\n");
    seen_done(&s);
}

static void records_are_parsed_strictly(void **state)
{
    static const struct { const char *line; bool good; } cases[] = {
        {"000000000001 0000000000ff 00000000000abc o F text", true},
        {"000000000001 0000000000ff 00000000000abc e P ", true},
        {"000000000001 0000000000ff 00000000000abc e P", false},
        {"000000000001 0000000000ff 00000000000abc x F text", false},
        {"000000000001 0000000000ff 00000000000abc o X text", false},
        {"00000000000G 0000000000ff 00000000000abc o F text", false},
        {"00000000000A 0000000000ff 00000000000abc o F text", false},
        {"000000000001 0000000000ff 00000000000abc-o F text", false},
        {"", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct shim_log_record r = {.seq = 99};
        assert_int_equal(shim_log_parse(cases[i].line, strlen(cases[i].line), &r), cases[i].good);
        assert_int_equal(r.seq, cases[i].good ? 1 : 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back_byte_for_byte),
        cmocka_unit_test_setup_teardown(an_unfinished_line_is_shown_soon_and_goes_on, open_dir,
                                        close_dir),
        cmocka_unit_test_setup_teardown(files_turn_over_and_the_oldest_go, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(a_successor_counts_on_behind_a_torn_line, open_dir,
                                        close_dir),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_made_is_tried_again, open_dir,
                                        close_dir),
        cmocka_unit_test_setup_teardown(draining_ends_though_somebody_holds_the_pipe, open_dir,
                                        close_dir),
        cmocka_unit_test(records_are_parsed_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
