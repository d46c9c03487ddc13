/* The whole table of rights, cell by cell. */
#include "harness.h"

#include "core/access.h"

/* list read create stop signal logs exec update delete admin; y: all, o: one's own */
static const char *const RIGHTS[ACCOUNT_ROLES][OBJECT_KINDS] = {
    [ROLE_ADMIN] = {
        [OBJECT_SESSION] = "yyyyyyyyy.", [OBJECT_NODE] = "yyy....yy.",
        [OBJECT_GROUP] = "yyy....yy.",   [OBJECT_EVENT] = "yy........",
        [OBJECT_TOKEN] = "y.y.....y.",   [OBJECT_CLUSTER] = ".y.......y",
        [OBJECT_ACCOUNT] = "yyy....y..", [OBJECT_QUEUE] = "yy........",
        [OBJECT_RESERVATION] = "yyy.....y.",
    },
    [ROLE_MEMBER] = {
        [OBJECT_SESSION] = "ooooooooo.", [OBJECT_NODE] = "yy........",
        [OBJECT_GROUP] = "yy........",   [OBJECT_EVENT] = "oo........",
        [OBJECT_TOKEN] = "o.o.....o.",   [OBJECT_CLUSTER] = ".y........",
        [OBJECT_ACCOUNT] = ".o........", [OBJECT_QUEUE] = "yo........",
        [OBJECT_RESERVATION] = "yy........",
    },
};

static enum access wanted(enum account_role role, enum object_kind k, enum action a)
{
    if (role == ROLE_NONE) return ACCESS_NONE; /* nobody may do anything */
    char c = RIGHTS[role][k][a - 1];
    return c == 'y' ? ACCESS_ALL : c == 'o' ? ACCESS_OWN : ACCESS_NONE;
}

static void every_cell(void **state)
{
    (void)state;
    for (enum account_role role = ROLE_NONE; role < ACCOUNT_ROLES; role++) {
        for (enum object_kind k = OBJECT_SESSION; k < OBJECT_KINDS; k++) {
            for (enum action a = ACTION_LIST; a < ACTIONS; a++) {
                enum access want = wanted(role, k, a);
                struct user u = {.id = 7, .role = role};
                if (access_of(role, k, a) != want)
                    fail_msg("role %d: %s a %s", role, action_name(a), object_kind_name(k));
                assert_int_equal(access_allows(role, k, a), want != ACCESS_NONE);
                assert_int_equal(access_to(&u, k, a, 7), want != ACCESS_NONE);
                assert_int_equal(access_to(&u, k, a, 8), want == ACCESS_ALL);
                assert_int_equal(access_to(&u, k, a, 0), want == ACCESS_ALL);
                u.disabled = true;
                assert_false(access_to(&u, k, a, 7));
            }
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
