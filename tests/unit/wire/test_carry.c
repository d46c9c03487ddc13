/* Frame heads: every byte as type from both sides, every edge of every length. */
#include "test.h"

#include "wire/carry.h"

struct expect { char type; enum carry_side from; uint32_t min, max; };
static const struct expect expected[] = {
    {'C', CARRY_FROM_CLIENT, 1, 65536}, {'I', CARRY_FROM_CLIENT, 0, 65536},
    {'Z', CARRY_FROM_CLIENT, 0, 0},     {'R', CARRY_FROM_CLIENT, 4, 4},
    {'K', CARRY_FROM_CLIENT, 1, 1},     {'O', CARRY_FROM_AGENT, 0, 65536},
    {'2', CARRY_FROM_AGENT, 0, 65536},  {'X', CARRY_FROM_AGENT, 1, 65536},
    {'E', CARRY_FROM_AGENT, 0, 65536},  {'N', CARRY_FROM_AGENT, 0, 65536},
};

static const struct expect *find(uint32_t type, enum carry_side from)
{
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        if ((uint32_t)expected[i].type == type && expected[i].from == from) return &expected[i];
    }
    return NULL;
}

static void every_head_is_judged(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 2, 3, 4, 5, 255, 256, 65535, 65536, 65537,
                                       1u << 24, UINT32_MAX};
    for (int from = CARRY_FROM_CLIENT; from <= CARRY_FROM_AGENT; from++) {
        for (uint32_t type = 0; type < 256; type++) {
            for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
                uint32_t n = lengths[i], got = 7;
                uint8_t head[8] = {(uint8_t)type, 0, 0, 0, (uint8_t)(n >> 24), (uint8_t)(n >> 16),
                                   (uint8_t)(n >> 8), (uint8_t)n};
                enum carry_type t = CARRY_END;
                const struct expect *e = find(type, (enum carry_side)from);
                bool good = e && n >= e->min && n <= e->max;
                int rc = carry_head_get(head, (enum carry_side)from, &t, &got, NULL);
                assert_int_equal(rc, good ? 0 : ERR_INVALID);
                if (!good) continue;
                assert_int_equal(t, type);
                assert_int_equal(got, n);
                uint8_t back[8];
                carry_head_put(back, t, got);
                assert_memory_equal(back, head, 8);
                for (int z = 1; z <= 3; z++) {
                    head[z] = 1;
                    rc = carry_head_get(head, (enum carry_side)from, &t, &got, NULL);
                    assert_int_equal(rc, ERR_INVALID);
                    head[z] = 0;
                }
            }
        }
    }
}

static void sizes_of_windows(void **state)
{
    (void)state;
    static const uint16_t values[] = {0, 1, 24, 80, 255, 256, 65535};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        for (size_t j = 0; j < ARRAY_LEN(values); j++) {
            uint8_t p[4];
            uint16_t rows = 9, cols = 9;
            carry_resize_put(p, values[i], values[j]);
            assert_int_equal(p[0] << 8 | p[1], values[i]);
            carry_resize_get(p, &rows, &cols);
            assert_int_equal(rows, values[i]);
            assert_int_equal(cols, values[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_head_is_judged),
        cmocka_unit_test(sizes_of_windows),
    };
    return RUN(tests);
}
