/* sim/cases.c - one row in, the deciders' answer out, compared as words.
 *
 * A row that cannot be read is a failed row, never a skipped one.
 * docs/spec/rotation.md, "The case file" */
#include "sim/cases.h"
#include "base/check.h"
#include "core/rotate/gate.h"
#include "core/rotate/wayback.h"
#include "sim/csv.h"

#define COLUMNS_MOST 64u
#define CANDIDATES_MOST 16u
#define NAME_MAX_BYTES 32u
#define SECOND_MOST (INT64_C(365) * 86400)

enum column {
    COL_ID, COL_KIND, COL_STATE, COL_TRANSITION, COL_RUN_LIVE, COL_IN_FLIGHT, COL_CO_IN_FLIGHT,
    COL_CUR_PRIO, COL_PINNED, COL_RESERVED, COL_IDLE, COL_DWELL, COL_ENGINE, COL_CANDS, COL_QUIET,
    COL_QUEUED, COL_DEMAND_MGR, COL_DEMAND_NODE, COL_RECORD, COL_SAMPLES, COL_NOW, COL_PHASE,
    COL_ENGINE_ALIVE, COL_RUN_ALIVE, COL_EXP_BRANCH, COL_EXP_ACTION, COL_EXP_TARGET,
    COL_EXP_REASON, COL_NOTE, COLUMNS
};

static const char *const COLUMN_NAMES[] = {
    "id", "kind", "state", "transition", "run_live", "in_flight", "co_in_flight",
    "cur_prio", "pinned", "reserved", "idle_s", "dwell_s", "engine", "cands", "quiet_s",
    "queued_here", "demand_mgr", "demand_node", "record", "samples", "now", "phase",
    "engine_alive", "run_alive", "exp_branch", "exp_action", "exp_target",
    "exp_reason", "note",
};
_Static_assert(sizeof(COLUMN_NAMES) / sizeof(*COLUMN_NAMES) == COLUMNS, "one per column");

struct row {
    struct str cell[COLUMNS];
    enum column bad; /* COLUMNS: all cells read so far are good */
};

struct outcome { /* what the row expects, or what the deciders say */
    char branch[8], action[32], target[NAME_MAX_BYTES], reason[192];
};

/* ---- cells ---- */

static struct str cell(const struct row *r, enum column c) { return str_trim(r->cell[c]); }

static void blame(struct row *r, enum column c)
{
    if (r->bad == COLUMNS) r->bad = c;
}

/* Empty and "unk" are not known. */
static struct reading read_number(struct row *r, enum column c)
{
    struct str s = cell(r, c);
    int64_t v = 0;
    if (s.n == 0 || str_eq(s, STR("unk"))) return (struct reading){0};
    if (!str_to_i64(s, &v) || v > SECOND_MOST || v < -SECOND_MOST) {
        blame(r, c);
        return (struct reading){0};
    }
    return READING(v);
}

static struct reading read_seconds(struct row *r, enum column c)
{
    struct reading s = read_number(r, c);
    if (s.known && s.v < 0) blame(r, c);
    s.v *= 1000;
    return s;
}

static enum fact read_fact(struct row *r, enum column c)
{
    struct reading n = read_number(r, c);
    if (!n.known) return FACT_UNKNOWN;
    return n.v > 0 ? FACT_YES : FACT_NO;
}

/* The index of the word among n names of an enum; n, and blame, if there is none. */
static uint32_t read_word(struct row *r, enum column c, const char *(*name)(uint32_t), uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (str_eq(cell(r, c), str_of(name(i)))) return i;
    }
    blame(r, c);
    return n;
}

static const char *state_name(uint32_t i) { return rotate_state_name((enum rotate_state)i); }
static const char *engine_name(uint32_t i) { return rotate_engine_name((enum rotate_engine)i); }
static const char *phase_name(uint32_t i) { return wayback_phase_name((enum wayback_phase)i); }

/* ---- loop and gate ---- */

struct candidates {
    struct rotate_candidate v[CANDIDATES_MOST];
    char names[CANDIDATES_MOST][NAME_MAX_BYTES];
    uint32_t n;
};

static bool apply_flag(struct rotate_candidate *c, char flag)
{
    switch (flag) {
    case 's': c->fresh = FACT_NO; return true;
    case 'u': c->readable = FACT_NO; return true;
    case 'i': c->fits = FACT_NO; return true;
    case 'c': c->co_resident = FACT_YES; return true;
    case 'b': c->backed_off = FACT_YES; return true;
    default: return false;
    }
}

/* NAME:priority:waiting:oldest_s[:flags] */
static bool parse_candidate(struct str s, struct candidates *all)
{
    if (all->n == CANDIDATES_MOST) return false;
    struct rotate_candidate c = {.readable = FACT_YES, .fresh = FACT_YES, .fits = FACT_YES,
                                 .co_resident = FACT_NO, .backed_off = FACT_NO};
    struct str name, part[3];
    int64_t v[3];
    str_cut(&s, ':', &name);
    for (int i = 0; i < 3; i++) {
        str_cut(&s, ':', &part[i]);
        if (!str_to_i64(part[i], &v[i]) || v[i] > SECOND_MOST || v[i] < -SECOND_MOST) return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (!apply_flag(&c, s.p[i])) return false;
    }
    if (name.n == 0 || v[1] < 0 || v[2] < 0) return false;
    if (!text_set(all->names[all->n], NAME_MAX_BYTES, name)) return false;
    c.name = all->names[all->n];
    c.priority = (int32_t)v[0];
    c.waiting = (uint32_t)v[1];
    c.oldest_ms = v[2] * 1000;
    all->v[all->n++] = c;
    return true;
}

static void read_candidates(struct row *r, struct candidates *all)
{
    struct str rest = cell(r, COL_CANDS), one;
    while (rest.n > 0) {
        str_cut(&rest, ' ', &one);
        if (one.n > 0 && !parse_candidate(one, all)) blame(r, COL_CANDS);
    }
}

static struct rotate_facts read_facts(struct row *r, struct candidates *all)
{
    read_candidates(r, all);
    struct rotate_facts f = {
        .state = (enum rotate_state)read_word(r, COL_STATE, state_name, ROTATE_STATES),
        .transition = read_fact(r, COL_TRANSITION) == FACT_YES,
        .run_live = read_fact(r, COL_RUN_LIVE),
        .in_flight = read_fact(r, COL_IN_FLIGHT),
        .co_in_flight = read_fact(r, COL_CO_IN_FLIGHT),
        .pinned = read_fact(r, COL_PINNED),
        .reserved = read_fact(r, COL_RESERVED),
        .engine = (enum rotate_engine)read_word(r, COL_ENGINE, engine_name, ENGINE_STATES),
        .cur_prio = read_number(r, COL_CUR_PRIO),
        .idle_ms = read_seconds(r, COL_IDLE),
        .dwell_ms = read_seconds(r, COL_DWELL),
        .candidates = all->v,
        .n_candidates = all->n,
    };
    return f;
}

static void run_loop(struct row *r, struct outcome *got)
{
    struct candidates all = {.n = 0};
    struct rotate_facts f = read_facts(r, &all);
    if (r->bad != COLUMNS) return;
    struct rotate_verdict v = rotate_decide(&ROTATE_LIMITS_DEFAULT, &f);
    text_fmt(got->branch, sizeof(got->branch), v.branch == ROTATE_NONE ? "-" : "%d", v.branch);
    TEXT_CLIP(got->action, str_of(rotate_action_name(v.action)));
    if (v.target != ROTATE_NO_TARGET) TEXT_CLIP(got->target, str_of(f.candidates[v.target].name));
    TEXT_CLIP(got->reason, str_of(rotate_branch_name(v.branch)));
}

/* Empty: not tried.  "ok", or a word for what failed. */
static enum fact read_record(const struct row *r)
{
    struct str s = cell(r, COL_RECORD);
    if (s.n == 0) return FACT_UNKNOWN;
    return str_eq(s, STR("ok")) ? FACT_YES : FACT_NO;
}

static void list_refusals(uint32_t refused, struct outcome *got)
{
    size_t n = 0;
    for (enum gate_check c = GATE_PINNED; c < GATE_CHECKS; c++) {
        if ((refused >> c & 1) == 0) continue;
        n += (size_t)text_fmt(got->reason + n, sizeof(got->reason) - n, "%s%s", n ? " " : "",
                              gate_check_name(c));
    }
}

static void run_gate(struct row *r, bool alone, struct outcome *got)
{
    struct candidates all = {.n = 0};
    struct gate_facts f = {
        .here = read_facts(r, &all),
        .run_fits = FACT_YES,
        .queued = read_fact(r, COL_QUEUED),
        .quiet_ms = read_seconds(r, COL_QUIET),
        .demand_manager = read_fact(r, COL_DEMAND_MGR),
        .demand_node = read_fact(r, COL_DEMAND_NODE),
        .epochs_agree = FACT_YES,
        .way_back = read_record(r),
    };
    if (r->bad != COLUMNS) return;
    struct rotate_verdict loop = rotate_decide(&ROTATE_LIMITS_DEFAULT, &f.here);
    struct gate_verdict v = alone ? gate_decide(&ROTATE_LIMITS_DEFAULT, &f)
                                  : gate_ask(&ROTATE_LIMITS_DEFAULT, &f);
    TEXT_CLIP(got->action, str_of(gate_answer_name(v.answer)));
    list_refusals(v.refused, got);
    if (v.answer == GATE_NOT_REACHED) {
        text_fmt(got->reason, sizeof(got->reason), "branch%d", loop.branch);
    }
}

/* ---- clock ---- */

/* monotonic/start/counter/running, in seconds; monotonic/x: the read failed. */
static bool parse_sample(struct str s, bool gauge_only, struct quiet_sample *ret)
{
    struct str at, part[3];
    int64_t v[3] = {0}, at_s = 0;
    struct quiet_sample q = {0};
    str_cut(&s, '/', &at);
    if (!str_to_i64(at, &at_s) || at_s < 0 || at_s > SECOND_MOST) return false;
    q.at_ms = at_s * 1000;
    q.failed = str_eq(s, STR("x"));
    for (int i = 0; i < 3 && !q.failed; i++) {
        str_cut(&s, '/', &part[i]);
        if (!str_to_i64(part[i], &v[i])) return false;
    }
    if (s.n > 0 && !q.failed) return false;
    q.start = READING(v[0]);
    if (!gauge_only) q.counter = READING(v[1]);
    q.gauge = READING(v[2]);
    *ret = q;
    return true;
}

static bool says_gauge_only(struct str note)
{
    struct str want = STR("gauge-only");
    for (size_t i = 0; i + want.n <= note.n; i++) {
        if (str_eq(str_n(note.p + i, want.n), want)) return true;
    }
    return false;
}

static void run_clock(struct row *r, struct outcome *got)
{
    bool gauge_only = says_gauge_only(cell(r, COL_NOTE));
    struct quiet_profile profile = {.counter = !gauge_only, .gauge = true};
    struct quiet q = {0};
    struct str rest = cell(r, COL_SAMPLES), one;
    while (rest.n > 0) {
        struct quiet_sample s;
        str_cut(&rest, ' ', &one);
        if (one.n == 0) continue;
        if (parse_sample(one, gauge_only, &s)) quiet_add(&ROTATE_LIMITS_DEFAULT, &profile, &q, &s);
        else blame(r, COL_SAMPLES);
    }
    struct reading now = read_seconds(r, COL_NOW);
    if (!now.known) blame(r, COL_NOW);
    if (r->bad != COLUMNS) return;
    struct reading span = quiet_span(&ROTATE_LIMITS_DEFAULT, &q, now.v);
    if (!span.known) TEXT_CLIP(got->action, STR("unk"));
    else text_fmt(got->action, sizeof(got->action), "%lld", (long long)(span.v / 1000));
}

/* ---- recover ---- */

static void run_recover(struct row *r, struct outcome *got)
{
    struct wayback_seen seen = {
        .phase = (enum wayback_phase)read_word(r, COL_PHASE, phase_name, WAYBACK_PHASES),
        .engine_alive = read_fact(r, COL_ENGINE_ALIVE),
        .run_alive = read_fact(r, COL_RUN_ALIVE),
        .rebooted = FACT_NO,
    };
    if (r->bad != COLUMNS) return;
    seen.engine_healthy = seen.engine_same_start = seen.engine_alive;
    TEXT_CLIP(got->action, str_of(wayback_action_name(wayback_recover(&seen))));
}

/* ---- what was expected ---- */

static void decide_row(struct row *r, struct outcome *got)
{
    struct str kind = cell(r, COL_KIND);
    if (str_eq(kind, STR("loop"))) run_loop(r, got);
    else if (str_eq(kind, STR("gate"))) run_gate(r, false, got);
    else if (str_eq(kind, STR("gate_only"))) run_gate(r, true, got);
    else if (str_eq(kind, STR("clock"))) run_clock(r, got);
    else if (str_eq(kind, STR("recover"))) run_recover(r, got);
    else blame(r, COL_KIND);
}

/* One word is the headline; several are all that refuse, in their order. */
static bool reasons_agree(struct str want, struct str got)
{
    struct str headline, all = got;
    str_cut(&got, ' ', &headline);
    return want.n == 0 || str_eq(want, headline) || str_eq(want, all);
}

/* Case files have more than one word for what follows when all eleven checks pass. */
static bool action_agrees(struct str want, struct str got)
{
    bool passes = str_eq(got, str_of(gate_answer_name(GATE_DRAIN)));
    bool other_word = str_eq(want, STR("pass")) || str_eq(want, STR("allow")) ||
                      str_eq(want, STR("train"));
    return str_eq(want, got) || (passes && other_word);
}

/* Columns that a kind does not fill are empty on both sides; an expected branch or
 * reason that is empty is not asked for. */
static bool row_agrees(const struct row *r, const struct outcome *got)
{
    struct str branch = cell(r, COL_EXP_BRANCH);
    if (r->bad != COLUMNS) return false;
    if (branch.n > 0 && !str_eq(branch, str_of(got->branch))) return false;
    if (!action_agrees(cell(r, COL_EXP_ACTION), str_of(got->action))) return false;
    if (!str_eq(cell(r, COL_EXP_TARGET), str_of(got->target))) return false;
    return reasons_agree(cell(r, COL_EXP_REASON), str_of(got->reason));
}

static void put_words(struct strbuf *out, const struct str words[4])
{
    for (int i = 0; i < 4; i++) {
        if (words[i].n == 0) continue;
        strbuf_puts(out, i == 0 ? " branch " : " ");
        strbuf_put(out, words[i]);
    }
}

static void say_disagreement(struct strbuf *out, const struct row *r, const struct outcome *got)
{
    strbuf_put(out, cell(r, COL_ID));
    if (r->bad != COLUMNS) {
        strbuf_fmt(out, ": column %s does not read: '", COLUMN_NAMES[r->bad]);
        strbuf_put(out, cell(r, r->bad));
        strbuf_puts(out, "'\n");
        return;
    }
    strbuf_puts(out, ": expected");
    put_words(out, (struct str[4]){cell(r, COL_EXP_BRANCH), cell(r, COL_EXP_ACTION),
                                   cell(r, COL_EXP_TARGET), cell(r, COL_EXP_REASON)});
    strbuf_puts(out, ", got");
    put_words(out, (struct str[4]){str_of(got->branch), str_of(got->action),
                                   str_of(got->target), str_of(got->reason)});
    strbuf_puts(out, " (");
    strbuf_put(out, cell(r, COL_NOTE));
    strbuf_puts(out, ")\n");
}

/* ---- the file ---- */

/* Where each column stands: columns may come in any order, and more than we know. */
static int map_columns(struct str *rest, uint32_t at[COLUMNS], struct err *err)
{
    struct str head[COLUMNS_MOST];
    if (!csv_row(rest, head, COLUMNS_MOST)) {
        return err_set(err, ERR_INVALID, "no cases: the file is empty");
    }
    for (uint32_t c = 0; c < COLUMNS; c++) {
        uint32_t i = 0;
        while (i < COLUMNS_MOST && !str_eq(str_trim(head[i]), str_of(COLUMN_NAMES[c]))) i++;
        if (i == COLUMNS_MOST) {
            return err_set(err, ERR_INVALID, "no file of cases: its first line has no column %s",
                           COLUMN_NAMES[c]);
        }
        at[c] = i;
    }
    return 0;
}

int cases_run(struct str text, struct strbuf *out, struct cases_result *ret, struct err *err)
{
    uint32_t at[COLUMNS];
    struct cases_result sum = {0};
    struct str cells[COLUMNS_MOST];
    int rc = map_columns(&text, at, err);
    if (rc != 0) return rc;
    while (csv_row(&text, cells, COLUMNS_MOST)) {
        struct row r = {.bad = COLUMNS};
        struct outcome got = {.branch = ""};
        for (uint32_t c = 0; c < COLUMNS; c++) r.cell[c] = cells[at[c]];
        if (cell(&r, COL_ID).n == 0 && cell(&r, COL_KIND).n == 0) continue; /* an empty line */
        decide_row(&r, &got);
        bool agrees = row_agrees(&r, &got);
        if (!agrees) say_disagreement(out, &r, &got);
        sum.passed += agrees;
        sum.failed += !agrees;
    }
    *ret = sum;
    return 0;
}
