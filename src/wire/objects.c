/* wire/objects.c - what people and programs send: submissions and small requests. */
#include "wire/objects.h"

#include "base/check.h"
#include "base/labels.h"
#include "wire/array.h"

#define YEARS_MS (INT64_C(10) * 366 * 24 * 3600 * 1000) /* longest duration: ten years */

/* ---- submission ---- */
static const struct wire_field role_fields[] = {
    WIRE_F_TEXT(struct role_spec, name, "name", .flags = WIRE_REQUIRED | WIRE_NAME, .min = 1,
                .doc = "Unique among the session's roles."),
    WIRE_F_U32(struct role_spec, count, "count", .min = 1, .max = SESSION_MEMBERS_MAX, .def = 1,
               .doc = "How many containers of this shape."),
    WIRE_F_I64(struct role_spec, cpu_milli, "cpu_milli", .alias = "cpu", .flags = WIRE_CPU,
               .min = 1, .max = SLOT_MAX, .def = SPEC_CPU_MILLI, .doc = "CPU of one container."),
    WIRE_F_I64(struct role_spec, mem_bytes, "mem_bytes", .alias = "mem", .flags = WIRE_BYTES,
               .min = 1, .max = SLOT_MAX, .def = SPEC_MEM_BYTES, .doc = "Memory of one container."),
    WIRE_F_I64(struct role_spec, gpu, "gpu", .flags = WIRE_OMIT, .min = 0, .max = NODE_DEVICES_MAX,
               .doc = "Whole devices of one container."),
    WIRE_F_TEXTS(struct role_spec, command, "command", SPEC_COMMAND_MAX, SPEC_COMMAND_BYTES,
                 .flags = WIRE_OMIT, .doc = "Instead of the session's command."),
};
static const struct wire_table role_spec_table = WIRE_TABLE("role", struct role_spec, role_fields);

static const struct wire_field spec_fields[] = {
    WIRE_F_TEXT(struct session_spec, name, "name", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "Unique among the owner's live sessions; given by Rota when absent."),
    WIRE_F_TEXT(struct session_spec, group, "group", .flags = WIRE_NAME, .def_text = "default",
                .min = 1, .doc = "The resource group to run in."),
    WIRE_F_TEXT(struct session_spec, project, "project", .flags = WIRE_NAME, .def_text = "default",
                .min = 1, .doc = "The project it is accounted to."),
    WIRE_F_ENUM(struct session_spec, kind, "kind", names_session_kind, .def = KIND_BATCH,
                .doc = "What it is for; decides defaults."),
    WIRE_F_TEXT(struct session_spec, image, "image", .def_text = "host", .min = 1,
                .doc = "What the containers see as their root."),
    WIRE_F_TEXTS(struct session_spec, command, "command", SPEC_COMMAND_MAX, SPEC_COMMAND_BYTES,
                 .flags = WIRE_OMIT, .doc = "Program and arguments; no shell."),
    WIRE_F_MAP(struct session_spec, env, "env", SPEC_ENV_MAX, SPEC_COMMAND_BYTES,
               .flags = WIRE_OMIT | WIRE_ENV, .doc = "Added to the environment."),
    WIRE_F_STRING(struct session_spec, workdir, "workdir", 4095,
                  .doc = "Absolute path inside the container."),
    WIRE_F_I32(struct session_spec, priority, "priority", .min = 0, .max = 100,
               .def = SPEC_PRIORITY, .doc = "Higher goes first."),
    WIRE_F_ARRAY(struct session_spec, roles, n_roles, "roles", &role_spec_table,
                 .flags = WIRE_OMIT, .doc = "Containers by shape; the first one's first is main."),
    WIRE_F_I64(struct session_spec, cpu_milli, "cpu_milli", .alias = "cpu",
               .flags = WIRE_OMIT | WIRE_CPU, .min = 1, .max = SLOT_MAX, .def = -1,
               .doc = "Short form of one role."),
    WIRE_F_I64(struct session_spec, mem_bytes, "mem_bytes", .alias = "mem",
               .flags = WIRE_OMIT | WIRE_BYTES, .min = 1, .max = SLOT_MAX, .def = -1,
               .doc = "Short form of one role."),
    WIRE_F_I64(struct session_spec, gpu, "gpu", .flags = WIRE_OMIT, .min = 0,
               .max = NODE_DEVICES_MAX, .def = -1, .doc = "Short form of one role."),
    WIRE_F_I64(struct session_spec, disk_bytes, "disk_bytes", .alias = "disk",
               .flags = WIRE_OMIT | WIRE_BYTES, .min = 0, .max = SLOT_MAX, .def = -1,
               .doc = "Most that a container may write to its root; 0: not limited; absent: as "
                      "its node says."),
    WIRE_F_U32(struct session_spec, containers, "containers", .flags = WIRE_OMIT, .min = 1,
               .max = SESSION_MEMBERS_MAX, .doc = "Short form of one role: its count."),
    WIRE_F_BOOL(struct session_spec, rdma, "rdma", .flags = WIRE_OMIT,
                .doc = "RDMA devices, and locked memory without limit."),
    WIRE_F_BOOL(struct session_spec, gds, "gds", .flags = WIRE_OMIT,
                .doc = "Devices of GPUDirect Storage."),
    WIRE_F_BOOL(struct session_spec, imex, "imex", .flags = WIRE_OMIT,
                .doc = "IMEX channel 0, for memory shared across nodes."),
    WIRE_F_BOOL(struct session_spec, one_node, "one_node", .flags = WIRE_OMIT,
                .doc = "All containers on one node."),
    WIRE_F_ENUM(struct session_spec, on_device_fault, "on_device_fault", names_on_device_fault,
                .flags = WIRE_OMIT,
                .doc = "When a GPU of it goes bad: keep it running, or requeue it."),
    WIRE_F_BOOL(struct session_spec, stop_on_member, "stop_on_member", .flags = WIRE_OMIT,
                .def = 1, .doc = "One that fails ends the rest."),
    WIRE_F_I64(struct session_spec, time_limit_ms, "time_limit_ms", .alias = "time_limit",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = YEARS_MS, .def = -1,
               .doc = "0: none; absent: the group's default for this kind."),
    WIRE_F_I64(struct session_spec, grace_ms, "grace_ms", .alias = "grace", .flags = WIRE_DURATION,
               .min = 0, .max = YEARS_MS, .def = SPEC_GRACE_MS,
               .doc = "Between SIGTERM and SIGKILL."),
    WIRE_F_I64(struct session_spec, pending_timeout_ms, "pending_timeout_ms",
               .alias = "pending_timeout", .flags = WIRE_OMIT | WIRE_DURATION, .min = 0,
               .max = YEARS_MS, .doc = "Ends when it has waited this long; 0: waits for ever."),
    WIRE_F_ENUM(struct session_spec, on_disconnect, "on_disconnect", names_on_disconnect,
                .flags = WIRE_OMIT, .def = DISCONNECT_KEEP,
                .doc = "Its node is cut off: keep what runs there, or end it and requeue."),
    WIRE_F_BOOL(struct session_spec, stdin_open, "stdin_open", .flags = WIRE_OMIT,
                .doc = "Standard input stays open for attach."),
    WIRE_F_BOOL(struct session_spec, tty, "tty", .flags = WIRE_OMIT, .doc = "Gives a terminal."),
    WIRE_F_BOOL(struct session_spec, allow_impossible, "allow_impossible", .flags = WIRE_OMIT,
                .doc = "Waits even for what no node could ever give."),
    WIRE_F_TEXTS(struct session_spec, after, "after", SESSION_DEPENDS_MAX, 1024,
                 .flags = WIRE_OMIT,
                 .doc = "Sessions that must end first: SESSION[:success|end|failure]."),
    WIRE_F_TEXT(struct session_spec, array, "array", .flags = WIRE_OMIT,
                .doc = "FIRST-LAST[:STEP][%LIMIT]: one session for each index."),
    WIRE_F_I64(struct session_spec, start_in_ms, "start_in_ms", .alias = "start_in",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = YEARS_MS,
               .doc = "Not before this time has passed."),
    WIRE_F_TEXT(struct session_spec, start_at, "start_at", .flags = WIRE_OMIT,
                .doc = "Not before this instant (RFC 3339)."),
    WIRE_F_BOOL(struct session_spec, hold, "hold", .flags = WIRE_OMIT,
                .doc = "Waits until it is released."),
    WIRE_F_ENUM(struct session_spec, preemptible, "preemptible", names_choice, .flags = WIRE_OMIT,
                .doc = "yes, no, or default: batch sessions are, others are not."),
    WIRE_F_U32(struct session_spec, restart_max, "restart_max", .flags = WIRE_OMIT, .min = 0,
               .max = SESSION_RESTARTS_MAX, .doc = "Restarts after a failure; 0: never."),
    WIRE_F_TEXT(struct session_spec, gpu_models, "gpu_models",
                .flags = WIRE_OMIT, .doc = "Only devices of these models: h100|a100."),
    WIRE_F_MAP(struct session_spec, node_labels, "node_labels", 8, 95, .flags = WIRE_OMIT,
               .doc = "Only nodes that say all of this."),
    WIRE_F_TEXT(struct session_spec, arch, "arch", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "Only nodes of this architecture, such as x86_64."),
    WIRE_F_TEXT(struct session_spec, node, "node", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "Runs on this node or waits."),
    WIRE_F_TEXT(struct session_spec, prefer_node, "prefer_node", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "This node first, others too."),
    WIRE_F_ENUM(struct session_spec, strategy, "strategy", names_place_strategy_or_none,
                .flags = WIRE_OMIT, .doc = "Which node; absent: as its group says."),
    WIRE_F_ENUM(struct session_spec, network, "network", names_network_mode, .flags = WIRE_OMIT,
                .doc = "outbound, none or host; absent: outbound where the node can."),
    WIRE_F_MAP(struct session_spec, labels, "labels", SPEC_LABELS_MAX, 8192, .flags = WIRE_OMIT,
               .doc = "Free words for people."),
};

static int bad(struct err *err, const char *field, const char *text)
{
    err_set(err, ERR_INVALID, "%s", text);
    err_field(err, field);
    return ERR_INVALID;
}

/* One role named "main" out of the short form. */
static void take_short_form(struct session_spec *s)
{
    struct role_spec *r = &s->roles[0];
    wire_init(&role_spec_table, r);
    bool fits = TEXT_SET(r->name, STR("main"));
    CHECK(fits);
    if (s->containers) r->count = s->containers;
    if (s->cpu_milli >= 0) r->cpu_milli = s->cpu_milli;
    if (s->mem_bytes >= 0) r->mem_bytes = s->mem_bytes;
    if (s->gpu >= 0) r->gpu = s->gpu;
    s->n_roles = 1;
    s->cpu_milli = s->mem_bytes = s->gpu = -1;
    s->containers = 0;
}

static int check_roles(const struct session_spec *s, struct err *err)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < s->n_roles; i++) {
        const struct role_spec *r = &s->roles[i];
        members += r->count;
        /* Another image may bring a command of its own; only its node can tell. */
        if (r->command.n == 0 && s->command.n == 0 && strcmp(s->image, "host") == 0) {
            return bad(err, "command", "is required");
        }
        if (r->command.n && !r->command.v[0][0]) {
            return bad(err, "roles", "the first word of a command must not be empty");
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(s->roles[j].name, r->name) == 0) {
                return bad(err, "roles", "two roles have the same name");
            }
        }
    }
    if (members > SESSION_MEMBERS_MAX) {
        return bad(err, "roles", "expected at most 512 containers in all");
    }
    return 0;
}

/* "s17" and "17" name sessions by number wherever a name is asked for. */
static bool looks_like_id(const char *name)
{
    uint64_t number;
    return str_to_u64(str_of(name[0] == 's' ? name + 1 : name), &number);
}

bool wire_dependency_parse(struct str text, struct str *ret_session, enum depend_on *ret_on)
{
    struct str session, kind = text;
    int32_t on = DEPEND_SUCCESS;
    if (!str_cut(&kind, ':', &session)) session = text;
    else if (!wire_name_find(names_depend_on, kind, &on)) return false;
    if (session.n == 0) return false;
    *ret_session = session;
    *ret_on = (enum depend_on)on;
    return true;
}

/* When it may start, after whom, and how often. */
static int check_turn(const struct session_spec *s, struct err *err)
{
    struct array_range range;
    struct str session;
    enum depend_on on;
    int64_t at;
    if (s->array[0] && !array_parse(str_of(s->array), &range)) {
        return bad(err, "array", "expected FIRST-LAST[:STEP][%LIMIT] with at most 1000 indexes, "
                   "such as 0-99%10");
    }
    if (s->start_at[0] && !wire_time_parse(str_of(s->start_at), &at)) {
        return bad(err, "start_at", "expected an instant such as 2026-12-01T18:00:00Z");
    }
    if (s->start_at[0] && s->start_in_ms > 0) {
        return bad(err, "start_at", "stands beside start_in: give one of both");
    }
    for (uint32_t i = 0; i < s->after.n; i++) {
        if (wire_dependency_parse(str_of(s->after.v[i]), &session, &on)) continue;
        return bad(err, "after", "expected SESSION, SESSION:success, SESSION:end or "
                   "SESSION:failure");
    }
    if (s->preemptible == CHOICE_YES && s->kind == KIND_SERVICE) {
        return bad(err, "preemptible", "a service never is");
    }
    return 0;
}

/* "b: 2, a: 1" -> "a=1,b=2". */
static bool labels_text(const struct wire_map *map, char *ret, size_t cap)
{
    struct strbuf b;
    strbuf_init(&b, cap - 1);
    for (uint32_t i = 0; i < map->n; i++) {
        strbuf_fmt(&b, "%s%s=%s", i > 0 ? "," : "", map->v[i].name, map->v[i].value);
    }
    bool fits = !b.full && text_set(ret, cap, strbuf_str(&b)) && labels_sort(ret);
    strbuf_done(&b);
    return fits;
}

/* Where it may run. */
static int check_where(const struct session_spec *s, struct err *err)
{
    char text[sizeof(((struct constraint *)0)->labels)];
    if (s->gpu_models[0] && !labels_models_sane(s->gpu_models)) {
        return bad(err, "gpu_models", "expected models separated by '|', such as h100|a100");
    }
    if (!labels_text(&s->node_labels, text, sizeof(text))) {
        return bad(err, "node_labels", "expected keys and values of letters, digits, '.', '_', "
                   "'-' and '/', at most 95 in all");
    }
    if (s->node[0] && s->prefer_node[0]) {
        return bad(err, "prefer_node", "stands beside node: give one of both");
    }
    return 0;
}

static int finish_spec(void *obj, struct err *err)
{
    struct session_spec *s = obj;
    bool shortened = s->cpu_milli >= 0 || s->mem_bytes >= 0 || s->gpu >= 0 || s->containers;
    if (s->n_roles && shortened) {
        return bad(err, "roles", "stands beside cpu, mem, gpu or containers: give one of both");
    }
    if (s->n_roles == 0) take_short_form(s);
    if (s->command.n && !s->command.v[0][0]) {
        return bad(err, "command", "the first word must not be empty");
    }
    if (s->workdir && s->workdir[0] != '/') {
        return bad(err, "workdir", "expected an absolute path");
    }
    if (looks_like_id(s->name)) {
        return bad(err, "name", "looks like an id: choose another name");
    }
    int rc = check_turn(s, err);
    if (rc == 0) rc = check_where(s, err);
    return rc ? rc : check_roles(s, err);
}

const struct wire_table wire_session_spec =
    WIRE_TABLE("session", struct session_spec, spec_fields, .finish = finish_spec,
               .max_bytes = 1u << 20);

static void shape_where(const struct session_spec *spec, struct session *s)
{
    struct constraint *c = &s->where;
    bool fits = TEXT_SET(c->gpu_models, str_of(spec->gpu_models)) &&
                TEXT_SET(c->arch, str_of(spec->arch)) &&
                labels_text(&spec->node_labels, c->labels, sizeof(c->labels));
    CHECK(fits); /* the table's own check has passed */
    c->node_preferred = spec->prefer_node[0] != '\0';
    s->strategy = spec->strategy;
}

void session_spec_shape(const struct session_spec *spec, struct session *ret)
{
    CHECK(spec->n_roles >= 1);
    CHECK(spec->n_roles <= SESSION_ROLES_MAX);
    struct session s = {
        .kind = spec->kind, .priority = spec->priority, .one_node = spec->one_node,
        .stop_on_member = spec->stop_on_member,
        .on_device_fault = spec->on_device_fault, .n_roles = spec->n_roles,
        .time_limit_ms = spec->time_limit_ms, .grace_ms = spec->grace_ms,
        .pending_timeout_ms = spec->pending_timeout_ms, .hold = spec->hold,
        .fence_ms = spec->on_disconnect == DISCONNECT_REQUEUE ? -1 : 0,
        .restart_max = spec->restart_max,
        .preemptible = spec->preemptible == CHOICE_YES ||
                       (spec->preemptible == CHOICE_DEFAULT && spec->kind == KIND_BATCH),
    };
    bool fits = TEXT_SET(s.name, str_of(spec->name));
    CHECK(fits);
    shape_where(spec, &s);
    for (uint32_t i = 0; i < spec->n_roles; i++) {
        const struct role_spec *from = &spec->roles[i];
        struct role *to = &s.roles[i];
        fits = TEXT_SET(to->name, str_of(from->name));
        CHECK(fits);
        to->count = from->count;
        to->slots.v[SLOT_CPU] = from->cpu_milli;
        to->slots.v[SLOT_MEM] = from->mem_bytes;
        to->slots.v[SLOT_GPU] = from->gpu;
        s.members += from->count;
    }
    *ret = s;
}

/* ---- small requests ---- */
static const struct wire_field stop_fields[] = {
    WIRE_F_I64(struct stop_request, grace_ms, "grace_ms", .alias = "grace",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = YEARS_MS, .def = -1,
               .doc = "Instead of the session's own."),
};
const struct wire_table wire_stop_request = WIRE_TABLE("stop", struct stop_request, stop_fields);

static const struct wire_field update_fields[] = {
    WIRE_F_I32(struct update_request, priority, "priority", .flags = WIRE_OMIT, .min = 0,
               .max = SESSION_PRIORITY_MAX, .def = -1, .doc = "Higher goes first."),
    WIRE_F_I64(struct update_request, time_limit_ms, "time_limit_ms", .alias = "time_limit",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = YEARS_MS, .def = -1,
               .doc = "0: none.  While it waits."),
    WIRE_F_ENUM(struct update_request, hold, "hold", names_choice, .flags = WIRE_OMIT,
                .doc = "yes: it waits until it is released; no: release it."),
    WIRE_F_ENUM(struct update_request, preemptible, "preemptible", names_choice,
                .flags = WIRE_OMIT, .doc = "yes or no."),
};
const struct wire_table wire_update_request =
    WIRE_TABLE("update", struct update_request, update_fields);

static const struct wire_field forget_fields[] = {
    WIRE_F_BOOL(struct forget_request, force, "force", .flags = WIRE_OMIT,
                .doc = "Although it is heard and holds sessions."),
};
static const struct wire_field device_fields[] = {
    WIRE_F_TEXT(struct device_request, device, "device", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "Its index on the node, or its UUID."),
    WIRE_F_ENUM(struct device_request, order, "order", names_device_order,
                .flags = WIRE_REQUIRED, .doc = "return or quarantine."),
    WIRE_F_TEXT(struct device_request, why, "reason", .flags = WIRE_OMIT, .doc = "For people."),
};
const struct wire_table wire_device_request =
    WIRE_TABLE("device", struct device_request, device_fields);

const struct wire_table wire_forget_request =
    WIRE_TABLE("forget", struct forget_request, forget_fields);

static const struct wire_field cordon_fields[] = {
    WIRE_F_TEXT(struct cordon_request, reason, "reason", .flags = WIRE_OMIT,
                .doc = "Why, for whoever looks."),
    WIRE_F_I64(struct cordon_request, deadline_ms, "deadline_ms", .alias = "deadline",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = YEARS_MS,
               .doc = "drain: who is still there after so long is stopped; 0: nobody is."),
};
const struct wire_table wire_cordon_request =
    WIRE_TABLE("cordon", struct cordon_request, cordon_fields);

static const struct wire_field silence_fields[] = {
    WIRE_F_U32(struct silence_answer, accepted, "accepted",
               .doc = "Silent nodes that are taken to be down."),
};
const struct wire_table wire_silence_answer =
    WIRE_TABLE("silence", struct silence_answer, silence_fields);

static const struct { const char *name; int32_t no; } signals[] = {
    {"HUP", 1},   {"INT", 2},   {"QUIT", 3},  {"ILL", 4},   {"TRAP", 5},  {"ABRT", 6},
    {"BUS", 7},   {"FPE", 8},   {"KILL", 9},  {"USR1", 10}, {"SEGV", 11}, {"USR2", 12},
    {"PIPE", 13}, {"ALRM", 14}, {"TERM", 15}, {"CHLD", 17}, {"CONT", 18}, {"STOP", 19},
    {"TSTP", 20}, {"TTIN", 21}, {"TTOU", 22}, {"URG", 23},  {"XCPU", 24}, {"XFSZ", 25},
    {"PROF", 27}, {"WINCH", 28}, {"PWR", 30}, {"SYS", 31},
};

bool signal_parse(struct str s, int32_t *ret)
{
    uint64_t no;
    if (str_to_u64(s, &no)) {
        if (no < 1 || no > 31) return false;
        *ret = (int32_t)no;
        return true;
    }
    if (s.n > 3 && str_eq_nocase(str_n(s.p, 3), STR("SIG"))) s = str_n(s.p + 3, s.n - 3);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        if (!str_eq_nocase(s, str_of(signals[i].name))) continue;
        *ret = signals[i].no;
        return true;
    }
    return false;
}

static int finish_signal(void *obj, struct err *err)
{
    const struct signal_request *r = obj;
    int32_t no;
    if (signal_parse(str_of(r->signal), &no)) return 0;
    return bad(err, "signal", "expected the name of a signal like \"INT\" or a number 1 to 31");
}

static const struct wire_field signal_fields[] = {
    WIRE_F_TEXT(struct signal_request, signal, "signal", .flags = WIRE_REQUIRED,
                .doc = "Name, with or without SIG, or number."),
};
const struct wire_table wire_signal_request =
    WIRE_TABLE("signal", struct signal_request, signal_fields, .finish = finish_signal);

static const struct wire_field ticket_request_fields[] = {
    WIRE_F_TEXT(struct ticket_request, action, "action", .flags = WIRE_REQUIRED,
                .doc = "logs, exec, attach or port."),
    WIRE_F_U32(struct ticket_request, member, "member", .flags = WIRE_OMIT, .min = 0,
               .max = SESSION_MEMBERS_MAX - 1, .doc = "Which container."),
};
static int finish_ticket(void *obj, struct err *err)
{
    const struct ticket_request *r = obj;
    static const char *const actions[] = {"logs", "exec", "attach", "port"};
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (strcmp(r->action, actions[i]) == 0) return 0;
    }
    return bad(err, "action", "expected one of logs, exec, attach, port");
}
const struct wire_table wire_ticket_request = WIRE_TABLE(
    "ticket", struct ticket_request, ticket_request_fields, .finish = finish_ticket);

static const struct wire_field ticket_answer_fields[] = {
    WIRE_F_STRING(struct ticket_answer, ticket, "ticket", 4096,
                  .flags = WIRE_REQUIRED | WIRE_SECRET, .doc = "Shown to the proxy."),
    WIRE_F_TEXT(struct ticket_answer, proxy_url, "proxy_url", .flags = WIRE_REQUIRED,
                .doc = "Where to show it."),
    WIRE_F_TEXT(struct ticket_answer, expires_at, "expires_at", .flags = WIRE_REQUIRED,
                .doc = "When it is void."),
};
const struct wire_table wire_ticket_answer =
    WIRE_TABLE("ticket", struct ticket_answer, ticket_answer_fields);

/* Words of a field that may be absent: its value is 0 then. */
static const struct wire_name given_order[] = {
    {0, ""}, {ORDER_FIFO, "fifo"}, {ORDER_LIFO, "lifo"}, {0, NULL},
};
static const struct wire_name given_blocked[] = {
    {0, ""}, {BLOCKED_STOP, "stop"}, {BLOCKED_SKIP, "skip"}, {BLOCKED_BACKFILL, "backfill"},
    {0, NULL},
};
static const struct wire_name given_mode[] = {
    {0, ""}, {PREEMPT_TERMINATE, "terminate"}, {PREEMPT_REQUEUE, "requeue"}, {0, NULL},
};
static const struct wire_name given_scope[] = {
    {0, ""}, {SCOPE_USER, "user"}, {SCOPE_PROJECT, "project"}, {SCOPE_DOMAIN, "domain"},
    {SCOPE_GROUP, "group"}, {0, NULL},
};
static const struct wire_name given_victims[] = {
    {0, ""}, {VICTIM_NEWEST, "newest"}, {VICTIM_OLDEST, "oldest"}, {VICTIM_SMALLEST, "smallest"},
    {VICTIM_FEWEST, "fewest"}, {0, NULL},
};

static const struct wire_field preempt_request_fields[] = {
    WIRE_F_ENUM(struct preempt_request, enabled, "enabled", names_choice, .flags = WIRE_OMIT,
                .doc = "yes: others may have to make room."),
    WIRE_F_ENUM(struct preempt_request, mode, "mode", given_mode, .flags = WIRE_OMIT,
                .doc = "What happens to them: terminate or requeue."),
    WIRE_F_ENUM(struct preempt_request, scope, "scope", given_scope, .flags = WIRE_OMIT,
                .doc = "Whose: of the same user, project or domain, or of the group."),
    WIRE_F_ENUM(struct preempt_request, order, "order", given_victims, .flags = WIRE_OMIT,
                .doc = "Who first, of equal priority."),
    WIRE_F_I64(struct preempt_request, min_runtime_ms, "min_runtime_ms", .alias = "min_runtime",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = YEARS_MS, .def = -1,
               .doc = "Nobody before it ran so long."),
};
static const struct wire_table preempt_request_table =
    WIRE_TABLE("preemption", struct preempt_request, preempt_request_fields);

static const struct wire_field group_request_fields[] = {
    WIRE_F_ENUM(struct group_request, order, "order", given_order, .flags = WIRE_OMIT,
                .doc = "Inside a priority."),
    WIRE_F_ENUM(struct group_request, on_blocked, "on_blocked", given_blocked,
                .flags = WIRE_OMIT, .doc = "What a blocked head does to those behind it."),
    WIRE_F_U32(struct group_request, reserve_depth, "reserve_depth", .flags = WIRE_OMIT, .min = 1,
               .max = GROUP_RESERVE_ALL,
               .doc = "backfill: blocked sessions that are promised room; 4294967295: all."),
    WIRE_F_U32(struct group_request, test_depth, "test_depth", .flags = WIRE_OMIT, .min = 1,
               .max = UINT32_MAX, .doc = "backfill: searches for those behind, a pass."),
    WIRE_F_I64(struct group_request, undated_ms, "undated_ms", .alias = "undated_after",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = SESSION_TIME_MAX_MS,
               .def = -1, .doc = "backfill: a head that cannot be dated then holds others back."),
    WIRE_F_I64(struct group_request, lower_after, "lower_after", .flags = WIRE_OMIT, .min = 0,
               .max = UINT32_MAX, .def = -1,
               .doc = "stop: failed attempts before a head's priority is lowered; 0: never."),
    WIRE_F_I64(struct group_request, lower_by, "lower_by", .flags = WIRE_OMIT, .min = 0,
               .max = SESSION_PRIORITY_MAX, .def = -1, .doc = "stop: by how much."),
    WIRE_F_ENUM(struct group_request, strategy, "strategy", names_place_strategy_or_none,
                .flags = WIRE_OMIT, .doc = "Which of the nodes with room."),
    WIRE_F_OBJECT(struct group_request, preempt, "preempt", &preempt_request_table,
                  .flags = WIRE_OMIT, .doc = "Making room for higher priorities."),
    WIRE_F_ENUM(struct group_request, host_network, "host_network", names_choice,
                .flags = WIRE_OMIT, .doc = "yes: sessions may use the machine's own network."),
    WIRE_F_I64(struct group_request, time_max_ms, "time_max_ms", .alias = "time_max",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = SESSION_TIME_MAX_MS,
               .def = -1, .doc = "The longest that a session may ask for; 0: no bound."),
    WIRE_F_I64(struct group_request, fence_after_ms, "fence_after_ms", .alias = "fence_after",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = GROUP_FENCE_MIN_MS,
               .max = GROUP_FENCE_MAX_MS, .def = -1,
               .doc = "on_disconnect requeue: containers that were not heard for so long end."),
    WIRE_F_TEXTS(struct group_request, projects, "projects", GROUP_PROJECTS_MAX, 2048,
                 .flags = WIRE_OMIT, .doc = "That may use it; \"*\" alone: all."),
    WIRE_F_I64(struct group_request, time_limit_batch_ms, "time_limit_batch_ms",
               .alias = "time_limit_batch", .flags = WIRE_OMIT | WIRE_DURATION, .min = 0,
               .max = YEARS_MS, .def = -1, .doc = "Default for batch sessions; 0: none."),
    WIRE_F_I64(struct group_request, time_limit_interactive_ms, "time_limit_interactive_ms",
               .alias = "time_limit_interactive", .flags = WIRE_OMIT | WIRE_DURATION, .min = 0,
               .max = YEARS_MS, .def = -1, .doc = "Default for interactive sessions; 0: none."),
    WIRE_F_I64(struct group_request, time_limit_service_ms, "time_limit_service_ms",
               .alias = "time_limit_service", .flags = WIRE_OMIT | WIRE_DURATION, .min = 0,
               .max = YEARS_MS, .def = -1, .doc = "Default for services; 0: none."),
};
const struct wire_table wire_group_request =
    WIRE_TABLE("group", struct group_request, group_request_fields);

/* ---- joining, carrying ---- */
static const struct wire_field join_request_fields[] = {
    WIRE_F_U32(struct join_request, protocol, "protocol", .flags = WIRE_REQUIRED,
               .doc = "Version of the protocol that is spoken."),
    WIRE_F_STRING(struct join_request, token, "token", 256, .flags = WIRE_REQUIRED | WIRE_SECRET,
                  .doc = "The join token."),
    WIRE_F_TEXT(struct join_request, node, "node", .flags = WIRE_REQUIRED | WIRE_NAME, .min = 1,
                .doc = "Name of the node or proxy."),
    WIRE_F_TEXT(struct join_request, role, "role", .flags = WIRE_OMIT, .def_text = "agent",
                .doc = "agent or proxy."),
    WIRE_F_STRING(struct join_request, csr, "csr", 16384, .flags = WIRE_REQUIRED,
                  .doc = "Certificate request, PEM."),
};
const struct wire_table wire_join_request =
    WIRE_TABLE("join", struct join_request, join_request_fields, .max_bytes = 65536);

static const struct wire_field join_answer_fields[] = {
    WIRE_F_U32(struct join_answer, protocol, "protocol", .flags = WIRE_REQUIRED, .doc = "Version."),
    WIRE_F_TEXT(struct join_answer, cluster, "cluster", .flags = WIRE_REQUIRED, .min = 32,
                .doc = "Cluster id."),
    WIRE_F_TEXT(struct join_answer, incarnation, "incarnation", .flags = WIRE_REQUIRED, .min = 32,
                .doc = "Of the store."),
    WIRE_F_U32(struct join_answer, node_id, "node_id", .doc = "0: not known yet, or a proxy."),
    WIRE_F_U64(struct join_answer, epoch, "epoch", .flags = WIRE_OMIT,
               .doc = "The highest start count heard from a node of that name."),
    WIRE_F_STRING(struct join_answer, cert, "cert", 65536, .flags = WIRE_REQUIRED,
                  .doc = "Certificate, PEM."),
    WIRE_F_STRING(struct join_answer, ca, "ca", 65536, .flags = WIRE_REQUIRED,
                  .doc = "Certificate of the cluster's authority, PEM."),
    WIRE_F_TEXT(struct join_answer, ticket_key, "ticket_key", .flags = WIRE_REQUIRED,
                .doc = "Public Ed25519 key, base64."),
};
const struct wire_table wire_join_answer =
    WIRE_TABLE("join", struct join_answer, join_answer_fields);

static const struct wire_field renew_request_fields[] = {
    WIRE_F_STRING(struct renew_request, csr, "csr", 16384, .flags = WIRE_REQUIRED,
                  .doc = "Certificate request, PEM."),
};
const struct wire_table wire_renew_request =
    WIRE_TABLE("renew", struct renew_request, renew_request_fields, .max_bytes = 65536);

static const struct wire_field renew_answer_fields[] = {
    WIRE_F_STRING(struct renew_answer, cert, "cert", 65536, .flags = WIRE_REQUIRED,
                  .doc = "Certificate, PEM."),
};
const struct wire_table wire_renew_answer =
    WIRE_TABLE("renew", struct renew_answer, renew_answer_fields);

static const struct wire_field exec_fields[] = {
    WIRE_F_TEXTS(struct exec_request, argv, "argv", SPEC_COMMAND_MAX, SPEC_COMMAND_BYTES,
                 .flags = WIRE_REQUIRED, .min = 1, .doc = "Program and arguments."),
    WIRE_F_BOOL(struct exec_request, tty, "tty", .flags = WIRE_OMIT, .doc = "Gives a terminal."),
    WIRE_F_MAP(struct exec_request, env, "env", SPEC_ENV_MAX, SPEC_COMMAND_BYTES,
               .flags = WIRE_OMIT | WIRE_ENV, .doc = "Added to the environment."),
};
const struct wire_table wire_exec_request =
    WIRE_TABLE("exec", struct exec_request, exec_fields, .max_bytes = 1u << 20);

static const struct wire_field carry_end_fields[] = {
    WIRE_F_I32(struct carry_end, exit_code, "exit_code", .min = -1, .max = 255, .def = -1,
               .doc = "-1: unknown."),
    WIRE_F_I32(struct carry_end, signal, "signal", .flags = WIRE_OMIT, .min = 0, .max = 64,
               .doc = "That ended it, or 0."),
    WIRE_F_BOOL(struct carry_end, oom, "oom", .flags = WIRE_OMIT, .doc = "By the memory limit."),
    WIRE_F_BOOL(struct carry_end, timed_out, "timed_out", .flags = WIRE_OMIT,
                .doc = "By the time limit."),
    WIRE_F_TEXT(struct carry_end, detail, "detail", .flags = WIRE_OMIT, .doc = "For people."),
};
const struct wire_table wire_carry_end = WIRE_TABLE("end", struct carry_end, carry_end_fields);
