/* cli/logs.c - `rota logs`: the output of one session, past and to come. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/say.h"
#include "cli/sink.h"
#include "cli/stream.h"
#include "cli/verb.h"

enum { KEY_TAIL = 300, KEY_MEMBER, TROUBLES_MAX = 20 };

struct logs_args {
    struct common common;
    const char *session;
    bool follow;
    int64_t tail, member; /* -1: all */
};

struct logs;
struct logs_member {
    struct logs *l;
    struct stream *stream;
    uint32_t no, troubles;
    bool over, mid_line;
};
struct logs {
    struct logs_args *args;
    struct sink *sinks[2];
    struct logs_member *members;
    uint32_t n, open;
    bool prefix, failed, done;
};

static const struct argp_option options[] = {
    {"follow", 'f', 0, 0, "Go on until the session ends", 1},
    {"tail", KEY_TAIL, "N", 0, "Only the last N lines of each container", 1},
    {"member", KEY_MEMBER, "N", 0, "Only this container of a gang, counted from 0", 1},
    {0},
};
static const char doc[] =
    "Show the output of a session: standard output here on standard output, standard error on "
    "standard error, byte for byte.  Lines of a gang begin with the container's number.\v"
    "Examples:\n"
    "  rota logs night\n"
    "  rota logs -f --tail 20 s17\n"
    "  rota logs --member 1 night 2>/dev/null";

static bool number(const char *arg, int64_t max, int64_t *ret)
{
    uint64_t n = 0;
    if (!str_to_u64(str_of(arg), &n) || n > (uint64_t)max) return false;
    *ret = (int64_t)n;
    return true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct logs_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case 'f': a->follow = true; return 0;
    case KEY_TAIL:
        if (!number(arg, 100000, &a->tail))
            argp_error(state, "--tail %s: expected a number of lines from 0 to 100000", arg);
        return 0;
    case KEY_MEMBER:
        if (!number(arg, SESSION_MEMBERS_MAX - 1, &a->member))
            argp_error(state, "--member %s: expected a number from 0 to 511", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (a->session) argp_error(state, "one session at a time: '%s' is one too many", arg);
        a->session = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->session) argp_error(state, "which session? give its id or name");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&verb_common_argp, 0, NULL, 0}, {0}};
static const struct argp logs_argp = {options, parse, "SESSION", doc, children, 0, 0};

static void member_over(struct logs_member *m)
{
    if (m->over) return;
    m->over = true;
    stream_free(STEAL(m->stream));
    m->l->open--;
    m->l->done = m->l->open == 0 && sink_empty(m->l->sinks[0]) && sink_empty(m->l->sinks[1]);
}

static void pause_all(struct logs *l, bool paused)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->members[i].stream) stream_pause(l->members[i].stream, paused);
}

static void on_output(void *arg, bool is_stderr, struct str data)
{
    struct logs_member *m = arg;
    m->troubles = 0;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024 * 1024);
    while (m->l->prefix && data.n > 0) {
        if (!m->mid_line) strbuf_fmt(&b, "[%u] ", m->no);
        const char *end = memchr(data.p, '\n', data.n);
        size_t n = end ? (size_t)(end - data.p) + 1 : data.n;
        strbuf_put(&b, str_n(data.p, n));
        m->mid_line = !end;
        data = str_n(data.p + n, data.n - n);
    }
    if (!sink_put(m->l->sinks[is_stderr], m->l->prefix ? strbuf_str(&b) : data))
        pause_all(m->l, true);
}

static void on_notice(void *arg, struct str text)
{
    (void)arg;
    say("%.*s", (int)(text.n < 300 ? text.n : 300), text.p);
}

static void on_ended(void *arg, const struct carry_end *end)
{
    (void)end;
    member_over(arg);
}

static void on_trouble(void *arg, const char *code, const struct err *why)
{
    struct logs_member *m = arg;
    bool closed = strcmp(code, "closed") == 0;
    if (!m->l->args->follow && closed) {
        member_over(m); /* all there was */
        return;
    }
    bool hopeless = why->code != ERR_UNAVAILABLE && why->code != ERR_TIMEOUT;
    if (!hopeless && ++m->troubles < (m->l->args->follow ? UINT32_MAX : TROUBLES_MAX)) return;
    say_err(why, 0);
    m->l->failed = true;
    member_over(m);
}

static const struct stream_ops stream_callbacks = {
    on_output, on_notice, on_ended, on_trouble, NULL,
};

static void on_drain(void *arg)
{
    struct logs *l = arg;
    if (!sink_blocked(l->sinks[0]) && !sink_blocked(l->sinks[1])) pause_all(l, false);
    if (l->open == 0 && sink_empty(l->sinks[0]) && sink_empty(l->sinks[1])) l->done = true;
}

static void on_broken(void *arg, int problem)
{
    (void)arg;
    if (problem == EPIPE) say_pipe_closed();
    say("cannot write the output: %s", strerror(problem));
    exit(EXIT_FAILED);
}

static const struct sink_ops sink_callbacks = {on_drain, on_broken};

static int stream_members(struct logs_args *a, const struct session_view *v)
{
    struct logs l = {.args = a, .prefix = v->members > 1 && a->member < 0};
    l.n = a->member >= 0 ? 1 : v->members;
    l.open = l.n;
    l.members = mem_array(l.n, sizeof(*l.members));
    l.sinks[0] = sink_new(a->common.loop, STDOUT_FILENO, &sink_callbacks, &l);
    l.sinks[1] = sink_new(a->common.loop, STDERR_FILENO, &sink_callbacks, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        struct logs_member *m = &l.members[i];
        *m = (struct logs_member){.l = &l, .no = a->member >= 0 ? (uint32_t)a->member : i};
        struct stream_spec s = {
            .session = v->id, .member = m->no, .follow = a->follow, .tail = a->tail,
        };
        m->stream = stream_open(a->common.api, &s, &stream_callbacks, m);
    }
    (void)net_loop_run_until(a->common.loop, &l.done, -1);
    for (uint32_t i = 0; i < l.n; i++) stream_free(l.members[i].stream);
    for (int i = 0; i < 2; i++) sink_free(l.sinks[i]);
    mem_free(l.members);
    return l.failed ? EXIT_FAILED : 0;
}

/* A session that is on no machine yet has no output: follow waits for one. */
static int wait_placed(struct logs_args *a, struct session_view *v, struct err *err)
{
    while (v->state < SESSION_ALLOCATED) {
        if (!a->follow)
            return err_set(err, ERR_NOT_FOUND, "%s has no output yet: it waits (%s)", v->id,
                           v->reason);
        char target[128];
        text_fmt(target, sizeof(target), "/api/v1/sessions/%s?wait=placed&timeout_ms=20000", v->id);
        AUTO_STRBUF struct strbuf body;
        strbuf_init(&body, 8 * 1024 * 1024);
        struct api_request rq = {.target = target, .patience_ms = 3600 * 1000};
        int rc = api_call(a->common.api, &rq, &body, NULL, err);
        struct session_view fresh;
        if (rc == 0) rc = api_parse(&wire_session_view, strbuf_str(&body), &fresh, err);
        if (rc < 0) return rc;
        wire_free(&wire_session_view, v);
        *v = fresh;
    }
    return 0;
}

int verb_logs(int argc, char **argv)
{
    struct logs_args a = {.tail = -1, .member = -1};
    verb_parse(&logs_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.common)) return EXIT_FAILED;
    AUTO_STRBUF struct strbuf target;
    strbuf_init(&target, 4096);
    strbuf_puts(&target, "/api/v1/sessions/");
    api_escape(&target, str_of(a.session));
    struct session_view v;
    struct err err = {0};
    int code = EXIT_FAILED;
    if (api_get(a.common.api, target.p, &wire_session_view, &v, &err) < 0) {
        say_err(&err, 0);
    } else {
        if (a.member >= (int64_t)v.members)
            say("%s has %u containers: --member %lld is none of them", v.id, v.members,
                (long long)a.member);
        else if (wait_placed(&a, &v, &err) < 0) say_err(&err, 0);
        else if (v.state == SESSION_ENDED && v.attempt == 0)
            say("%s never ran, so it has no output: %s", v.id, v.detail[0] ? v.detail : v.reason);
        else code = stream_members(&a, &v);
        wire_free(&wire_session_view, &v);
    }
    verb_close(&a.common);
    return code;
}
