/* The whole table of rights, cell by cell. */
#include "harness.h"

#include "core/access.h"

/* list read create stop signal logs exec update delete admin */
static const char *const ADMIN[OBJECT_KINDS] = {
    [OBJECT_SESSION] = "yyyyyyyyy.", [OBJECT_NODE] = "yy.....yy.", [OBJECT_GROUP] = "yyy....yy.",
    [OBJECT_EVENT] = "yy........",   [OBJECT_TOKEN] = "y.y.....y.", [OBJECT_CLUSTER] = ".y.......y",
};

static void every_cell(void **state)
{
    (void)state;
    for (enum object_kind k = OBJECT_SESSION; k < OBJECT_KINDS; k++) {
        for (enum action a = ACTION_LIST; a < ACTIONS; a++) {
            bool wanted = ADMIN[k][a - 1] == 'y';
            if (access_allows(ROLE_ADMIN, k, a) != wanted) {
                fail_msg("admin: %s a %s", action_name(a), object_kind_name(k));
            }
            assert_false(access_allows(ROLE_NONE, k, a)); /* nobody may do anything */
        }
    }
}

static void names_differ(void **state)
{
    (void)state;
    for (enum object_kind k = OBJECT_SESSION; k < OBJECT_KINDS; k++) {
        for (enum object_kind m = OBJECT_SESSION; m < k; m++) {
            assert_string_not_equal(object_kind_name(k), object_kind_name(m));
        }
    }
    for (enum action a = ACTION_LIST; a < ACTIONS; a++) {
        for (enum action b = ACTION_LIST; b < a; b++) {
            assert_string_not_equal(action_name(a), action_name(b));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell),
        cmocka_unit_test(names_differ),
    };
    return RUN(tests);
}
