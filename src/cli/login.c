/* cli/login.c - `rota login` and `rota version`: which cluster, and is it there? */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/say.h"
#include "wire/accounts.h"

enum { KEY_TOKEN_FILE = 300, KEY_CA, KEY_NAME };

struct login_args {
    const char *url, *token_file, *ca, *name;
};

static const struct argp_option options[] = {
    {"token-file", KEY_TOKEN_FILE, "FILE", 0, "File that holds the token (- : standard input)", 1},
    {"ca-sha256", KEY_CA, "HEX", 0,
     "SHA-256 of the authority that the manager's certificate chain ends in, instead of "
     "the system's authorities", 1},
    {"name", KEY_NAME, "NAME", 0, "Name of the context (default: the host's name)", 1},
    {0},
};
static const char doc[] =
    "Store an address and a token as a context and make it the current one.  The token is taken "
    "from a file or from standard input, never from the command line, where others could read "
    "it.\v"
    "Examples:\n"
    "  rota login http://127.0.0.1:7410 --token-file admin.token\n"
    "  pass rota/lab | rota login https://rota.example.org --token-file -\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct login_args *a = state->input;
    switch (key) {
    case KEY_TOKEN_FILE: a->token_file = arg; return 0;
    case KEY_CA: a->ca = arg; return 0;
    case KEY_NAME: a->name = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->url) argp_error(state, "'%s' is one too many", arg);
        a->url = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->url) argp_error(state, "where is the manager? give its URL");
        if (!a->token_file)
            argp_error(state, "which token? give --token-file FILE, or - to pipe it");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp login_argp = {options, parse, "URL", doc, NULL, 0, 0};

static void default_name(const char *url, char *ret, size_t cap)
{
    struct str s = str_of(url), head;
    const char *slashes = strstr(url, "://");
    if (slashes) s = str_of(slashes + 3);
    (void)str_cut(&s, ':', &head);
    struct str host = head;
    (void)str_cut(&head, '/', &host);
    text_clip(ret, cap, host.n > 0 ? host : STR("default"));
}

static int fill(const struct login_args *a, struct context *x, struct err *err)
{
    char host[64];
    default_name(a->url, host, sizeof(host));
    if (!TEXT_SET(x->name, str_of(a->name ? a->name : host)))
        return err_set(err, ERR_INVALID, "--name is too long: at most 63 characters");
    if (!TEXT_SET(x->url, str_of(a->url)))
        return err_set(err, ERR_INVALID, "the URL is too long: at most 255 characters");
    if (a->ca && !TEXT_SET(x->ca_sha256, str_of(a->ca)))
        return err_set(err, ERR_INVALID, "--ca-sha256: expected 64 hex digits");
    bool piped = strcmp(a->token_file, "-") == 0;
    return context_read_token(piped ? "/dev/stdin" : a->token_file, x->token, err);
}

/* The token must work now: a wrong one would only be noticed later. */
static int check(const struct context *x, struct err *err)
{
    struct net_loop *l = net_loop_new();
    struct api *api = api_open_at(l, x->url, x->token, x->ca_sha256, err);
    struct version_view v;
    int rc = api ? api_get(api, "/api/v1/version", &wire_version_view, &v, err) : err->code;
    if (rc == 0) {
        AUTO_STRBUF struct strbuf line;
        struct whoami_view who;
        strbuf_init(&line, 1024);
        rc = api_get(api, "/api/v1/whoami", &wire_whoami_view, &who, err);
        if (rc == 0) {
            strbuf_fmt(&line, "logged in to %s (version %s) as %s, context %s\n", x->url,
                       v.version, who.user, x->name);
            say_out(strbuf_str(&line));
            wire_free(&wire_whoami_view, &who);
        }
        wire_free(&wire_version_view, &v);
    }
    api_close(api);
    net_loop_free(l);
    return rc;
}

static int store(const struct context *x, struct err *err)
{
    char path[512];
    context_path(path, sizeof(path));
    struct contexts *c = mem_alloc(sizeof(*c));
    int rc = context_read(path, c, err);
    if (rc == 0) {
        uint32_t at = 0;
        while (at < c->n_contexts && strcmp(c->contexts[at].name, x->name) != 0) at++;
        if (at == CONTEXTS_MAX) {
            rc = err_set(err, ERR_LIMIT, "%s holds %d contexts already: remove one", path, at);
        } else {
            if (at == c->n_contexts) c->n_contexts++;
            c->contexts[at] = *x;
            TEXT_CLIP(c->current, str_of(x->name));
            rc = context_write(path, c, err);
        }
    }
    mem_zero_secret(c, sizeof(*c));
    mem_free(c);
    return rc;
}

int verb_login(int argc, char **argv)
{
    struct login_args a = {0};
    verb_parse(&login_argp, argc, argv, EXIT_USAGE, &a);
    struct context x = {0};
    struct err err = {0};
    int rc = fill(&a, &x, &err);
    if (rc == 0) rc = check(&x, &err);
    if (rc == 0) rc = store(&x, &err);
    mem_zero_secret(&x, sizeof(x));
    return rc < 0 ? say_err(&err, EXIT_FAILED) : 0;
}

/* ---- version ---- */

static const char version_doc[] =
    "Version of this program and, when it can be reached, of the manager.\v"
    "Examples:\n  rota version\n  rota version -o json";
static const struct argp version_argp = {NULL, args_pass_input, "", version_doc, args_output, 0, 0};

int verb_version(int argc, char **argv)
{
    struct names_args a = {.what = "argument"};
    verb_parse(&version_argp, argc, argv, EXIT_USAGE, &a);
    struct version_view v = {0};
    struct err err = {0};
    struct common *c = &a.common;
    c->loop = net_loop_new();
    c->api = api_open(c->loop, c->context, &err);
    bool there = c->api && api_get(c->api, "/api/v1/version", &wire_version_view, &v, &err) == 0;
    int code = 0;
    if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML) {
        AUTO_STRBUF struct strbuf b;
        strbuf_init(&b, 8192);
        strbuf_fmt(&b, "{\"client\":\"%s\",\"manager\":", ROTA_VERSION);
        if (there) wire_print(&wire_version_view, &v, &b);
        else strbuf_puts(&b, "null");
        strbuf_putc(&b, '}');
        code = verb_print_text(c, strbuf_str(&b));
    } else {
        AUTO_STRBUF struct strbuf b;
        strbuf_init(&b, 8192);
        strbuf_fmt(&b, "rota     %s\n", ROTA_VERSION);
        if (there)
            strbuf_fmt(&b, "manager  %s at %s, protocol %u, cluster %.8s\n", v.version,
                       api_url(c->api), v.protocol, v.cluster);
        say_out(strbuf_str(&b));
        if (!there) say_err(&err, 0);
    }
    verb_close(c);
    return code;
}
