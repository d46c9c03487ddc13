/* Amounts never wrap: QTA7. */
#include "harness.h"

#define BIG INT64_MAX
#define S(a, b, c) {{(a), (b), (c)}}

static const struct { const char *name; struct slots a, b; bool fits; } ADDS[] = {
    {"zero", S(0, 0, 0), S(0, 0, 0), true},
    {"plain", S(1, 2, 3), S(4, 5, 6), true},
    {"edge", S(BIG - 1, 0, 0), S(1, 0, 0), true},
    {"cpu wraps", S(BIG, 0, 0), S(1, 0, 0), false},
    {"QTA7: twice the largest", S(BIG, 0, 0), S(BIG, 0, 0), false},
    {"mem wraps", S(0, BIG, 0), S(0, 1, 0), false},
    {"gpu wraps", S(0, 0, BIG), S(0, 0, BIG), false},
};

static void adds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ADDS); i++) {
        struct slots sum = S(7, 7, 7);
        bool got = slots_add(&ADDS[i].a, &ADDS[i].b, &sum);
        if (got != ADDS[i].fits) fail_msg("row %s", ADDS[i].name);
        for (int k = 0; k < SLOT_KINDS; k++) {
            assert_int_equal(sum.v[k], got ? ADDS[i].a.v[k] + ADDS[i].b.v[k] : 7);
        }
    }
}

static const struct { const char *name; struct slots a, b; bool fits; } SUBS[] = {
    {"to zero", S(1, 2, 3), S(1, 2, 3), true},
    {"plain", S(4, 5, 6), S(1, 2, 3), true},
    {"cpu below", S(0, 5, 5), S(1, 0, 0), false},
    {"gpu below", S(5, 5, 0), S(0, 0, 1), false},
    {"far below", S(0, 0, 0), S(BIG, 0, 0), false},
};

static void subtracts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SUBS); i++) {
        struct slots left = S(7, 7, 7), back;
        bool got = slots_sub(&SUBS[i].a, &SUBS[i].b, &left);
        if (got != SUBS[i].fits) fail_msg("row %s", SUBS[i].name);
        if (!got) {
            assert_int_equal(left.v[0], 7);
            continue;
        }
        assert_true(slots_add(&left, &SUBS[i].b, &back));
        assert_memory_equal(&back, &SUBS[i].a, sizeof(back));
        assert_true(slots_fit(&SUBS[i].b, &SUBS[i].a));
    }
}

static void multiplies(void **state)
{
    (void)state;
    struct slots a = S(3, 4, 5), p = S(7, 7, 7);
    assert_true(slots_mul(&a, 0, &p));
    assert_true(slots_zero(&p));
    assert_true(slots_mul(&a, 512, &p));
    assert_int_equal(p.v[SLOT_GPU], 2560);
    a.v[SLOT_GPU] = INT64_C(1) << 62; /* QTA7: gpus = 2^62, four of them */
    assert_false(slots_mul(&a, 4, &p));
    assert_int_equal(p.v[SLOT_GPU], 2560);
}

static void bounds(void **state)
{
    (void)state;
    struct slots ok = S(SLOT_MAX, 0, 1), over = S(SLOT_MAX + 1, 0, 0), under = S(0, -1, 0);
    assert_true(slots_valid(&ok));
    assert_false(slots_valid(&over));
    assert_false(slots_valid(&under));
    assert_false(slots_zero(&ok));
    /* The largest request there can be still has a sum. */
    struct slots most = S(SLOT_MAX, SLOT_MAX, SLOT_MAX);
    assert_true(slots_mul(&most, SESSION_MEMBERS_MAX, &most));
}

static void fits(void **state)
{
    (void)state;
    struct slots need = S(1, 1, 1);
    for (int k = 0; k < SLOT_KINDS; k++) {
        struct slots room = S(1, 1, 1);
        assert_true(slots_fit(&need, &room));
        room.v[k] = 0;
        assert_false(slots_fit(&need, &room));
    }
}

static void prints(void **state)
{
    (void)state;
    struct strbuf b;
    strbuf_init(&b, 100);
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        strbuf_fmt(&b, "%s %s ", slot_name(k), slot_label(k));
        slot_print(&b, k, 2560);
        strbuf_putc(&b, ';');
    }
    assert_string_equal(b.p, "cpu CPU 2.56;mem memory 2.5 KiB;gpu GPU 2560;");
    strbuf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds),   cmocka_unit_test(subtracts), cmocka_unit_test(multiplies),
        cmocka_unit_test(bounds), cmocka_unit_test(fits),      cmocka_unit_test(prints),
    };
    return RUN(tests);
}
