/* cli/exec.c - `rota exec`: one more command inside a running container. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/carry.h"
#include "cli/exec.h"
#include "cli/input.h"
#include "cli/say.h"
#include "cli/sink.h"
#include "cli/verb.h"

enum { KEY_MEMBER = 300 };

struct exec {
    const struct exec_job *job;
    struct carry *carry;
    struct sink *sinks[2];
    struct input *input;
    struct net_signal *signals[2];
    int code;
    bool ended, done, interrupted;
};

static const struct argp_option options[] = {
    {"interactive", 'i', 0, 0, "Pass standard input on to the command", 1},
    {"tty", 't', 0, 0, "Give the command a terminal", 1},
    {"env", 'e', "NAME=VALUE", 0, "Set a variable", 1},
    {"member", KEY_MEMBER, "N", 0, "In this container of a gang (default 0)", 1},
    {0},
};
static const char doc[] =
    "Run a command inside a running session, as its user and within its limits.\v"
    "Examples:\n"
    "  rota exec night ps aux\n"
    "  rota exec -it night bash";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct exec_job *a = state->input;
    const char *eq;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case 'i': a->interactive = true; return 0;
    case 't': a->request.tty = true; return 0;
    case 'e':
        eq = strchr(arg, '=');
        if (!eq || eq == arg) argp_error(state, "-e %s: expected NAME=VALUE", arg);
        else wire_map_add(&a->request.env, str_n(arg, (size_t)(eq - arg)), str_of(eq + 1));
        return 0;
    case KEY_MEMBER:
        if (!str_to_u64(str_of(arg), &a->member) || a->member >= SESSION_MEMBERS_MAX)
            argp_error(state, "--member %s: expected a number from 0 to 511", arg);
        return 0;
    case ARGP_KEY_ARG:
        a->session = arg;
        while (state->next < state->argc) {
            const char *word = state->argv[state->next++];
            if (a->request.argv.n == 0 && strcmp(word, "--") == 0) continue;
            wire_texts_add(&a->request.argv, str_of(word));
        }
        return 0;
    case ARGP_KEY_END:
        if (!a->session) argp_error(state, "which session? give its id or name");
        if (a->request.argv.n == 0) argp_error(state, "which command? give it after the session");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&verb_common_argp, 0, NULL, 0}, {0}};
static const struct argp exec_argp = {options, parse, "SESSION COMMAND [ARG...]", doc, children,
                                      0, 0};

static void finish(struct exec *x)
{
    x->ended = true;
    x->done = sink_empty(x->sinks[0]) && sink_empty(x->sinks[1]);
}

static bool on_input(void *arg, enum carry_type type, struct str payload)
{
    struct exec *x = arg;
    return carry_send(x->carry, type, payload);
}

static void on_open(void *arg)
{
    struct exec *x = arg;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, CARRY_PAYLOAD_MAX);
    wire_print(&wire_exec_request, &x->job->request, &b);
    if (b.full) {
        say("the command is too long: at most %u bytes", CARRY_PAYLOAD_MAX);
        finish(x);
        return;
    }
    (void)carry_send(x->carry, CARRY_COMMAND, strbuf_str(&b));
    bool tty = x->job->request.tty;
    if (x->job->interactive || tty) {
        x->input = input_new(x->job->common.loop, x->job->in, tty, on_input, x);
        input_ready(x->input);
    } else {
        (void)carry_send(x->carry, CARRY_STDIN_END, str_n(NULL, 0));
    }
}

static void take_end(struct exec *x, struct str payload)
{
    struct carry_end end;
    struct err why = {0};
    if (wire_parse(&wire_carry_end, payload, &end, &why) < 0) {
        (void)say_err(&why, 0);
    } else {
        if (end.detail[0]) say("%s", end.detail);
        if (end.signal > 0) x->code = 128 + end.signal;
        else if (end.exit_code >= 0) x->code = end.exit_code;
        wire_free(&wire_carry_end, &end);
    }
    finish(x);
}

static void on_frame(void *arg, enum carry_type type, struct str payload)
{
    struct exec *x = arg;
    int n = (int)(payload.n < 300 ? payload.n : 300);
    if (type == CARRY_STDOUT || type == CARRY_STDERR) {
        if (!sink_put(x->sinks[type == CARRY_STDERR], payload)) carry_pause(x->carry);
    } else if (type == CARRY_END) {
        take_end(x, payload);
    } else if (type == CARRY_NOTICE) {
        say("%.*s", n, payload.p);
    } else if (type == CARRY_ERROR) {
        say("%.*s", n, payload.p);
        finish(x);
    }
}

static void on_over(void *arg, const char *code, const struct err *why)
{
    (void)code;
    struct exec *x = arg;
    if (!x->ended) say("%s", why->text);
    finish(x);
}

static void on_room(void *arg)
{
    struct exec *x = arg;
    if (x->input) input_ready(x->input);
}

static void on_drain(void *arg)
{
    struct exec *x = arg;
    if (x->ended) finish(x);
    else if (!sink_blocked(x->sinks[0]) && !sink_blocked(x->sinks[1])) carry_resume(x->carry);
}

static void on_broken(void *arg, int problem)
{
    struct exec *x = arg;
    if (x->job->helper) {
        finish(x); /* its reader says why */
        x->done = true;
        return;
    }
    if (problem == EPIPE) say_pipe_closed();
    say("cannot write the output: %s", strerror(problem));
    exit(EXIT_ROTA);
}

static void on_signal(void *arg, int signum)
{
    struct exec *x = arg;
    char payload = (char)signum;
    if (x->job->helper && x->interrupted) { /* it does not listen: its session may be paused */
        x->code = 128 + signum;
        finish(x);
        x->done = true;
        return;
    }
    x->interrupted = true;
    (void)carry_send(x->carry, CARRY_SIGNAL, str_n(&payload, 1));
}

static const struct carry_ops carry_callbacks = {
    .on_open = on_open, .on_frame = on_frame, .on_drain = on_room, .on_over = on_over};
static const struct sink_ops sink_callbacks = {on_drain, on_broken};

int exec_run(const struct exec_job *a)
{
    struct exec x = {.job = a, .code = EXIT_ROTA};
    struct net_loop *l = a->common.loop;
    x.sinks[0] = sink_new(l, a->out, &sink_callbacks, &x);
    x.sinks[1] = sink_new(l, STDERR_FILENO, &sink_callbacks, &x);
    static const int kinds[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        x.signals[i] = net_signal_new(l, kinds[i], on_signal, &x);
    struct carry_target t = {a->session, (uint32_t)a->member, "exec", "", false};
    x.carry = carry_open(a->common.api, &t, &carry_callbacks, &x);
    (void)net_loop_run_until(l, &x.done, -1);
    carry_free(x.carry);
    input_free(x.input);
    for (int i = 0; i < 2; i++) {
        net_signal_free(x.signals[i]);
        sink_free(x.sinks[i]);
    }
    return x.code;
}

int verb_exec(int argc, char **argv)
{
    struct exec_job a = {.in = STDIN_FILENO, .out = STDOUT_FILENO};
    verb_parse(&exec_argp, argc, argv, EXIT_ROTA, &a);
    int code = EXIT_ROTA;
    if (a.request.tty && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
        say("-t needs a terminal here: leave it out when input or output is a file or a pipe");
    } else if (verb_open(&a.common)) {
        code = exec_run(&a);
        verb_close(&a.common);
    }
    wire_texts_free(&a.request.argv);
    wire_map_free(&a.request.env);
    return code;
}
