/* Sessions by owner and name against a walk over all of them. */
#include "harness.h"

#include "base/rng.h"

#define SLOTS 300u

static struct session *naive(struct world *w, uint32_t user, struct str name)
{
    VEC_EACH(s, &w->sessions)
        if (s->id && s->user == user && str_eq(str_of(s->name), name)) return s;
    return NULL;
}

static struct str name_of(uint32_t n, char ret[64])
{
    return str_n(ret, (size_t)text_fmt(ret, 64, "%.*s%u", (int)(n % 40),
                                       "a-name-that-is-longer-than-most-names-are", n));
}

static void drop(struct world *w, uint32_t slot)
{
    struct session *s = &w->sessions.v[slot];
    s->state = SESSION_ENDED;
    world_drop_session(w, s);
}

/* Few users and names: the same name of another user, and names that come again. */
static void as_a_walk_finds_them(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct rng r = {seed};
        struct world *w = world_new();
        uint64_t ids = 0;
        char text[64];
        for (int i = 0; i < 4000; i++) {
            uint32_t user = 1 + (uint32_t)rng_below(&r, 3);
            struct str name = name_of((uint32_t)rng_below(&r, SLOTS), text);
            struct session *known = naive(w, user, name);
            assert_ptr_equal(world_session_named(w, user, name), known);
            /* It grows at first, and shrinks at last. */
            if (known && rng_below(&r, 4000) < (uint64_t)i) {
                drop(w, (uint32_t)(known - w->sessions.v));
                assert_null(world_session_named(w, user, name));
            } else if (!known && rng_below(&r, 4000) >= (uint64_t)i) {
                struct session *s = world_add_session(w);
                s->id = ++ids;
                s->user = user;
                TEXT_CLIP(s->name, name);
                world_index_session(w, s);
                assert_ptr_equal(world_session_named(w, user, name), s);
            }
            assert_int_equal(w->names.n, w->n_sessions);
        }
        for (uint32_t n = 0; n < SLOTS * 3; n++) {
            struct str name = name_of(n / 3, text);
            assert_ptr_equal(world_session_named(w, 1 + n % 3, name), naive(w, 1 + n % 3, name));
        }
        world_free(w);
    }
}

static void removes_only_what_is_there(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct session *s = world_add_session(w);
    s->id = s->user = 1;
    TEXT_CLIP(s->name, STR("a"));
    assert_false(names_remove(w, 0));
    names_add(w, 0);
    assert_int_equal(names_find(w, 1, STR("a")), 0);
    assert_int_equal(names_find(w, 2, STR("a")), MAP_NONE);
    assert_int_equal(names_find(w, 1, STR("b")), MAP_NONE);
    assert_true(names_remove(w, 0));
    assert_false(names_remove(w, 0));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_walk_finds_them),
        cmocka_unit_test(removes_only_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
