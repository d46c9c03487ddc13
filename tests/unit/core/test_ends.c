/* What is kept of ends beside their sessions. */
#include "harness.h"

static struct session *add(struct world *w, uint64_t id)
{
    struct session *s = world_add_session(w);
    s->id = id;
    s->user = 1;
    text_fmt(s->name, sizeof(s->name), "s%llu", (unsigned long long)id);
    world_index_session(w, s);
    return s;
}

static void only_those_that_say_something(void **state)
{
    (void)state;
    static const struct member_end says[] = {
        {.exit_code = -1}, {.signal = 9}, {.oom = true}, {.timed_out = true}, {.fatal = true},
        {.vanished = true}, {.detail = "why"},
    };
    struct world *w = world_new();
    for (uint64_t id = 1; id <= ARRAY_LEN(says); id++) (void)add(w, id);
    assert_int_equal(ends_of(w, world_session(w, 1))->exit_code, 0);
    for (uint32_t i = 0; i < ARRAY_LEN(says); i++) {
        ends_put(w, world_session(w, i + 1), &says[i]);
        assert_int_equal(w->ends.by_session.n, i + 1);
    }
    assert_null(ends_audit(w));
    for (uint32_t i = 0; i < ARRAY_LEN(says); i++) {
        const struct member_end *e = ends_of(w, world_session(w, i + 1));
        assert_memory_equal(e, &says[i], sizeof(*e));
    }
    ends_put(w, world_session(w, 2), ends_of(w, world_session(w, 7))); /* it may be another's */
    assert_string_equal(ends_of(w, world_session(w, 2))->detail, "why");
    ends_put(w, world_session(w, 2), &(struct member_end){0}); /* nothing to say any more */
    assert_int_equal(w->ends.by_session.n, ARRAY_LEN(says) - 1);
    assert_null(ends_audit(w));
    world_free(w);
}

/* A session takes its end along, and its place is used again. */
static void leaves_with_its_session(void **state)
{
    (void)state;
    struct world *w = world_new();
    for (uint64_t id = 1; id <= 50; id++) {
        struct session *s = add(w, id);
        ends_put(w, s, &(struct member_end){.detail = "disk full"});
        ends_drop(w, s);
        ends_drop(w, s); /* twice changes nothing */
        ends_put(w, s, &(struct member_end){.exit_code = 3});
        s->state = SESSION_ENDED;
        world_drop_session(w, s);
        assert_int_equal(w->ends.by_session.n, 0);
        assert_int_equal(w->ends.v.n, 1);
        assert_null(ends_audit(w));
    }
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_those_that_say_something),
        cmocka_unit_test(leaves_with_its_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
