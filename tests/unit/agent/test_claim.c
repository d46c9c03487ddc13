/* tests/unit/agent/test_claim.c - names and claims on disk. */
#include "test.h"
#include "agent/claim.h"
#include "agent/gpu/grant.h"
#include "host/file.h"

static void names_have_one_spelling(void **state)
{
    static const struct { const char *name; bool good; } cases[] = {
        {"1.1.0", true},       {"18446744073709551615.4294967295.4294967295", true},
        {"0.0.0", true},       {"1.1", false},
        {"1.1.0.0", false},    {"01.1.0", false},
        {"1.1.+0", false},     {"1.1.-1", false},
        {"1.4294967296.0", false}, {"18446744073709551616.1.0", false},
        {".trash-1.1.0", false},   {"", false},
        {"..", false},         {"1.1.0 ", false},
        {"1..0", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct member_ref ref = {9, 9, 9};
        char again[MEMO_NAME];
        if (claim_parse_name(str_of(cases[i].name), &ref) != cases[i].good)
            fail_msg("'%s' is judged wrongly", cases[i].name);
        claim_name(ref, again);
        assert_string_equal(again, cases[i].good ? cases[i].name : "9.9.9");
    }
}

static void a_claim_is_made_once_and_read_back(void **state)
{
    char dir[64];
    struct container_claim c = {.uid = 1000, .gid = 100, .tty = true, .incarnation = "abc",
                                .workdir = "/w", .boot_id = "b"}, back;
    struct err err = {0};
    (void)state;
    test_dir_new(dir);
    int parent = file_open_dir(AT_FDCWD, dir, NULL);
    int fd = claim_make(parent, "5.1.0", &c, &err);
    assert_true(fd >= 0);
    assert_int_equal(claim_make(parent, "5.1.0", &c, &err), ERR_CONFLICT);
    assert_int_equal(claim_read(fd, &back, &err), 0);
    assert_int_equal(back.uid, 1000);
    assert_true(back.tty && !back.stdin_open);
    assert_string_equal(back.incarnation, "abc");
    assert_int_equal(file_write(fd, "claim", "", 0, FILE_ORDERED, NULL), 0);
    assert_int_equal(claim_read(fd, &back, &err), ERR_CORRUPT); /* a power cut: never begun */
    TEXT_SET(c.workdir, STR("/a\nb")); /* refused, and nothing is left of it */
    assert_int_equal(claim_make(parent, "6.1.0", &c, &err), ERR_INVALID);
    assert_false(file_exists(parent, "6.1.0"));
    close(fd);
    close(parent);
    test_dir_free(dir);
}

/* A command that is run inside later gets the groups and the locked memory of the first. */
static void a_grant_comes_back(void **state)
{
    char dir[64];
    struct grant g = {.memlock = true}, again;
    struct container_claim c = {.uid = 7, .gid = 8, .boot_id = "b"}, back;
    (void)state;
    for (uint32_t i = 0; i < GRANT_GIDS_MAX; i++)
        assert_int_equal(grant_add_gid(&g, UINT32_MAX - 1 - i, NULL), 0);
    claim_take_grant(&c, &g);
    test_dir_new(dir);
    int parent = file_open_dir(AT_FDCWD, dir, NULL), fd = claim_make(parent, "5.1.0", &c, NULL);
    assert_true(fd >= 0);
    assert_int_equal(claim_read(fd, &back, NULL), 0);
    claim_give_grant(&back, &again);
    assert_true(again.memlock);
    assert_int_equal(again.gids.n, GRANT_GIDS_MAX);
    for (uint32_t i = 0; i < GRANT_GIDS_MAX; i++) assert_int_equal(again.gids.v[i], g.gids.v[i]);
    grant_done(&again);
    TEXT_SET(back.gids, STR("44 x 0 -1 99999999999  109")); /* nobody's words but ours count */
    claim_give_grant(&back, &again);
    assert_int_equal(again.gids.n, 2);
    assert_int_equal(again.gids.v[1], 109);
    grant_done(&again);
    claim_give_grant(&(struct container_claim){.uid = 7}, &again);
    assert_true(!again.memlock && again.gids.n == 0);
    grant_done(&again);
    grant_done(&g);
    close(fd);
    close(parent);
    test_dir_free(dir);
}

static void an_environment_comes_back(void **state)
{
    static const char *const cases[][4] = {
        {NULL}, {"A=1", NULL}, {"A=1", "EMPTY=", "LINES=a\nb", NULL}, {"", NULL},
    };
    char dir[64];
    (void)state;
    test_dir_new(dir);
    int fd = file_open_dir(AT_FDCWD, dir, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char **back = NULL;
        assert_int_equal(claim_write_env(fd, cases[i], NULL), 0);
        assert_int_equal(claim_read_env(fd, &back, NULL), 0);
        size_t k = 0;
        for (; cases[i][k]; k++) assert_string_equal(back[k], cases[i][k]);
        assert_null(back[k]);
        claim_free_env(back);
    }
    const char **none = NULL;
    assert_int_equal(file_write(fd, "env", "A=1", 3, FILE_ORDERED, NULL), 0); /* cut off */
    assert_int_equal(claim_read_env(fd, &none, NULL), ERR_CORRUPT);
    assert_null(none);
    close(fd);
    test_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_comes_back),
        cmocka_unit_test(names_have_one_spelling),
        cmocka_unit_test(a_claim_is_made_once_and_read_back),
        cmocka_unit_test(an_environment_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
