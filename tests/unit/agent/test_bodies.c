/* Bodies: kept over a restart, replaced by newer attempts, gone when of no use. */
#include "test.h"

#include <dirent.h>

#include "agent/bodies.h"

static int put(struct bodies *b, uint64_t session, uint32_t attempt, const char *spec)
{
    struct err err;
    struct sync_body body = {.session = session, .attempt = attempt, .grace_ms = 1000};
    body.spec = (char *)(uintptr_t)spec;
    TEXT_SET(body.owner, STR("alice"));
    return bodies_put(b, &body, &err);
}

static uint32_t files_in(const char *dir)
{
    uint32_t n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static struct bodies *reopen(struct bodies *b, const char *dir)
{
    struct err err;
    bodies_free(b);
    b = NULL;
    assert_int_equal(bodies_open(dir, &b, &err), 0);
    return b;
}

static void kept_over_a_restart(void **state)
{
    char dir[64];
    (void)state;
    test_dir_new(dir);
    struct bodies *b = reopen(NULL, dir);
    assert_int_equal(put(b, 7, 1, "{\"command\":[\"a\"]}"), 0);
    assert_int_equal(put(b, 8, 3, "{\"command\":[\"b\"]}"), 0);
    b = reopen(b, dir);
    assert_int_equal(bodies_count(b), 2);
    const struct body *body = bodies_get(b, 8, 3);
    assert_non_null(body);
    assert_string_equal(body->spec.command.v[0], "b");
    assert_string_equal(body->sync.owner, "alice");
    assert_null(bodies_get(b, 8, 2));
    assert_null(bodies_get(b, 9, 1));
    bodies_free(b);
    test_dir_free(dir);
}

static void newer_attempts_replace_older_never_the_reverse(void **state)
{
    char dir[64];
    (void)state;
    test_dir_new(dir);
    struct bodies *b = reopen(NULL, dir);
    assert_int_equal(put(b, 7, 2, "{\"command\":[\"two\"]}"), 0);
    assert_int_equal(put(b, 7, 1, "{\"command\":[\"one\"]}"), 0);
    assert_null(bodies_get(b, 7, 1));
    assert_int_equal(put(b, 7, 3, "{\"command\":[\"three\"]}"), 0);
    assert_null(bodies_get(b, 7, 2));
    assert_string_equal(bodies_get(b, 7, 3)->spec.command.v[0], "three");
    assert_int_equal(files_in(dir), 1);
    b = reopen(b, dir);
    assert_non_null(bodies_get(b, 7, 3));
    bodies_free(b);
    test_dir_free(dir);
}

static void malformed_bodies_are_refused(void **state)
{
    char dir[64];
    (void)state;
    test_dir_new(dir);
    struct bodies *b = reopen(NULL, dir);
    assert_int_equal(put(b, 7, 1, "{\"comand\":[\"x\"]}"), ERR_INVALID);
    assert_int_equal(put(b, 0, 1, "{\"command\":[\"x\"]}"), ERR_INVALID);
    assert_int_equal(put(b, 7, 0, "{\"command\":[\"x\"]}"), ERR_INVALID);
    assert_int_equal(bodies_count(b), 0);
    assert_int_equal(files_in(dir), 0);
    bodies_free(b);
    test_dir_free(dir);
}

static void damaged_files_are_dropped(void **state)
{
    char dir[64];
    (void)state;
    test_dir_new(dir);
    test_file(dir, "5.1.json", "{\"session\":5,");
    test_file(dir, "6.1.json", "");
    struct bodies *b = reopen(NULL, dir);
    assert_int_equal(bodies_count(b), 0);
    assert_int_equal(files_in(dir), 0);
    bodies_free(b);
    test_dir_free(dir);
}

static void sweep_drops_what_was_not_marked(void **state)
{
    char dir[64];
    (void)state;
    test_dir_new(dir);
    struct bodies *b = reopen(NULL, dir);
    for (uint64_t s = 1; s <= 9; s++) assert_int_equal(put(b, s, 1, "{\"command\":[\"x\"]}"), 0);
    bodies_sweep_begin(b);
    bodies_mark(b, 3);
    bodies_mark(b, 9);
    bodies_mark(b, 77);
    bodies_sweep_end(b);
    assert_int_equal(bodies_count(b), 2);
    for (uint64_t s = 1; s <= 9; s++) {
        assert_int_equal(bodies_get(b, s, 1) != NULL, s == 3 || s == 9);
    }
    assert_int_equal(files_in(dir), 2);
    bodies_free(b);
    test_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_over_a_restart),
        cmocka_unit_test(newer_attempts_replace_older_never_the_reverse),
        cmocka_unit_test(malformed_bodies_are_refused),
        cmocka_unit_test(damaged_files_are_dropped),
        cmocka_unit_test(sweep_drops_what_was_not_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
