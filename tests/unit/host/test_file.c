/* tests/unit/host/test_file.c - small files and the removal of trees. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/str.h"
#include "host/file.h"

static char root[64];
static int dir;

static int open_dir(void **state)
{
    (void)state;
    text_fmt(root, sizeof(root), "/tmp/test-host-XXXXXX");
    assert_non_null(mkdtemp(root));
    dir = file_open_dir(AT_FDCWD, root, NULL);
    assert_true(dir >= 0);
    return 0;
}

static int close_dir(void **state)
{
    (void)state;
    file_close(&dir);
    return file_remove_tree(AT_FDCWD, root, NULL);
}

static void what_is_written_is_read(void **state)
{
    static const enum file_sync syncs[] = {FILE_ORDERED, FILE_DURABLE, FILE_DURABLE_NEW};
    char buf[16];
    size_t n = 0;
    struct stat st;
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(file_write(dir, "a", "0123456789", 10, syncs[i], NULL), 0);
        assert_int_equal(file_write(dir, "a", "xyz", 3, syncs[i], NULL), 0);
        assert_int_equal(file_read(dir, "a", buf, sizeof(buf), &n, NULL), 0);
        assert_int_equal(n, 3);
        assert_string_equal(buf, "xyz");
        assert_int_equal(fstatat(dir, "a", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_false(file_exists(dir, "a.tmp"));
    }
}

static void bounds_and_absence_are_told(void **state)
{
    char buf[4] = "old";
    size_t n = 77;
    struct err err = {0};
    (void)state;
    file_write(dir, "four", "1234", 4, FILE_ORDERED, NULL);
    assert_int_equal(file_read(dir, "four", buf, sizeof(buf), &n, &err), ERR_LIMIT);
    assert_int_equal(file_read(dir, "none", buf, sizeof(buf), &n, &err), ERR_NOT_FOUND);
    assert_int_equal(n, 77);
    assert_int_equal(file_open_dir(dir, "none", &err), ERR_NOT_FOUND);
    assert_int_equal(file_open_dir(dir, "four", &err), ERR_IO);
    assert_int_equal(file_write(dir, "no/where", "x", 1, FILE_ORDERED, &err), ERR_IO);
}

static void links_are_not_followed(void **state)
{
    char buf[16];
    size_t n = 0;
    (void)state;
    file_write(dir, "target", "secret", 6, FILE_ORDERED, NULL);
    assert_int_equal(symlinkat("target", dir, "link"), 0);
    assert_int_equal(file_read(dir, "link", buf, sizeof(buf), &n, NULL), ERR_IO);
    assert_int_equal(file_write(dir, "link", "new", 3, FILE_ORDERED, NULL), 0); /* replaces it */
    assert_int_equal(file_read(dir, "target", buf, sizeof(buf), &n, NULL), 0);
    assert_string_equal(buf, "secret");
}

static void a_tree_goes_but_not_what_it_links_to(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(dir, "outside", 0700), 0);
    file_write(dir, "outside/keep", "x", 1, FILE_ORDERED, NULL);
    assert_int_equal(mkdirat(dir, "tree", 0700), 0);
    assert_int_equal(mkdirat(dir, "tree/sub", 0), 0);
    assert_int_equal(symlinkat("../outside", dir, "tree/link"), 0);
    assert_int_equal(file_remove_tree(dir, "tree", NULL), 0);
    assert_false(file_exists(dir, "tree"));
    assert_true(file_exists(dir, "outside/keep"));
    assert_int_equal(file_remove_tree(dir, "tree", NULL), 0); /* again */
    assert_int_equal(file_remove_tree(dir, "outside/keep", NULL), 0);
}

/* Deeper than a path may be long and than descriptors go round. */
static void a_tree_may_be_deeper_than_any_path(void **state)
{
    (void)state;
    int at = dup(dir), next;
    assert_int_equal(mkdirat(at, "deep", 0700), 0);
    for (int i = 0; i < 1100; i++) {
        next = openat(at, i ? "dddd" : "deep", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        close(at);
        at = next;
        assert_int_equal(mkdirat(at, "dddd", 0700), 0);
    }
    close(at);
    assert_int_equal(file_remove_tree(dir, "deep", NULL), 0);
    assert_false(file_exists(dir, "deep"));
    assert_false(file_exists(dir, "deep.deep0"));
}

static void bytes_of_a_directory_are_those_of_its_files(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(dir, "sum", 0700), 0);
    int sum = file_open_dir(dir, "sum", NULL);
    assert_int_equal(file_dir_bytes(sum), 0);
    file_write(sum, "a", "12345", 5, FILE_ORDERED, NULL);
    file_write(sum, "b", "123", 3, FILE_ORDERED, NULL);
    assert_int_equal(mkdirat(sum, "c", 0700), 0);
    assert_int_equal(file_dir_bytes(sum), 8);
    close(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(bounds_and_absence_are_told),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(a_tree_goes_but_not_what_it_links_to),
        cmocka_unit_test(a_tree_may_be_deeper_than_any_path),
        cmocka_unit_test(bytes_of_a_directory_are_those_of_its_files),
    };
    return cmocka_run_group_tests(tests, open_dir, close_dir);
}
