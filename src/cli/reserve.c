/* cli/reserve.c - `rota reserve`: devices kept for somebody in a window of time. */
#include "wire/reserve.h"

#include "base/fmt.h"
#include "cli/args.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/sub.h"
#include "wire/time.h"

enum { KEY_USER = 300, KEY_PROJECT, KEY_START, KEY_FOR, KEY_NODES, KEY_CPUS, KEY_MEM, KEY_GPUS,
       KEY_NODE, KEY_NAME };

struct add_args {
    struct names_args names;
    struct reserve_request rq;
};

static const struct argp_option add_options[] = {
    {"user", KEY_USER, "NAME", 0, "For this user", 1},
    {"project", KEY_PROJECT, "NAME", 0, "For this project", 1},
    {"start", KEY_START, "TIME", 0, "When it begins: in a while (2h) or an instant "
     "(2026-12-01T18:00:00Z); at once when not given", 2},
    {"for", KEY_FOR, "TIME", 0, "How long it lasts", 2},
    {"gpus", KEY_GPUS, "N", 0, "Whole GPUs on each node", 3},
    {"cpus", KEY_CPUS, "N", 0, "CPUs on each node", 3},
    {"mem", KEY_MEM, "SIZE", 0, "Memory on each node", 3},
    {"nodes", KEY_NODES, "N", 0, "On how many nodes (1)", 3},
    {"node", KEY_NODE, "NAME", 0, "On this node (any of the group)", 3},
    {"group", 'g', "GROUP", 0, "In this group (default)", 3},
    {"name", KEY_NAME, "NAME", 0, "For people", 4},
    {0},
};
static const char add_doc[] =
    "Keep devices for a user or a project in a window of time, and print the reservation's id.\v"
    "Others start there only what ends before it begins.  It is refused when somebody may still "
    "hold the devices then; nobody is stopped for it.\n\n"
    "Examples:\n  rota reserve add --project vision --start 2h --for 4h --gpus 8\n"
    "  rota reserve add --user bob --start 12h --for 1d --gpus 8 --nodes 2";

static bool set_start(struct reserve_request *rq, const char *arg)
{
    int64_t wall_ms;
    rq->start_in_ms = 0;
    rq->start_at[0] = '\0';
    if (fmt_parse_duration(str_of(arg), &rq->start_in_ms)) return true;
    return wire_time_parse(str_of(arg), &wall_ms) && TEXT_SET(rq->start_at, str_of(arg));
}

static bool set_count(const char *arg, uint64_t most, uint64_t *ret)
{
    return str_to_u64(str_of(arg), ret) && *ret <= most;
}

static error_t parse_what(int key, char *arg, struct reserve_request *rq)
{
    uint64_t count = 0;
    switch (key) {
    case KEY_USER: return TEXT_SET(rq->user, str_of(arg)) ? 0 : EINVAL;
    case KEY_PROJECT: return TEXT_SET(rq->project, str_of(arg)) ? 0 : EINVAL;
    case KEY_START: return set_start(rq, arg) ? 0 : EINVAL;
    case KEY_FOR:
        return fmt_parse_duration(str_of(arg), &rq->length_ms) && rq->length_ms > 0 ? 0 : EINVAL;
    case KEY_GPUS:
        if (!set_count(arg, NODE_DEVICES_MAX, &count)) return EINVAL;
        rq->gpu = (int64_t)count;
        return 0;
    case KEY_NODES:
        if (!set_count(arg, RESERVATION_PARTS_MAX, &count) || count == 0) return EINVAL;
        rq->nodes = (uint32_t)count;
        return 0;
    case KEY_CPUS: return fmt_parse_cpu(str_of(arg), &rq->cpu_milli) ? 0 : EINVAL;
    case KEY_MEM: return fmt_parse_bytes(str_of(arg), &rq->mem_bytes) ? 0 : EINVAL;
    case KEY_NODE: return TEXT_SET(rq->node, str_of(arg)) ? 0 : EINVAL;
    case 'g': return TEXT_SET(rq->group, str_of(arg)) ? 0 : EINVAL;
    case KEY_NAME: return TEXT_SET(rq->name, str_of(arg)) ? 0 : EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char *option_name(int key)
{
    for (const struct argp_option *o = add_options; o->name; o++) {
        if (o->key == key) return o->name;
    }
    return "?";
}

static error_t parse_add(int key, char *arg, struct argp_state *state)
{
    struct add_args *a = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &a->names;
        return 0;
    }
    if (key == ARGP_KEY_END) {
        if ((a->rq.user[0] == '\0') == (a->rq.project[0] == '\0'))
            argp_error(state, "for whom? give --user or --project");
        if (a->rq.length_ms == 0) argp_error(state, "for how long? give --for");
        if (a->rq.gpu == 0 && a->rq.cpu_milli == 0 && a->rq.mem_bytes == 0)
            argp_error(state, "what? give --gpus, --cpus or --mem");
        return 0;
    }
    error_t rc = parse_what(key, arg, &a->rq);
    if (rc == EINVAL) argp_error(state, "--%s %s: not a value that it may have", option_name(key),
                                 arg);
    return rc;
}

static const struct argp add_argp = {add_options, parse_add, "", add_doc, args_plain, 0, 0};

static int reserve_add(int argc, char **argv)
{
    struct add_args a = {.names = {.what = "reservation"}};
    AUTO_STRBUF struct strbuf body, answer, line;
    struct reservation_view v;
    struct err err = {0};
    int code = 0;
    strbuf_init(&body, 8192);
    strbuf_init(&answer, 65536);
    strbuf_init(&line, 4096);
    wire_init(&wire_reserve_request, &a.rq);
    a.rq.length_ms = 0;
    verb_parse(&add_argp, argc, argv, EXIT_USAGE, &a);
    wire_print(&wire_reserve_request, &a.rq, &body);
    if (!verb_open(&a.names.common)) return EXIT_FAILED;
    struct api_request rq = {.method = "POST", .target = "/api/v1/reservations",
                             .body = strbuf_str(&body)};
    int rc = api_call(a.names.common.api, &rq, &answer, NULL, &err);
    if (rc == 0) rc = api_parse(&wire_reservation_view, strbuf_str(&answer), &v, &err);
    if (rc < 0) {
        code = say_err(&err, EXIT_FAILED);
    } else {
        strbuf_fmt(&line, "%s\n", v.id);
        say_out(strbuf_str(&line));
        wire_free(&wire_reservation_view, &v);
    }
    verb_close(&a.names.common);
    return code;
}

/* ---- ls ---- */

static const struct table_column columns[] = {
    {"RESERVATION", 0}, {"FOR", 0}, {"STATE", 0}, {"START", 0}, {"END", 0}, {"GPUS", COL_RIGHT},
    {"CPUS", COL_RIGHT}, {"MEM", COL_RIGHT}, {"NODES", COL_FLEX}, {"NAME", COL_WIDE},
    {"GROUP", COL_WIDE}, {NULL, 0},
};

static void row(struct table *t, const void *item)
{
    const struct reservation_view *v = item;
    AUTO_STRBUF struct strbuf cpus, mem, nodes;
    strbuf_init(&cpus, 64);
    strbuf_init(&mem, 64);
    strbuf_init(&nodes, 8192);
    fmt_cpu(&cpus, v->each.cpu_milli);
    fmt_bytes(&mem, v->each.mem_bytes);
    for (uint32_t i = 0; i < v->n_parts; i++) {
        strbuf_fmt(&nodes, "%s%s", i > 0 ? "," : "", v->parts[i].node);
        if (v->parts[i].devices[0]) strbuf_fmt(&nodes, "[%s]", v->parts[i].devices);
    }
    table_put(t, str_of(v->id));
    const char *whom = v->user[0] ? v->user : v->project;
    table_put(t, str_of(whom[0] ? whom : "other")); /* hidden from who asks */
    table_put(t, str_of(v->state));
    table_put(t, str_of(v->start_at));
    table_put(t, str_of(v->end_at));
    table_putf(t, "%lld", (long long)v->each.gpu);
    table_put(t, strbuf_str(&cpus));
    table_put(t, strbuf_str(&mem));
    table_put(t, strbuf_str(&nodes));
    table_put(t, str_of(v->name));
    table_put(t, str_of(v->group));
}

static const char ls_doc[] = "List reservations: amounts are those of each node.\v"
                             "Examples:\n  rota reserve ls";
static const struct argp ls_argp = {NULL, args_pass_input, "", ls_doc, args_output, 0, 0};

static int reserve_ls(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_reservation_list, .item = &wire_reservation_view, .columns = columns,
        .row = row, .name_at = offsetof(struct reservation_view, id),
        .empty = "no reservations"};
    struct names_args a = {.what = "reservation"};
    verb_parse(&ls_argp, argc, argv, EXIT_USAGE, &a);
    return list_run(&a.common, "/api/v1/reservations", &look);
}

/* ---- rm ---- */

static const char rm_doc[] = "Remove reservations: their devices are everybody's again.\v"
                             "Examples:\n  rota reserve rm r3";
static const struct argp rm_argp = {NULL, args_pass_input, "RESERVATION...", rm_doc, args_plain,
                                    0, 0};

static int reserve_rm(int argc, char **argv)
{
    struct names_args a = {.least = 1, .most = ARGS_MAX, .what = "reservation"};
    int code = 0;
    verb_parse(&rm_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.common)) return EXIT_FAILED;
    for (uint32_t i = 0; i < a.n; i++) {
        AUTO_STRBUF struct strbuf target, line;
        struct err err = {0};
        strbuf_init(&line, 4096);
        args_target(&target, "reservations", a.names[i], "");
        struct api_request rq = {.method = "DELETE", .target = target.p};
        if (api_call(a.common.api, &rq, NULL, NULL, &err) < 0) {
            code = say_err(&err, EXIT_FAILED);
            continue;
        }
        strbuf_fmt(&line, "%s removed\n", a.names[i]);
        say_out(strbuf_str(&line));
    }
    verb_close(&a.common);
    return code;
}

int verb_reserve(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"add", "keep devices for somebody in a window of time", reserve_add},
        {"ls", "list reservations", reserve_ls},
        {"rm", "remove reservations", reserve_rm},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "reserve", argc, argv);
}
