/* tests/unit/manager/test_route.c - the table of requests against paths and access. */
#include "harness.h"
#include "manager/route.h"
#include "net/pki.h"

static void test_every_entry_is_complete_and_alone(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < n_routes; i++) {
        const struct route *r = &routes[i];
        assert_true(r->handler && r->doc[0] && r->pattern[0] == '/');
        assert_in_range(r->kind, 1, OBJECT_KINDS - 1);
        assert_in_range(r->action, 1, ACTIONS - 1);
        assert_true(r->method != HTTP_OTHER && r->method != HTTP_HEAD);
        for (uint32_t j = 0; j < i; j++)
            assert_false(routes[j].side == r->side && routes[j].method == r->method &&
                         strcmp(routes[j].pattern, r->pattern) == 0);
    }
}

/* Only what says nothing about anybody is open; an admin may do all, no role nothing. */
static void test_gates_against_access(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < n_routes; i++) {
        const struct route *r = &routes[i];
        bool probe = strcmp(r->pattern, "/healthz") == 0 || strcmp(r->pattern, "/readyz") == 0;
        assert_int_equal(r->gate == GATE_OPEN, probe);
        if (r->side == SIDE_PEOPLE && !probe) assert_int_equal(r->gate, GATE_TOKEN);
        if (r->side == SIDE_AGENTS) assert_int_not_equal(r->gate, GATE_TOKEN);
        if (r->gate != GATE_TOKEN) continue;
        assert_true(access_allows(ROLE_ADMIN, r->kind, r->action));
        assert_false(access_allows(ROLE_NONE, r->kind, r->action));
    }
}

static void test_find(void **state)
{
    (void)state;
    const struct { enum route_side side; enum http_method method; const char *path, *pattern, *id,
                       *allowed; } cases[] = {
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/sessions", "/api/v1/sessions", "", ""},
        {SIDE_PEOPLE, HTTP_HEAD, "/api/v1/sessions", "/api/v1/sessions", "", ""},
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/sessions/s17", "/api/v1/sessions/{id}", "s17", ""},
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/sessions/a.b/why", "/api/v1/sessions/{id}/why", "a.b", ""},
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/sessions/", NULL, "", ""},
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/sessions//why", NULL, "", ""},
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/sessions/a/b/why", NULL, "", ""},
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/sessions/a/why/", NULL, "", ""},
        {SIDE_PEOPLE, HTTP_GET, "/api/v1/session", NULL, "", ""},
        {SIDE_PEOPLE, HTTP_GET, "/", NULL, "", ""},
        {SIDE_PEOPLE, HTTP_DELETE, "/api/v1/sessions", NULL, "", "POST, GET"},
        {SIDE_PEOPLE, HTTP_PATCH, "/api/v1/sessions/s1", "/api/v1/sessions/{id}", "s1", ""},
        {SIDE_PEOPLE, HTTP_PUT, "/api/v1/sessions/s1", NULL, "", "GET, PATCH, DELETE"},
        {SIDE_PEOPLE, HTTP_POST, "/agent/v1/sync", NULL, "", ""},
        {SIDE_AGENTS, HTTP_POST, "/agent/v1/sync", "/agent/v1/sync", "", ""},
        {SIDE_AGENTS, HTTP_GET, "/api/v1/sessions", NULL, "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char allowed[64];
        struct str id = STR("");
        const struct route *r =
            route_find(cases[i].side, cases[i].method, str_of(cases[i].path), &id, allowed);
        bool same = r ? cases[i].pattern && strcmp(r->pattern, cases[i].pattern) == 0
                      : cases[i].pattern == NULL;
        if (!same || !str_eq(id, str_of(cases[i].id)) || (!r && strcmp(allowed, cases[i].allowed)))
            fail_msg("%s: %s, id %.*s, allowed %s", cases[i].path, r ? r->pattern : "none",
                     (int)id.n, id.p, allowed);
    }
}

/* "/api/v1/sessions/{id}/why" -> "/api/v1/sessions/s1/why" */
static void example_path(const char *pattern, char ret[128])
{
    const char *open = strchr(pattern, '{');
    if (!open) text_fmt(ret, 128, "%s", pattern);
    else text_fmt(ret, 128, "%.*ss1%s", (int)(open - pattern), pattern, strchr(open, '}') + 1);
}

static void test_no_token_no_answer(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    for (uint32_t i = 0; i < n_routes; i++) {
        if (routes[i].side != SIDE_PEOPLE) continue;
        static const char *const tokens[] = {"", "rota-wrong"};
        for (size_t k = 0; k < ARRAY_LEN(tokens); k++) {
            AUTO_REPLY struct reply p;
            char path[128];
            example_path(routes[i].pattern, path);
            int status = rig_call(&r, &(struct call){.method = http_method_name(routes[i].method),
                                                     .target = path,
                                                     .token = tokens[k]}, &p);
            int want = routes[i].gate == GATE_OPEN ? 200 : 401;
            if (status != want) fail_msg("%s: %d", path, status);
        }
    }
    rig_close(&r);
}

/* docs/spec/api.md names every request, and none that does not exist. */
static void test_the_page_lists_the_table(void **state)
{
    (void)state;
    char *page = NULL;
    struct err err = {0};
    if (pki_file_read(API_PAGE, &page, &err) != 0) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < n_routes; i++) {
        char row[128];
        text_fmt(row, sizeof(row), "| `%s %s` |", http_method_name(routes[i].method),
                 routes[i].pattern);
        if (!strstr(page, row)) fail_msg("not on the page: %s", row);
    }
    uint32_t rows = 0;
    for (const char *p = page; (p = strstr(p, "\n| `")) != NULL; p += 4) {
        struct str method, rest = str_n(p + 4, 60);
        if (str_cut(&rest, ' ', &method) && http_method_of(method) != HTTP_OTHER) rows++;
    }
    assert_int_equal(rows, n_routes - 1); /* /healthz is on both sides */
    mem_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_entry_is_complete_and_alone),
        cmocka_unit_test(test_gates_against_access),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_the_page_lists_the_table),
        cmocka_unit_test(test_no_token_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
