/* Words on nodes and in requests: lists sorted, compared, and found in models. */
#include "test.h"

#include "base/labels.h"

static const struct {
    const char *in, *out;
} SORTED[] = {
    /* out NULL: refused */
    {"", ""},
    {"a=1", "a=1"},
    {"b=1,a=2", "a=2,b=1"},
    {"zone=eu/west-1,disk=ssd,gen=3.2", "disk=ssd,gen=3.2,zone=eu/west-1"},
    {"a=1,a=2", NULL},
    {"a=1,a=1", NULL},
    {"a", NULL},
    {"a=", NULL},
    {"=1", NULL},
    {"a=1,", NULL},
    {",a=1", NULL},
    {"a=1,,b=2", NULL},
    {"a=1=2", NULL},
    {"a =1", NULL},
    {"a=\xc3\xa4", NULL},
};

static void sorted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SORTED); i++) {
        char text[96];
        text_clip(text, sizeof(text), str_of(SORTED[i].in));
        bool sane = labels_sort(text);
        if (sane != (SORTED[i].out != NULL)) fail_msg("'%s'", SORTED[i].in);
        assert_string_equal(text, sane ? SORTED[i].out : SORTED[i].in);
    }
}

static void bounds(void **state)
{
    (void)state;
    char text[1024] = "", word[70];
    memset(word, 'a', sizeof(word));
    text_fmt(text, sizeof(text), "%.63s=%.63s", word, word);
    assert_true(labels_sort(text));
    text_fmt(text, sizeof(text), "%.64s=1", word);
    assert_false(labels_sort(text));
    text_fmt(text, sizeof(text), "a=%.64s", word);
    assert_false(labels_sort(text));
    size_t n = 0;
    for (int i = 0; i < 65; i++) {
        n += (size_t)text_fmt(text + n, sizeof(text) - n, "%sk%d=1", i > 0 ? "," : "", i);
        if (i == 63) {
            char copy[1024];
            text_clip(copy, sizeof(copy), str_of(text));
            assert_true(labels_sort(copy));
        }
    }
    assert_false(labels_sort(text)); /* 64 pairs at most */
}

static const struct {
    const char *asked, *has, *lacking;
} HELD[] = {
    {"", "", ""},
    {"", "a=1", ""},
    {"a=1", "", "a=1"},
    {"a=1", "a=1", ""},
    {"a=1", "a=2", "a=1"},
    {"b=1", "a=1,b=1,c=1", ""},
    {"a=1,c=1", "a=1,b=1,c=1", ""},
    {"a=1,d=1", "a=1,b=1,c=1", "d=1"},
    {"a=1,b=2", "a=1,b=1", "b=2"},
    {"b=1", "a=b=1", "b=1"},
    {"disk=ssd", "disk=ssd2", "disk=ssd"},
    {"dis=ssd", "disk=ssd", "dis=ssd"},
};

static void held(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(HELD); i++) {
        struct str lacking = labels_lacking(HELD[i].asked, HELD[i].has);
        if (!str_eq(lacking, str_of(HELD[i].lacking)))
            fail_msg("%s in %s", HELD[i].asked, HELD[i].has);
        assert_int_equal(labels_hold(HELD[i].asked, HELD[i].has), lacking.n == 0);
    }
}

/* Every set of pairs over three keys and two values, against the meaning of the words. */
static void held_is_subset(void **state)
{
    (void)state;
    for (uint32_t a = 0; a < 27; a++) {
        for (uint32_t b = 0; b < 27; b++) {
            char text[2][32] = {"", ""};
            uint32_t codes[2] = {a, b};
            bool expected = true;
            uint32_t x = a, y = b;
            for (int k = 0; k < 3; k++, x /= 3, y /= 3)
                expected = expected && (x % 3 == 0 || x % 3 == y % 3);
            for (int side = 0; side < 2; side++) {
                size_t n = 0;
                for (int k = 0; k < 3; k++, codes[side] /= 3) {
                    if (codes[side] % 3 == 0) continue;
                    n += (size_t)text_fmt(text[side] + n, sizeof(text[side]) - n, "%s%c=%u",
                                          n > 0 ? "," : "", 'a' + k, codes[side] % 3);
                }
            }
            assert_int_equal(labels_hold(text[0], text[1]), expected);
        }
    }
}

static const struct {
    const char *asked, *model;
    bool found;
} MODELS[] = {
    {"", "NVIDIA H100 80GB HBM3", true},
    {"", "", true},
    {"h100", "NVIDIA H100 80GB HBM3", true},
    {"H100", "NVIDIA H100 80GB HBM3", true},
    {"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", true},
    {"h100|a100", "NVIDIA A100-SXM4-80GB", true},
    {"a100-sxm4", "NVIDIA A100-SXM4-80GB", true},
    {"a10", "NVIDIA A100-SXM4-80GB", false},
    {"a10", "NVIDIA A10", true},
    {"a10|h100", "NVIDIA A100-SXM4-80GB", false},
    {"100", "NVIDIA H100 80GB HBM3", false},
    {"80gb", "NVIDIA H100 80GB HBM3", true},
    {"l4", "NVIDIA L40S", false},
    {"l4", "NVIDIA L4", true},
    {"h100", "", false},
};

static void models(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(MODELS); i++) {
        if (labels_name_model(MODELS[i].asked, MODELS[i].model) == MODELS[i].found) continue;
        fail_msg("'%s' in '%s'", MODELS[i].asked, MODELS[i].model);
    }
    static const char *const good[] = {"a", "a100|h100", "NVIDIA H100 80GB HBM3", "a|b|c"};
    static const char *const bad[] = {"",
                                      "|",
                                      "a|",
                                      "|a",
                                      "a||b",
                                      " a",
                                      "a ",
                                      "a,b",
                                      "a\"b",
                                      "a\n",
                                      "12345678901234567890123456789012"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) assert_true(labels_models_sane(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) assert_false(labels_models_sane(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted),         cmocka_unit_test(bounds), cmocka_unit_test(held),
        cmocka_unit_test(held_is_subset), cmocka_unit_test(models),
    };
    return RUN(tests);
}
