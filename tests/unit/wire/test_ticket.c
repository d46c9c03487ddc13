/* Tickets: what was signed comes back, everything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "wire/ticket.h"

#define NOW 1800000000

static uint8_t public_key[TICKET_KEY_PUBLIC], secret_key[TICKET_KEY_SECRET];

static struct ticket sample(void)
{
    struct ticket t = {.session = 17, .attempt = 2, .member = 3, .action = TICKET_LOGS, .user = 9,
                       .exp_s = NOW + 60};
    TEXT_SET(t.node, STR("n1"));
    TEXT_SET(t.addr, STR("10.0.0.7:7413"));
    TEXT_SET(t.cluster, STR("0123456789abcdef0123456789abcdef"));
    return t;
}

static int verify(const char *text, const char *cluster, int64_t now, struct ticket *ret,
                  struct err *err)
{
    return ticket_verify(str_of(text), public_key, cluster, now, ret, err);
}

static void what_was_signed_comes_back(void **state)
{
    (void)state;
    for (enum ticket_action a = TICKET_LOGS; a < TICKET_ACTIONS; a++) {
        struct ticket t = sample(), got;
        char text[TICKET_TEXT_MAX];
        struct err err;
        t.action = a;
        ticket_sign(&t, secret_key, text);
        assert_int_equal(verify(text, t.cluster, NOW, &got, &err), 0);
        assert_int_equal(got.session, 17);
        assert_int_equal(got.attempt, 2);
        assert_int_equal(got.member, 3);
        assert_int_equal(got.user, 9);
        assert_int_equal(got.action, a);
        assert_int_equal(got.exp_s, t.exp_s);
        assert_string_equal(got.node, t.node);
        assert_string_equal(got.addr, t.addr);
    }
}

/* Whatever its texts hold: the longest one is signed and reads back. */
static void the_longest_fits(void **state)
{
    (void)state;
    struct ticket t = sample(), got;
    char text[TICKET_TEXT_MAX];
    struct err err;
    t.session = INT64_MAX;
    t.attempt = t.member = t.user = UINT32_MAX;
    t.action = TICKET_ATTACH;
    t.exp_s = INT64_MAX;
    memset(t.node, 'n', sizeof(t.node) - 1);
    memset(t.addr, 1, sizeof(t.addr) - 1);
    ticket_sign(&t, secret_key, text);
    assert_int_equal(verify(text, t.cluster, NOW, &got, &err), 0);
    assert_string_equal(got.node, t.node);
    assert_string_equal(got.addr, t.addr);
}

static void any_changed_character_is_refused(void **state)
{
    struct ticket t = sample(), got = {.session = 1};
    char text[TICKET_TEXT_MAX];
    struct err err;
    (void)state;
    ticket_sign(&t, secret_key, text);
    for (size_t i = 0; text[i] != '\0'; i++) {
        char old = text[i];
        text[i] = old == 'A' ? 'B' : 'A';
        int rc = verify(text, t.cluster, NOW, &got, &err);
        if (rc == 0) fail_msg("character %zu may be changed", i);
        assert_true(rc == ERR_DENIED || rc == ERR_INVALID);
        text[i] = old;
    }
    assert_int_equal(got.session, 1); /* untouched */
}

static void time_and_place(void **state)
{
    static const struct { const char *cluster; int64_t now; int rc; } cases[] = {
        {"0123456789abcdef0123456789abcdef", NOW + 59, 0},
        {"0123456789abcdef0123456789abcdef", NOW + 60, ERR_DENIED},
        {"0123456789abcdef0123456789abcdef", INT64_MAX, ERR_DENIED},
        {"f123456789abcdef0123456789abcdef", NOW, ERR_DENIED},
        {"", NOW, ERR_DENIED},
    };
    struct ticket t = sample(), got;
    char text[TICKET_TEXT_MAX];
    (void)state;
    ticket_sign(&t, secret_key, text);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err;
        assert_int_equal(verify(text, cases[i].cluster, cases[i].now, &got, &err), cases[i].rc);
    }
}

static void another_key_is_refused(void **state)
{
    uint8_t other_public[TICKET_KEY_PUBLIC], other_secret[TICKET_KEY_SECRET];
    struct ticket t = sample(), got;
    char text[TICKET_TEXT_MAX];
    struct err err;
    (void)state;
    ticket_key_new(other_public, other_secret);
    ticket_sign(&t, other_secret, text);
    assert_int_equal(verify(text, t.cluster, NOW, &got, &err), ERR_DENIED);
}

static void texts_that_are_no_tickets(void **state)
{
    static const char *const texts[] = {"", ".", "a.b", "....", "e30", "e30.", ".e30", "a b.c d",
                                        "\xff\xfe.\xfd"};
    char longest[TICKET_TEXT_MAX + 8];
    struct ticket got;
    struct err err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (verify(texts[i], "c", NOW, &got, &err) != ERR_INVALID) fail_msg("\"%s\"", texts[i]);
    }
    memset(longest, 'A', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    longest[600] = '.';
    assert_int_equal(verify(longest, "c", NOW, &got, &err), ERR_INVALID);
}

static void the_longest_ticket_fits(void **state)
{
    struct ticket t = sample(), got;
    char text[TICKET_TEXT_MAX];
    struct err err;
    (void)state;
    t.session = INT64_MAX;
    t.attempt = t.member = t.user = UINT32_MAX;
    t.exp_s = INT64_MAX;
    memset(t.node, 'n', sizeof(t.node) - 1);
    memset(t.addr, '9', sizeof(t.addr) - 1);
    ticket_sign(&t, secret_key, text);
    assert_int_equal(verify(text, t.cluster, NOW, &got, &err), 0);
    assert_string_equal(got.addr, t.addr);
}

static void keys_as_text(void **state)
{
    char text[TICKET_KEY_TEXT];
    uint8_t back[TICKET_KEY_PUBLIC] = {0};
    (void)state;
    ticket_key_format(public_key, text);
    assert_true(ticket_key_parse(str_of(text), back));
    assert_memory_equal(back, public_key, sizeof(back));
    assert_false(ticket_key_parse(STR(""), back));
    assert_false(ticket_key_parse(STR("AAAA"), back));
    text[0] = '!';
    assert_false(ticket_key_parse(str_of(text), back));
    enum ticket_action a;
    assert_true(ticket_action_parse(STR("exec"), &a) && a == TICKET_EXEC);
    assert_false(ticket_action_parse(STR("shell"), &a));
    assert_string_equal(ticket_action_name(TICKET_ATTACH), "attach");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_signed_comes_back),
        cmocka_unit_test(the_longest_fits),
        cmocka_unit_test(any_changed_character_is_refused),
        cmocka_unit_test(time_and_place),
        cmocka_unit_test(another_key_is_refused),
        cmocka_unit_test(texts_that_are_no_tickets),
        cmocka_unit_test(the_longest_ticket_fits),
        cmocka_unit_test(keys_as_text),
    };
    ticket_key_new(public_key, secret_key);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
