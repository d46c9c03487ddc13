/* Readers see what was committed: lists in pages, history in order, nothing half. */
#include "rig.h"

#include "base/mem.h"

static void put_sessions(struct rig *r, uint64_t from, uint64_t to)
{
    struct store_turn t = rig_turn(r);
    for (uint64_t id = from; id <= to; id++) {
        struct session s = rig_session(id);
        s.user = (uint32_t)(1 + id % 2);
        s.group = (uint32_t)(1 + id % 3);
        if (id % 5 == 0) s.state = SESSION_ENDED;
        if (id % 5 == 0) s.outcome = OUTCOME_SUCCEEDED;
        if (id % 7 == 0) TEXT_CLIP(s.name, STR("seventh"));
        store_turn_op(&t, STORE_PUT_SESSION)->u.session = s;
    }
    OK(r, store_commit(r->store, &t, &r->err));
    store_turn_done(&t);
}

static bool matches(const struct store_filter *f, uint64_t id)
{
    if (f->which == STORE_LIVE && id % 5 == 0) return false;
    if (f->which == STORE_ENDED && id % 5 != 0) return false;
    if (f->user && f->user != 1 + id % 2) return false;
    if (f->group && f->group != 1 + id % 3) return false;
    return f->name.n == 0 || id % 7 == 0;
}

/* All combinations of filters, page by page, against the rule itself. */
static void lists_are_filtered_and_paged(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    put_sessions(&r, 1, 210);
    for (uint32_t bits = 0; bits < 24; bits++) {
        struct store_filter f = {.which = (enum store_which)(bits / 8), .limit = 13};
        if (bits & 4) f.user = 2;
        if (bits & 2) f.group = 3;
        if (bits & 1) f.name = STR("seventh");
        uint64_t expect = 210;
        do {
            struct store_sessions page = {0};
            OK(&r, store_read_sessions(r.reader, &f, &page, &r.err));
            assert_true(page.v.n <= 13);
            assert_true(page.next == 0 || page.v.n == 13);
            VEC_EACH(s, &page.v) {
                while (expect > 0 && !matches(&f, expect)) expect--;
                assert_int_equal(s->session.id, expect);
                expect--;
            }
            f.before = page.next;
            VEC_DONE(&page.v);
        } while (f.before);
        while (expect > 0 && !matches(&f, expect)) expect--;
        assert_int_equal(expect, 0);
    }
    rig_done(&r);
}

static void a_page_is_stable_under_inserts(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    put_sessions(&r, 1, 20);
    struct store_filter f = {.limit = 10};
    struct store_sessions page = {0};
    OK(&r, store_read_sessions(r.reader, &f, &page, &r.err));
    assert_int_equal(page.next, 11);
    put_sessions(&r, 21, 30);
    f.before = page.next;
    OK(&r, store_read_sessions(r.reader, &f, &page, &r.err));
    assert_int_equal(page.v.n, 20);
    for (uint32_t i = 0; i < 20; i++) assert_int_equal(page.v.v[i].session.id, 20 - i);
    assert_int_equal(page.next, 0);
    VEC_DONE(&page.v);
    rig_done(&r);
}

static void limits_are_checked(void **state)
{
    (void)state;
    static const struct { uint32_t limit; int rc; } rows[] = {
        {0, ERR_INVALID}, {1, 0}, {1000, 0}, {1001, ERR_INVALID}, {UINT32_MAX, ERR_INVALID},
    };
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store_filter f = {.limit = rows[i].limit};
        struct store_sessions page = {0};
        assert_int_equal(store_read_sessions(r.reader, &f, &page, &r.err), rows[i].rc);
        if (rows[i].rc) assert_string_equal(r.err.field, "limit");
        VEC_DONE(&page.v);
    }
    rig_done(&r);
}

static void the_live_one_of_a_name_comes_first(void **state)
{
    (void)state;
    static const struct { uint64_t id; bool live; uint64_t expect; } rows[] = {
        {1, false, 1}, {2, false, 2}, {3, true, 3}, {4, false, 3}, {3, false, 4},
    };
    struct rig r;
    struct session_row s;
    rig_init(&r);
    rig_open(&r);
    assert_int_equal(store_read_session_named(r.reader, 1, STR("x"), &s, NULL), ERR_NOT_FOUND);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store_turn t = rig_turn(&r);
        s.session = rig_session(rows[i].id);
        TEXT_CLIP(s.session.name, STR("x"));
        s.session.state = rows[i].live ? SESSION_RUNNING : SESSION_ENDED;
        store_turn_op(&t, STORE_PUT_SESSION)->u.session = s.session;
        OK(&r, store_commit(r.store, &t, &r.err));
        store_turn_done(&t);
        OK(&r, store_read_session_named(r.reader, 1, STR("x"), &s, &r.err));
        assert_int_equal(s.session.id, rows[i].expect);
        assert_int_equal(store_read_session_named(r.reader, 2, STR("x"), &s, NULL),
                         ERR_NOT_FOUND);
    }
    rig_done(&r);
}

/* CLK10: also while the date goes backwards. */
static void history_resumes_after_a_cursor(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    for (uint32_t turn = 1; turn <= 4; turn++) {
        struct store_turn t = rig_turn(&r);
        for (uint32_t i = 0; i < turn; i++) {
            struct history h = {.what = HISTORY_STATE, .session = 1 + i, .node = 2, .actor = 1,
                                .state = SESSION_RUNNING, .attempt = turn, .wall_ms = 5000 - turn,
                                .now_ms = 6};
            text_fmt(h.text, sizeof(h.text), "turn %u line %u", turn, i);
            store_turn_op(&t, STORE_ADD_HISTORY)->u.history = h;
            struct store_meta m = {"between", "lines"};
            store_turn_op(&t, STORE_PUT_META)->u.meta = m;
        }
        OK(&r, store_commit(r.store, &t, &r.err));
        store_turn_done(&t);
    }
    static const struct { struct store_after after; uint32_t n; uint64_t turn; uint32_t index; }
    rows[] = {
        {{0, 0, 0, 100}, 10, 1, 0}, {{2, 0, 0, 100}, 8, 2, 1}, {{2, 1, 0, 100}, 7, 3, 0},
        {{4, 3, 0, 100}, 0, 0, 0},  {{1, 0, 0, 3}, 3, 2, 0},   {{0, 0, 1, 100}, 4, 1, 0},
        {{2, 0, 1, 100}, 2, 3, 0},  {{0, 0, 4, 100}, 1, 4, 3}, {{0, 0, 9, 100}, 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store_events e = {0};
        OK(&r, store_read_history(r.reader, &rows[i].after, &e, &r.err));
        if (e.v.n != rows[i].n) fail_msg("row %zu: %u lines", i, e.v.n);
        if (e.v.n) {
            char text[64];
            text_fmt(text, sizeof(text), "turn %llu line %u", (unsigned long long)e.v.v[0].turn,
                     e.v.v[0].index);
            assert_int_equal(e.v.v[0].turn, rows[i].turn);
            assert_int_equal(e.v.v[0].index, rows[i].index);
            assert_string_equal(e.v.v[0].history.text, text);
            assert_int_equal(e.v.v[0].history.attempt, rows[i].turn);
        }
        VEC_DONE(&e.v);
    }
    rig_done(&r);
}

static void placements_keep_the_names_of_forgotten_nodes(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct event ev = rig_join("n1", 0);
    OK(&r, rig_step(&r, &ev));
    ev = rig_submit("a", 2);
    OK(&r, rig_step(&r, &ev));
    struct store_placements p = {0};
    OK(&r, store_read_placements(r.reader, 1, &p, &r.err));
    assert_int_equal(p.v.n, 2);
    assert_false(p.v.v[0].released);
    ev = (struct event){.kind = EVENT_NODE_FORGET, .u.forget = {1, true}};
    OK(&r, rig_step(&r, &ev));
    p.v.n = 0;
    OK(&r, store_read_placements(r.reader, 1, &p, &r.err));
    assert_int_equal(p.v.n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(p.v.v[i].released);
        assert_string_equal(p.v.v[i].node, "n1");
        assert_int_equal(p.v.v[i].alloc.ref.member, i);
    }
    VEC_DONE(&p.v);
    rig_done(&r);
}

static void put_idem(struct rig *r, const char *key, uint64_t session, int64_t wall_ms)
{
    struct store_turn t = rig_turn(r);
    struct store_idem *i = &store_turn_op(&t, STORE_PUT_IDEM)->u.idem;
    *i = (struct store_idem){.user = 1, .session = session, .wall_ms = wall_ms};
    TEXT_CLIP(i->key, str_of(key));
    TEXT_CLIP(i->body_hash, STR("abc"));
    OK(r, store_commit(r->store, &t, &r->err));
    store_turn_done(&t);
}

static void keys_are_kept_for_a_day(void **state)
{
    (void)state;
    const int64_t hour = 3600 * 1000;
    struct rig r;
    struct store_idem i;
    rig_init(&r);
    rig_open(&r);
    put_idem(&r, "one", 1, RIG_WALL);
    put_idem(&r, "two", 2, RIG_WALL + 23 * hour);
    OK(&r, store_read_idem(r.reader, 1, STR("one"), &i, &r.err));
    assert_int_equal(i.session, 1);
    assert_string_equal(i.body_hash, "abc");
    assert_int_equal(store_read_idem(r.reader, 2, STR("one"), &i, NULL), ERR_NOT_FOUND);
    put_idem(&r, "three", 3, RIG_WALL + 25 * hour);
    assert_int_equal(store_read_idem(r.reader, 1, STR("one"), &i, NULL), ERR_NOT_FOUND);
    OK(&r, store_read_idem(r.reader, 1, STR("two"), &i, &r.err));
    char longer[200];
    memset(longer, 'k', sizeof(longer));
    assert_int_equal(store_read_idem(r.reader, 1, str_n(longer, sizeof(longer)), &i, NULL),
                     ERR_NOT_FOUND);
    rig_done(&r);
}

static void documents_and_tokens_come_back(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct store_turn t = rig_turn(&r);
    store_turn_doc(&t, 5, STR("{\"command\":[\"'; DROP TABLE turn; --\"]}"));
    struct store_token token = {.kind = STORE_TOKEN_JOIN, .user = 1, .name = "it's",
                                .created_wall_ms = 7, .expires_wall_ms = 8, .hash = "ff"};
    store_turn_op(&t, STORE_PUT_TOKEN)->u.token = token;
    OK(&r, store_commit(r.store, &t, &r.err));
    store_turn_done(&t);
    AUTO_FREE char *doc = NULL;
    OK(&r, store_read_doc(r.reader, 5, &doc, &r.err));
    assert_string_equal(doc, "{\"command\":[\"'; DROP TABLE turn; --\"]}");
    struct store_tokens tokens = {0};
    OK(&r, store_read_tokens(r.reader, &tokens, &r.err));
    assert_int_equal(tokens.v.n, 1);
    const struct store_token *back = &tokens.v.v[0];
    assert_string_equal(back->hash, token.hash);
    assert_string_equal(back->name, token.name);
    assert_int_equal(back->kind, token.kind);
    assert_int_equal(back->user, token.user);
    assert_int_equal(back->created_wall_ms, token.created_wall_ms);
    assert_int_equal(back->expires_wall_ms, token.expires_wall_ms);
    VEC_DONE(&tokens.v);
    uint64_t last = 0;
    OK(&r, store_read_last_turn(r.reader, &last, &r.err));
    assert_int_equal(last, 1);
    rig_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_filtered_and_paged),
        cmocka_unit_test(a_page_is_stable_under_inserts),
        cmocka_unit_test(limits_are_checked),
        cmocka_unit_test(the_live_one_of_a_name_comes_first),
        cmocka_unit_test(history_resumes_after_a_cursor),
        cmocka_unit_test(placements_keep_the_names_of_forgotten_nodes),
        cmocka_unit_test(keys_are_kept_for_a_day),
        cmocka_unit_test(documents_and_tokens_come_back),
    };
    return RUN(tests);
}
