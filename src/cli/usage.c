/* cli/usage.c - `rota usage` and `rota top`: what sessions use.
 *
 * `top` draws the whole screen anew: the terminal's own sequences do that, on any
 * terminal that is not dumb.  What is not known shows as "-". */
#include <stdlib.h>
#include <unistd.h>
#include "base/fmt.h"
#include "cli/args.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/table.h"
#include "wire/use.h"

#define TEXT_MAX ((size_t)16 << 20)
#define TOP_PERIOD_MS 2000
#define CLEAR "\033[H\033[2J"

/* ---- cells ---- */

static void put_amount(struct table *t, int64_t v, void (*fmt)(struct strbuf *, int64_t))
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 128);
    if (v >= 0) fmt(&b, v);
    table_put(t, strbuf_str(&b));
}

/* Of what it may have; as little of it as a person would want to know about is red. */
static void put_share(struct table *t, int64_t v, int64_t of,
                      void (*fmt)(struct strbuf *, int64_t))
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 128);
    if (v >= 0) {
        fmt(&b, v);
        strbuf_puts(&b, " / ");
        fmt(&b, of);
    }
    bool tight = v >= 0 && of > 0 && v >= of - of / 20;
    table_put_color(t, strbuf_str(&b), tight ? TERM_YELLOW : TERM_PLAIN);
}

static void fmt_time(struct strbuf *b, int64_t us) { fmt_duration(b, us / 1000); }
static void fmt_count(struct strbuf *b, int64_t n) { strbuf_i64(b, n); }

/* ---- usage ---- */

static const struct table_column member_columns[] = {
    {"MEMBER", COL_RIGHT}, {"NODE", COL_FLEX}, {"CPU", COL_RIGHT}, {"PEAK", COL_RIGHT},
    {"CPU TIME", COL_RIGHT}, {"MEM", COL_RIGHT}, {"MEM PEAK", COL_RIGHT},
    {"PIDS", COL_RIGHT}, {"READ", COL_RIGHT}, {"WRITTEN", COL_RIGHT}, {"RECEIVED", COL_RIGHT},
    {"SENT", COL_RIGHT}, {NULL, 0},
};

static void member_row(struct table *t, const struct member_use_view *v)
{
    table_putf(t, "%u", v->member);
    table_put(t, str_of(v->node));
    put_amount(t, v->cpu_milli, fmt_cpu);
    put_amount(t, v->cpu_peak_milli, fmt_cpu);
    put_amount(t, v->m.cpu_us, fmt_time);
    put_amount(t, v->m.mem_bytes, fmt_bytes);
    put_amount(t, v->m.mem_peak_bytes, fmt_bytes);
    put_amount(t, v->m.pids, fmt_count);
    put_amount(t, v->m.io_read_bytes, fmt_bytes);
    put_amount(t, v->m.io_write_bytes, fmt_bytes);
    put_amount(t, v->m.net_rx_bytes, fmt_bytes);
    put_amount(t, v->m.net_tx_bytes, fmt_bytes);
}

static void show_use(const void *object, struct strbuf *b)
{
    const struct session_use_view *v = object;
    struct table t;
    if (v->members.n == 0) {
        strbuf_fmt(b, "%s is %s: nothing of it is measured at the moment\n", v->id,
                   session_state_name(v->state));
        return;
    }
    table_init(&t, member_columns);
    VEC_EACH(m, &v->members) member_row(&t, m);
    table_print(&t, term_width(), false, term_color_on(STDOUT_FILENO), b);
    table_done(&t);
    int64_t age_ms = v->members.v[0].age_ms;
    strbuf_puts(b, "as of ");
    fmt_duration(b, age_ms > 0 ? age_ms : 0);
    strbuf_puts(b, " ago; CPU over the last half minute, its peak within one second\n");
}

static const char usage_doc[] =
    "What the containers of a session use: CPU now and in all, memory, disks, network.\v"
    "A figure that its node could not read, or has not told yet, shows as \"-\".\n"
    "Examples:\n  rota usage s17\n  rota usage night -o json | jq '.members[].points'";
static const struct argp usage_argp = {NULL, args_pass_input, "SESSION", usage_doc,
                                       args_output, 0, 0};

int verb_usage(int argc, char **argv)
{
    static const struct list_one_look look = {.object = &wire_session_use_view, .text = show_use,
                                              .name_at = offsetof(struct session_use_view, id)};
    struct names_args a = {.least = 1, .most = 1, .what = "session"};
    verb_parse(&usage_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    strbuf_init(&target, 4096);
    args_target(&target, "sessions", a.names[0], "/usage");
    strbuf_putc(&target, '\0');
    return list_one_run(&a.common, target.p, &look);
}

/* ---- top ---- */

struct top_args {
    struct names_args names; /* first: the child parser's */
    bool once;
};

static const struct argp_option top_options[] = {
    {"once", '1', NULL, 0, "Print once and end", 1}, {0}};

static error_t parse_top(int key, char *arg, struct argp_state *state)
{
    struct top_args *a = state->input;
    if (key != '1') return args_pass_input(key, arg, state);
    a->once = true;
    return 0;
}

static const char top_doc[] =
    "What running sessions use, those that use most CPU first; anew each two seconds.\v"
    "With -o json, or where the output is no terminal, it prints once.\n"
    "Examples:\n  rota top\n  rota top --once | head";
static const struct argp top_argp = {top_options, parse_top, "", top_doc, args_output, 0, 0};

static const struct table_column top_columns[] = {
    {"SESSION", 0}, {"NAME", COL_FLEX}, {"OWNER", COL_FLEX}, {"STATE", 0}, {"CPU", COL_RIGHT},
    {"CPU TIME", COL_RIGHT}, {"MEM", COL_RIGHT}, {"GPU", COL_RIGHT}, {"NODES", COL_FLEX},
    {NULL, 0},
};

static int by_cpu(const void *a, const void *b)
{
    const struct session_use_view *x = a, *y = b;
    return (y->cpu_milli > x->cpu_milli) - (y->cpu_milli < x->cpu_milli);
}

static void top_row(struct table *t, const struct session_use_view *v)
{
    AUTO_STRBUF struct strbuf nodes;
    strbuf_init(&nodes, 4096);
    VEC_EACH(m, &v->members) {
        if (m > v->members.v && strcmp(m->node, m[-1].node) == 0) continue;
        strbuf_fmt(&nodes, "%s%s", nodes.n > 0 ? "," : "", m->node);
    }
    table_put(t, str_of(v->id));
    table_put(t, str_of(v->name));
    table_put(t, str_of(v->owner));
    table_put(t, str_of(session_state_name(v->state)));
    put_share(t, v->cpu_milli, v->cpu_limit_milli, fmt_cpu);
    put_amount(t, v->cpu_us, fmt_time);
    put_share(t, v->mem_bytes, v->mem_limit_bytes, fmt_bytes);
    put_amount(t, v->gpu, fmt_count);
    table_put(t, nodes.full ? STR("many") : strbuf_str(&nodes));
}

/* As many lines as the terminal has; 0: all. */
static void draw(const struct session_use_list *list, bool anew)
{
    AUTO_STRBUF struct strbuf b;
    struct table t;
    strbuf_init(&b, TEXT_MAX);
    uint32_t room = anew ? term_height() : 0, n = list->items.n;
    if (room > 3 && n > room - 3) n = room - 3;
    table_init(&t, top_columns);
    for (uint32_t i = 0; i < n; i++) top_row(&t, &list->items.v[i]);
    if (anew) strbuf_puts(&b, CLEAR);
    table_print(&t, term_width(), false, term_color_on(STDOUT_FILENO), &b);
    table_done(&t);
    if (n < list->items.n) strbuf_fmt(&b, "... and %u more\n", list->items.n - n);
    say_out(strbuf_str(&b));
}

static int print_data(const struct common *c, const struct session_use_list *list)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, (size_t)64 << 20);
    VEC_EACH(v, &list->items) {
        if (c->output == OUTPUT_NAME) strbuf_fmt(&b, "%s\n", v->id);
        else verb_list_item(&b, &wire_session_use_view, v);
    }
    if (c->output == OUTPUT_NAME) {
        say_out(strbuf_str(&b));
        return 0;
    }
    strbuf_puts(&b, b.n > 0 ? "]" : "[]");
    return verb_print_text(c, strbuf_str(&b));
}

int verb_top(int argc, char **argv)
{
    struct top_args a = {.names = {.most = 0, .what = "session"}};
    const bool never = false;
    verb_parse(&top_argp, argc, argv, EXIT_USAGE, &a);
    struct common *c = &a.names.common;
    bool data = c->output >= OUTPUT_JSON;
    bool anew = !a.once && !data && isatty(STDOUT_FILENO) && term_can_clear();
    if (!verb_open(c)) return EXIT_FAILED;
    int code = 0;
    for (;;) { /* until Ctrl-C, which leaves the last picture */
        struct session_use_list list;
        struct err err = {0};
        if (api_get(c->api, "/api/v1/usage?limit=1000", &wire_session_use_list, &list, &err) < 0) {
            code = say_err(&err, EXIT_FAILED);
            break;
        }
        if (list.items.n > 1)
            qsort(list.items.v, list.items.n, sizeof(list.items.v[0]), by_cpu);
        if (data) code = print_data(c, &list);
        else draw(&list, anew);
        wire_free(&wire_session_use_list, &list);
        if (!anew) break;
        net_loop_run_until(c->loop, &never, TOP_PERIOD_MS);
    }
    verb_close(c);
    return code;
}
