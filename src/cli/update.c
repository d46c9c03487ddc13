/* cli/update.c - `rota update`, `hold`, `release`: what may still change of a session. */
#include "base/fmt.h"
#include "cli/args.h"
#include "cli/say.h"

enum { BODY_MAX = 4096, KEY_TIME = 300, KEY_PRIORITY, KEY_PREEMPTIBLE };

struct update_args {
    struct names_args names; /* first: the child parser's input */
    struct update_request rq;
};

static const struct argp_option update_options[] = {
    {"priority", KEY_PRIORITY, "0..100", 0, "Higher goes first", 1},
    {"time", KEY_TIME, "TIME", 0, "Time limit: 90s, 2h; 0 for none.  While it waits", 1},
    {"preemptible", KEY_PREEMPTIBLE, "yes|no", 0, "May it have to make room for others?", 1},
    {0},
};
static const char update_doc[] =
    "Change what may still change of sessions.\v"
    "Examples:\n  rota update --priority 50 night\n  rota update --time 4h s17 s18\n\n"
    "A priority that a person sets ends a lowering by the scheduler.";

static error_t parse_update(int key, char *arg, struct argp_state *state)
{
    struct update_args *a = state->input;
    uint64_t n = 0;
    int32_t choice = 0;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case KEY_PRIORITY:
        if (!str_to_u64(str_of(arg), &n) || n > SESSION_PRIORITY_MAX)
            argp_error(state, "--priority %s: expected a whole number from 0 to 100", arg);
        else a->rq.priority = (int32_t)n;
        return 0;
    case KEY_TIME:
        if (!fmt_parse_duration(str_of(arg), &a->rq.time_limit_ms))
            argp_error(state, "--time %s: expected a time, such as 90s, 30m or 2h", arg);
        return 0;
    case KEY_PREEMPTIBLE:
        if (!wire_name_find(names_choice, str_of(arg), &choice))
            argp_error(state, "--preemptible %s: expected yes or no", arg);
        else a->rq.preemptible = (enum choice)choice;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp update_argp = {update_options, parse_update, "SESSION...", update_doc,
                                        args_plain, 0, 0};

static int patch_one(struct update_args *a, const char *name, const char *past)
{
    AUTO_STRBUF struct strbuf target, body, line;
    struct err err = {0};
    args_target(&target, "sessions", name, "");
    strbuf_init(&body, BODY_MAX);
    strbuf_init(&line, BODY_MAX);
    wire_print(&wire_update_request, &a->rq, &body);
    struct api_request rq = {.method = "PATCH", .target = target.p, .body = strbuf_str(&body)};
    if (api_call(a->names.common.api, &rq, NULL, NULL, &err) < 0)
        return say_err(&err, EXIT_FAILED);
    strbuf_fmt(&line, "%s %s\n", name, past);
    say_out(strbuf_str(&line));
    return 0;
}

static int patch_each(struct update_args *a, const char *past)
{
    int code = 0;
    if (!verb_open(&a->names.common)) return EXIT_FAILED;
    for (uint32_t i = 0; i < a->names.n; i++) {
        int one = patch_one(a, a->names.names[i], past);
        if (one) code = one;
    }
    verb_close(&a->names.common);
    return code;
}

static void prepare(struct update_args *a)
{
    memset(a, 0, sizeof(*a));
    wire_init(&wire_update_request, &a->rq);
    a->names.least = 1;
    a->names.most = ARGS_MAX;
    a->names.what = "session";
}

int verb_update(int argc, char **argv)
{
    struct update_args a;
    prepare(&a);
    verb_parse(&update_argp, argc, argv, EXIT_USAGE, &a);
    if (a.rq.priority < 0 && a.rq.time_limit_ms < 0 && a.rq.preemptible == CHOICE_DEFAULT) {
        say("nothing to change: give --priority, --time or --preemptible");
        return EXIT_USAGE;
    }
    return patch_each(&a, "updated");
}

static const char requeue_doc[] =
    "Stop sessions and let them wait again at their place, under their ids.\v"
    "Examples:\n  rota requeue night\n\n"
    "It gets SIGTERM, its grace, SIGKILL; the next start finds ROTA_RESTART_COUNT one higher.";
static const struct argp requeue_argp = {NULL, args_pass_input, "SESSION...", requeue_doc,
                                         args_plain, 0, 0};

int verb_requeue(int argc, char **argv)
{
    struct names_args a = {.least = 1, .most = ARGS_MAX, .what = "session"};
    verb_parse(&requeue_argp, argc, argv, EXIT_USAGE, &a);
    return args_post_each(&a, "sessions", "/requeue", "", "sent back to the queue");
}

static const char hold_doc[] = "Keep waiting sessions from starting until `rota release`.\v"
                               "Examples:\n  rota hold night";
static const char release_doc[] = "Let held sessions take their turn.\v"
                                  "Examples:\n  rota release night";
static const struct argp hold_argp = {NULL, args_pass_input, "SESSION...", hold_doc, args_plain,
                                      0, 0};
static const struct argp release_argp = {NULL, args_pass_input, "SESSION...", release_doc,
                                         args_plain, 0, 0};

int verb_hold(int argc, char **argv)
{
    struct update_args a;
    prepare(&a);
    verb_parse(&hold_argp, argc, argv, EXIT_USAGE, &a);
    a.rq.hold = CHOICE_YES;
    return patch_each(&a, "held");
}

int verb_release(int argc, char **argv)
{
    struct update_args a;
    prepare(&a);
    verb_parse(&release_argp, argc, argv, EXIT_USAGE, &a);
    a.rq.hold = CHOICE_NO;
    return patch_each(&a, "released");
}
