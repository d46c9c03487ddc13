/* cli/cluster.c - `rota node`: machines. */
#include <stdlib.h>

#include "base/fmt.h"
#include "cli/args.h"
#include "cli/cluster.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/sub.h"
#include "cli/table.h"
#include "cli/topology.h"
#include "wire/names.h"
#include "wire/time.h"

/* ---- nodes ---- */

static const struct table_column node_columns[] = {
    {"NODE", 0}, {"GROUP", COL_FLEX}, {"STATE", 0}, {"CPU", COL_RIGHT}, {"MEM", COL_RIGHT},
    {"GPU", COL_RIGHT}, {"SESSIONS", COL_RIGHT}, {"MODEL", COL_FLEX}, {"VERSION", COL_WIDE},
    {"ADDRESS", COL_WIDE}, {"NOTES", COL_FLEX | COL_WIDE}, {NULL, 0},
};

static void put_used(struct table *t, int64_t used, int64_t of,
                     void (*fmt)(struct strbuf *, int64_t))
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 128);
    fmt(&b, used);
    strbuf_puts(&b, " / ");
    fmt(&b, of);
    table_put(t, strbuf_str(&b));
}

static void fmt_count(struct strbuf *b, int64_t n) { strbuf_i64(b, n); }

static void put_model(struct table *t, const struct node_view *v)
{
    if (v->n_devices == 0) return table_put(t, STR(""));
    uint32_t bad = 0;
    for (uint32_t i = 0; i < v->n_devices; i++) bad += v->devices[i].health != DEVICE_HEALTHY;
    char text[96];
    const char *model = v->devices[0].model;
    bool says_so = strstr(model, "simulated") != NULL;
    int n = text_fmt(text, sizeof(text), "%s%s", model, v->simulated && !says_so ? " (simulated)"
                                                                                   : "");
    if (bad > 0) text_fmt(text + n, sizeof(text) - (size_t)n, ", %u out", bad);
    table_put_color(t, str_of(text), bad > 0 ? TERM_RED : TERM_PLAIN);
}

static void node_row(struct table *t, const void *item)
{
    const struct node_view *v = item;
    bool ready = strcmp(v->state, "ready") == 0;
    table_put(t, str_of(v->name));
    table_put(t, str_of(v->group));
    table_put_color(t, str_of(v->state), ready ? TERM_GREEN : v->unreachable ? TERM_RED
                                                                            : TERM_YELLOW);
    put_used(t, v->used.cpu_milli, v->capacity.cpu_milli, fmt_cpu);
    put_used(t, v->used.mem_bytes, v->capacity.mem_bytes, fmt_bytes);
    if (v->capacity.gpu > 0) put_used(t, v->used.gpu, v->capacity.gpu, fmt_count);
    else table_put(t, STR(""));
    table_putf(t, "%u", v->sessions);
    put_model(t, v);
    table_put(t, str_of(v->version));
    table_put(t, str_of(v->data_addr));
    table_put(t, str_of(v->facts));
}

static const char node_ls_doc[] =
    "List machines: what is used of what sessions may use.\v"
    "Examples:\n  rota node ls\n  rota node ls -o wide";
static const struct argp node_ls_argp = {NULL, args_pass_input, "", node_ls_doc, args_output, 0, 0};

static int node_ls(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_node_list, .item = &wire_node_view, .columns = node_columns,
        .row = node_row, .name_at = offsetof(struct node_view, name)};
    struct names_args a = {.what = "node"};
    verb_parse(&node_ls_argp, argc, argv, EXIT_USAGE, &a);
    return list_run(&a.common, "/api/v1/nodes", &look);
}

struct show_args {
    struct names_args names;
    bool topology;
};

static const struct argp_option node_show_options[] = {
    {"topology", 't', 0, 0, "How its devices reach each other, as a matrix", 1}, {0}};
static const char node_show_doc[] =
    "Everything about one machine, with its devices and who holds them.\v"
    "Examples:\n  rota node show n1\n  rota node show n1 --topology";

static error_t parse_show(int key, char *arg, struct argp_state *state)
{
    struct show_args *a = state->input;
    (void)arg;
    if (key == ARGP_KEY_INIT) state->child_inputs[0] = &a->names;
    else if (key == 't') a->topology = true;
    else return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp node_show_argp = {node_show_options, parse_show, "NODE", node_show_doc,
                                           args_output, 0, 0};

static void show_amount(struct strbuf *b, const char *key, const struct node_view *v)
{
    strbuf_fmt(b, "%-10s ", key);
    fmt_cpu(b, v->used.cpu_milli);
    strbuf_puts(b, " of ");
    fmt_cpu(b, v->capacity.cpu_milli);
    strbuf_puts(b, " CPU, ");
    fmt_bytes(b, v->used.mem_bytes);
    strbuf_puts(b, " of ");
    fmt_bytes(b, v->capacity.mem_bytes);
    strbuf_fmt(b, ", %lld of %lld GPU\n", (long long)v->used.gpu, (long long)v->capacity.gpu);
}

/* ", quarantined since 2026-01-31 09:30 (Xid 79)"; nothing of a healthy one. */
static void show_health(const struct device_view *d, struct strbuf *b)
{
    if (d->health == DEVICE_HEALTHY) return;
    strbuf_fmt(b, ", %s", wire_name_of(names_device_health, (int32_t)d->health));
    if (d->since_ms > 0) {
        char when[WIRE_TIME_TEXT];
        wire_time_format(d->since_ms, when);
        strbuf_fmt(b, " since %s", when);
    }
    if (d->why[0] == '\0') return;
    strbuf_puts(b, " (");
    term_safe(b, str_of(d->why));
    strbuf_putc(b, ')');
}

/* ", by anna at 2026-12-01T10:00:00Z: new fans; who is still there goes in 2 h" */
static void put_cordon(const struct node_view *v, struct strbuf *b)
{
    if (!v->cordoned) return;
    if (v->cordoned_by[0]) strbuf_fmt(b, ", by %s at %s", v->cordoned_by, v->cordoned_at);
    if (v->cordon_reason[0]) strbuf_puts(b, ": ");
    term_safe(b, str_of(v->cordon_reason));
    if (v->drain_in_ms == 0) return;
    strbuf_puts(b, "; who is still there goes in ");
    fmt_duration(b, v->drain_in_ms);
}

static void show_node(const void *object, struct strbuf *b)
{
    const struct node_view *v = object;
    strbuf_fmt(b, "%-10s %s (group %s)\n%-10s %s", "node", v->name, v->group, "state", v->state);
    if (v->unhealthy[0]) {
        strbuf_puts(b, strcmp(v->state, "unhealthy") == 0 ? ": " : ", unhealthy: ");
        term_safe(b, str_of(v->unhealthy));
    }
    if (v->silent_ms > 5000) {
        strbuf_puts(b, ", silent for ");
        fmt_duration(b, v->silent_ms);
    }
    put_cordon(v, b);
    for (uint32_t i = 0; i < v->failed_by.n; i++) {
        strbuf_fmt(b, "%s%s", i == 0 ? "; starts that failed in a row: " : ", ", v->failed_by.v[i]);
    }
    strbuf_putc(b, '\n');
    if (v->labels[0]) strbuf_fmt(b, "%-10s %s\n", "labels", v->labels);
    if (v->arch[0]) strbuf_fmt(b, "%-10s %s\n", "arch", v->arch);
    show_amount(b, "used", v);
    strbuf_fmt(b, "%-10s %u\n", "members", v->sessions);
    strbuf_fmt(b, "%-10s %s, version %s\n", "agent", v->data_addr, v->version);
    if (v->facts[0]) {
        strbuf_fmt(b, "%-10s ", "notes");
        term_safe(b, str_of(v->facts));
        strbuf_putc(b, '\n');
    }
    for (uint32_t i = 0; i < v->n_devices; i++) {
        const struct device_view *d = &v->devices[i];
        strbuf_fmt(b, "%-10s %u: ", i == 0 ? "devices" : "", d->index);
        term_safe(b, str_of(d->model));
        strbuf_puts(b, ", ");
        fmt_bytes(b, d->mem_bytes);
        bool says_so = strstr(d->model, "simulated") != NULL;
        if (d->simulated && !says_so) strbuf_puts(b, ", simulated");
        show_health(d, b);
        if (d->session[0]) strbuf_fmt(b, ", held by %s", d->session);
        else if (d->health == DEVICE_HEALTHY) strbuf_puts(b, ", free");
        strbuf_putc(b, '\n');
    }
}

static int node_show(int argc, char **argv)
{
    static const struct list_one_look look = {.object = &wire_node_view, .text = show_node,
                                              .name_at = offsetof(struct node_view, name)};
    static const struct list_one_look matrix = {.object = &wire_node_view, .text = topology_show,
                                                .name_at = offsetof(struct node_view, name)};
    struct show_args a = {.names = {.least = 1, .most = 1, .what = "node"}};
    verb_parse(&node_show_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "nodes", a.names.names[0], "");
    return list_one_run(&a.names.common, target.p, a.topology ? &matrix : &look);
}

struct forget_args {
    struct names_args names;
    bool force;
};

static const struct argp_option forget_options[] = {
    {"force", 'f', 0, 0, "Although it is heard and holds sessions: they end as lost", 1}, {0}};
static const char forget_doc[] =
    "Declare that a machine is gone for good: what it held ends as lost and is free again.  Only "
    "for a machine that certainly runs nothing any more.\v"
    "Examples:\n  rota node forget n1";

static error_t parse_forget(int key, char *arg, struct argp_state *state)
{
    struct forget_args *a = state->input;
    (void)arg;
    if (key == ARGP_KEY_INIT) state->child_inputs[0] = &a->names;
    else if (key == 'f') a->force = true;
    else return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp forget_argp = {forget_options, parse_forget, "NODE...", forget_doc,
                                        args_plain, 0, 0};

static int node_forget(int argc, char **argv)
{
    struct forget_args a = {.names = {.least = 1, .most = ARGS_MAX, .what = "node"}};
    verb_parse(&forget_argp, argc, argv, EXIT_USAGE, &a);
    return args_post_each(&a.names, "nodes", "/forget", a.force ? "{\"force\":true}" : "{}",
                          "forgotten");
}

struct token_args {
    struct names_args names;
    int64_t valid_ms;
};

static const struct argp_option token_options[] = {
    {"valid", 'v', "TIME", 0, "How long it can be used (1h)", 1}, {0}};
static const char token_doc[] =
    "Make a token with which one machine or proxy joins, and print it.\vIt is a secret: whoever "
    "shows it first becomes part of the cluster.\n\n"
    "Examples:\n  (umask 077; rota node token > n1.token)\n"
    "  rotad agent --join-token-file n1.token --manager https://MANAGER:7411 ...";

static error_t parse_token(int key, char *arg, struct argp_state *state)
{
    struct token_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case 'v':
        if (!fmt_parse_duration(str_of(arg), &a->valid_ms))
            argp_error(state, "--valid %s: expected a time, such as 10m or 1h", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp token_argp = {token_options, parse_token, "", token_doc, args_plain, 0, 0};

static int node_token(int argc, char **argv)
{
    struct token_args a = {.names = {.what = "node"}, .valid_ms = 3600000};
    verb_parse(&token_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.names.common)) return EXIT_FAILED;
    char body[64];
    text_fmt(body, sizeof(body), "{\"valid_ms\":%lld}", (long long)a.valid_ms);
    AUTO_STRBUF struct strbuf answer, line;
    strbuf_init(&answer, 65536);
    strbuf_init(&line, 4096);
    struct api_request rq = {.method = "POST", .target = "/api/v1/tokens/join",
                             .body = str_of(body)};
    struct join_token_answer v;
    struct err err = {0};
    int code = 0;
    int rc = api_call(a.names.common.api, &rq, &answer, NULL, &err);
    if (rc == 0) rc = api_parse(&wire_join_token_answer, strbuf_str(&answer), &v, &err);
    if (rc < 0) {
        code = say_err(&err, EXIT_FAILED);
    } else {
        strbuf_fmt(&line, "%s\n", v.token);
        say_out(strbuf_str(&line));
        wire_free(&wire_join_token_answer, &v);
    }
    mem_zero_secret(line.p, line.cap);
    mem_zero_secret(answer.p, answer.cap);
    verb_close(&a.names.common);
    return code;
}

int verb_node(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"ls", "list machines", node_ls},
        {"show", "one machine with its devices", node_show},
        {"cordon", "place nothing new there", cluster_cordon},
        {"drain", "let it become empty, by a date if there is one", cluster_drain},
        {"uncordon", "place work there again", cluster_uncordon},
        {"undrain", "the same", cluster_uncordon},
        {"forget", "declare a machine gone for good", node_forget},
        {"token", "make a token with which a machine joins", node_token},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "node", argc, argv);
}
