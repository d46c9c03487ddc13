/* Tests of manager/api_join.c: who gets in, under which names, and what they hear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "harness.h"

static void ask(struct rig *r, const char *name, const char *role, int status, const char *text)
{
    struct fake_node n = {.r = r};
    AUTO_REPLY struct reply p;
    assert_true(TEXT_SET(n.name, str_of(name)));
    fake_node_ask(&n, role, &p);
    if (p.status != status || !reply_has(&p, text))
        fail_msg("%s %s: %d %s", role, name, p.status, p.body.p);
    fake_node_done(&n);
}

/* A name must fit wherever it is kept: as common name, and beside the token. */
static void test_names(void **state)
{
    (void)state;
#define TEN "0123456789"
    static const struct { const char *name, *role; int status; const char *text; } cases[] = {
        {TEN TEN TEN TEN TEN "0123456", "agent", 200, "CERTIFICATE"},
        {TEN TEN TEN TEN TEN "0123456", "proxy", 200, "CERTIFICATE"},
        {TEN TEN TEN TEN TEN "01234567", "agent", 400, "57"},
        {TEN TEN TEN TEN TEN "01234567", "proxy", 400, "57"},
        {TEN TEN TEN TEN TEN TEN "012", "agent", 400, "57"},
        {"", "agent", 400, "node"},
        {"a:b", "agent", 400, "node"},
        {"n1", "manager", 400, "role"},
    };
#undef TEN
    struct rig r;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        ask(&r, cases[i].name, cases[i].role, cases[i].status, cases[i].text);
    rig_close(&r);
}

/* A machine that lost its directory joins again and is believed at once, whatever
 * the manager went through in between. */
static void test_a_new_life_counts_on(void **state)
{
    (void)state;
    static const struct { const char *name; bool restart, forget; } between[] = {
        {"nothing", false, false}, {"restart", true, false}, {"forget", false, true},
        {"forget and restart", true, true}, {"nothing", false, false},
    };
    struct rig r;
    uint64_t last = 0;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(between); i++) {
        struct fake_node n;
        struct sync_answer a;
        fake_node_join(&r, "n1", 4, &n);
        if (n.epoch <= last) fail_msg("before \"%s\": start %d", between[i].name, (int)n.epoch);
        n.epoch += 6; /* starts of this life */
        fake_node_beat(&n, NULL, 0, 20, &a); /* checks that it is answered 200 */
        last = n.epoch;
        wire_free(&wire_sync_answer, &a);
        fake_node_done(&n);
        if (between[i].forget) {
            AUTO_REPLY struct reply p;
            rig_call(&r, &(struct call){.method = "POST", .target = "/api/v1/nodes/n1/forget"},
                     &p);
            assert_int_equal(p.status, 200);
        }
        if (!between[i].restart) continue;
        rig_kill(&r);
        rig_start(&r);
        if (between[i].forget) last = 0; /* nobody knows that there was one */
    }
    ask(&r, "n1", "proxy", 200, "CERTIFICATE"); /* another thing of that name */
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_new_life_counts_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
