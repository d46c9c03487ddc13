/* programs/sim_queue.c - `rota sim queue`: what if, on an export of the live queue. */
#include <argp.h>
#include <stdio.h>

#include "base/fmt.h"
#include "cli/say.h"
#include "programs/sim.h"
#include "sim/whatif.h"
#include "wire/snapshot.h"

enum { KEY_SNAPSHOT = 300, KEY_POLICY, KEY_GROUP, KEY_ADD, KEY_DRAIN, KEY_USE };

struct queue_args {
    struct whatif_change change;
    const char *file;
    bool json, changed;
};

static const struct argp_option options[] = {
    {"snapshot", KEY_SNAPSHOT, "FILE", 0, "What `rota admin snapshot` wrote (- is stdin)", 1},
    {"policy", KEY_POLICY, "NAME=VALUE", 0,
     "on_blocked=stop|skip|backfill, order=fifo|lifo, reserve_depth=N, strategy=NAME", 2},
    {"group", KEY_GROUP, "NAME", 0, "Of this group alone", 2},
    {"add-nodes", KEY_ADD, "N:NODE", 0, "N more machines like NODE", 2},
    {"drain", KEY_DRAIN, "NODE@TIME", 0, "Nothing new on NODE from then on: n3@2h", 2},
    {"use", KEY_USE, "PERCENT", 0, "What sessions really use of their time limits (100)", 2},
    {"output", 'o', "json", 0, "Print JSON", 3},
    {0},
};

static const char doc[] =
    "When would what waits start, under another policy, with more machines, or while some are "
    "drained?  Today's policy is computed as well, and who gains and who loses is shown.\v"
    "Examples:\n"
    "  rota admin snapshot > now.json\n"
    "  rota sim queue --snapshot now.json\n"
    "  rota sim queue --snapshot now.json --policy on_blocked=skip\n"
    "  rota sim queue --snapshot now.json --add-nodes 2:n1 --drain n3@2h\n\n"
    "The scheduler's own code decides.  Sessions run until their time limit, or the share of it "
    "that --use says; what has none runs on.  Nothing new arrives.";

/* ---- options */

static void set_policy(struct argp_state *state, struct whatif_change *c, const char *arg)
{
    struct str value = str_of(arg), key;
    int32_t n = 0;
    uint64_t depth = 0;
    bool fine = str_cut(&value, '=', &key);
    if (fine && str_eq(key, STR("on_blocked"))) {
        fine = wire_name_find(names_on_blocked, value, &n);
        c->on_blocked = (enum on_blocked)n;
    } else if (fine && str_eq(key, STR("order"))) {
        fine = wire_name_find(names_queue_order, value, &n);
        c->order = (enum queue_order)n;
    } else if (fine && str_eq(key, STR("strategy"))) {
        fine = wire_name_find(names_place_strategy, value, &n);
        c->strategy = (enum place_strategy)n;
    } else if (fine && str_eq(key, STR("reserve_depth"))) {
        fine = str_to_u64(value, &depth) && depth >= 1 && depth <= UINT32_MAX;
        c->reserve_depth = (uint32_t)depth;
    } else {
        fine = false;
    }
    if (!fine) argp_error(state, "--policy %s: expected on_blocked=, order=, reserve_depth= or "
                          "strategy= with one of its values", arg);
}

static void set_nodes(struct argp_state *state, struct whatif_change *c, const char *arg)
{
    struct str name = str_of(arg), count;
    uint64_t n = 0;
    bool fine = str_cut(&name, ':', &count) && str_to_u64(count, &n) && n >= 1 && n <= 10000 &&
                TEXT_SET(c->like, name) && name.n > 0;
    if (!fine) argp_error(state, "--add-nodes %s: expected a number and a node, such as 2:n1", arg);
    c->add_nodes = (uint32_t)n;
}

static void set_drain(struct argp_state *state, struct whatif_change *c, const char *arg)
{
    struct str at = str_of(arg), name;
    struct whatif_drain d = {.at_ms = 0};
    bool fine = str_cut(&at, '@', &name) && fmt_parse_duration(at, &d.at_ms) &&
                TEXT_SET(d.node, name) && name.n > 0;
    if (!fine) argp_error(state, "--drain %s: expected a node and a time, such as n3@2h", arg);
    if (c->n_drains == WHATIF_DRAINS_MAX)
        argp_error(state, "--drain: at most %d", WHATIF_DRAINS_MAX);
    c->drains[c->n_drains++] = d;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct queue_args *a = state->input;
    uint64_t n = 0;
    if (key == KEY_POLICY || key == KEY_ADD || key == KEY_DRAIN) a->changed = true;
    switch (key) {
    case KEY_SNAPSHOT: a->file = arg; return 0;
    case KEY_POLICY: set_policy(state, &a->change, arg); return 0;
    case KEY_ADD: set_nodes(state, &a->change, arg); return 0;
    case KEY_DRAIN: set_drain(state, &a->change, arg); return 0;
    case KEY_GROUP:
        if (!TEXT_SET(a->change.group, str_of(arg))) argp_error(state, "--group: too long");
        return 0;
    case KEY_USE:
        if (!str_to_u64(str_of(arg), &n) || n < 1 || n > 100)
            argp_error(state, "--use %s: expected 1 to 100", arg);
        a->change.use_percent = (uint32_t)n;
        return 0;
    case 'o':
        if (strcmp(arg, "json") != 0) argp_error(state, "-o %s: expected json", arg);
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one too many: give --snapshot FILE", arg);
        return 0;
    case ARGP_KEY_END:
        if (!a->file) argp_error(state, "which queue? give --snapshot FILE");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp queue_argp = {options, parse, NULL, doc, NULL, NULL, NULL};

/* ---- running it */

static int run_once(const struct snapshot_rows *rows, const struct whatif_change *change,
                    struct whatif *ret, struct err *err)
{
    struct world *w = world_new();
    int rc = snapshot_load(rows, w, err);
    if (rc == 0) rc = whatif_run(w, change, ret, err);
    world_free(w);
    return rc;
}

static void put_time(struct strbuf *b, int64_t ms)
{
    if (ms == WHATIF_NEVER) strbuf_puts(b, "-");
    else if (ms < 1000) strbuf_puts(b, "now");
    else fmt_duration(b, ms / 1000 * 1000);
}

static void put_change(struct strbuf *b, int64_t before, int64_t after)
{
    if (before == after) return;
    if (before == WHATIF_NEVER) strbuf_puts(b, "starts at all");
    else if (after == WHATIF_NEVER) strbuf_puts(b, "never starts");
    else {
        fmt_duration(b, (before > after ? before - after : after - before) / 1000 * 1000);
        strbuf_puts(b, after < before ? " earlier" : " later");
    }
}

static const struct session *session_of(const struct snapshot_rows *rows, uint64_t id)
{
    VEC_EACH(r, &rows->sessions) if (r->session.id == id) return &r->session;
    return NULL;
}

static void put_json_ms(struct strbuf *b, const char *key, int64_t ms)
{
    if (ms == WHATIF_NEVER) strbuf_fmt(b, ",\"%s\":null", key);
    else strbuf_fmt(b, ",\"%s\":%lld", key, (long long)ms);
}

static void print_json(const struct snapshot_rows *rows, const struct whatif *today,
                       const struct whatif *then, struct strbuf *b)
{
    strbuf_puts(b, "[");
    for (uint32_t i = 0; i < today->starts.n; i++) {
        const struct session *s = session_of(rows, today->starts.v[i].session);
        strbuf_fmt(b, "%s{\"id\":\"s%llu\",\"name\":", i ? "," : "", (unsigned long long)s->id);
        strbuf_json(b, str_of(s->name));
        put_json_ms(b, "today_ms", today->starts.v[i].start_ms);
        put_json_ms(b, "then_ms", then->starts.v[i].start_ms);
        strbuf_puts(b, "}");
    }
    strbuf_puts(b, "]\n");
}

struct sums { uint32_t gain, lose, never_today, never_then; int64_t today_ms, then_ms; };

static void count(struct sums *n, int64_t today, int64_t then)
{
    n->gain += then < today;
    n->lose += then > today;
    n->never_today += today == WHATIF_NEVER;
    n->never_then += then == WHATIF_NEVER;
    if (today == WHATIF_NEVER || then == WHATIF_NEVER) return;
    n->today_ms += today;
    n->then_ms += then;
}

static void print_table(const struct queue_args *a, const struct snapshot_rows *rows,
                        const struct whatif *today, const struct whatif *then, struct strbuf *b)
{
    struct sums n = {0};
    strbuf_fmt(b, "%-8s %-24s %-14s %s\n", "ID", "NAME", "STARTS IN",
               a->changed ? "THEN           CHANGE" : "");
    for (uint32_t i = 0; i < today->starts.n; i++) {
        const struct session *s = session_of(rows, today->starts.v[i].session);
        int64_t before = today->starts.v[i].start_ms, after = then->starts.v[i].start_ms;
        char id[24];
        AUTO_STRBUF struct strbuf one, two;
        strbuf_init(&one, 128);
        strbuf_init(&two, 128);
        session_id_format(s->id, id);
        put_time(&one, before);
        put_time(&two, after);
        strbuf_fmt(b, "%-8s %-24s %-14s ", id, strcmp(id, s->name) ? s->name : "", one.p);
        if (a->changed) {
            strbuf_fmt(b, "%-14s ", two.p);
            put_change(b, before, after);
        }
        strbuf_puts(b, "\n");
        count(&n, before, after);
    }
    strbuf_fmt(b, "%u wait, %u of them without a date", today->starts.n, n.never_today);
    if (a->changed)
        strbuf_fmt(b, "; then %u gain, %u lose, %u without a date", n.gain, n.lose, n.never_then);
    strbuf_puts(b, "\n");
}

int sim_queue(int argc, char **argv)
{
    struct queue_args a = {.json = false};
    struct whatif_change same = {.use_percent = 0};
    struct whatif today = {{0}}, then = {{0}};
    struct snapshot_rows rows;
    struct err err = {0};
    AUTO_STRBUF struct strbuf text, out;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&queue_argp, argc, argv, 0, NULL, &a) != 0) return EXIT_USAGE;
    strbuf_init(&text, SIM_FILE_MAX);
    strbuf_init(&out, SIM_FILE_MAX);
    if (sim_read(a.file, &text, &err) != 0) return say_err(&err, EXIT_FAILED);
    if (wire_parse(&wire_snapshot, strbuf_str(&text), &rows, &err) != 0) {
        err_prefix(&err, "%s", a.file);
        return say_err(&err, EXIT_FAILED);
    }
    same.use_percent = a.change.use_percent;
    int rc = run_once(&rows, &same, &today, &err);
    if (rc == 0) rc = run_once(&rows, &a.change, &then, &err);
    if (rc == 0 && a.json) print_json(&rows, &today, &then, &out);
    else if (rc == 0) print_table(&a, &rows, &today, &then, &out);
    if (rc == 0) say_out(strbuf_str(&out));
    whatif_done(&today);
    whatif_done(&then);
    wire_free(&wire_snapshot, &rows);
    return rc == 0 ? 0 : say_err(&err, EXIT_FAILED);
}
