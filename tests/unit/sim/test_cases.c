/* The case file of rotations, and the runner that reads it: it must agree where the
 * deciders are right, and must be able to disagree. */
#include "test.h"

#include "sim/cases.h"
#include "sim/csv.h"

#define FILE_ROWS 58u
#define HEAD \
    "id,kind,state,transition,run_live,in_flight,co_in_flight,cur_prio,pinned,reserved,idle_s," \
    "dwell_s,engine,cands,quiet_s,queued_here,demand_mgr,demand_node,record,samples,now,phase," \
    "engine_alive,run_alive,exp_branch,exp_action,exp_target,exp_reason,note\n"

static struct cases_result run(struct str text, struct strbuf *out)
{
    struct cases_result r = {0};
    struct err err = {0};
    strbuf_init(out, 1 << 20);
    if (cases_run(text, out, &r, &err) != 0) fail_msg("%s", err.text);
    return r;
}

/* ---- the file ---- */

static void read_file(struct strbuf *ret)
{
    char chunk[4096];
    size_t n;
    FILE *f = fopen(TRACES "/rotation_cases.csv", "r");
    assert_non_null(f);
    strbuf_init(ret, 1 << 20);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0) strbuf_put(ret, str_n(chunk, n));
    fclose(f);
}

static void test_all_rows_agree(void **state)
{
    (void)state;
    struct strbuf text, out;
    read_file(&text);
    struct cases_result r = run(strbuf_str(&text), &out);
    if (r.failed > 0) fail_msg("%s", out.p);
    assert_int_equal(r.passed, FILE_ROWS);
    assert_int_equal(out.n, 0);
    strbuf_done(&out);
    strbuf_done(&text);
}

/* The file with the cell under `column` of row `at` replaced (0: of every row). */
static void spoil(struct str text, const char *column, uint32_t at, struct strbuf *ret)
{
    struct str cells[29];
    uint32_t where = 0;
    strbuf_init(ret, 1 << 20);
    for (uint32_t row = 0; csv_row(&text, cells, 29); row++) {
        for (uint32_t c = 0; c < 29; c++) {
            if (row == 0 && str_eq(cells[c], str_of(column))) where = c;
            bool here = row > 0 && c == where && (at == 0 || at == row);
            strbuf_fmt(ret, "%s\"", c ? "," : "");
            strbuf_put(ret, here ? STR("spoilt") : cells[c]);
            strbuf_putc(ret, '"');
        }
        strbuf_putc(ret, '\n');
    }
}

/* Every row can fail: with another action expected, it does, and it alone. */
static void test_every_row_can_fail(void **state)
{
    (void)state;
    struct strbuf text, spoilt, out;
    read_file(&text);
    for (uint32_t row = 0; row <= FILE_ROWS; row++) {
        spoil(strbuf_str(&text), "exp_action", row, &spoilt);
        struct cases_result r = run(strbuf_str(&spoilt), &out);
        assert_int_equal(r.failed, row == 0 ? FILE_ROWS : 1);
        assert_int_equal(r.passed + r.failed, FILE_ROWS);
        assert_non_null(strstr(out.p, "spoilt"));
        strbuf_done(&out);
        strbuf_done(&spoilt);
    }
    strbuf_done(&text);
}

/* ---- single rows ---- */

static const struct {
    const char *name, *row;
    const char *says; /* "" when it agrees, else the line */
} CASES[] = {
    {"agrees", "L,loop,SERVING,,0,1,0,5,0,0,0,0,quiet,,,,,,,,,,,,2,stay,,in_flight,n", ""},
    {"another branch", "L,loop,SERVING,,0,1,0,5,0,0,0,0,quiet,,,,,,,,,,,,3,stay,,,n",
     "L: expected branch 3 stay, got branch 2 stay in_flight (n)\n"},
    {"another target", "L,loop,SERVING,,0,0,0,5,0,0,300,0,quiet,A:1:1:1,,,,,,,,,,,8,move,B,,n",
     "L: expected branch 8 move B, got branch 8 move A work_elsewhere (n)\n"},
    {"another reason", "L,loop,SERVING,,0,1,0,5,0,0,0,0,quiet,,,,,,,,,,,,2,stay,,pin,n",
     "L: expected branch 2 stay pin, got branch 2 stay in_flight (n)\n"},
    {"no target expected",
     "L,loop,SERVING,,0,0,0,5,0,0,300,0,quiet,A:1:1:1,,,,,,,,,,,8,move,,,n",
     "L: expected branch 8 move, got branch 8 move A work_elsewhere (n)\n"},
    {"unknown is unk or empty",
     "L,loop,SERVING,,0,unk,,5,0,0,unk,,quiet,,,,,,,,,,,,2,stay,,in_flight,n", ""},
    {"all that refuse", "G,gate_only,SERVING,,1,1,0,5,0,0,0,0,quiet,,1500,0,0,0,ok,,,,,,,refuse,,"
     "run_live in_flight,n", ""},
    {"the headline alone", "G,gate_only,SERVING,,1,1,0,5,0,0,0,0,quiet,,1500,0,0,0,ok,,,,,,,refuse,"
     ",run_live,n", ""},
    {"no headline", "G,gate_only,SERVING,,1,1,0,5,0,0,0,0,quiet,,1500,0,0,0,ok,,,,,,,refuse,,"
     "in_flight,n",
     "G: expected refuse in_flight, got refuse run_live in_flight (n)\n"},
    {"one too many", "G,gate_only,SERVING,,1,0,0,5,0,0,0,0,quiet,,1500,0,0,0,ok,,,,,,,refuse,,"
     "run_live in_flight,n",
     "G: expected refuse run_live in_flight, got refuse run_live (n)\n"},
    {"drain", "G,gate,SERVING,,0,0,0,5,0,0,300,0,quiet,,1200,0,0,0,ok,,,,,,,drain,,,n", ""},
    {"drain, in another word",
     "G,gate,SERVING,,0,0,0,5,0,0,300,0,quiet,,1200,0,0,0,ok,,,,,,,pass,,,n", ""},
    {"another word for a refusal",
     "G,gate,SERVING,,0,0,0,5,0,0,300,0,quiet,,1199,0,0,0,ok,,,,,,,pass,,,n",
     "G: expected pass, got refuse quiet (n)\n"},
    {"record not tried", "G,gate,SERVING,,0,0,0,5,0,0,300,0,quiet,,1200,0,0,0,,,,,,,,record,,,n",
     ""},
    {"the loop moves", "G,gate,SERVING,,0,0,0,5,0,0,300,0,quiet,A:1:1:1,1200,0,0,0,ok,,,,,,,"
     "not_reached,,branch8,n", ""},
    {"clock", "C,clock,,,,,,,,,,,,,,,,,,0/1/5/0 10/1/5/1 20/1/5/0,25,,,,,10,,,n", ""},
    {"a note of the gauge alone",
     "C,clock,,,,,,,,,,,,,,,,,,0/1/5/0 10/1/6/0,15,,,,,10,,,gauge-only", ""},
    {"unknown kind", "X,lop,,,,,,,,,,,,,,,,,,,,,,,,stay,,,n",
     "X: column kind does not read: 'lop'\n"},
    {"unknown state", "X,loop,SERVED,,0,0,0,5,0,0,0,0,quiet,,,,,,,,,,,,2,stay,,,n",
     "X: column state does not read: 'SERVED'\n"},
    {"unknown engine", "X,loop,SERVING,,0,0,0,5,0,0,0,0,still,,,,,,,,,,,,2,stay,,,n",
     "X: column engine does not read: 'still'\n"},
    {"no number", "X,loop,SERVING,,0,0,0,high,0,0,0,0,quiet,,,,,,,,,,,,2,stay,,,n",
     "X: column cur_prio does not read: 'high'\n"},
    {"no candidate", "X,loop,SERVING,,0,0,0,5,0,0,0,0,quiet,A:1:1,,,,,,,,,,,2,stay,,,n",
     "X: column cands does not read: 'A:1:1'\n"},
    {"unknown flag", "X,loop,SERVING,,0,0,0,5,0,0,0,0,quiet,A:1:1:1:z,,,,,,,,,,,2,stay,,,n",
     "X: column cands does not read: 'A:1:1:1:z'\n"},
    {"no sample", "X,clock,,,,,,,,,,,,,,,,,,0/1/5,25,,,,,10,,,n",
     "X: column samples does not read: '0/1/5'\n"},
    {"no now", "X,clock,,,,,,,,,,,,,,,,,,0/1/5/0,,,,,,10,,,n",
     "X: column now does not read: ''\n"},
    {"unknown phase", "X,recover,,,,,,,,,,,,,,,,,,,,LIVELY,0,1,,adopt_run,,,n",
     "X: column phase does not read: 'LIVELY'\n"},
};

static void test_single_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_N(CASES); i++) {
        struct strbuf text, out;
        strbuf_init(&text, 4096);
        strbuf_fmt(&text, "%s%s\n", HEAD, CASES[i].row);
        struct cases_result r = run(strbuf_str(&text), &out);
        bool agrees = CASES[i].says[0] == '\0';
        if (!str_eq(strbuf_str(&out), str_of(CASES[i].says))) {
            fail_msg("row \"%s\": %s", CASES[i].name, out.n ? out.p : "agrees");
        }
        assert_int_equal(r.passed, agrees);
        assert_int_equal(r.failed, !agrees);
        strbuf_done(&out);
        strbuf_done(&text);
    }
}

static void test_no_case_file(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "id,kind\nA,loop\n", "\0\0"};
    for (size_t i = 0; i < ARRAY_N(texts); i++) {
        struct strbuf out;
        struct cases_result r = {7, 7};
        struct err err = {0};
        strbuf_init(&out, 4096);
        assert_int_equal(cases_run(str_of(texts[i]), &out, &r, &err), ERR_INVALID);
        assert_int_equal(r.passed, 7); /* untouched */
        assert_true(err.text[0] != '\0');
        strbuf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_rows_agree),
        cmocka_unit_test(test_every_row_can_fail),
        cmocka_unit_test(test_single_rows),
        cmocka_unit_test(test_no_case_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
