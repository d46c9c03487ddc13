/* cli/group.c - `rota group`: nodes with one policy. */
#include "base/fmt.h"
#include "cli/args.h"
#include "cli/list.h"
#include "cli/say.h"
#include "cli/sub.h"
#include "cli/table.h"

static const struct table_column columns[] = {
    {"GROUP", 0}, {"NODES", COL_RIGHT}, {"LIVE", COL_RIGHT}, {"PENDING", COL_RIGHT},
    {"ORDER", 0}, {"ON-BLOCKED", 0}, {"STRATEGY", 0}, {"PREEMPTION", 0},
    {"BATCH LIMIT", COL_RIGHT}, {"INTERACTIVE LIMIT", COL_RIGHT | COL_WIDE},
    {"SERVICE LIMIT", COL_RIGHT | COL_WIDE}, {"LONGEST", COL_RIGHT | COL_WIDE},
    {"PROJECTS", COL_FLEX | COL_WIDE}, {NULL, 0},
};

static void put_limit(struct table *t, int64_t ms)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64);
    if (ms > 0) fmt_duration(&b, ms);
    else strbuf_puts(&b, "none");
    table_put(t, strbuf_str(&b));
}

static void projects_text(const struct group_view *v, struct strbuf *b)
{
    for (uint32_t i = 0; i < v->projects.n; i++)
        strbuf_fmt(b, "%s%s", i ? ", " : "", v->projects.v[i]);
    if (v->projects.n == 0) strbuf_puts(b, v->restricted ? "others" : "all");
}

static void row(struct table *t, const void *item)
{
    const struct group_view *v = item;
    AUTO_STRBUF struct strbuf projects;
    strbuf_init(&projects, 4096);
    projects_text(v, &projects);
    table_put(t, str_of(v->name));
    table_putf(t, "%u", v->nodes);
    table_putf(t, "%u", v->live);
    table_putf(t, "%u", v->pending);
    table_put(t, str_of(queue_order_name(v->order)));
    table_put(t, str_of(on_blocked_name(v->on_blocked)));
    table_put(t, str_of(place_strategy_name(v->strategy)));
    table_put(t, v->preempt.enabled ? str_of(preempt_mode_name(v->preempt.mode)) : STR("off"));
    put_limit(t, v->time_limit_batch_ms);
    put_limit(t, v->time_limit_interactive_ms);
    put_limit(t, v->time_limit_service_ms);
    put_limit(t, v->time_max_ms);
    table_put(t, strbuf_str(&projects));
}

static const char ls_doc[] =
    "List groups of machines and their policy.\v"
    "Examples:\n  rota group ls\n  rota group ls -o wide";
static const struct argp ls_argp = {NULL, args_pass_input, "", ls_doc, args_output, 0, 0};

static int group_ls(int argc, char **argv)
{
    static const struct list_look look = {
        .list = &wire_group_list, .item = &wire_group_view, .columns = columns, .row = row,
        .name_at = offsetof(struct group_view, name)};
    struct names_args a = {.what = "group"};
    verb_parse(&ls_argp, argc, argv, EXIT_USAGE, &a);
    return list_run(&a.common, "/api/v1/groups", &look);
}

/* ---- one ---- */

static void line(struct strbuf *b, const char *key) { strbuf_fmt(b, "%-17s ", key); }

static void time_line(struct strbuf *b, const char *key, int64_t ms)
{
    line(b, key);
    if (ms > 0) fmt_duration(b, ms);
    else strbuf_puts(b, "none");
    strbuf_putc(b, '\n');
}

static void show_blocked(const struct group_view *v, struct strbuf *b)
{
    line(b, "a blocked head");
    strbuf_puts(b, on_blocked_name(v->on_blocked));
    if (v->on_blocked == BLOCKED_STOP && v->lower_after > 0)
        strbuf_fmt(b, ", lowered by %d after %u failed attempts", v->lower_by, v->lower_after);
    if (v->on_blocked == BLOCKED_BACKFILL) {
        if (v->reserve_depth == GROUP_RESERVE_ALL) strbuf_puts(b, ", all blocked ones get");
        else strbuf_fmt(b, ", the first %u get", v->reserve_depth);
        strbuf_puts(b, " promised room; one without a date holds others back after ");
        fmt_duration(b, v->undated_ms);
    }
    strbuf_putc(b, '\n');
}

static void show(const void *object, struct strbuf *b)
{
    const struct group_view *v = object;
    strbuf_fmt(b, "%-17s %s (%u node%s, %u live, %u pending)\n", "group", v->name, v->nodes,
               v->nodes == 1 ? "" : "s", v->live, v->pending);
    strbuf_fmt(b, "%-17s %s\n", "order", queue_order_name(v->order));
    show_blocked(v, b);
    strbuf_fmt(b, "%-17s %s\n", "strategy", place_strategy_name(v->strategy));
    line(b, "preemption");
    if (v->preempt.enabled) {
        strbuf_fmt(b, "%s, of the same %s, %s first", preempt_mode_name(v->preempt.mode),
                   preempt_scope_name(v->preempt.scope), preempt_order_name(v->preempt.order));
        if (v->preempt.min_runtime_ms > 0) strbuf_puts(b, ", nobody before ");
        if (v->preempt.min_runtime_ms > 0) fmt_duration(b, v->preempt.min_runtime_ms);
        strbuf_putc(b, '\n');
    } else {
        strbuf_puts(b, "off\n");
    }
    time_line(b, "batch limit", v->time_limit_batch_ms);
    time_line(b, "interactive limit", v->time_limit_interactive_ms);
    time_line(b, "service limit", v->time_limit_service_ms);
    time_line(b, "longest", v->time_max_ms);
    time_line(b, "fence after", v->fence_after_ms);
    strbuf_fmt(b, "%-17s %s\n", "host network", v->host_network ? "allowed" : "not allowed");
    line(b, "projects");
    projects_text(v, b);
    strbuf_putc(b, '\n');
}

static const char show_doc[] =
    "The whole policy of one group.\vExamples:\n  rota group show training";
static const struct argp show_argp = {NULL, args_pass_input, "GROUP", show_doc, args_output, 0, 0};

static int group_show(int argc, char **argv)
{
    static const struct list_one_look look = {.object = &wire_group_view, .text = show,
                                              .name_at = offsetof(struct group_view, name)};
    struct names_args a = {.least = 1, .most = 1, .what = "group"};
    verb_parse(&show_argp, argc, argv, EXIT_USAGE, &a);
    AUTO_STRBUF struct strbuf target;
    args_target(&target, "groups", a.names[0], "");
    return list_one_run(&a.common, target.p, &look);
}

/* ---- setting ---- */

enum {
    KEY_ORDER = 300, KEY_BLOCKED, KEY_STRATEGY, KEY_PREEMPT, KEY_MODE, KEY_SCOPE, KEY_VICTIMS,
    KEY_BATCH, KEY_INTERACTIVE, KEY_SERVICE, KEY_LONGEST, KEY_UNDATED, KEY_MIN_RUNTIME, KEY_FENCE,
    KEY_RESERVE, KEY_TESTS, KEY_LOWER_AFTER, KEY_LOWER_BY, KEY_PROJECT,
    KEY_HOST_NETWORK,
};

struct set_args {
    struct names_args names; /* first: the child parser's input */
    struct group_request rq;
};

static const struct argp_option set_options[] = {
    {"order", KEY_ORDER, "fifo|lifo", 0, "Inside a priority: oldest or newest first", 1},
    {"on-blocked", KEY_BLOCKED, "WHAT", 0,
     "When the first one waiting does not fit: stop (strict order), backfill (others may go where "
     "that delays nobody with promised room) or skip (others may pass)", 1},
    {"strategy", KEY_STRATEGY, "NAME", 0,
     "Which of the machines with room: concentrated, dispersed, round_robin, least_allocated, "
     "most_allocated, best_fit", 1},
    {"project", KEY_PROJECT, "NAME", 0, "Only this may use it (repeat); all: everybody", 1},
    {"host-network", KEY_HOST_NETWORK, "yes|no", 0,
     "May sessions use the network of the machine itself?", 1},
    {"batch-limit", KEY_BATCH, "TIME", 0, "Time limit of batch sessions that set none; 0: none", 2},
    {"interactive-limit", KEY_INTERACTIVE, "TIME", 0, "The same for interactive ones", 2},
    {"service-limit", KEY_SERVICE, "TIME", 0, "The same for services", 2},
    {"longest", KEY_LONGEST, "TIME", 0, "The most that a session may ask for; 0: no bound", 2},
    {"fence-after", KEY_FENCE, "TIME", 0,
     "Cut off for so long, what is to run again elsewhere has ended (10m)", 2},
    {"reserve-depth", KEY_RESERVE, "N|all", 0, "backfill: how many get promised room", 3},
    {"test-depth", KEY_TESTS, "N", 0, "backfill: searches a pass for those behind", 3},
    {"undated-after", KEY_UNDATED, "TIME", 0,
     "backfill: one that cannot be dated holds others back after so long", 3},
    {"lower-after", KEY_LOWER_AFTER, "N", 0,
     "stop: failed attempts of the first before it is lowered; 0: never", 3},
    {"lower-by", KEY_LOWER_BY, "N", 0, "stop: by how much", 3},
    {"preemption", KEY_PREEMPT, "yes|no", 0, "May others have to make room?", 4},
    {"preempt-mode", KEY_MODE, "terminate|requeue", 0, "What happens to them", 4},
    {"preempt-scope", KEY_SCOPE, "WHOSE", 0, "user, project, domain or group", 4},
    {"preempt-order", KEY_VICTIMS, "WHO", 0, "First newest, oldest, smallest or fewest", 4},
    {"min-runtime", KEY_MIN_RUNTIME, "TIME", 0, "Nobody before it ran so long", 4},
    {0},
};
static const char set_doc[] =
    "Make a group, or change its policy; what is not named stays as it is.\v"
    "Examples:\n  rota group set training --on-blocked stop --batch-limit 24h\n"
    "  rota group set shared --preemption yes --preempt-mode requeue\n"
    "  rota group set vision --project vision --project speech";

/* Options whose value is one of some words; every one of these members is an enum. */
static const struct {
    int key;
    const struct wire_name *names;
    size_t at;
    const char *known;
} words[] = {
    {KEY_ORDER, names_queue_order, offsetof(struct group_request, order), "fifo or lifo"},
    {KEY_BLOCKED, names_on_blocked, offsetof(struct group_request, on_blocked),
     "stop, backfill or skip"},
    {KEY_STRATEGY, names_place_strategy, offsetof(struct group_request, strategy),
     "concentrated, dispersed, round_robin, least_allocated, most_allocated or best_fit"},
    {KEY_PREEMPT, names_choice, offsetof(struct group_request, preempt.enabled), "yes or no"},
    {KEY_HOST_NETWORK, names_choice, offsetof(struct group_request, host_network), "yes or no"},
    {KEY_MODE, names_preempt_mode, offsetof(struct group_request, preempt.mode),
     "terminate or requeue"},
    {KEY_SCOPE, names_preempt_scope, offsetof(struct group_request, preempt.scope),
     "user, project, domain or group"},
    {KEY_VICTIMS, names_preempt_order, offsetof(struct group_request, preempt.order),
     "newest, oldest, smallest or fewest"},
};
static const struct { int key; size_t at; } times[] = {
    {KEY_BATCH, offsetof(struct group_request, time_limit_batch_ms)},
    {KEY_INTERACTIVE, offsetof(struct group_request, time_limit_interactive_ms)},
    {KEY_SERVICE, offsetof(struct group_request, time_limit_service_ms)},
    {KEY_LONGEST, offsetof(struct group_request, time_max_ms)},
    {KEY_FENCE, offsetof(struct group_request, fence_after_ms)},
    {KEY_UNDATED, offsetof(struct group_request, undated_ms)},
    {KEY_MIN_RUNTIME, offsetof(struct group_request, preempt.min_runtime_ms)},
};

static bool take_word(struct group_request *rq, int key, const char *arg, struct argp_state *state)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        int32_t value = 0;
        if (words[i].key != key) continue;
        if (!wire_name_find(words[i].names, str_of(arg), &value))
            argp_error(state, "'%s': expected %s", arg, words[i].known);
        else memcpy((char *)rq + words[i].at, &value, sizeof(value));
        return true;
    }
    return false;
}

static bool take_time(struct group_request *rq, int key, const char *arg, struct argp_state *state)
{
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        int64_t ms = 0;
        if (times[i].key != key) continue;
        if (!fmt_parse_duration(str_of(arg), &ms))
            argp_error(state, "%s: expected a time, such as 30m, 24h or 0 for none", arg);
        else memcpy((char *)rq + times[i].at, &ms, sizeof(ms));
        return true;
    }
    return false;
}

static uint32_t count_of(const char *arg, uint32_t most, struct argp_state *state)
{
    uint64_t n = 0;
    if (!str_to_u64(str_of(arg), &n) || n > most)
        argp_error(state, "%s: expected a whole number from 0 to %u", arg, most);
    return (uint32_t)n;
}

static uint32_t depth_of(const char *arg, struct argp_state *state)
{
    if (strcmp(arg, "all") == 0) return GROUP_RESERVE_ALL;
    uint32_t n = count_of(arg, GROUP_RESERVE_ALL - 1, state);
    if (n == 0) argp_error(state, "0: expected 1 or more");
    return n;
}

static error_t parse_set(int key, char *arg, struct argp_state *state)
{
    struct set_args *a = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &a->names;
        return 0;
    }
    if (take_word(&a->rq, key, arg, state) || take_time(&a->rq, key, arg, state)) return 0;
    switch (key) {
    case KEY_RESERVE: a->rq.reserve_depth = depth_of(arg, state); return 0;
    case KEY_TESTS: a->rq.test_depth = depth_of(arg, state); return 0;
    case KEY_LOWER_AFTER: a->rq.lower_after = count_of(arg, UINT32_MAX, state); return 0;
    case KEY_LOWER_BY: a->rq.lower_by = count_of(arg, SESSION_PRIORITY_MAX, state); return 0;
    case KEY_PROJECT:
        if (a->rq.projects.n == GROUP_PROJECTS_MAX)
            argp_error(state, "at most %d projects", GROUP_PROJECTS_MAX);
        else wire_texts_add(&a->rq.projects, strcmp(arg, "all") ? str_of(arg) : STR("*"));
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp set_argp = {set_options, parse_set, "GROUP", set_doc, args_plain, 0, 0};

static int group_set(int argc, char **argv)
{
    struct set_args a = {.names = {.least = 1, .most = 1, .what = "group"}};
    wire_init(&wire_group_request, &a.rq);
    verb_parse(&set_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.names.common)) return EXIT_FAILED;
    AUTO_STRBUF struct strbuf target, body;
    args_target(&target, "groups", a.names.names[0], "");
    strbuf_init(&body, 64 * 1024);
    wire_print(&wire_group_request, &a.rq, &body);
    wire_free(&wire_group_request, &a.rq);
    struct api_request call = {.method = "PUT", .target = target.p, .body = strbuf_str(&body)};
    struct err err = {0};
    int code = 0;
    if (api_call(a.names.common.api, &call, NULL, NULL, &err) < 0)
        code = say_err(&err, EXIT_FAILED);
    verb_close(&a.names.common);
    return code;
}

int verb_group(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"ls", "list groups and their policy", group_ls},
        {"show", "the whole policy of one", group_show},
        {"set", "make a group or change its policy", group_set},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "group", argc, argv);
}
