/* Limits in words: what stays, what is taken away, what is shown. */
#include "test.h"

static void merge(const char *json, struct limits *l)
{
    struct user_request rq;
    struct err err = {0};
    int rc = wire_parse_input(&wire_user_request, str_of(json), &rq, &err);
    if (rc != 0) fail_msg("%s", err.text);
    limits_merge(&rq.limits, l);
    wire_free(&wire_user_request, &rq);
}

static const struct { const char *json; uint32_t set; int64_t gpu, mem; } CASES[] = {
    {"{}", 1u << LIMIT_GPU, 4, 0},                       /* absent stays */
    {"{\"limits\":{}}", 1u << LIMIT_GPU, 4, 0},
    {"{\"limits\":{\"gpu\":-1}}", 0, 0, 0},              /* taken away */
    {"{\"limits\":{\"gpu\":0}}", 1u << LIMIT_GPU, 0, 0}, /* none at all is a limit */
    {"{\"limits\":{\"mem\":\"1K\"}}", 1u << LIMIT_GPU | 1u << LIMIT_MEM, 4, 1024},
    {"{\"limits\":{\"mem_bytes\":-1}}", 1u << LIMIT_GPU, 4, 0},
};

static void merging(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct limits l = {.set = 1u << LIMIT_GPU, .max = {[LIMIT_GPU] = 4}};
        merge(CASES[i].json, &l);
        if (l.set != CASES[i].set || l.max[LIMIT_GPU] != CASES[i].gpu ||
            l.max[LIMIT_MEM] != CASES[i].mem)
            fail_msg("%s: set %x, gpu %lld", CASES[i].json, l.set, (long long)l.max[LIMIT_GPU]);
        assert_true(limits_sane(&l));
    }
}

/* What was shown, said again, changes nothing; every kind has its own place. */
static void shown_and_said(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < 1u << LIMIT_KINDS; set++) {
        struct limits l = {.set = set}, back = {0};
        struct limits_view v;
        for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) {
            if (limit_has(&l, k)) l.max[k] = 100 + (int64_t)k;
        }
        limits_show(&l, &v);
        limits_merge(&v, &back);
        assert_memory_equal(&l, &back, sizeof(l));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging),
        cmocka_unit_test(shown_and_said),
    };
    return RUN(tests);
}
