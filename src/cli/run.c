/* cli/run.c - `rota run`: from flags or a file to a session, and to its end. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "cli/follow.h"
#include "cli/say.h"
#include "cli/verb.h"

#define MEM_LEAST (INT64_C(1) << 20) /* "8" is eight bytes, and was meant to be more */

enum { FILE_MAX = 1024 * 1024, SUBMIT_PATIENCE_MS = 30000 };

enum {
    KEY_NAME = 300, KEY_PROJECT, KEY_GROUP, KEY_CPUS, KEY_MEM, KEY_GPUS, KEY_CONTAINERS,
    KEY_ONE_NODE, KEY_TIME, KEY_PRIORITY, KEY_WORKDIR, KEY_IMAGE, KEY_DISK, KEY_KIND, KEY_GRACE,
    KEY_RDMA, KEY_NETWORK, KEY_PENDING, KEY_IMPOSSIBLE, KEY_KEEP_GANG, KEY_LABEL,
    KEY_GPU_MODEL, KEY_ARCH, KEY_NODE, KEY_PREFER, KEY_STRATEGY, KEY_NODE_LABEL,
    KEY_ARRAY, KEY_BEGIN, KEY_HOLD, KEY_PREEMPTIBLE, KEY_DISCONNECT, KEY_RESTARTS, KEY_AFTER,
    KEY_DEVICE_FAULT, KEY_KEY, KEY_CHECK,
};

struct run_args {
    struct common common;
    struct session_spec spec;
    const char *file, *key;
    bool detach, quiet, check;
    struct wire_map env, labels, node_labels;
    struct wire_texts command, after;
    /* Which flags were given: they win over the file. */
    const char *flag[KEY_KEY - KEY_NAME + 1];
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What it needs:", 1},
    {"cpus", KEY_CPUS, "N", 0, "CPUs of each container: 2, 0.5, 500m (default 1)", 0},
    {"mem", KEY_MEM, "SIZE", 0, "Memory of each container: 512M, 4G (default 512M)", 0},
    {"gpus", KEY_GPUS, "N", 0, "Whole GPUs of each container (default 0)", 0},
    {"containers", KEY_CONTAINERS, "N", 0,
     "Containers that start together or not at all (default 1)", 0},
    {"one-node", KEY_ONE_NODE, 0, 0, "All containers on one machine", 0},
    {"rdma", KEY_RDMA, 0, 0, "With RDMA devices, and locked memory without limit", 0},
    {"group", KEY_GROUP, "NAME", 0, "Group of machines (default: default)", 0},
    {"allow-impossible", KEY_IMPOSSIBLE, 0, 0,
     "Wait even for more than any machine of the group could give", 0},
    {0, 0, 0, 0, "Where it may run:", 2},
    {"gpu-model", KEY_GPU_MODEL, "MODEL[|MODEL]", 0,
     "Only on GPUs of these models: 'h100|a100'", 0},
    {"node-label", KEY_NODE_LABEL, "KEY=VALUE", 0,
     "Only on machines that say so; may be repeated, all must hold", 0},
    {"arch", KEY_ARCH, "NAME", 0, "Only on machines of this architecture: x86_64", 0},
    {"node", KEY_NODE, "NAME", 0, "On this machine, or wait", 0},
    {"prefer-node", KEY_PREFER, "NAME", 0, "On this machine if there is room, else on others", 0},
    {"strategy", KEY_STRATEGY, "NAME", 0,
     "Which machine: concentrated, dispersed, round_robin, least_allocated, most_allocated or "
     "best_fit (default: the group's)", 0},
    {0, 0, 0, 0, "What runs:", 3},
    {"file", 'f', "FILE", 0, "Take the job from a YAML file; flags win over it", 0},
    {"image", KEY_IMAGE, "NAME", 0,
     "What containers see as their root: docker://REPOSITORY[:TAG], oci:DIRECTORY[:TAG] of the "
     "machine (default: host, the machine's own programs)", 0},
    {"disk", KEY_DISK, "SIZE", 0,
     "Most that each container may write to its root (0: no limit)", 0},
    {"network", KEY_NETWORK, "MODE", 0,
     "outbound (default), none, or host: the machine's own, where the group allows it", 0},
    {"env", 'e', "NAME=VALUE", 0, "Set a variable; NAME alone takes its value from here", 0},
    {"workdir", KEY_WORKDIR, "DIR", 0, "Start in this directory of the container", 0},
    {"interactive", 'i', 0, 0, "Pass standard input on to the command", 0},
    {"tty", 't', 0, 0, "Give the command a terminal", 0},
    {0, 0, 0, 0, "How it is scheduled:", 4},
    {"name", KEY_NAME, "NAME", 0, "A name of your own, instead of s17", 0},
    {"project", KEY_PROJECT, "NAME", 0, "Project it counts for (default: default)", 0},
    {"priority", KEY_PRIORITY, "0..100", 0, "Higher goes first (default 10)", 0},
    {"kind", KEY_KIND, "KIND", 0, "batch, interactive or service (default batch)", 0},
    {"time", KEY_TIME, "TIME", 0, "Stop it after this long: 90s, 30m, 2h, 1d", 0},
    {"pending-timeout", KEY_PENDING, "TIME", 0, "Give up when it has not started by then", 0},
    {"grace", KEY_GRACE, "TIME", 0, "From SIGTERM to SIGKILL (default 30s)", 0},
    {"after", KEY_AFTER, "SESSION[:HOW]", 0,
     "Start when that session has ended: HOW is success (default), end or failure", 0},
    {"begin", KEY_BEGIN, "TIME", 0,
     "Not before: 2h from now, or an instant such as 2026-12-01T18:00:00Z", 0},
    {"array", KEY_ARRAY, "FIRST-LAST[:STEP][%N]", 0,
     "One session for each index, at most N at once; implies -d", 0},
    {"hold", KEY_HOLD, 0, 0, "Wait until `rota release`", 0},
    {"preemptible", KEY_PREEMPTIBLE, "yes|no", 0,
     "May it have to make room?  (default: batch yes, others no)", 0},
    {"on-disconnect", KEY_DISCONNECT, "keep|requeue", 0,
     "Its machine is cut off: keep what runs there (default), or let it end there and run "
     "again elsewhere", 0},
    {"on-device-fault", KEY_DEVICE_FAULT, "keep|requeue", 0,
     "A GPU that it holds goes bad: go on (default), or run again on others", 0},
    {"restarts", KEY_RESTARTS, "N", 0, "Start it again after a failure, N times at most", 0},
    {"keep-gang", KEY_KEEP_GANG, 0, 0, "One container's failure does not stop the others", 0},
    {"label", KEY_LABEL, "NAME=VALUE", 0, "Note something on the session", 0},
    {0, 0, 0, 0, "How it is followed:", 5},
    {"detach", 'd', 0, 0, "Print the session's id and return at once", 0},
    {"quiet", 'q', 0, 0, "Say nothing while it waits", 0},
    {"check", KEY_CHECK, 0, 0,
     "Submit nothing: say whether it would start now, or when and what it would wait for", 0},
    {"idempotency-key", KEY_KEY, "TEXT", 0,
     "Submit at most once under this key, even when repeated", 0},
    {0},
};

static const char doc[] =
    "Run a command in a container and stay with it: its output comes here, signals go there, "
    "and its exit code becomes ours (125: Rota failed, 126 and 127: the command could not be "
    "run or found, 128+N: ended by signal N).\v"
    "Examples:\n"
    "  rota run --cpus 2 --mem 1G -i python3 - --epochs 10 < train.py\n"
    "  rota run --gpus 1 --time 2h -e SEED python3 /opt/lab/train.py\n"
    "  rota run -d --name night --containers 2 /opt/lab/night.sh\n"
    "  rota run -it bash\n"
    "  rota run -f job.yaml\n\n"
    "The container has the machine's programs (/usr, /opt, /etc), not your files: pass a script "
    "on standard input or keep it below /opt.  Only what is printed outlives the session.\n\n"
    "Ctrl-C is passed on; the second one stops the session, the third leaves it alone.";

static void add_pair(struct argp_state *state, struct wire_map *map, const char *arg,
                     bool from_here)
{
    const char *eq = strchr(arg, '=');
    const char *value = eq ? eq + 1 : from_here ? getenv(arg) : NULL;
    size_t n = eq ? (size_t)(eq - arg) : strlen(arg);
    if (n == 0 || (!eq && !from_here)) argp_error(state, "expected NAME=VALUE, got '%s'", arg);
    else if (!value) argp_error(state, "the variable %s is not set here: give %s=VALUE", arg, arg);
    else wire_map_add(map, str_n(arg, n), str_of(value));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct run_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case 'd': a->detach = true; return 0;
    case 'q': a->quiet = true; return 0;
    case 'i': a->spec.stdin_open = true; return 0;
    case 't': a->spec.tty = true; return 0;
    case 'f': a->file = arg; return 0;
    case 'e': add_pair(state, &a->env, arg, true); return 0;
    case KEY_LABEL: add_pair(state, &a->labels, arg, false); return 0;
    case KEY_NODE_LABEL: add_pair(state, &a->node_labels, arg, false); return 0;
    case KEY_KEY: a->key = arg; return 0;
    case KEY_CHECK: a->check = true; return 0;
    case KEY_AFTER: wire_texts_add(&a->after, str_of(arg)); return 0;
    case ARGP_KEY_ARG: /* the first word that is no option: all the rest is the command's */
        wire_texts_add(&a->command, str_of(arg));
        while (state->next < state->argc)
            wire_texts_add(&a->command, str_of(state->argv[state->next++]));
        return 0;
    default: break;
    }
    if (key < KEY_NAME || key >= KEY_KEY) return ARGP_ERR_UNKNOWN;
    a->flag[key - KEY_NAME] = arg ? arg : "";
    return 0;
}

static const struct argp_child children[] = {{&verb_common_argp, 0, NULL, 0}, {0}};
static const struct argp run_argp = {options, parse, "[COMMAND [ARG...]]", doc, children, 0, 0};

static int read_job(const char *path, struct session_spec *spec, struct err *err)
{
    bool from_stdin = strcmp(path, "-") == 0;
    FILE *f = from_stdin ? stdin : fopen(path, "re");
    if (!f) return err_sys(err, ERR_IO, errno, "cannot read %s", path);
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, FILE_MAX);
    char buf[4096];
    size_t n;
    while (!b.full && (n = fread(buf, 1, sizeof(buf), f)) > 0) strbuf_put(&b, str_n(buf, n));
    bool failed = ferror(f) != 0;
    if (!from_stdin) (void)fclose(f);
    if (failed) return err_set(err, ERR_IO, "cannot read %s", path);
    if (b.full)
        return err_set(err, ERR_LIMIT, "%s is too long for a job file: at most 1 MiB", path);
    return wire_parse_yaml(&wire_session_spec, strbuf_str(&b), from_stdin ? "standard input" : path,
                           spec, err);
}

static int bad(struct err *err, const char *flag, const char *got, const char *expected)
{
    return err_set(err, ERR_INVALID, "--%s %s: expected %s", flag, got, expected);
}

static const char *given(const struct run_args *a, int key) { return a->flag[key - KEY_NAME]; }

/* A quantity flag: into the single role, or refused when the file names several. */
static int need(struct session_spec *s, const char *flag, struct err *err)
{
    if (s->n_roles <= 1) return 0;
    return err_set(err, ERR_INVALID, "--%s says nothing about which of the file's %u roles is "
                   "meant: change the file", flag, s->n_roles);
}

static int apply_needs(struct run_args *a, struct err *err)
{
    struct session_spec *s = &a->spec;
    if (s->n_roles == 0) {
        s->n_roles = 1;
        TEXT_CLIP(s->roles[0].name, STR("main"));
        s->roles[0] = (struct role_spec){
            .name = "main", .count = 1, .cpu_milli = SPEC_CPU_MILLI, .mem_bytes = SPEC_MEM_BYTES,
        };
    }
    struct role_spec *r = &s->roles[0];
    const char *v;
    uint64_t n = 0;
    int rc = 0;
    if (rc == 0 && (v = given(a, KEY_CPUS)) && (rc = need(s, "cpus", err)) == 0 &&
        (!fmt_parse_cpu(str_of(v), &r->cpu_milli) || r->cpu_milli <= 0))
        rc = bad(err, "cpus", v, "a number of CPUs, such as 2, 0.5 or 500m");
    if (rc == 0 && (v = given(a, KEY_MEM)) && (rc = need(s, "mem", err)) == 0 &&
        (!fmt_parse_bytes(str_of(v), &r->mem_bytes) || r->mem_bytes < MEM_LEAST))
        rc = bad(err, "mem", v, "a size of 1M or more, such as 512M or 4G");
    if (rc == 0 && (v = given(a, KEY_GPUS)) && (rc = need(s, "gpus", err)) == 0) {
        if (!str_to_u64(str_of(v), &n) || n > INT32_MAX)
            rc = bad(err, "gpus", v, "a whole number of GPUs");
        else r->gpu = (int64_t)n;
    }
    if (rc == 0 && (v = given(a, KEY_CONTAINERS)) && (rc = need(s, "containers", err)) == 0) {
        if (!str_to_u64(str_of(v), &n) || n == 0 || n > SESSION_MEMBERS_MAX)
            rc = bad(err, "containers", v, "a number from 1 to 512");
        else r->count = (uint32_t)n;
    }
    return rc;
}

static int apply_disk(const struct run_args *a, int64_t *ret_bytes, struct err *err)
{
    const char *v = given(a, KEY_DISK);
    if (!v || fmt_parse_bytes(str_of(v), ret_bytes)) return 0;
    return bad(err, "disk", v, "a size, such as 500M or 10G, or 0 for no limit");
}

static int apply_time(const struct run_args *a, int key, const char *flag, int64_t *ret_ms,
                      struct err *err)
{
    const char *v = given(a, key);
    if (!v || fmt_parse_duration(str_of(v), ret_ms)) return 0;
    return bad(err, flag, v, "a time, such as 90s, 30m, 2h or 1h30m");
}

static int apply_text(const struct run_args *a, int key, const char *flag, char *dst, size_t cap,
                      struct err *err)
{
    const char *v = given(a, key);
    if (!v || text_set(dst, cap, str_of(v))) return 0;
    return err_set(err, ERR_INVALID, "--%s is too long: at most %zu characters", flag, cap - 1);
}

static int apply_schedule(struct run_args *a, struct err *err)
{
    struct session_spec *s = &a->spec;
    int rc = apply_text(a, KEY_NAME, "name", s->name, sizeof(s->name), err);
    if (rc == 0) rc = apply_text(a, KEY_PROJECT, "project", s->project, sizeof(s->project), err);
    if (rc == 0) rc = apply_text(a, KEY_GROUP, "group", s->group, sizeof(s->group), err);
    if (rc == 0) rc = apply_text(a, KEY_IMAGE, "image", s->image, sizeof(s->image), err);
    if (rc == 0) rc = apply_disk(a, &s->disk_bytes, err);
    if (rc == 0) rc = apply_time(a, KEY_TIME, "time", &s->time_limit_ms, err);
    if (rc == 0) rc = apply_time(a, KEY_GRACE, "grace", &s->grace_ms, err);
    if (rc == 0) rc = apply_time(a, KEY_PENDING, "pending-timeout", &s->pending_timeout_ms, err);
    const char *v = given(a, KEY_PRIORITY);
    uint64_t n = 0;
    if (rc == 0 && v) {
        if (!str_to_u64(str_of(v), &n) || n > 100)
            rc = bad(err, "priority", v, "a whole number from 0 to 100");
        else s->priority = (int32_t)n;
    }
    v = given(a, KEY_KIND);
    int32_t kind = 0;
    if (rc == 0 && v) {
        if (!wire_name_find(names_session_kind, str_of(v), &kind))
            rc = bad(err, "kind", v, "batch, interactive or service");
        else s->kind = (enum session_kind)kind;
    }
    v = given(a, KEY_NETWORK);
    int32_t mode = 0;
    if (rc == 0 && v) {
        if (!wire_name_find(names_network_mode, str_of(v), &mode) || mode == NETWORK_DEFAULT)
            rc = bad(err, "network", v, "outbound, none or host");
        else s->network = (enum network_mode)mode;
    }
    if (given(a, KEY_ONE_NODE)) s->one_node = true;
    if (given(a, KEY_RDMA)) s->rdma = true;
    if (given(a, KEY_KEEP_GANG)) s->stop_on_member = false;
    if (given(a, KEY_IMPOSSIBLE)) s->allow_impossible = true;
    return rc;
}

static int apply_where(struct run_args *a, struct err *err)
{
    struct session_spec *s = &a->spec;
    const char *v = given(a, KEY_STRATEGY);
    int32_t strategy = 0;
    int rc = apply_text(a, KEY_GPU_MODEL, "gpu-model", s->gpu_models, sizeof(s->gpu_models), err);
    if (rc == 0) rc = apply_text(a, KEY_ARCH, "arch", s->arch, sizeof(s->arch), err);
    if (given(a, KEY_NODE) || given(a, KEY_PREFER)) s->node[0] = s->prefer_node[0] = '\0';
    if (rc == 0) rc = apply_text(a, KEY_NODE, "node", s->node, sizeof(s->node), err);
    if (rc == 0) {
        rc = apply_text(a, KEY_PREFER, "prefer-node", s->prefer_node, sizeof(s->prefer_node), err);
    }
    if (rc == 0 && v) {
        if (!wire_name_find(names_place_strategy, str_of(v), &strategy))
            rc = bad(err, "strategy", v, "concentrated, dispersed, round_robin, least_allocated, "
                     "most_allocated or best_fit");
        else s->strategy = (enum place_strategy)strategy;
    }
    return rc;
}

/* "2h" is from now on; anything else has to be an instant. */
static int apply_begin(struct run_args *a, struct err *err)
{
    struct session_spec *s = &a->spec;
    const char *v = given(a, KEY_BEGIN);
    int64_t wall_ms;
    if (!v) return 0;
    s->start_in_ms = 0;
    s->start_at[0] = '\0';
    if (fmt_parse_duration(str_of(v), &s->start_in_ms)) return 0;
    if (wire_time_parse(str_of(v), &wall_ms) && TEXT_SET(s->start_at, str_of(v))) return 0;
    return bad(err, "begin", v, "a time from now, such as 2h, or an instant such as "
               "2026-12-01T18:00:00Z");
}

static int apply_disconnect(struct run_args *a, struct err *err)
{
    const char *v = given(a, KEY_DISCONNECT);
    int32_t choice = 0;
    if (!v) return 0;
    if (!wire_name_find(names_on_disconnect, str_of(v), &choice))
        return bad(err, "on-disconnect", v, "keep or requeue");
    a->spec.on_disconnect = (enum on_disconnect)choice;
    return 0;
}

static int apply_device_fault(struct run_args *a, struct err *err)
{
    const char *v = given(a, KEY_DEVICE_FAULT);
    int32_t choice = 0;
    if (!v) return 0;
    if (!wire_name_find(names_on_device_fault, str_of(v), &choice))
        return bad(err, "on-device-fault", v, "keep or requeue");
    a->spec.on_device_fault = (enum on_device_fault)choice;
    return 0;
}

static int apply_turn(struct run_args *a, struct err *err)
{
    struct session_spec *s = &a->spec;
    int rc = apply_text(a, KEY_ARRAY, "array", s->array, sizeof(s->array), err);
    if (rc == 0) rc = apply_begin(a, err);
    if (rc == 0) rc = apply_disconnect(a, err);
    if (rc == 0) rc = apply_device_fault(a, err);
    if (given(a, KEY_HOLD)) s->hold = true;
    const char *v = given(a, KEY_PREEMPTIBLE);
    int32_t choice = 0;
    if (rc == 0 && v) {
        if (!wire_name_find(names_choice, str_of(v), &choice))
            rc = bad(err, "preemptible", v, "yes or no");
        else s->preemptible = (enum choice)choice;
    }
    v = given(a, KEY_RESTARTS);
    uint64_t n = 0;
    if (rc == 0 && v) {
        if (!str_to_u64(str_of(v), &n) || n > SESSION_RESTARTS_MAX)
            rc = bad(err, "restarts", v, "a whole number from 0 to 1000");
        else s->restart_max = (uint32_t)n;
    }
    for (uint32_t i = 0; i < a->after.n; i++) wire_texts_add(&s->after, str_of(a->after.v[i]));
    return rc;
}

static void merge(struct wire_map *into, const struct wire_map *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < into->n; k++) {
            if (strcmp(into->v[k].name, from->v[i].name) != 0) continue;
            mem_free(into->v[k].value);
            into->v[k].value = mem_strndup(from->v[i].value, strlen(from->v[i].value));
            found = true;
        }
        if (!found) wire_map_add(into, str_of(from->v[i].name), str_of(from->v[i].value));
    }
}

/* The file first, then what the command line says. */
static int make_spec(struct run_args *a, struct err *err)
{
    bool in = a->spec.stdin_open, tty = a->spec.tty;
    int rc = 0;
    if (a->file) rc = read_job(a->file, &a->spec, err);
    else wire_init(&wire_session_spec, &a->spec);
    if (rc < 0) return rc;
    struct session_spec *s = &a->spec;
    s->stdin_open |= in;
    s->tty |= tty;
    merge(&s->env, &a->env);
    merge(&s->labels, &a->labels);
    merge(&s->node_labels, &a->node_labels);
    if (a->command.n > 0) {
        wire_texts_free(&s->command);
        s->command = a->command;
        a->command = (struct wire_texts){0};
    }
    rc = apply_needs(a, err);
    if (rc == 0) rc = apply_schedule(a, err);
    if (rc == 0) rc = apply_where(a, err);
    if (rc == 0) rc = apply_turn(a, err);
    const char *dir = given(a, KEY_WORKDIR);
    if (rc == 0 && dir) {
        mem_free(s->workdir);
        s->workdir = mem_strndup(dir, strlen(dir));
    }
    bool has_command = s->command.n > 0;
    for (uint32_t i = 0; i < s->n_roles; i++) has_command |= s->roles[i].command.n > 0;
    if (rc == 0 && !has_command && strcmp(s->image, "host") == 0)
        rc = err_set(err, ERR_INVALID, "nothing to run: give a command, as in `rota run echo "
                     "hello`, or a file with -f, or an image that brings one with --image");
    return rc;
}

static int submit(struct run_args *a, struct session_view *ret, bool *ret_impossible,
                  struct err *err)
{
    AUTO_STRBUF struct strbuf body, answer;
    strbuf_init(&body, 2 * FILE_MAX);
    strbuf_init(&answer, 2 * FILE_MAX);
    wire_print(&wire_session_spec, &a->spec, &body);
    char key[33];
    api_new_key(key);
    struct api_request rq = {
        .method = "POST", .target = "/api/v1/sessions", .body = strbuf_str(&body),
        .key = a->key ? a->key : key, .patience_ms = SUBMIT_PATIENCE_MS,
    };
    struct api_result r;
    *ret_impossible = false;
    /* A manager that is not there at all is said at once; one that went away while we asked
     * may have taken the job, and the key makes asking again safe. */
    int64_t patience = rq.patience_ms;
    rq.patience_ms = 0;
    int rc = api_call(a->common.api, &rq, &answer, &r, err);
    if (rc < 0 && r.status == 0 && err->code == ERR_UNAVAILABLE && strstr(err->text, "refused"))
        return rc;
    if (rc < 0 && api_worth_retry(&r)) {
        rq.patience_ms = patience;
        rc = api_call(a->common.api, &rq, &answer, &r, err);
    }
    if (rc < 0) *ret_impossible = strcmp(r.code, "impossible") == 0;
    if (rc == 0) rc = api_parse(&wire_session_view, strbuf_str(&answer), ret, err);
    return rc;
}

/* What would become of it now, in words; nothing is submitted. */
static int check(struct run_args *a, struct err *err)
{
    AUTO_STRBUF struct strbuf body, answer, text;
    struct why_view v;
    strbuf_init(&body, 2 * FILE_MAX);
    strbuf_init(&answer, 2 * FILE_MAX);
    strbuf_init(&text, 4096);
    wire_print(&wire_session_spec, &a->spec, &body);
    struct api_request rq = {.method = "POST", .target = "/api/v1/sessions/check",
                             .body = strbuf_str(&body), .patience_ms = SUBMIT_PATIENCE_MS};
    struct api_result r;
    int rc = api_call(a->common.api, &rq, &answer, &r, err);
    if (rc == 0) rc = api_parse(&wire_why_view, strbuf_str(&answer), &v, err);
    if (rc < 0) return rc;
    session_show_check(&v, &text);
    say_out(strbuf_str(&text));
    wire_free(&wire_why_view, &v);
    return 0;
}

static void say_submitted(const struct session_view *v)
{
    char line[96];
    uint64_t first;
    if (v->array_count > 0 && session_id_parse(str_of(v->id), &first))
        text_fmt(line, sizeof(line), "%s..s%llu\n", v->id,
                 (unsigned long long)(first + v->array_count - 1));
    else text_fmt(line, sizeof(line), "%s\n", v->id);
    say_out(str_of(line));
}

int verb_run(int argc, char **argv)
{
    struct run_args *a = mem_alloc(sizeof(*a));
    struct err err = {0};
    struct session_view view;
    bool impossible;
    int code = EXIT_ROTA;
    verb_parse(&run_argp, argc, argv, EXIT_ROTA, a);
    bool tty = a->spec.tty;
    if (tty && !a->detach && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
        say("-t needs a terminal here: leave it out when input or output is a file or a pipe");
    } else if (make_spec(a, &err) < 0) {
        (void)say_err(&err, 0);
    } else if (verb_open(&a->common)) {
        if (a->check) {
            code = check(a, &err) < 0 ? say_err(&err, EXIT_ROTA) : 0; /* refused, or not asked */
        } else if (submit(a, &view, &impossible, &err) < 0) {
            (void)say_err(&err, 0);
            if (impossible) say("with --allow-impossible it waits until there is such a machine");
        } else {
            struct follow_spec f = {
                .input = a->spec.stdin_open, .tty = a->spec.tty, .quiet = a->quiet,
            };
            if (a->detach || view.array_count > 0) {
                say_submitted(&view);
                code = 0;
            } else {
                code = follow_session(a->common.api, &f, &view);
            }
            wire_free(&wire_session_view, &view);
        }
        verb_close(&a->common);
    }
    wire_map_free(&a->env);
    wire_map_free(&a->labels);
    wire_map_free(&a->node_labels);
    wire_texts_free(&a->command);
    wire_free(&wire_session_spec, &a->spec);
    mem_free(a);
    return code;
}
