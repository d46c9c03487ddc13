/* The table of Xids: what the page says, in the words of the file. */
#include "test.h"

#include "wire/xid.h"

static void the_page_s_rules(void **state)
{
    (void)state;
    static const struct { enum xid_act act; uint32_t xids[8]; } rows[] = {
        {XID_APPLICATION, {13, 31, 43, 45, 68, 109}}, {XID_RESET, {63}}, {XID_KILL, {94}},
        {XID_QUARANTINE, {48, 64, 74, 79, 95, 119, 120}}, {XID_RECOVERY, {154}},
    };
    struct xid_rules t;
    uint32_t n = 0;
    xid_builtin(&t);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < 8 && rows[i].xids[k]; k++, n++) {
            const struct xid_rule *r = xid_find(&t, rows[i].xids[k]);
            assert_non_null(r);
            assert_int_equal(r->act, rows[i].act);
        }
    }
    assert_int_equal(n, t.rules.n);
    assert_null(xid_find(&t, 1));
    xid_free(&t);
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "xids:\n  - {xid: 0, act: reset}\n", "xids:\n  - {xid: 5, act: forget}\n",
        "xids:\n  - {xid: 5, act: reset}\n  - {xid: 5, act: kill}\n",
        "xids:\n  - {xid: 6, act: reset}\n  - {xid: 5, act: kill}\n", "xids:\n  - {act: reset}\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct xid_rules t = {0};
        struct err err = {0};
        assert_int_not_equal(xid_parse(str_of(bad[i]), "x.yaml", &t, &err), 0);
        assert_int_equal(t.rules.n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_s_rules),
        cmocka_unit_test(bad_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
