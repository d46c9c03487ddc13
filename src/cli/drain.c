/* cli/drain.c - machines that are to get nothing new, or to become empty. */
#include "base/fmt.h"
#include "cli/args.h"
#include "cli/cluster.h"
#include "cli/say.h"

enum { KEY_REASON = 300, KEY_DEADLINE };

struct drain_args {
    struct names_args names; /* first: the child parser's input */
    struct cordon_request rq;
};

static const struct argp_option cordon_options[] = {
    {"reason", KEY_REASON, "TEXT", 0, "Why, for whoever looks", 1}, {0}};
static const struct argp_option drain_options[] = {
    {"deadline", KEY_DEADLINE, "TIME", 0,
     "Stop who is still there after so long: batch sessions run again elsewhere", 1},
    {"reason", KEY_REASON, "TEXT", 0, "Why, for whoever looks", 1}, {0}};

static const char cordon_doc[] = "Place nothing new there; what runs goes on.\v"
                                 "Examples:\n  rota node cordon n1 --reason 'new fans'";
static const char drain_doc[] =
    "Place nothing new there, and let what runs end.\v"
    "Examples:\n  rota node drain n1 --deadline 2h --reason 'new fans'\n"
    "  rota node undrain n1";
static const char uncordon_doc[] = "Place work there again.\v"
                                   "Examples:\n  rota node uncordon n1";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct drain_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case KEY_REASON:
        if (!TEXT_SET(a->rq.reason, str_of(arg)))
            argp_error(state, "--reason: expected at most %zu bytes", sizeof(a->rq.reason) - 1);
        return 0;
    case KEY_DEADLINE:
        if (!fmt_parse_duration(str_of(arg), &a->rq.deadline_ms) || a->rq.deadline_ms < 1)
            argp_error(state, "--deadline %s: expected a time, such as 30m or 2h", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp cordon_argp = {cordon_options, parse, "NODE...", cordon_doc, args_plain,
                                        0, 0};
static const struct argp drain_argp = {drain_options, parse, "NODE...", drain_doc, args_plain, 0,
                                       0};
static const struct argp uncordon_argp = {NULL, args_pass_input, "NODE...", uncordon_doc,
                                          args_plain, 0, 0};

static int run(const struct argp *argp, int argc, char **argv, const char *verb, const char *past)
{
    struct drain_args a = {.names = {.least = 1, .most = ARGS_MAX, .what = "node"}};
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 4096);
    verb_parse(argp, argc, argv, EXIT_USAGE, &a);
    wire_print(&wire_cordon_request, &a.rq, &body);
    strbuf_putc(&body, '\0');
    return args_post_each(&a.names, "nodes", verb, body.p, past);
}

int cluster_cordon(int argc, char **argv)
{
    return run(&cordon_argp, argc, argv, "/cordon", "cordoned");
}

int cluster_drain(int argc, char **argv)
{
    return run(&drain_argp, argc, argv, "/drain", "draining");
}

int cluster_uncordon(int argc, char **argv)
{
    struct names_args a = {.least = 1, .most = ARGS_MAX, .what = "node"};
    verb_parse(&uncordon_argp, argc, argv, EXIT_USAGE, &a);
    return args_post_each(&a, "nodes", "/uncordon", "{}", "uncordoned");
}
