/* cli/sessions.c - `rota ps`, `show`, `why`, `queue`, `history`: reading about sessions. */
#include <stdlib.h>

#include "base/fmt.h"
#include "cli/args.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/table.h"

enum { PAGE = 500, LIST_MAX = 256 * 1024 * 1024 };

/* ---- small texts ---- */

static enum term_color state_color(enum session_state s, enum session_outcome o)
{
    if (s == SESSION_RUNNING) return TERM_GREEN;
    if (s != SESSION_ENDED) return TERM_YELLOW;
    return o == OUTCOME_SUCCEEDED ? TERM_DIM : o == OUTCOME_CANCELLED ? TERM_PLAIN : TERM_RED;
}

/* "running", "succeeded", "failed (3)", "failed (oom)", "cancelled". */
static void put_state(struct table *t, const struct session_view *v)
{
    char text[48];
    bool ended = v->state == SESSION_ENDED && v->outcome != OUTCOME_NONE;
    const char *word = ended ? session_outcome_name(v->outcome) : session_state_name(v->state);
    if (ended && v->outcome == OUTCOME_FAILED && v->oom)
        text_fmt(text, sizeof(text), "%s (oom)", word);
    else if (ended && v->outcome == OUTCOME_FAILED && v->signal > 0)
        text_fmt(text, sizeof(text), "%s (%d)", word, 128 + v->signal);
    else if (ended && v->outcome == OUTCOME_FAILED && v->exit_code > 0)
        text_fmt(text, sizeof(text), "%s (%d)", word, v->exit_code);
    else text_fmt(text, sizeof(text), "%s%s", word, v->alarm ? " (!)" : "");
    table_put_color(t, str_of(text), state_color(v->state, v->outcome));
}

static void put_needs(struct table *t, const struct slots_view *s)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 128);
    fmt_cpu(&b, s->cpu_milli);
    table_put(t, strbuf_str(&b));
    strbuf_reset(&b);
    fmt_bytes(&b, s->mem_bytes);
    table_put(t, strbuf_str(&b));
    if (s->gpu > 0) table_putf(t, "%lld", (long long)s->gpu);
    else table_put(t, STR(""));
}

static void put_age(struct table *t, int64_t ms)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64);
    fmt_age(&b, ms > 0 ? ms : 0);
    table_put(t, strbuf_str(&b));
}

static void join_nodes(const struct session_view *v, struct strbuf *b)
{
    for (uint32_t i = 0; i < v->nodes.n; i++)
        strbuf_fmt(b, "%s%s", i > 0 ? "," : "", v->nodes.v[i]);
}

/* ---- ps ---- */

enum { KEY_OWNER = 300, KEY_GROUP, KEY_NAME, KEY_LIMIT };

struct ps_args {
    struct common common;
    bool all, ended;
    const char *owner, *group, *name;
    uint64_t limit; /* 0: all of them */
};

static const struct argp_option ps_options[] = {
    {"all", 'a', 0, 0, "Ended ones too; the newest come first", 1},
    {"ended", 'e', 0, 0, "Only ended ones", 1},
    {"owner", KEY_OWNER, "USER", 0, "Only this person's", 1},
    {"group", KEY_GROUP, "NAME", 0, "Only in this group of machines", 1},
    {"name", KEY_NAME, "NAME", 0, "Only with this name", 1},
    {"limit", 'n', "N", 0, "At most N of them", 1},
    {0},
};
static const char ps_doc[] =
    "List sessions that are pending, running or ending.\v"
    "Examples:\n"
    "  rota ps\n"
    "  rota ps -a -n 20\n"
    "  rota ps -o json | jq -r '.[] | select(.state == \"running\") | .id'\n"
    "  rota stop $(rota ps -o name)";

static error_t parse_ps(int key, char *arg, struct argp_state *state)
{
    struct ps_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case 'a': a->all = true; return 0;
    case 'e': a->ended = true; return 0;
    case KEY_OWNER: a->owner = arg; return 0;
    case KEY_GROUP: a->group = arg; return 0;
    case KEY_NAME: a->name = arg; return 0;
    case 'n':
        if (!str_to_u64(str_of(arg), &a->limit) || a->limit == 0)
            argp_error(state, "-n %s: expected a number from 1", arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one too many: `rota show %s` shows one session", arg, arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child with_output[] = {{&verb_output_argp, 0, NULL, 0}, {0}};
static const struct argp ps_argp = {ps_options, parse_ps, NULL, ps_doc, with_output, 0, 0};

static const struct table_column ps_columns[] = {
    {"ID", 0}, {"NAME", COL_FLEX}, {"OWNER", COL_WIDE}, {"PROJECT", COL_WIDE}, {"GROUP", COL_WIDE},
    {"STATE", 0}, {"SINCE", COL_RIGHT}, {"PRI", COL_RIGHT | COL_WIDE}, {"N", COL_RIGHT},
    {"CPU", COL_RIGHT}, {"MEM", COL_RIGHT}, {"GPU", COL_RIGHT}, {"NODE", COL_FLEX},
    {"SUBMITTED", COL_WIDE}, {"REASON", COL_FLEX}, {NULL, 0},
};

static void ps_row(struct table *t, const struct session_view *v)
{
    AUTO_STRBUF struct strbuf nodes;
    strbuf_init(&nodes, 64 * 1024);
    join_nodes(v, &nodes);
    table_put(t, str_of(v->id));
    table_put(t, strcmp(v->name, v->id) == 0 ? STR("") : str_of(v->name));
    table_put(t, str_of(v->owner));
    table_put(t, str_of(v->project));
    table_put(t, str_of(v->group));
    put_state(t, v);
    put_age(t, v->age_ms);
    table_putf(t, "%d", v->priority);
    table_putf(t, "%u", v->members);
    put_needs(t, &v->total);
    table_put(t, strbuf_str(&nodes));
    table_put(t, str_of(v->submitted_at));
    bool told = v->state != SESSION_RUNNING && v->outcome != OUTCOME_SUCCEEDED;
    const char *text = v->state == SESSION_ENDED ? v->detail : v->reason;
    table_put(t, told ? str_of(text) : STR(""));
}

struct ps_out {
    struct table table;
    struct strbuf text; /* JSON, or names */
};

static void ps_take(const struct common *c, struct ps_out *out, const struct session_view *v)
{
    switch (c->output) {
    case OUTPUT_NAME: strbuf_fmt(&out->text, "%s\n", v->id); return;
    case OUTPUT_JSON:
    case OUTPUT_YAML: verb_list_item(&out->text, &wire_session_view, v); return;
    case OUTPUT_TABLE:
    case OUTPUT_WIDE: ps_row(&out->table, v); return;
    }
}

static void ps_target(const struct ps_args *a, const char *cursor, uint64_t left, struct strbuf *b)
{
    struct { const char *key, *value; } filters[] = {
        {"owner", a->owner}, {"group", a->group}, {"name", a->name}, {"cursor", cursor},
    };
    args_target(b, "sessions", NULL, "");
    strbuf_fmt(b, "?state=%s&limit=%llu", a->ended ? "ended" : a->all ? "all" : "live",
               (unsigned long long)(left > 0 && left < PAGE ? left : PAGE));
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        if (!filters[i].value || !filters[i].value[0]) continue;
        strbuf_fmt(b, "&%s=", filters[i].key);
        api_escape(b, str_of(filters[i].value));
    }
}

static int ps_pages(struct ps_args *a, struct ps_out *out, struct err *err)
{
    char cursor[64] = "";
    uint64_t taken = 0;
    do {
        AUTO_STRBUF struct strbuf target;
        ps_target(a, cursor, a->limit ? a->limit - taken : 0, &target);
        struct session_list page;
        int rc = api_get(a->common.api, target.p, &wire_session_list, &page, err);
        if (rc < 0) return rc;
        VEC_EACH (v, &page.items) ps_take(&a->common, out, v);
        taken += page.items.n;
        TEXT_CLIP(cursor, str_of(page.next));
        wire_free(&wire_session_list, &page);
    } while (cursor[0] && (a->limit == 0 || taken < a->limit));
    return 0;
}

int verb_ps(int argc, char **argv)
{
    struct ps_args a = {0};
    verb_parse(&ps_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.common)) return EXIT_FAILED;
    struct ps_out out;
    table_init(&out.table, ps_columns);
    strbuf_init(&out.text, LIST_MAX);
    struct err err = {0};
    int code = 0;
    if (ps_pages(&a, &out, &err) < 0) {
        code = say_err(&err, EXIT_FAILED);
    } else if (a.common.output == OUTPUT_NAME) {
        say_out(strbuf_str(&out.text));
    } else if (a.common.output == OUTPUT_JSON || a.common.output == OUTPUT_YAML) {
        strbuf_puts(&out.text, out.text.n > 0 ? "]" : "[]");
        code = verb_print_text(&a.common, strbuf_str(&out.text));
    } else {
        list_print_table(&a.common, &out.table);
    }
    table_done(&out.table);
    strbuf_done(&out.text);
    verb_close(&a.common);
    return code;
}

/* ---- queue ---- */

static const char queue_doc[] =
    "What waits, in the order in which it will be tried, for what, and when it may expect to "
    "start if everything that runs takes all its time.\v"
    "Examples:\n  rota queue\n  rota queue training -o wide";
static const struct argp queue_argp = {NULL, args_pass_input, "[GROUP]", queue_doc,
                                       args_output, 0, 0};
static const struct table_column queue_columns[] = {
    {"#", COL_RIGHT}, {"ID", 0}, {"NAME", COL_FLEX}, {"OWNER", 0}, {"GROUP", COL_WIDE},
    {"PRI", COL_RIGHT}, {"CPU", COL_RIGHT}, {"MEM", COL_RIGHT}, {"GPU", COL_RIGHT},
    {"WAITING", COL_RIGHT}, {"STARTS", COL_RIGHT}, {"KIND", COL_WIDE}, {"WHY", COL_FLEX},
    {"EXPECTED", COL_FLEX | COL_WIDE}, {NULL, 0},
};

/* "in 40m"; nothing where nobody can tell. */
static void put_start(struct table *t, int64_t in_ms)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 32);
    if (in_ms == 0) strbuf_puts(&b, "now");
    if (in_ms > 0) {
        strbuf_puts(&b, "in ");
        fmt_age(&b, in_ms);
    }
    table_put(t, strbuf_str(&b));
}

static void queue_row(struct table *t, const void *item)
{
    const struct queue_entry_view *q = item;
    table_putf(t, "%u", q->place);
    table_put(t, str_of(q->id));
    table_put(t, strcmp(q->name, q->id) == 0 ? STR("") : str_of(q->name));
    table_put(t, str_of(q->owner));
    table_put(t, str_of(q->group));
    table_putf(t, "%d", q->priority);
    put_needs(t, &q->total);
    put_age(t, q->waiting_ms);
    put_start(t, q->expected_in_ms);
    table_put(t, str_of(q->kind));
    table_put(t, str_of(q->reason));
    table_put(t, str_of(q->expected));
}

int verb_queue(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_queue_list, .item = &wire_queue_entry_view, .columns = queue_columns,
        .row = queue_row, .name_at = offsetof(struct queue_entry_view, id),
        .empty = "nothing waits"};
    struct names_args a = {.most = 1, .what = "group"};
    verb_parse(&queue_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "queue", NULL, a.n > 0 ? "?group=" : "");
    if (a.n > 0) api_escape(&target, str_of(a.names[0]));
    return list_run(&a.common, target.p, &look);
}
