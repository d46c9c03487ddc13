/* cli/verb.c - what the verbs share: options, opening, printing. */
#include "cli/verb.h"

#include <stdlib.h>

#include "cli/render.h"
#include "cli/say.h"

static error_t parse_context(int key, char *arg, struct argp_state *state)
{
    struct common *c = state->input;
    if (key != 'c') return ARGP_ERR_UNKNOWN;
    c->context = arg;
    return 0;
}

static error_t parse_output(int key, char *arg, struct argp_state *state)
{
    static const char *const names[] = {
        [OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json",
        [OUTPUT_YAML] = "yaml", [OUTPUT_NAME] = "name",
    };
    struct common *c = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = c;
        return 0;
    }
    if (key != 'o') return ARGP_ERR_UNKNOWN;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(arg, names[i]) != 0) continue;
        c->output = (enum output_format)i;
        return 0;
    }
    argp_error(state, "-o %s: expected json, yaml, wide, name or table", arg);
    return EINVAL;
}

static const struct argp_option context_options[] = {
    {"context", 'c', "NAME", 0, "Use this context of the configuration file", 9}, {0}};
static const struct argp_option output_options[] = {
    {"output", 'o', "FORMAT", 0, "json, yaml, wide or name instead of a table", 8}, {0}};

const struct argp verb_common_argp = {context_options, parse_context, 0, 0, 0, 0, 0};
static const struct argp_child output_children[] = {{&verb_common_argp, 0, NULL, 0}, {0}};
const struct argp verb_output_argp = {output_options, parse_output, 0, 0, output_children, 0, 0};

void verb_parse(const struct argp *argp, int argc, char **argv, int usage_exit, void *input)
{
    argp_err_exit_status = usage_exit;
    static char help[] = "--help";
    for (int i = 1; i < argc && argv[i][0] == '-'; i++)
        if (strcmp(argv[i], "-h") == 0) argv[i] = help;
    /* In order: an option behind the first other word belongs to that word. */
    if (argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, input) != 0) exit(usage_exit);
}

bool verb_open(struct common *c)
{
    struct err err = {0};
    c->loop = net_loop_new();
    c->api = api_open(c->loop, c->context, &err);
    if (c->api) return true;
    say_err(&err, 0);
    net_loop_free(c->loop);
    c->loop = NULL;
    return false;
}

void verb_close(struct common *c)
{
    api_close(c->api);
    if (c->loop) net_loop_free(c->loop);
    c->api = NULL;
    c->loop = NULL;
}

/* Edits (insert, drop, change, swap neighbours) from one short word to another. */
static unsigned distance(const char *a, const char *b)
{
    enum { MAX = 24 };
    size_t na = strlen(a), nb = strlen(b);
    if (na > MAX || nb > MAX) return MAX;
    unsigned d[MAX + 1][MAX + 1];
    for (size_t i = 0; i <= na; i++) d[i][0] = (unsigned)i;
    for (size_t k = 0; k <= nb; k++) d[0][k] = (unsigned)k;
    for (size_t i = 1; i <= na; i++) {
        for (size_t k = 1; k <= nb; k++) {
            unsigned best = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            if (d[i - 1][k] + 1 < best) best = d[i - 1][k] + 1;
            if (d[i][k - 1] + 1 < best) best = d[i][k - 1] + 1;
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
                d[i - 2][k - 2] + 1 < best)
                best = d[i - 2][k - 2] + 1;
            d[i][k] = best;
        }
    }
    return d[na][nb];
}

const char *verb_nearest(const char *word, const char *const *known)
{
    const char *best = NULL;
    unsigned best_d = strlen(word) <= 3 ? 2 : 3; /* farther is another word */
    for (; *known; known++) {
        unsigned d = distance(word, *known);
        if (d < best_d) {
            best_d = d;
            best = *known;
        }
    }
    return best;
}

int verb_print_text(const struct common *c, struct str json)
{
    AUTO_STRBUF struct strbuf out;
    strbuf_init(&out, 256 * 1024 * 1024);
    struct err err = {0};
    bool yaml = c->output == OUTPUT_YAML;
    int rc = yaml ? render_yaml(json, &out, &err) : render_json(json, &out, &err);
    if (rc < 0) return say_err(&err, EXIT_FAILED);
    say_out(strbuf_str(&out));
    return 0;
}

int verb_print(const struct common *c, const struct wire_table *table, const void *obj)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024 * 1024);
    wire_print(table, obj, &b);
    return verb_print_text(c, strbuf_str(&b));
}

void verb_list_item(struct strbuf *b, const struct wire_table *table, const void *obj)
{
    strbuf_putc(b, b->n == 0 ? '[' : ',');
    wire_print(table, obj, b);
}
