/* sim/rotation_report.c - where the hours went, as a table and as JSON.
 *
 * Hours are those of the span; what happens while the fleet comes to rest is checked
 * but not counted. */
#include "base/check.h"
#include "base/fmt.h"
#include "sim/rotation.h"

#define HOUR_MS INT64_C(3600000)
#define LABEL_COLUMNS 34
#define COLUMN 14

static const char *const POLICIES[] = {"rota", "box", "eager", "hasty"};
_Static_assert(sizeof(POLICIES) / sizeof(*POLICIES) == ROTATION_POLICIES, "one per policy");

static const char *const USES[] = {"serving", "training", "loading", "draining", "restoring",
                                   "idle", "unbound", "down"};
_Static_assert(sizeof(USES) / sizeof(*USES) == ROTATION_USES, "one per use");

static const char *const FAULTS[] = {
    "agent_kill", "step_kill", "reboot", "engine_crash", "engine_intrudes", "metrics",
    "gauge_stuck", "driver", "port", "noise", "device", "manager_away", "manager_old",
    "calls_lost", "proxy_mute", "pin", "reserve", "disk_full", "record_corrupt",
    "memory_stuck", "bind_fails", "verify_fails", "run_crash",
    "late_work"};
_Static_assert(sizeof(FAULTS) / sizeof(*FAULTS) == ROTATION_FAULTS, "one per fault");

static const char *const BREAKS[] = {
    "nothing", "run_beside_engine", "engine_beside_run", "lose_record", "ignore_gate",
    "unknown_is_fine", "skip_second_asking", "drop_request", "no_claim", "two_runs", "kill_run",
    "ignore_pin", "ignore_dwell", "ignore_keep", "no_restore", "forget_run", "ignore_intruder",
    "silent_death", "ignore_reserve", "no_measure", "any_priority"};
_Static_assert(sizeof(BREAKS) / sizeof(*BREAKS) == ROTATION_BREAKS, "one per break");

const char *rotation_policy_name(enum rotation_policy p)
{
    CHECK(p < ROTATION_POLICIES);
    return POLICIES[p];
}

const char *rotation_use_name(enum rotation_use u)
{
    CHECK(u < ROTATION_USES);
    return USES[u];
}

const char *rotation_fault_name(enum rotation_fault f)
{
    CHECK(f < ROTATION_FAULTS);
    return FAULTS[f];
}

const char *rotation_break_name(enum rotation_break b)
{
    CHECK(b < ROTATION_BREAKS);
    return BREAKS[b];
}

/* ---- the rows: one list for the table and for JSON ---- */

enum unit { UNIT_COUNT = 0, UNIT_HOURS, UNIT_WAIT, UNIT_WAIT_MS };

struct row { const char *label, *key; enum unit unit; int64_t v; };
#define ROWS_MAX 64u
struct rows { struct row v[ROWS_MAX]; uint32_t n; };

static void add(struct rows *rows, const char *label, const char *key, enum unit unit, int64_t v)
{
    CHECK(rows->n < ROWS_MAX);
    rows->v[rows->n++] = (struct row){label, key, unit, v};
}

static void add_hours(struct rows *rows, const struct rotation_result *r)
{
    int64_t worked = r->use_ms[USE_SERVING] + r->use_ms[USE_TRAINING];
    add(rows, "worked", "worked_ms", UNIT_HOURS, worked);
    add(rows, "  a request in flight", "serving_ms", UNIT_HOURS, r->use_ms[USE_SERVING]);
    add(rows, "  a run live", "training_ms", UNIT_HOURS, r->use_ms[USE_TRAINING]);
    add(rows, "    of it for nothing", "wasted_ms", UNIT_HOURS, r->wasted_ms);
    add(rows, "loading an engine", "loading_ms", UNIT_HOURS, r->use_ms[USE_LOADING]);
    add(rows, "draining", "draining_ms", UNIT_HOURS, r->use_ms[USE_DRAINING]);
    add(rows, "restoring", "restoring_ms", UNIT_HOURS, r->use_ms[USE_RESTORING]);
    add(rows, "bound, nothing to do", "idle_ms", UNIT_HOURS, r->use_ms[USE_IDLE]);
    add(rows, "unbound", "unbound_ms", UNIT_HOURS, r->use_ms[USE_UNBOUND]);
    add(rows, "down", "down_ms", UNIT_HOURS, r->use_ms[USE_DOWN]);
}

static void add_requests(struct rows *rows, const struct rotation_result *r)
{
    add(rows, "requests", "requests", UNIT_COUNT, (int64_t)r->requests);
    add(rows, "  answered", "answered", UNIT_COUNT, (int64_t)r->done);
    add(rows, "  lost", "lost", UNIT_COUNT, (int64_t)r->lost);
    add(rows, "told to come again (503)", "refused", UNIT_COUNT, (int64_t)r->refused);
    add(rows, "cut off while answering", "aborted", UNIT_COUNT, (int64_t)r->aborted);
    add(rows, "held again after an interruption", "reheld", UNIT_COUNT, (int64_t)r->reheld);
    add(rows, "direct requests", "direct", UNIT_COUNT, (int64_t)r->direct);
    add(rows, "  cut off", "direct_aborted", UNIT_COUNT, (int64_t)r->direct_aborted);
    add(rows, "wait, mean", "wait_mean_ms", UNIT_WAIT, r->wait.mean_ms);
    add(rows, "wait, p50", "wait_p50_ms", UNIT_WAIT, r->wait.p50_ms);
    add(rows, "wait, p99", "wait_p99_ms", UNIT_WAIT, r->wait.p99_ms);
    add(rows, "wait, longest", "wait_most_ms", UNIT_WAIT, r->wait.most_ms);
}

static void add_moves(struct rows *rows, const struct rotation_result *r)
{
    add(rows, "runs asked for", "runs", UNIT_COUNT, (int64_t)r->runs);
    add(rows, "  begun", "runs_begun", UNIT_COUNT, (int64_t)r->runs_begun);
    add(rows, "  ended well", "runs_done", UNIT_COUNT, (int64_t)r->runs_done);
    add(rows, "  ended otherwise", "runs_failed", UNIT_COUNT, (int64_t)r->runs_failed);
    add(rows, "  queued again", "runs_requeued", UNIT_COUNT, (int64_t)r->runs_requeued);
    add(rows, "binds", "binds", UNIT_COUNT, (int64_t)r->binds);
    add(rows, "moves", "moves", UNIT_COUNT, (int64_t)r->moves);
    add(rows, "  that interrupted", "interrupts", UNIT_COUNT, (int64_t)r->interrupts);
    add(rows, "  that failed to load", "failed_binds", UNIT_COUNT, (int64_t)r->failed_binds);
    add(rows, "drains", "drains", UNIT_COUNT, (int64_t)r->drains);
    add(rows, "  given up", "aborted_drains", UNIT_COUNT, (int64_t)r->aborted_drains);
    add(rows, "restores", "restores", UNIT_COUNT, (int64_t)r->restores);
    add(rows, "decisions", "decisions", UNIT_COUNT, (int64_t)r->ticks);
}

static void fill(struct rows *rows, const struct rotation_result *r)
{
    rows->n = 0;
    add_hours(rows, r);
    add_requests(rows, r);
    add_moves(rows, r);
}

/* ---- as a table ---- */

static void put_value(struct strbuf *b, const struct row *row)
{
    char text[32];
    struct strbuf t;
    strbuf_init(&t, sizeof(text));
    if (row->unit == UNIT_HOURS)
        strbuf_fmt(&t, "%lld.%lld h", (long long)(row->v / HOUR_MS),
                   (long long)(row->v % HOUR_MS * 10 / HOUR_MS));
    else if (row->unit == UNIT_WAIT) fmt_duration(&t, row->v);
    else strbuf_i64(&t, row->v);
    text_clip(text, sizeof(text), strbuf_str(&t));
    strbuf_done(&t);
    strbuf_fmt(b, "%*s", COLUMN, text);
}

static void put_pool_waits(struct strbuf *b, const struct rotation_options *o,
                           const struct rotation_result *results, uint32_t n)
{
    for (uint32_t pool = 0; pool < o->pools; pool++) {
        char label[64];
        text_fmt(label, sizeof(label), "  p99 of pool%u", pool + 1);
        strbuf_fmt(b, "%-*s", LABEL_COLUMNS, label);
        for (uint32_t i = 0; i < n; i++) {
            struct row row = {.unit = UNIT_WAIT, .v = results[i].pool_wait[pool].p99_ms};
            put_value(b, &row);
        }
        strbuf_putc(b, '\n');
    }
}

/* What kept a rotor where it was: branches of the loop, checks of the gate, claims. */
static void put_reasons(struct strbuf *b, const struct rotation_result *r)
{
    strbuf_puts(b, "\nWhy rota stayed, or moved (decisions by branch)\n");
    for (uint32_t i = 1; i < ROTATE_BRANCHES; i++) {
        const char *text = rotate_branch_text((enum rotate_branch)i);
        strbuf_fmt(b, "  %u %10llu  %s\n", i, (unsigned long long)r->branches[i], text);
    }
    strbuf_puts(b, "\nWhy the gate refused (by headline)\n");
    for (uint32_t i = 1; i < GATE_CHECKS; i++) {
        if (r->checks[i] == 0) continue;
        const char *text = gate_check_text((enum gate_check)i);
        strbuf_fmt(b, " %2u %10llu  %s\n", i, (unsigned long long)r->checks[i], text);
    }
    strbuf_puts(b, "\nWhat the manager answered to claims\n");
    for (uint32_t i = 0; i < CLAIM_ANSWERS; i++) {
        if (r->claims[i] == 0) continue;
        const char *text = rotate_claim_text((enum rotate_claim)i);
        strbuf_fmt(b, "    %10llu  %s\n", (unsigned long long)r->claims[i], text);
    }
}

void rotation_report_text(struct strbuf *b, const struct rotation_options *options,
                          const struct rotation_result *results,
                          const enum rotation_policy *policies, uint32_t n)
{
    CHECK(n > 0 && n <= ROTATION_POLICIES);
    struct rows rows[ROTATION_POLICIES];
    for (uint32_t i = 0; i < n; i++) fill(&rows[i], &results[i]);
    strbuf_fmt(b, "%u rotors, %u pools, ", options->rotors, options->pools);
    fmt_duration(b, options->span_ms);
    strbuf_fmt(b, ", seed %llu%s\n\n%*s", (unsigned long long)options->seed,
               options->faults ? ", with faults" : "", LABEL_COLUMNS, "");
    for (uint32_t i = 0; i < n; i++)
        strbuf_fmt(b, "%*s", COLUMN, rotation_policy_name(policies[i]));
    strbuf_putc(b, '\n');
    for (uint32_t k = 0; k < rows[0].n; k++) {
        strbuf_fmt(b, "%-*s", LABEL_COLUMNS, rows[0].v[k].label);
        for (uint32_t i = 0; i < n; i++) put_value(b, &rows[i].v[k]);
        strbuf_putc(b, '\n');
        if (strcmp(rows[0].v[k].key, "wait_most_ms") == 0)
            put_pool_waits(b, options, results, n);
    }
    for (uint32_t i = 0; i < n; i++)
        if (policies[i] == ROTATION_ROTA) put_reasons(b, &results[i]);
}

/* ---- as JSON ---- */

static void put_counts(struct strbuf *b, const char *key, const uint64_t *counts, uint32_t n,
                       const char *(*name)(uint32_t i))
{
    strbuf_fmt(b, ",\"%s\":{", key);
    bool first = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!name(i)) continue;
        strbuf_puts(b, first ? "" : ",");
        strbuf_json(b, str_of(name(i)));
        strbuf_fmt(b, ":%llu", (unsigned long long)counts[i]);
        first = false;
    }
    strbuf_putc(b, '}');
}

static const char *branch_key(uint32_t i)
{
    static const char *const keys[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
    _Static_assert(sizeof(keys) / sizeof(*keys) + 1 == ROTATE_BRANCHES, "one per branch");
    return i > 0 ? keys[i - 1] : NULL;
}
static const char *check_key(uint32_t i)
{
    return i > 0 ? gate_check_name((enum gate_check)i) : NULL;
}
static const char *claim_key(uint32_t i) { return rotate_claim_name((enum rotate_claim)i); }
static const char *fault_key(uint32_t i) { return rotation_fault_name((enum rotation_fault)i); }

static void put_result(struct strbuf *b, const struct rotation_result *r, const char *policy,
                       uint32_t pools)
{
    struct rows rows;
    fill(&rows, r);
    strbuf_fmt(b, "{\"policy\":\"%s\"", policy);
    for (uint32_t i = 0; i < rows.n; i++)
        strbuf_fmt(b, ",\"%s\":%lld", rows.v[i].key, (long long)rows.v[i].v);
    strbuf_puts(b, ",\"pool_wait_p99_ms\":[");
    for (uint32_t i = 0; i < pools; i++)
        strbuf_fmt(b, "%s%lld", i > 0 ? "," : "", (long long)r->pool_wait[i].p99_ms);
    strbuf_puts(b, "]");
    put_counts(b, "branches", r->branches, ROTATE_BRANCHES, branch_key);
    put_counts(b, "checks", r->checks, GATE_CHECKS, check_key);
    put_counts(b, "claims", r->claims, CLAIM_ANSWERS, claim_key);
    put_counts(b, "faults", r->faults, ROTATION_FAULTS, fault_key);
    strbuf_putc(b, '}');
}

void rotation_report_json(struct strbuf *b, const struct rotation_options *options,
                          const struct rotation_result *results,
                          const enum rotation_policy *policies, uint32_t n)
{
    strbuf_fmt(b, "{\"rotors\":%u,\"pools\":%u,\"span_ms\":%lld,\"seed\":%llu,\"faults\":%s,"
               "\"results\":[", options->rotors, options->pools, (long long)options->span_ms,
               (unsigned long long)options->seed, options->faults ? "true" : "false");
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(b, i > 0 ? "," : "");
        put_result(b, &results[i], rotation_policy_name(policies[i]), options->pools);
    }
    strbuf_puts(b, "]}\n");
}
