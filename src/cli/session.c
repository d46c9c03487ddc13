/* cli/session.c - `rota show`, `why`, `history`, `stop`, `signal`: one session at a time. */
#include <stdlib.h>

#include "base/fmt.h"
#include "cli/args.h"
#include "cli/list.h"
#include "cli/render.h"
#include "cli/say.h"
#include "cli/table.h"

enum { OUT_MAX = 16 * 1024 * 1024 };

/* ---- show ---- */

static const char show_doc[] =
    "Everything about one session: state, place, needs, times, end, and what was submitted.\v"
    "Examples:\n  rota show s17\n  rota show night -o json | jq .exit_code";
static const struct argp show_argp = {NULL, args_pass_input, "SESSION", show_doc,
                                      args_output, 0, 0};

static void line(struct strbuf *b, const char *key, const char *value)
{
    if (!value || !value[0]) return;
    strbuf_fmt(b, "%-11s ", key);
    term_safe(b, str_of(value));
    strbuf_putc(b, '\n');
}

static void amounts(struct strbuf *b, int64_t cpu, int64_t mem, int64_t gpu)
{
    fmt_cpu(b, cpu);
    strbuf_puts(b, " CPU, ");
    fmt_bytes(b, mem);
    if (gpu > 0) strbuf_fmt(b, ", %lld GPU", (long long)gpu);
}

static void show_needs(struct strbuf *b, const struct session_view *v)
{
    for (uint32_t i = 0; i < v->n_roles; i++) {
        const struct role_view *r = &v->roles[i];
        strbuf_fmt(b, "%-11s %s: %u x ", i == 0 ? "needs" : "", r->name, r->count);
        amounts(b, r->cpu_milli, r->mem_bytes, r->gpu);
        strbuf_putc(b, '\n');
    }
}

static void show_end(struct strbuf *b, const struct session_view *v)
{
    char text[64] = "";
    if (v->state != SESSION_ENDED) {
        line(b, "node says", v->detail);
        return;
    }
    if (v->signal > 0) text_fmt(text, sizeof(text), "signal %d", v->signal);
    else if (v->exit_code >= 0) text_fmt(text, sizeof(text), "exit code %d", v->exit_code);
    line(b, "ended with", text);
    if (v->oom) line(b, "", "killed for lack of memory");
    line(b, "detail", v->detail);
}

/* While it runs, at the moment; afterwards in all. */
static void show_use(struct strbuf *b, const struct session_view *v)
{
    AUTO_STRBUF struct strbuf t;
    strbuf_init(&t, 512);
    if (v->cpu_used_milli >= 0) {
        fmt_cpu(&t, v->cpu_used_milli);
        strbuf_puts(&t, " CPU now");
    }
    if (v->cpu_us >= 0) {
        strbuf_puts(&t, t.n > 0 ? ", " : "");
        fmt_duration(&t, v->cpu_us / 1000);
        strbuf_puts(&t, " of CPU time");
    }
    if (v->mem_used_bytes >= 0) {
        strbuf_puts(&t, t.n > 0 ? ", " : "");
        fmt_bytes(&t, v->mem_used_bytes);
        strbuf_puts(&t, " memory now");
    }
    if (v->mem_peak_bytes >= 0) {
        strbuf_puts(&t, t.n > 0 ? ", " : "");
        fmt_bytes(&t, v->mem_peak_bytes);
        strbuf_puts(&t, v->members > 1 ? " memory at most in one container" : " memory at most");
    }
    if (t.n > 0) strbuf_fmt(b, "%-11s %.*s\n", "used", (int)t.n, t.p);
}

static void show_times(struct strbuf *b, const struct session_view *v)
{
    line(b, "submitted", v->submitted_at);
    line(b, "started", v->started_at);
    line(b, "ended", v->ended_at);
    if (v->time_limit_ms <= 0) return;
    strbuf_fmt(b, "%-11s ", "time limit");
    fmt_duration(b, v->time_limit_ms);
    strbuf_putc(b, '\n');
}

/* When and how often it runs. */
static void show_turn(struct strbuf *b, const struct session_view *v)
{
    char text[160];
    for (uint32_t i = 0; i < v->after.n; i++) line(b, i == 0 ? "after" : "", v->after.v[i]);
    if (v->array[0]) {
        text_fmt(text, sizeof(text), "index %u, %u tasks from %s", v->array_index, v->array_count,
                 v->array);
        line(b, "array", text);
    }
    if (v->hold) line(b, "held", "until `rota release`");
    if (v->restarts > 0 || v->restart_max > 0) {
        text_fmt(text, sizeof(text), "%u so far, after failures at most %u", v->restarts,
                 v->restart_max);
        line(b, "restarts", text);
    }
    if (v->lowered > 0) {
        text_fmt(text, sizeof(text), "queues at %d: it held others back for long",
                 v->priority > v->lowered ? v->priority - v->lowered : 0);
        line(b, "lowered", text);
    }
}

static void show_session(const void *object, struct strbuf *b)
{
    const struct session_view *v = object;
    char text[256];
    bool ended = v->state == SESSION_ENDED;
    line(b, "session", v->id);
    if (strcmp(v->name, v->id) != 0) line(b, "name", v->name);
    text_fmt(text, sizeof(text), "%s, project %s, group %s", v->owner, v->project, v->group);
    line(b, "owner", text);
    const char *outcome = ended ? session_outcome_name(v->outcome) : "";
    text_fmt(text, sizeof(text), "%s%s%s%s", session_state_name(v->state), ended ? ", " : "",
             outcome, v->alarm ? " (past its grace: somebody should look)" : "");
    line(b, "state", text);
    if (!ended) line(b, "why", v->reason);
    text_fmt(text, sizeof(text), "%s, priority %d, attempt %u", session_kind_name(v->kind),
             v->priority, v->attempt);
    line(b, "kind", text);
    show_turn(b, v);
    show_needs(b, v);
    for (uint32_t i = 0; i < v->nodes.n; i++) line(b, i == 0 ? "on" : "", v->nodes.v[i]);
    show_times(b, v);
    show_use(b, v);
    show_end(b, v);
    if (!v->spec) return;
    AUTO_STRBUF struct strbuf yaml;
    strbuf_init(&yaml, OUT_MAX);
    if (render_yaml(str_of(v->spec), &yaml, NULL) < 0) return;
    strbuf_puts(b, "submitted as\n");
    struct str rest = strbuf_str(&yaml), head;
    while (rest.n > 0) {
        (void)str_cut(&rest, '\n', &head);
        strbuf_puts(b, "  ");
        term_safe(b, head);
        strbuf_putc(b, '\n');
    }
}

int verb_show(int argc, char **argv)
{
    static const struct list_one_look look = {.object = &wire_session_view, .text = show_session,
                                              .name_at = offsetof(struct session_view, id)};
    struct names_args a = {.least = 1, .most = 1, .what = "session"};
    verb_parse(&show_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "sessions", a.names[0], "");
    return list_one_run(&a.common, target.p, &look);
}

/* ---- why ---- */

static const char why_doc[] =
    "Why a session is where it is, now, with the numbers that decide.\v"
    "Examples:\n  rota why s17\n  rota why night -o json";
static const struct argp why_argp = {NULL, args_pass_input, "SESSION", why_doc, args_output, 0, 0};

static void show_expected(struct strbuf *b, const struct why_view *w)
{
    if (!w->expected[0]) return;
    strbuf_puts(b, "  expected start ");
    term_safe(b, str_of(w->expected));
    strbuf_putc(b, '\n');
}

void session_show_check(const struct why_view *w, struct strbuf *b)
{
    if (w->kind == WHY_PLACED) {
        strbuf_fmt(b, "would start %s\n", w->expected[0] ? w->expected : "now");
        return;
    }
    strbuf_puts(b, "would wait: ");
    term_safe(b, str_of(w->text));
    strbuf_putc(b, '\n');
    show_expected(b, w);
}

static void show_why(const void *object, struct strbuf *b)
{
    const struct why_view *w = object;
    strbuf_fmt(b, "%s is %s: ", w->name, session_state_name(w->state));
    term_safe(b, str_of(w->text[0] ? w->text : "nothing holds it"));
    strbuf_putc(b, '\n');
    if (w->since_ms > 0) {
        strbuf_puts(b, "  for ");
        fmt_duration(b, w->since_ms);
        strbuf_puts(b, " already\n");
    }
    show_expected(b, w);
    if (w->blocker[0]) strbuf_fmt(b, "  behind %s: `rota why %s`\n", w->blocker, w->blocker);
    if (w->retry_in_ms > 0) {
        strbuf_puts(b, "  tried again in ");
        fmt_duration(b, w->retry_in_ms);
        strbuf_putc(b, '\n');
    }
    if (w->failed_starts > 0) strbuf_fmt(b, "  failed starts in a row: %u\n", w->failed_starts);
}

int verb_why(int argc, char **argv)
{
    static const struct list_one_look look = {.object = &wire_why_view, .text = show_why,
                                              .name_at = offsetof(struct why_view, session)};
    struct names_args a = {.least = 1, .most = 1, .what = "session"};
    verb_parse(&why_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "sessions", a.names[0], "/why");
    return list_one_run(&a.common, target.p, &look);
}

/* ---- history ---- */

static const char history_doc[] =
    "What happened to a session, oldest first.\v"
    "Examples:\n  rota history s17\n  rota history night -o json";
static const struct argp history_argp = {NULL, args_pass_input, "SESSION", history_doc,
                                         args_output, 0, 0};
static const struct table_column history_columns[] = {
    {"AT", 0}, {"EVENT", 0}, {"STATE", 0}, {"OUTCOME", 0}, {"ATTEMPT", COL_RIGHT},
    {"NODE", COL_FLEX}, {"BY", COL_WIDE}, {"CURSOR", COL_WIDE}, {"TEXT", COL_FLEX}, {NULL, 0},
};

static void history_row(struct table *t, const void *item)
{
    const struct event_view *e = item;
    table_put(t, str_of(e->at));
    table_put(t, str_of(e->event));
    table_put(t, str_of(e->state));
    table_put(t, str_of(e->outcome));
    table_putf(t, "%u", e->attempt);
    table_put(t, str_of(e->node));
    table_put(t, str_of(e->actor));
    table_put(t, str_of(e->id));
    table_put(t, str_of(e->text));
}

int verb_history(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_event_list, .item = &wire_event_view, .columns = history_columns,
        .row = history_row, .name_at = offsetof(struct event_view, id)};
    struct names_args a = {.least = 1, .most = 1, .what = "session"};
    verb_parse(&history_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "sessions", a.names[0], "/history");
    return list_run(&a.common, target.p, &look);
}

/* ---- stop ---- */

struct stop_args {
    struct names_args names;
    int64_t grace_ms;
    bool wait;
};

static const struct argp_option stop_options[] = {
    {"grace", 'g', "TIME", 0, "From SIGTERM to SIGKILL, instead of the session's own", 1},
    {"wait", 'w', 0, 0, "Return when they have ended and all is free again", 1},
    {0},
};
static const char stop_doc[] =
    "End sessions: SIGTERM, the grace, SIGKILL; a waiting one just leaves the queue.  Repeating "
    "it with a shorter grace makes it quicker.\v"
    "Examples:\n  rota stop night\n  rota stop --grace 0 --wait s17 s18";

static error_t parse_stop(int key, char *arg, struct argp_state *state)
{
    struct stop_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case 'g':
        if (!fmt_parse_duration(str_of(arg), &a->grace_ms))
            argp_error(state, "--grace %s: expected a time, such as 10s or 0", arg);
        return 0;
    case 'w': a->wait = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp stop_argp = {stop_options, parse_stop, "SESSION...", stop_doc, args_plain,
                                      0, 0};

static int wait_ended(struct common *c, const char *name, struct err *err)
{
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "sessions", name, "?wait=ended&timeout_ms=20000");
    for (;;) {
        AUTO_STRBUF struct strbuf body;
        strbuf_init(&body, OUT_MAX);
        struct session_view v;
        struct api_request rq = {.target = target.p, .patience_ms = 60000};
        int rc = api_call(c->api, &rq, &body, NULL, err);
        if (rc == 0) rc = api_parse(&wire_session_view, strbuf_str(&body), &v, err);
        if (rc < 0) return rc;
        bool ended = v.state == SESSION_ENDED;
        wire_free(&wire_session_view, &v);
        if (ended) return 0;
    }
}

int verb_stop(int argc, char **argv)
{
    struct stop_args a = {.names = {.least = 1, .most = ARGS_MAX, .what = "session"},
                          .grace_ms = -1};
    verb_parse(&stop_argp, argc, argv, EXIT_USAGE, &a);
    char body[48] = "{}";
    if (a.grace_ms >= 0)
        text_fmt(body, sizeof(body), "{\"grace_ms\":%lld}", (long long)a.grace_ms);
    int code = args_post_each(&a.names, "sessions", "/stop", body, a.wait ? NULL : "stopping");
    if (!a.wait || code != 0 || !verb_open(&a.names.common)) return code;
    for (uint32_t i = 0; i < a.names.n; i++) {
        struct err err = {0};
        if (wait_ended(&a.names.common, a.names.names[i], &err) < 0)
            code = say_err(&err, EXIT_FAILED);
    }
    verb_close(&a.names.common);
    return code;
}

/* ---- signal ---- */

struct signal_args {
    struct names_args names;
    const char *signal;
};

static const struct argp_option signal_options[] = {
    {"signal", 's', "NAME", 0, "INT, TERM, USR1, HUP, ... or a number (default INT)", 1}, {0}};
static const char signal_doc[] =
    "Send a signal to the processes of a running session.\v"
    "Examples:\n  rota signal -s USR1 train     # for example: save a checkpoint now";

static error_t parse_signal(int key, char *arg, struct argp_state *state)
{
    struct signal_args *a = state->input;
    int32_t number = 0;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case 's':
        if (!signal_parse(str_of(arg), &number))
            argp_error(state, "-s %s: expected a signal, such as INT, USR1 or 10", arg);
        a->signal = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp signal_argp = {signal_options, parse_signal, "SESSION...", signal_doc,
                                        args_plain, 0, 0};

int verb_signal(int argc, char **argv)
{
    struct signal_args a = {.names = {.least = 1, .most = ARGS_MAX, .what = "session"},
                            .signal = "INT"};
    verb_parse(&signal_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 256);
    strbuf_puts(&body, "{\"signal\":");
    strbuf_json(&body, str_of(a.signal));
    strbuf_puts(&body, "}");
    return args_post_each(&a.names, "sessions", "/signal", body.p, NULL);
}
