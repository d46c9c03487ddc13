/* tests/unit/agent/image/test_layer_path.c - names in a layer, also those that would lead
 * out of it, and the marks of deletions. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../test.h"
#include "agent/image/layer_path.h"
#include "base/mem.h"
#include "host/file.h"

static void names_become_plain(void **state)
{
    static const struct { const char *text, *path, *name; } rows[] = {
        {"a", "a", "a"},           {"./a/b", "a/b", "b"},     {"/etc//x/", "etc/x", "x"},
        {"a/./b/.", "a/b", "b"},   {"", "", ""},              {"./", "", ""},
        {"/", "", ""},             {"..a/b..", "..a/b..", "b.."},
    };
    static const char *const bad[] = {"..", "../a", "a/..", "a/../b", "/..", "./../x",
                                      "a/b/../../.."};
    AUTO_FREE struct layer_path *p = mem_alloc(sizeof(*p));
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(layer_path_parse(rows[i].text, p, NULL), 0);
        assert_string_equal(p->text, rows[i].path);
        assert_string_equal(p->name, rows[i].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(layer_path_parse(bad[i], p, NULL), ERR_INVALID);
    char part[300] = "";
    memset(part, 'x', 256);
    assert_int_equal(layer_path_parse(part, p, NULL), ERR_INVALID);
}

static void marks_are_known(void **state)
{
    static const struct { const char *name; enum layer_mark mark; const char *what; } rows[] = {
        {"a", LAYER_PLAIN, ""},          {".wh.a", LAYER_GONE, "a"},
        {".wh..wh..opq", LAYER_OPAQUE, ""}, {".wh..wh.plnk", LAYER_IGNORE, ""},
        {".wh.", LAYER_IGNORE, ""},      {".wh..", LAYER_IGNORE, ""},
        {".wh...", LAYER_IGNORE, ""},    {".wh.a.wh.", LAYER_GONE, "a.wh."},
        {".who", LAYER_PLAIN, ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *what = "";
        if (layer_mark_of(rows[i].name, &what) != rows[i].mark) fail_msg("%s", rows[i].name);
        assert_string_equal(what, rows[i].what);
    }
}

/* However a link is written, it is resolved as in a root of its own. */
static void parents_stay_inside(void **state)
{
    static const char *const links[] = {"/etc", "../../../../etc", "/../etc"};
    AUTO_FREE struct layer_path *p = mem_alloc(sizeof(*p));
    char dir[64];
    struct stat inside, got;
    (void)state;
    test_dir_new(dir);
    int root = file_open_dir(AT_FDCWD, dir, NULL);
    assert_int_equal(mkdirat(root, "etc", 0755), 0);
    assert_int_equal(fstatat(root, "etc", &inside, 0), 0);
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        unlinkat(root, "out", 0);
        assert_int_equal(symlinkat(links[i], root, "out"), 0);
        assert_int_equal(layer_path_parse("out/passwd", p, NULL), 0);
        int fd = layer_path_parent(root, p, NULL);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &got), 0);
        assert_int_equal(got.st_ino, inside.st_ino);
        close(fd);
    }
    assert_int_equal(layer_path_parse("made/on/the/way/x", p, NULL), 0);
    int fd = layer_path_parent(root, p, NULL);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(faccessat(root, "made/on/the/way", F_OK, 0), 0);
    unlinkat(root, "out", 0);
    assert_int_equal(symlinkat("/proc/self/root", root, "out"), 0);
    assert_int_equal(layer_path_parse("out/x", p, NULL), 0);
    assert_true(layer_path_parent(root, p, NULL) < 0);
    close(root);
    test_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_plain),
        cmocka_unit_test(marks_are_known),
        cmocka_unit_test(parents_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
