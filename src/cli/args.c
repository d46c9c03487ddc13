/* cli/args.c - lists of names on command lines. */
#include "cli/args.h"

#include "cli/say.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct names_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case ARGP_KEY_ARG:
        if (a->n == a->most && a->most == 0)
            argp_error(state, "'%s' is one too many: nothing but options is expected", arg);
        else if (a->n == a->most)
            argp_error(state, "'%s' is one too many: expected at most %u", arg, a->most);
        else a->names[a->n++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->n < a->least) argp_error(state, "which %s? give its name", a->what);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child plain[] = {{&verb_common_argp, 0, NULL, 0}, {0}};
static const struct argp_child output[] = {{&verb_output_argp, 0, NULL, 0}, {0}};
const struct argp names_argp = {NULL, parse, NULL, NULL, plain, 0, 0};
const struct argp names_output_argp = {NULL, parse, NULL, NULL, output, 0, 0};
const struct argp_child args_plain[] = {{&names_argp, 0, NULL, 0}, {0}};
const struct argp_child args_output[] = {{&names_output_argp, 0, NULL, 0}, {0}};

error_t args_pass_input(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

void args_target(struct strbuf *b, const char *prefix, const char *name, const char *suffix)
{
    strbuf_init(b, 8192);
    strbuf_fmt(b, "/api/v1/%s", prefix);
    if (name) {
        strbuf_putc(b, '/');
        api_escape(b, str_of(name));
    }
    strbuf_puts(b, suffix);
}

int args_post_each(struct names_args *a, const char *prefix, const char *suffix, const char *body,
                   const char *past)
{
    if (!verb_open(&a->common)) return EXIT_FAILED;
    int code = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        AUTO_STRBUF struct strbuf target, line;
        args_target(&target, prefix, a->names[i], suffix);
        strbuf_init(&line, 4096);
        struct err err = {0};
        struct api_request rq = {.method = "POST", .target = target.p, .body = str_of(body)};
        if (api_call(a->common.api, &rq, NULL, NULL, &err) < 0) {
            code = say_err(&err, EXIT_FAILED);
        } else if (past) {
            strbuf_fmt(&line, "%s %s\n", a->names[i], past);
            say_out(strbuf_str(&line));
        }
    }
    verb_close(&a->common);
    return code;
}
