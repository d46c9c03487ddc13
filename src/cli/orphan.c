/* cli/orphan.c - containers of another store. */
#include "cli/args.h"
#include "cli/cluster.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/sub.h"

enum { KEY_NODE = 300 };

struct orphan_args {
    struct names_args names; /* first: the child parser's input */
    const char *node;
};

static const struct argp_option ls_options[] = {
    {"node", KEY_NODE, "NODE", 0, "Of this machine alone", 1}, {0}};
static const char ls_doc[] =
    "Containers that were started for another store, such as one from before a restore.  Nobody "
    "ends them but you.\v"
    "Examples:\n  rota admin orphans\n  rota admin orphans --node n1";
static const char kill_doc[] =
    "End such containers and remove what is left of them, but for their logs.\v"
    "Examples:\n  rota admin orphan kill n1 s17.1.0";

static error_t parse_ls(int key, char *arg, struct argp_state *state)
{
    struct orphan_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case KEY_NODE: a->node = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp ls_argp = {ls_options, parse_ls, "", ls_doc, args_output, 0, 0};
static const struct argp kill_argp = {NULL, args_pass_input, "NODE REF...", kill_doc, args_plain,
                                      0, 0};
static const struct table_column columns[] = {
    {"NODE", 0}, {"REF", 0}, {"PHASE", 0}, {"", 0}, {NULL, 0}};

static void row(struct table *t, const void *item)
{
    const struct orphan_view *v = item;
    table_put(t, str_of(v->node));
    table_put(t, str_of(v->ref));
    table_put(t, str_of(v->phase));
    table_put(t, v->ending ? STR("ending") : STR(""));
}

int cluster_orphans(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_orphan_list, .item = &wire_orphan_view, .columns = columns, .row = row,
        .name_at = offsetof(struct orphan_view, ref), .empty = "there are no orphans"};
    struct orphan_args a = {.names = {.what = "argument"}};
    verb_parse(&ls_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    strbuf_init(&target, 4096);
    strbuf_puts(&target, "/api/v1/admin/orphans");
    if (a.node) strbuf_puts(&target, "?node=");
    if (a.node) api_escape(&target, str_of(a.node));
    return list_run(&a.names.common, target.p, &look);
}

static int orphan_kill(int argc, char **argv)
{
    struct names_args a = {.least = 2, .most = ARGS_MAX, .what = "node and orphan"};
    verb_parse(&kill_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.common)) return EXIT_FAILED;
    int code = 0;
    for (uint32_t i = 1; i < a.n; i++) {
        struct orphan_request rq;
        struct err err = {0};
        AUTO_STRBUF struct strbuf target, body;
        args_target(&target, "nodes", a.names[0], "/orphans");
        strbuf_init(&body, 4096);
        wire_init(&wire_orphan_request, &rq);
        TEXT_CLIP(rq.ref, str_of(a.names[i]));
        wire_print(&wire_orphan_request, &rq, &body);
        struct api_request call = {.method = "POST", .target = target.p,
                                   .body = strbuf_str(&body)};
        if (api_call(a.common.api, &call, NULL, NULL, &err) < 0)
            code = say_err(&err, EXIT_FAILED);
    }
    verb_close(&a.common);
    return code;
}

int cluster_orphan(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"kill", "end one", orphan_kill},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "admin orphan", argc, argv);
}
