/* cli/account.c - `rota admin user`, `project` and `domain`. */
#include "cli/account.h"

#include "base/fmt.h"
#include "cli/args.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/sub.h"

/* ---- listing ---- */

static void fmt_count(struct strbuf *b, int64_t n) { strbuf_i64(b, n); }

static void put(struct table *t, int64_t used, int64_t limit,
                void (*fmt)(struct strbuf *, int64_t))
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 128);
    fmt(&b, used);
    if (limit >= 0) {
        strbuf_puts(&b, " / ");
        fmt(&b, limit);
    }
    table_put(t, strbuf_str(&b));
}

void account_put_use(struct table *t, const struct limits_view *limits,
                     const struct usage_view *used)
{
    put(t, used->cpu_milli, limits->cpu_milli, fmt_cpu);
    put(t, used->mem_bytes, limits->mem_bytes, fmt_bytes);
    put(t, used->gpu, limits->gpu, fmt_count);
    put(t, used->running, limits->running, fmt_count);
    put(t, used->pending, limits->pending, fmt_count);
}

static void put_containers(struct table *t, const struct limits_view *limits)
{
    if (limits->containers < 0) table_put(t, STR(""));
    else table_putf(t, "%lld", (long long)limits->containers);
}

#define USE_COLUMNS \
    {"CPU", COL_RIGHT}, {"MEM", COL_RIGHT}, {"GPU", COL_RIGHT}, {"RUNNING", COL_RIGHT}, \
    {"PENDING", COL_RIGHT}, {"CONTAINERS", COL_RIGHT | COL_WIDE}, {NULL, 0}

static const struct table_column user_columns[] = {
    {"USER", 0}, {"ROLE", 0}, {"DOMAIN", COL_FLEX}, {"UID", COL_RIGHT}, {"GID", COL_RIGHT},
    {"STATE", 0}, USE_COLUMNS};
static const struct table_column project_columns[] = {
    {"PROJECT", 0}, {"DOMAIN", COL_FLEX}, USE_COLUMNS};
static const struct table_column domain_columns[] = {{"DOMAIN", 0}, USE_COLUMNS};

static void user_row(struct table *t, const void *item)
{
    const struct user_view *v = item;
    table_put(t, str_of(v->name));
    table_put(t, str_of(wire_name_of(names_account_role, (int32_t)v->role)));
    table_put(t, str_of(v->domain));
    table_putf(t, "%u", v->uid);
    table_putf(t, "%u", v->gid);
    table_put_color(t, v->disabled ? STR("disabled") : STR("enabled"),
                    v->disabled ? TERM_YELLOW : TERM_PLAIN);
    account_put_use(t, &v->limits, &v->used);
    put_containers(t, &v->limits);
}

static void project_row(struct table *t, const void *item)
{
    const struct project_view *v = item;
    table_put(t, str_of(v->name));
    table_put(t, str_of(v->domain));
    account_put_use(t, &v->limits, &v->used);
    put_containers(t, &v->limits);
}

static void domain_row(struct table *t, const void *item)
{
    const struct domain_view *v = item;
    table_put(t, str_of(v->name));
    account_put_use(t, &v->limits, &v->used);
    put_containers(t, &v->limits);
}

static const char ls_doc[] =
    "List them: what is used of each limit, as \"2 / 8\"; without a limit \"2\".\v"
    "Examples:\n  rota admin user ls\n  rota admin project ls -o wide\n"
    "  rota admin domain ls -o json";
static const struct argp ls_argp = {NULL, args_pass_input, "", ls_doc, args_output, 0, 0};

static int ls(int argc, char **argv, const char *target, const struct list_look *look)
{
    struct names_args a = {.what = "account"};
    verb_parse(&ls_argp, argc, argv, EXIT_USAGE, &a);
    return list_run(&a.common, target, look);
}

static int user_ls(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_user_list, .item = &wire_user_view, .columns = user_columns,
        .row = user_row, .name_at = offsetof(struct user_view, name)};
    return ls(argc, argv, "/api/v1/users", &look);
}

static int project_ls(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_project_list, .item = &wire_project_view, .columns = project_columns,
        .row = project_row, .name_at = offsetof(struct project_view, name)};
    return ls(argc, argv, "/api/v1/projects", &look);
}

static int domain_ls(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_domain_list, .item = &wire_domain_view, .columns = domain_columns,
        .row = domain_row, .name_at = offsetof(struct domain_view, name)};
    return ls(argc, argv, "/api/v1/domains", &look);
}

/* ---- making and changing ---- */

enum {
    KEY_CPU = 300, KEY_MEM, KEY_GPU, KEY_RUNNING, KEY_PENDING, KEY_CONTAINERS, /* in this order */
    KEY_ROLE, KEY_UID, KEY_GID, KEY_DOMAIN, KEY_ENABLE, KEY_DISABLE,
};

struct put_args {
    struct names_args names; /* first: the child parser's input */
    struct limits_view limits;
    struct user_request user; /* all that only users have */
    const char *domain;       /* NULL: not said */
    bool change;              /* else it is made */
};

#define LIMIT_OPTIONS \
    {"max-cpu", KEY_CPU, "CPU", 0, "CPU at once; none takes a limit away", 5}, \
    {"max-mem", KEY_MEM, "SIZE", 0, "Memory at once", 5}, \
    {"max-gpu", KEY_GPU, "N", 0, "GPUs at once; 0 forbids them", 5}, \
    {"max-running", KEY_RUNNING, "N", 0, "Sessions at once", 5}, \
    {"max-pending", KEY_PENDING, "N", 0, "Sessions that wait", 5}, \
    {"max-containers", KEY_CONTAINERS, "N", 0, "Containers of one session", 5}

static const struct argp_option limit_options[] = {LIMIT_OPTIONS, {0}};
static const struct argp_option project_options[] = {
    {"domain", KEY_DOMAIN, "NAME", 0, "That it belongs to (default); for good", 1},
    LIMIT_OPTIONS, {0}};
static const struct argp_option user_options[] = {
    {"domain", KEY_DOMAIN, "NAME", 0, "That it belongs to (default); for good", 1},
    {"role", KEY_ROLE, "member|admin", 0, "What it may do (member)", 1},
    {"uid", KEY_UID, "N", 0, "Whom its containers run as (one that no other user has)", 1},
    {"gid", KEY_GID, "N", 0, "The same for the group", 1},
    LIMIT_OPTIONS, {0}};
static const struct argp_option user_set_options[] = {
    {"role", KEY_ROLE, "member|admin", 0, "What it may do", 1},
    {"uid", KEY_UID, "N", 0, "Whom its containers run as", 1},
    {"gid", KEY_GID, "N", 0, "The same for the group", 1},
    {"disable", KEY_DISABLE, 0, 0, "Its tokens open nothing; what runs goes on", 1},
    {"enable", KEY_ENABLE, 0, 0, "Its tokens open again", 1},
    LIMIT_OPTIONS, {0}};

static int64_t *limit_at(struct limits_view *v, int key)
{
    int64_t *const at[] = {&v->cpu_milli, &v->mem_bytes, &v->gpu,
                           &v->running, &v->pending, &v->containers};
    return at[key - KEY_CPU];
}

/* "8" is eight bytes, and was meant to be more. */
static bool mem_means(int64_t bytes)
{
    return bytes == 0 || bytes >= 1 << 20;
}

static void take_limit(struct put_args *a, int key, const char *arg, struct argp_state *state)
{
    int64_t *at = limit_at(&a->limits, key);
    uint64_t n = 0;
    bool fine = true;
    if (strcmp(arg, "none") == 0) {
        *at = LIMIT_NONE;
        return;
    }
    if (key == KEY_CPU) fine = fmt_parse_cpu(str_of(arg), at);
    else if (key == KEY_MEM) fine = fmt_parse_bytes(str_of(arg), at) && mem_means(*at);
    else fine = str_to_u64(str_of(arg), &n) && n <= UINT32_MAX;
    if (!fine) argp_error(state, "'%s': expected an amount%s, or none", arg,
                          key == KEY_MEM ? ", such as 64G" : "");
    if (key > KEY_MEM) *at = (int64_t)n;
}

static uint32_t id_of(const char *arg, struct argp_state *state)
{
    uint64_t n = 0;
    if (!str_to_u64(str_of(arg), &n) || n < 1 || n > INT32_MAX)
        argp_error(state, "'%s': expected a number from 1 to %d", arg, INT32_MAX);
    return (uint32_t)n;
}

static error_t parse_put(int key, char *arg, struct argp_state *state)
{
    struct put_args *a = state->input;
    int32_t role = 0;
    if (key >= KEY_CPU && key <= KEY_CONTAINERS) {
        take_limit(a, key, arg, state);
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->names; return 0;
    case KEY_ROLE:
        if (!wire_name_find(names_account_role, str_of(arg), &role) || role == ROLE_NONE)
            argp_error(state, "--role %s: expected member or admin", arg);
        else a->user.role = (enum account_role)role;
        return 0;
    case KEY_UID: a->user.uid = id_of(arg, state); return 0;
    case KEY_GID: a->user.gid = id_of(arg, state); return 0;
    case KEY_DOMAIN: a->domain = arg; return 0;
    case KEY_ENABLE: a->user.disabled = CHOICE_NO; return 0;
    case KEY_DISABLE: a->user.disabled = CHOICE_YES; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char put_doc[] =
    "A limit is judged at the user, at its project and at its domain; what is not named has none "
    "when it is made, and stays when it is changed.\v"
    "Examples:\n  rota admin domain add lab --max-gpu 64\n"
    "  rota admin project add vision --domain lab --max-gpu 16 --max-mem 512G\n"
    "  rota admin user add bob --domain lab --uid 1001 --gid 1001 --max-running 10\n"
    "  rota admin user set bob --max-running none\n  rota admin user set bob --disable";
static const struct argp domain_argp = {limit_options, parse_put, "DOMAIN", put_doc, args_plain,
                                        0, 0};
static const struct argp project_add_argp = {project_options, parse_put, "PROJECT", put_doc,
                                             args_plain, 0, 0};
static const struct argp project_set_argp = {limit_options, parse_put, "PROJECT", put_doc,
                                             args_plain, 0, 0};
static const struct argp user_add_argp = {user_options, parse_put, "USER", put_doc, args_plain,
                                          0, 0};
static const struct argp user_set_argp = {user_set_options, parse_put, "USER", put_doc,
                                          args_plain, 0, 0};

/* What the API gets, by the noun's own table. */
static void print_body(const struct put_args *a, const struct wire_table *table, struct strbuf *b)
{
    bool user = table == &wire_user_request;
    struct account_request account;
    struct user_request rq = a->user;
    const char *name = a->change ? "" : a->names.names[0];
    wire_init(&wire_project_request, &account);
    account.limits = rq.limits = a->limits;
    TEXT_CLIP(account.name, str_of(name));
    TEXT_CLIP(rq.name, str_of(name));
    if (a->domain) TEXT_CLIP(account.domain, str_of(a->domain));
    if (a->domain) TEXT_CLIP(rq.domain, str_of(a->domain));
    wire_print(table, user ? (const void *)&rq : (const void *)&account, b);
}

static int put_run(int argc, char **argv, bool change, const char *plural,
                   const struct wire_table *table, const struct argp *argp)
{
    struct put_args a = {.names = {.least = 1, .most = 1, .what = table->name}, .change = change};
    AUTO_STRBUF struct strbuf target, body;
    struct err err = {0};
    int code = 0;
    wire_init(&wire_user_request, &a.user);
    a.limits = a.user.limits;
    strbuf_init(&body, 65536);
    verb_parse(argp, argc, argv, EXIT_USAGE, &a);
    args_target(&target, plural, change ? a.names.names[0] : NULL, "");
    print_body(&a, table, &body);
    struct api_request rq = {.method = change ? "PATCH" : "POST", .target = target.p,
                             .body = strbuf_str(&body)};
    if (!verb_open(&a.names.common)) return EXIT_FAILED;
    if (api_call(a.names.common.api, &rq, NULL, NULL, &err) < 0) code = say_err(&err, EXIT_FAILED);
    verb_close(&a.names.common);
    return code;
}

static int user_add(int argc, char **argv)
{
    return put_run(argc, argv, false, "users", &wire_user_request, &user_add_argp);
}
static int user_set(int argc, char **argv)
{
    return put_run(argc, argv, true, "users", &wire_user_request, &user_set_argp);
}
static int project_add(int argc, char **argv)
{
    return put_run(argc, argv, false, "projects", &wire_project_request, &project_add_argp);
}
static int project_set(int argc, char **argv)
{
    return put_run(argc, argv, true, "projects", &wire_project_request, &project_set_argp);
}
static int domain_add(int argc, char **argv)
{
    return put_run(argc, argv, false, "domains", &wire_domain_request, &domain_argp);
}
static int domain_set(int argc, char **argv)
{
    return put_run(argc, argv, true, "domains", &wire_domain_request, &domain_argp);
}

int account_user(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"ls", "list users, their limits and what they use", user_ls},
        {"add", "make a user", user_add},
        {"set", "change role, ids or limits, disable or enable", user_set},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "admin user", argc, argv);
}

int account_project(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"ls", "list projects, their limits and what they use", project_ls},
        {"add", "make a project", project_add},
        {"set", "change its limits", project_set},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "admin project", argc, argv);
}

int account_domain(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"ls", "list domains, their limits and what they use", domain_ls},
        {"add", "make a domain", domain_add},
        {"set", "change its limits", domain_set},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "admin domain", argc, argv);
}
