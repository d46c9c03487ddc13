/* tests/unit/host/test_archive.c - what `rota cp` carries, and what it refuses. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/str.h"
#include "host/archive_impl.h"
#include "host/file.h"

static char root[64], said[1024];
static int stream;
static struct archive a;
static struct err err;

static void note(void *arg, const char *text)
{
    (void)arg;
    text_fmt(said, sizeof(said), "%s", text);
}

static int begin(void **state)
{
    (void)state;
    text_fmt(root, sizeof(root), "/tmp/test-archive-XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    stream = memfd_create("stream", MFD_CLOEXEC);
    a = (struct archive){.fd = stream, .note = note};
    err = (struct err){0};
    said[0] = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    file_close(&stream);
    return chdir("/") < 0 ? -1 : file_remove_tree(AT_FDCWD, root, NULL);
}

static void write_file(const char *name, const char *text, unsigned mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    struct timespec t[2] = {{.tv_sec = 1500000000}, {.tv_sec = 1500000000}};
    assert_int_equal(futimens(fd, t), 0);
    close(fd);
}

static void expect_file(const char *name, const char *text, unsigned mode)
{
    char buf[8192];
    size_t n = 0;
    struct stat st;
    assert_int_equal(file_read(AT_FDCWD, name, buf, sizeof(buf), &n, NULL), 0);
    assert_string_equal(buf, text);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
    assert_int_equal(st.st_mtime, 1500000000);
}

static void rewind_stream(void) { assert_int_equal(lseek(stream, 0, SEEK_SET), 0); }

/* One entry of a hostile stream. */
static void entry(char type, const char *path, const char *link, const char *text)
{
    struct tar_head h = {0};
    char block[TAR_BLOCK] = "";
    size_t n = strlen(text);
    memcpy(h.name, path, strlen(path));
    memcpy(h.link, link, strlen(link));
    memcpy(h.magic, "ustar", 6);
    text_fmt(h.mode, sizeof(h.mode), "%07o", 06777);
    text_fmt(h.size, sizeof(h.size), "%011zo", n);
    h.type = type;
    text_fmt(h.sum, sizeof(h.sum), "%06o", tar_sum(&h));
    memcpy(block, text, n);
    assert_int_equal(write(stream, &h, sizeof(h)), sizeof(h));
    if (n) assert_int_equal(write(stream, block, sizeof(block)), sizeof(block));
}

static void close_stream(void)
{
    static const char zero[2 * TAR_BLOCK];
    assert_int_equal(write(stream, zero, sizeof(zero)), sizeof(zero));
    rewind_stream();
}

static void a_tree_comes_back_as_it_was(void **state)
{
    (void)state;
    char name[256] = "src/", link[512], got[512] = "";
    memset(name + 4, 'n', 200);
    memset(link, 'l', 300);
    link[300] = 0;
    assert_int_equal(mkdir("src", 0700), 0);
    assert_int_equal(mkdir("src/sub", 0700), 0);
    write_file("src/sub/ odd\n\"name", "odd", 0640);
    write_file(name, "long", 04755);
    write_file("src/empty", "", 0400);
    assert_int_equal(symlink("../empty", "src/sub/link"), 0);
    assert_int_equal(symlink(link, "src/long"), 0);
    assert_int_equal(chmod("src/sub", 0500), 0);
    assert_int_equal(archive_pack(&a, "src", &err), 0);
    rewind_stream();
    assert_int_equal(mkdir("dst", 0700), 0);
    assert_int_equal(archive_unpack(&a, "dst", "new", &err), 0);
    assert_int_equal(a.skipped, 0);
    expect_file("dst/new/sub/ odd\n\"name", "odd", 0640);
    expect_file("dst/new/empty", "", 0400);
    memmove(name + 8, name + 4, 200);
    memcpy(name, "dst/new/", 8);
    expect_file(name, "long", 0755); /* nothing setuid */
    assert_int_equal(readlink("dst/new/sub/link", got, sizeof(got)), 8);
    assert_string_equal(got, "../empty");
    assert_int_equal(readlink("dst/new/long", got, sizeof(got)), 300);
    struct stat st;
    assert_int_equal(stat("dst/new/sub", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0500);
}

static void records_of_every_length_read_back(void **state)
{
    (void)state;
    char name[256];
    for (int n = 80; n < 110; n++) {
        assert_int_equal(ftruncate(stream, 0), 0);
        rewind_stream();
        assert_int_equal(mkdir("src", 0700), 0);
        text_fmt(name, sizeof(name), "src/%0*d", n, n);
        write_file(name, "x", 0600);
        assert_int_equal(archive_pack(&a, "src", &err), 0);
        rewind_stream();
        assert_int_equal(archive_unpack(&a, "dst", "src", &err), 0);
        memcpy(name, "dst", 3);
        expect_file(name, "x", 0600);
        assert_int_equal(file_remove_tree(AT_FDCWD, "src", NULL), 0);
        assert_int_equal(file_remove_tree(AT_FDCWD, "dst", NULL), 0);
    }
}

static void a_file_takes_the_name_it_is_given(void **state)
{
    (void)state;
    write_file("f", "text", 0644);
    assert_int_equal(archive_pack(&a, "f", &err), 0);
    rewind_stream();
    write_file("g", "old", 0600);
    assert_int_equal(archive_unpack(&a, "g", "f", &err), 0);
    expect_file("g", "text", 0644);
    rewind_stream();
    assert_int_equal(archive_unpack(&a, "none/g", "f", &err), ERR_IO);
    rewind_stream();
    assert_int_equal(symlink("f", "l"), 0);
    assert_int_equal(archive_unpack(&a, "l", "f", &err), ERR_IO); /* a link stays one */
    rewind_stream();
    assert_int_equal(archive_unpack(&a, ".", "", &err), ERR_INVALID);
}

static void what_leads_out_is_refused(void **state)
{
    static const struct { char type; const char *path; } bad[] = {
        {'0', "./../evil"}, {'0', "/evil"}, {'0', "evil"}, {'0', "./a/b"}, {'5', ".."},
        {'5', "./.."}, {'0', "./"}, {'3', "./dev"}, {'4', "./dev"}, {'6', "./fifo"},
        {'1', "./hard"}, {'0', "./l/evil"}, {'5', "./d/../../evil"}, {'5', "."},
    };
    (void)state;
    assert_int_equal(mkdir("in", 0700), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(ftruncate(stream, 0), 0);
        rewind_stream();
        entry('5', ".", "", "");
        entry('2', "./l", "d", "");
        entry('5', "./d", "", "");
        entry(bad[i].type, bad[i].path, "", "");
        close_stream();
        assert_int_equal(archive_unpack(&a, "in", "x", &err), ERR_DENIED);
        assert_false(file_exists(AT_FDCWD, "evil") || file_exists(AT_FDCWD, "in/evil"));
        assert_int_equal(file_remove_tree(AT_FDCWD, "in/x", NULL), 0);
    }
}

static void only_links_that_stay_inside_are_made(void **state)
{
    static const struct { const char *link; bool inside; } cases[] = {
        {"f", true}, {"../f", true}, {"./../d/f", true}, {"f/g", true}, {"..", true},
        {"/etc", false}, {"../../f", false}, {"s/..", false}, {"../d/..", false},
        {"..//../x", false}, {"./.././..", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ftruncate(stream, 0), 0);
        rewind_stream();
        a.skipped = 0;
        entry('5', ".", "", "");
        entry('5', "./d", "", "");
        entry('2', "./d/l", cases[i].link, "");
        close_stream();
        assert_int_equal(archive_unpack(&a, "x", "", &err), 0);
        assert_int_equal(a.skipped, !cases[i].inside);
        assert_int_equal(file_exists(AT_FDCWD, "x/d/l"), cases[i].inside);
        assert_int_equal(file_remove_tree(AT_FDCWD, "x", NULL), 0);
    }
}

static void a_folder_that_is_a_link_is_not_entered(void **state)
{
    (void)state;
    assert_int_equal(mkdir("x", 0700), 0);
    assert_int_equal(mkdir("out", 0700), 0);
    assert_int_equal(symlink("../out", "x/d"), 0);
    entry('5', ".", "", "");
    entry('5', "./d", "", "");
    entry('0', "./d/evil", "", "x");
    close_stream();
    assert_int_equal(archive_unpack(&a, "x", "", &err), ERR_IO);
    assert_false(file_exists(AT_FDCWD, "out/evil"));
}

static void a_cut_stream_leaves_the_old_file(void **state)
{
    (void)state;
    write_file("f", "a new text of some length", 0644);
    write_file("g", "old", 0600);
    assert_int_equal(archive_pack(&a, "f", &err), 0);
    for (off_t n = 2047; n >= 0; n -= 89) {
        assert_int_equal(ftruncate(stream, n), 0);
        rewind_stream();
        assert_int_equal(archive_unpack(&a, "g", "f", &err), ERR_UNAVAILABLE);
        if (n < 1024) expect_file("g", "old", 0600);
        else write_file("g", "old", 0600);
    }
}

static void what_cannot_be_packed_is_named(void **state)
{
    (void)state;
    assert_int_equal(mkdir("src", 0700), 0);
    assert_int_equal(mkfifo("src/\033pipe", 0600), 0);
    assert_int_equal(archive_pack(&a, "src", &err), 0);
    assert_int_equal(a.skipped, 1);
    assert_non_null(strstr(said, "src/?pipe"));
    assert_int_equal(archive_pack(&a, "src/\033pipe", &err), ERR_INVALID);
    assert_int_equal(archive_pack(&a, "none", &err), ERR_IO);
    assert_non_null(strstr(err.text, "none"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_tree_comes_back_as_it_was), T(records_of_every_length_read_back),
        T(a_file_takes_the_name_it_is_given), T(what_leads_out_is_refused),
        T(only_links_that_stay_inside_are_made), T(a_folder_that_is_a_link_is_not_entered),
        T(a_cut_stream_leaves_the_old_file), T(what_cannot_be_packed_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
