/* cli/admin.c - `rota admin`, tokens, snapshots, `rota quota`, `rota whoami`. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fmt.h"
#include "cli/account.h"
#include "cli/cluster.h"
#include "cli/device.h"
#include "cli/args.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/sub.h"
#include "wire/snapshot.h"

/* ---- tokens ---- */

struct token_args {
    struct names_args names;
    struct token_request rq;
};

static const struct argp_option token_options[] = {
    {"name", 'n', "TEXT", 0, "What it is for", 1},
    {"valid", 'v', "TIME", 0, "How long it opens anything (until it is revoked)", 1}, {0}};
static const char create_doc[] =
    "Make a token of a user and print it, once: only its hash is kept.\v"
    "It is a secret: whoever has it acts as that user.\n\n"
    "Examples:\n  (umask 077; rota admin token create bob --name laptop > bob.token)\n"
    "  rota login https://rota.example.org --token-file bob.token";

static error_t parse_create(int key, char *arg, struct argp_state *state)
{
    struct token_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case 'n':
        if (!TEXT_SET(a->rq.name, str_of(arg)))
            argp_error(state, "--name: expected at most %zu bytes", sizeof(a->rq.name) - 1);
        return 0;
    case 'v':
        if (!fmt_parse_duration(str_of(arg), &a->rq.valid_ms) || a->rq.valid_ms == 0)
            argp_error(state, "--valid %s: expected a time, such as 12h or 30d", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp create_argp = {token_options, parse_create, "USER", create_doc,
                                        args_plain, 0, 0};

static int token_create(int argc, char **argv)
{
    struct token_args a = {.names = {.least = 1, .most = 1, .what = "user"}};
    AUTO_STRBUF struct strbuf target, body, answer, line;
    struct token_view v;
    struct err err = {0};
    int code = 0;
    strbuf_init(&body, 4096);
    strbuf_init(&answer, 65536);
    strbuf_init(&line, 4096);
    wire_init(&wire_token_request, &a.rq);
    verb_parse(&create_argp, argc, argv, EXIT_USAGE, &a);
    args_target(&target, "users", a.names.names[0], "/tokens");
    wire_print(&wire_token_request, &a.rq, &body);
    if (!verb_open(&a.names.common)) return EXIT_FAILED;
    struct api_request rq = {.method = "POST", .target = target.p, .body = strbuf_str(&body)};
    int rc = api_call(a.names.common.api, &rq, &answer, NULL, &err);
    if (rc == 0) rc = api_parse(&wire_token_view, strbuf_str(&answer), &v, &err);
    if (rc < 0) {
        code = say_err(&err, EXIT_FAILED);
    } else {
        strbuf_fmt(&line, "%s\n", v.token ? v.token : "");
        say_out(strbuf_str(&line));
        wire_free(&wire_token_view, &v);
    }
    mem_zero_secret(line.p, line.cap);
    mem_zero_secret(answer.p, answer.cap);
    verb_close(&a.names.common);
    return code;
}

static const struct table_column token_columns[] = {
    {"TOKEN", 0}, {"NAME", COL_FLEX}, {"USER", 0}, {"CREATED", 0}, {"EXPIRES", 0}, {NULL, 0},
};

static void token_row(struct table *t, const void *item)
{
    const struct token_view *v = item;
    table_put(t, str_of(v->id));
    table_put(t, str_of(v->name));
    table_put(t, str_of(v->user));
    table_put(t, str_of(v->created_at));
    if (v->expired) table_put_color(t, STR("expired"), TERM_YELLOW);
    else table_put(t, v->expires_at[0] ? str_of(v->expires_at) : STR("never"));
}

static const char ls_doc[] = "List the tokens of a user; a token itself is shown nowhere.\v"
                             "Examples:\n  rota admin token ls bob";
static const struct argp ls_argp = {NULL, args_pass_input, "USER", ls_doc, args_output, 0, 0};

static int token_ls(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_token_list, .item = &wire_token_view, .columns = token_columns,
        .row = token_row, .name_at = offsetof(struct token_view, id), .empty = "no tokens"};
    struct names_args a = {.least = 1, .most = 1, .what = "user"};
    verb_parse(&ls_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "users", a.names[0], "/tokens");
    return list_run(&a.common, target.p, &look);
}

static const char revoke_doc[] =
    "Revoke tokens by their ids, as `rota admin token ls` shows them: they open nothing from now "
    "on.\vExamples:\n  rota admin token revoke 3f9a01c2d4e5";
static const struct argp revoke_argp = {NULL, args_pass_input, "TOKEN...", revoke_doc, args_plain,
                                        0, 0};

static int token_revoke(int argc, char **argv)
{
    struct names_args a = {.least = 1, .most = ARGS_MAX, .what = "token"};
    int code = 0;
    verb_parse(&revoke_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.common)) return EXIT_FAILED;
    for (uint32_t i = 0; i < a.n; i++) {
        AUTO_STRBUF struct strbuf target, line;
        struct err err = {0};
        strbuf_init(&line, 4096);
        args_target(&target, "tokens", a.names[i], "");
        struct api_request rq = {.method = "DELETE", .target = target.p};
        if (api_call(a.common.api, &rq, NULL, NULL, &err) < 0) {
            code = say_err(&err, EXIT_FAILED);
            continue;
        }
        strbuf_fmt(&line, "%s revoked\n", a.names[i]);
        say_out(strbuf_str(&line));
    }
    verb_close(&a.common);
    return code;
}

int account_token(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"create", "make a token of a user and print it", token_create},
        {"ls", "list the tokens of a user", token_ls},
        {"revoke", "end tokens", token_revoke},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "admin token", argc, argv);
}

/* ---- snapshot ---- */

struct snapshot_args {
    struct names_args names;
    const char *file;
};

static const struct argp_option snapshot_options[] = {
    {"output", 'o', "FILE", 0, "Into this file, which its owner alone may read", 1}, {0}};
static const char snapshot_doc[] =
    "Print the world as JSON: sessions, machines, groups, accounts as they are now; no commands, "
    "no secrets.  `rota sim queue` reads it.\v"
    "Examples:\n  rota admin snapshot > now.json\n  rota admin snapshot -o now.json\n"
    "  rota sim queue --snapshot now.json --policy on_blocked=skip";

static error_t parse_snapshot(int key, char *arg, struct argp_state *state)
{
    struct snapshot_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case 'o': a->file = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp snapshot_argp = {snapshot_options, parse_snapshot, "", snapshot_doc,
                                          args_plain, 0, 0};

/* A file that was there stays as it was when the manager gave none. */
static int write_file(const char *path, struct str text, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot write %s", path);
    bool whole = say_write_all(fd, text);
    int at = errno;
    if (close(fd) != 0 && whole) {
        whole = false;
        at = errno;
    }
    return whole ? 0 : err_sys(err, ERR_IO, at, "cannot write %s", path);
}

static int admin_snapshot(int argc, char **argv)
{
    struct snapshot_args a = {.names = {.what = "argument"}};
    AUTO_STRBUF struct strbuf answer;
    struct err err = {0};
    strbuf_init(&answer, SNAPSHOT_MAX);
    verb_parse(&snapshot_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.names.common)) return EXIT_FAILED;
    struct api_request rq = {.target = "/api/v1/admin/snapshot", .timeout_ms = 120000};
    int rc = api_call(a.names.common.api, &rq, &answer, NULL, &err);
    verb_close(&a.names.common);
    if (rc == 0) strbuf_putc(&answer, '\n');
    if (rc == 0 && a.file) rc = write_file(a.file, strbuf_str(&answer), &err);
    else if (rc == 0) say_out(strbuf_str(&answer));
    return rc == 0 ? 0 : say_err(&err, EXIT_FAILED);
}

int verb_admin(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"user", "ls, add, set: people", account_user},
        {"project", "ls, add, set: what they work on together", account_project},
        {"domain", "ls, add, set: what holds users and projects", account_domain},
        {"token", "create, ls, revoke: what opens the cluster to a user", account_token},
        {"orphans", "containers of another store", cluster_orphans},
        {"orphan", "kill: end one of them", cluster_orphan},
        {"silence", "accept: many machines are silent, and down indeed", cluster_silence},
        {"device", "return or quarantine a GPU of a node", device_order},
        {"snapshot", "the world as JSON, for `rota sim queue`", admin_snapshot},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "admin", argc, argv);
}

/* ---- quota ---- */

enum { KEY_USER = 300, KEY_PROJECT };

struct quota_args {
    struct names_args names;
    const char *user, *project;
};

static const struct argp_option quota_options[] = {
    {"user", KEY_USER, "NAME", 0, "Of this user (administrators)", 1},
    {"project", KEY_PROJECT, "NAME", 0, "Of its projects this one alone", 1}, {0}};
static const char quota_doc[] =
    "What is used of each limit, as \"2 / 8\"; without a limit \"2\".  All three levels count: the "
    "user, the project of a session, and their domain.\v"
    "Examples:\n  rota quota\n  rota quota --project vision\n  rota quota --user bob";

static error_t parse_quota(int key, char *arg, struct argp_state *state)
{
    struct quota_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case KEY_USER: a->user = arg; return 0;
    case KEY_PROJECT: a->project = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp quota_argp = {quota_options, parse_quota, "", quota_doc, args_output,
                                       0, 0};

static const struct table_column quota_columns[] = {
    {"LEVEL", 0}, {"NAME", COL_FLEX}, {"CPU", COL_RIGHT}, {"MEM", COL_RIGHT}, {"GPU", COL_RIGHT},
    {"RUNNING", COL_RIGHT}, {"PENDING", COL_RIGHT}, {"CONTAINERS", COL_RIGHT}, {NULL, 0},
};

static void quota_row(struct table *t, const void *item)
{
    const struct quota_view *v = item;
    table_put(t, str_of(v->level));
    table_put(t, str_of(v->name));
    account_put_use(t, &v->limits, &v->used);
    if (v->limits.containers < 0) table_put(t, STR(""));
    else table_putf(t, "%lld", (long long)v->limits.containers);
}

static void add_query(struct strbuf *b, const char *name, const char *value)
{
    if (!value) return;
    strbuf_putc(b, memchr(b->p, '?', b->n) ? '&' : '?');
    strbuf_fmt(b, "%s=", name);
    api_escape(b, str_of(value));
}

int verb_quota(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_quota_list, .item = &wire_quota_view, .columns = quota_columns,
        .row = quota_row, .name_at = offsetof(struct quota_view, name)};
    struct quota_args a = {.names = {.what = "argument"}};
    verb_parse(&quota_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "quota", NULL, "");
    add_query(&target, "user", a.user);
    add_query(&target, "project", a.project);
    return list_run(&a.names.common, target.p, &look);
}

/* ---- whoami ---- */

static void show_whoami(const void *object, struct strbuf *b)
{
    const struct whoami_view *v = object;
    strbuf_fmt(b, "%-10s %s (%s)\n%-10s %s\n", "user", v->user,
               wire_name_of(names_account_role, (int32_t)v->role), "domain", v->domain);
    strbuf_fmt(b, "%-10s ", "projects");
    for (uint32_t i = 0; i < v->projects.n; i++)
        strbuf_fmt(b, "%s%s", i ? ", " : "", v->projects.v[i]);
    strbuf_fmt(b, "\n%-10s uid %u, gid %u\n%-10s %s", "runs as", v->uid, v->gid, "token", v->token);
    if (v->token_name[0]) {
        strbuf_puts(b, " (");
        term_safe(b, str_of(v->token_name));
        strbuf_putc(b, ')');
    }
    strbuf_fmt(b, ", expires %s\n", v->expires_at[0] ? v->expires_at : "never");
}

static const char whoami_doc[] = "Whose token is used here, and where it may submit.\v"
                                 "Examples:\n  rota whoami\n  rota whoami -o name";
static const struct argp whoami_argp = {NULL, args_pass_input, "", whoami_doc, args_output, 0, 0};

int verb_whoami(int argc, char **argv)
{
    static const struct list_one_look look = {.object = &wire_whoami_view, .text = show_whoami,
                                              .name_at = offsetof(struct whoami_view, user)};
    struct names_args a = {.what = "argument"};
    verb_parse(&whoami_argp, argc, argv, EXIT_USAGE, &a);
    return list_one_run(&a.common, "/api/v1/whoami", &look);
}
