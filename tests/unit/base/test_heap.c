/* The heap gives back what was pushed, in one order only. */
#include "test.h"

#include "base/heap.h"
#include "base/rng.h"

static int order(const void *pa, const void *pb)
{
    const struct heap_item *a = pa, *b = pb;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->tie != b->tie) return a->tie < b->tie ? -1 : 1;
    if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
    return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

static struct heap_item random_item(struct rng *r)
{ /* small ranges, so that each member of the order decides sometimes */
    return (struct heap_item){.key = (int64_t)rng_below(r, 7) - 3,
                              .tie = rng_below(r, 4),
                              .slot = (uint32_t)rng_below(r, 4),
                              .stamp = (uint32_t)rng_below(r, 4)};
}

static void assert_same(const struct heap_item *a, const struct heap_item *b)
{
    assert_int_equal(order(a, b), 0);
}

static void sorts(void **state)
{
    (void)state;
    struct rng r = {1};
    for (uint32_t n = 0; n < 200; n++) {
        struct heap h = {0};
        struct heap_item *sorted = mem_array(n + 1, sizeof(*sorted)), got;
        for (uint32_t i = 0; i < n; i++) {
            sorted[i] = random_item(&r);
            heap_push(&h, sorted[i]);
        }
        qsort(sorted, n, sizeof(*sorted), order);
        for (uint32_t i = 0; i < n; i++) {
            assert_same(heap_top(&h), &sorted[i]);
            assert_true(heap_pop(&h, &got));
            assert_same(&got, &sorted[i]);
        }
        assert_null(heap_top(&h));
        assert_false(heap_pop(&h, &got));
        mem_free(sorted);
        heap_done(&h);
    }
}

/* Pushes and pops in turn, against an array that is searched. */
static void mixed(void **state)
{
    (void)state;
    struct rng r = {2};
    struct heap h = {0};
    struct heap_item all[300], got;
    uint32_t n = 0;
    for (int i = 0; i < 20000; i++) {
        if (n < ARRAY_LEN(all) && rng_below(&r, 2)) {
            all[n] = random_item(&r);
            heap_push(&h, all[n++]);
            continue;
        }
        uint32_t best = 0;
        for (uint32_t k = 1; k < n; k++) {
            if (order(&all[k], &all[best]) < 0) best = k;
        }
        assert_int_equal(heap_pop(&h, &got), n > 0);
        if (n == 0) continue;
        assert_same(&got, &all[best]);
        all[best] = all[--n];
    }
    heap_done(&h);
}

static void extremes(void **state)
{
    (void)state;
    struct heap h = {0};
    struct heap_item got;
    heap_push(&h, (struct heap_item){.key = INT64_MAX});
    heap_push(&h, (struct heap_item){.key = INT64_MIN, .tie = UINT64_MAX});
    heap_push(&h, (struct heap_item){.key = INT64_MIN});
    heap_pop(&h, &got);
    assert_true(got.key == INT64_MIN && got.tie == 0);
    heap_pop(&h, &got);
    assert_true(got.tie == UINT64_MAX);
    heap_done(&h);
    assert_null(h.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts),
        cmocka_unit_test(mixed),
        cmocka_unit_test(extremes),
    };
    return RUN(tests);
}
