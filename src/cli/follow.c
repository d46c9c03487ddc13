/* cli/follow.c - one session: its state by long poll, its output by carried streams.
 *
 * Two sources that fail apart from each other.  We are done when the manager says
 * that the session has ended and every stream has delivered its end, or has had
 * its time to. */
#include "cli/follow.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/fmt.h"
#include "cli/input.h"
#include "cli/say.h"
#include "cli/sink.h"
#include "cli/stream.h"

enum {
    PATIENCE_MS = 1000,     /* before a word about waiting */
    POLL_PENDING_MS = 2000, /* each brings a fresh reason */
    POLL_STARTING_MS = 1000,
    POLL_RUNNING_MS = 25000,
    DRAIN_MS = 5000,        /* silence of a stream after the session's end */
    RETRY_MAX_MS = 2000,
    AWAY_MS = 3000,         /* before a word about the manager being away */
    SIGNAL_RETRY_MS = 30,   /* while it is about to run, a signal is kept for it */
    SIGNAL_TRIES = 100,
};

struct member {
    struct follow *f;
    struct stream *stream;
    uint32_t no;
    bool ended;
    bool mid_line[2];
};

struct follow {
    struct api *api;
    const struct follow_spec *spec;
    struct session_view *view;
    struct member *members;
    struct sink *sinks[2];
    struct input *input;
    struct api_pending *poll, *order; /* order: a signal or stop under way */
    struct net_timer *poll_timer, *drain_timer, *signal_timer;
    struct net_signal *signals[3];
    int64_t began_ms, polled_ms, away_since_ms, retry_ms;
    uint32_t attempt;     /* that the streams belong to */
    uint32_t interrupts, signal_tries;
    int signum;           /* the last one to hand on */
    bool waited;          /* a word about waiting was said */
    bool told_away, stop_sent, detached, output_broken, lost, done;
    char said[512];       /* the last reason that was shown */
};

static void poll_now(struct follow *f);
static void check_done(struct follow *f);
static void open_streams(struct follow *f);

static bool placed(enum session_state s)
{
    return s >= SESSION_ALLOCATED && s <= SESSION_STOPPING;
}

/* ---- output ---- */

static void pause_all(struct follow *f, bool paused)
{
    for (uint32_t i = 0; i < f->view->members; i++)
        if (f->members[i].stream) stream_pause(f->members[i].stream, paused);
}

static void put(struct follow *f, int which, struct str data)
{
    if (!sink_put(f->sinks[which], data)) pause_all(f, true);
}

/* Members of a gang share our descriptors: each line says whose it is. */
static void put_prefixed(struct member *m, int which, struct str data)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024 * 1024);
    while (data.n > 0) {
        if (!m->mid_line[which]) strbuf_fmt(&b, "[%u] ", m->no);
        const char *end = memchr(data.p, '\n', data.n);
        size_t n = end ? (size_t)(end - data.p) + 1 : data.n;
        strbuf_put(&b, str_n(data.p, n));
        m->mid_line[which] = !end;
        data = str_n(data.p + n, data.n - n);
    }
    put(m->f, which, strbuf_str(&b));
}

static void on_output(void *arg, bool is_stderr, struct str data)
{
    struct member *m = arg;
    struct follow *f = m->f;
    if (f->view->members > 1) put_prefixed(m, is_stderr, data);
    else put(f, is_stderr, data);
    if (net_timer_armed(f->drain_timer)) net_timer_set(f->drain_timer, DRAIN_MS, 0);
}

static void on_notice(void *arg, struct str text)
{
    struct member *m = arg;
    if (m->f->output_broken) return;
    say("%s: %.*s", m->f->view->id, (int)(text.n < 300 ? text.n : 300), text.p);
}

static void on_ended(void *arg, const struct carry_end *end)
{
    (void)end; /* the manager's word on the session counts */
    struct member *m = arg;
    m->ended = true;
    if (m->mid_line[0]) put(m->f, 0, STR("\n"));
    check_done(m->f);
}

static void on_trouble(void *arg, const char *code, const struct err *why)
{
    (void)why;
    struct member *m = arg;
    /* Perhaps there is nothing to stream any more: ask the manager soon. */
    if (strcmp(code, "not_running") == 0 || strcmp(code, "ended") == 0 || !*code) {
        if (net_now_ms() - m->f->polled_ms > 1000) poll_now(m->f);
    }
}

static bool on_input(void *arg, enum carry_type type, struct str payload)
{
    struct follow *f = arg;
    return f->members[0].stream && stream_send(f->members[0].stream, type, payload);
}

static void on_input_room(void *arg)
{
    struct member *m = arg;
    struct follow *f = m->f;
    if (m->no != 0 || !f->spec->input) return;
    if (!f->input) f->input = input_new(api_loop(f->api), STDIN_FILENO, f->spec->tty, on_input, f);
    input_ready(f->input);
}

static const struct stream_ops stream_callbacks = {
    on_output, on_notice, on_ended, on_trouble, on_input_room,
};

static void on_sink_drain(void *arg)
{
    struct follow *f = arg;
    if (!sink_blocked(f->sinks[0]) && !sink_blocked(f->sinks[1])) pause_all(f, false);
    check_done(f);
}

static void open_streams(struct follow *f)
{
    for (uint32_t i = 0; i < f->view->members; i++) {
        struct member *m = &f->members[i];
        if (m->stream && f->attempt != f->view->attempt) {
            m->ended = false;
            stream_restart(m->stream);
        }
        if (m->stream || m->ended) continue;
        struct stream_spec s = {
            .session = f->view->id, .member = i, .follow = true, .tail = -1,
            .input = i == 0 && f->spec->input,
        };
        m->stream = stream_open(f->api, &s, &stream_callbacks, m);
    }
    f->attempt = f->view->attempt;
}

static void close_streams(struct follow *f)
{
    for (uint32_t i = 0; i < f->view->members; i++) {
        stream_free(f->members[i].stream);
        f->members[i].stream = NULL;
    }
}

/* ---- state ---- */

static void on_drain_over(void *arg)
{
    struct follow *f = arg;
    say("some output of %s could not be read: `rota logs %s` shows what was kept", f->view->id,
        f->view->id);
    f->done = true;
}

static void check_done(struct follow *f)
{
    if (f->view->state != SESSION_ENDED) return;
    bool all = true;
    for (uint32_t i = 0; i < f->view->members; i++)
        if (f->members[i].stream && !f->members[i].ended) all = false;
    if (!all && !f->output_broken) {
        if (!net_timer_armed(f->drain_timer)) net_timer_set(f->drain_timer, DRAIN_MS, 0);
        return;
    }
    if (sink_empty(f->sinks[0]) && sink_empty(f->sinks[1])) f->done = true;
}

static void tell_waiting(struct follow *f)
{
    const struct session_view *v = f->view;
    bool started = v->state >= SESSION_RUNNING;
    if (f->spec->quiet || net_now_ms() - f->began_ms < PATIENCE_MS) return;
    if (started) {
        if (f->waited && v->state == SESSION_RUNNING) {
            AUTO_STRBUF struct strbuf b;
            strbuf_init(&b, 64);
            fmt_duration(&b, net_now_ms() - f->began_ms);
            say("%s runs on %s after %s", v->id, v->nodes.n > 0 ? v->nodes.v[0] : "its node", b.p);
        }
        f->waited = false;
        return;
    }
    if (!v->reason[0] || strcmp(v->reason, f->said) == 0) return;
    TEXT_CLIP(f->said, str_of(v->reason));
    f->waited = true;
    say("%s is %s: %s", v->id, session_state_name(v->state), v->reason);
}

static void next_poll(struct follow *f)
{
    /* An answer that came at once without news must not become a busy loop. */
    int64_t took = net_now_ms() - f->polled_ms;
    net_timer_set(f->poll_timer, took < 5 ? 5 : 0, 0);
}

static void manager_away(struct follow *f, const struct err *err)
{
    int64_t now = net_now_ms();
    if (!f->away_since_ms) f->away_since_ms = now;
    if (!f->told_away && now - f->away_since_ms > AWAY_MS) {
        say("%s; %s goes on, waiting for the manager", err->text, f->view->id);
        f->told_away = true;
    }
    f->retry_ms = f->retry_ms == 0 ? 50 : f->retry_ms * 2;
    if (f->retry_ms > RETRY_MAX_MS) f->retry_ms = RETRY_MAX_MS;
    net_timer_set(f->poll_timer, f->retry_ms, 0);
}

static void take_view(struct follow *f, struct session_view *fresh)
{
    wire_free(&wire_session_view, f->view);
    *f->view = *fresh;
    f->away_since_ms = f->retry_ms = 0;
    f->told_away = false;
    if (placed(f->view->state)) open_streams(f);
    else if (f->view->state < SESSION_ALLOCATED) close_streams(f);
    tell_waiting(f);
}

static void on_polled(void *arg, const struct api_result *r, struct str body,
                      const struct err *err)
{
    struct follow *f = arg;
    f->poll = NULL;
    if (api_worth_retry(r)) {
        manager_away(f, err);
        return;
    }
    struct session_view fresh;
    struct err why = *err;
    if (r->status != 200 || api_parse(&wire_session_view, body, &fresh, &why) < 0) {
        say_err(&why, 0);
        f->lost = f->done = true;
        return;
    }
    take_view(f, &fresh);
    if (f->view->state == SESSION_ENDED) {
        /* It may have run and ended before we heard of either. */
        if (f->view->started_at[0] && !f->output_broken) open_streams(f);
        check_done(f);
        return;
    }
    next_poll(f);
}

static void poll_now(struct follow *f)
{
    if (f->view->state == SESSION_ENDED) return;
    net_timer_stop(f->poll_timer);
    api_cancel(f->poll);
    enum session_state s = f->view->state;
    int64_t hold = !placed(s) ? POLL_PENDING_MS
                   : s < SESSION_RUNNING ? POLL_STARTING_MS : POLL_RUNNING_MS;
    int64_t spent = net_now_ms() - f->began_ms;
    if (s < SESSION_RUNNING && spent < PATIENCE_MS) hold = PATIENCE_MS - spent + 1;
    char target[160];
    text_fmt(target, sizeof(target), "/api/v1/sessions/%s?wait=%s&timeout_ms=%lld", f->view->id,
             placed(s) ? "ended" : "placed", (long long)hold);
    f->polled_ms = net_now_ms();
    struct api_request rq = {.target = target, .timeout_ms = hold + 15000};
    f->poll = api_send(f->api, &rq, on_polled, f);
}

static void on_poll_timer(void *arg) { poll_now(arg); }

/* ---- signals ---- */

static void on_ordered(void *arg, const struct api_result *r, struct str body,
                       const struct err *err);

static void order(struct follow *f, const char *verb, const char *body)
{
    api_cancel(f->order);
    char target[96];
    text_fmt(target, sizeof(target), "/api/v1/sessions/%s/%s", f->view->id, verb);
    struct api_request rq = {.method = "POST", .target = target, .body = str_of(body)};
    f->order = api_send(f->api, &rq, on_ordered, f);
}

static void order_stop(struct follow *f)
{
    f->stop_sent = true;
    order(f, "stop", "{}");
}

static void hand_on(void *arg)
{
    struct follow *f = arg;
    order(f, "signal", f->signum == SIGINT ? "{\"signal\":\"INT\"}"
                       : f->signum == SIGTERM ? "{\"signal\":\"TERM\"}" : "{\"signal\":\"QUIT\"}");
}

static void on_ordered(void *arg, const struct api_result *r, struct str body,
                       const struct err *err)
{
    (void)body;
    struct follow *f = arg;
    f->order = NULL;
    if (r->status >= 200 && r->status < 300) return;
    if (strcmp(r->code, "ended") == 0) return;
    bool early = strcmp(r->code, "not_running") == 0;
    /* Its first output may be faster than the word that it runs. */
    if (early && !f->stop_sent && placed(f->view->state) && f->signal_tries++ < SIGNAL_TRIES)
        net_timer_set(f->signal_timer, SIGNAL_RETRY_MS, 0);
    else if (early && !f->stop_sent) order_stop(f);
    else say_err(err, 0);
}

static void detach(struct follow *f)
{
    if (f->stop_sent)
        say("left %s, which is stopping: `rota logs -f %s` shows it, `rota stop --grace 0 %s` "
            "ends it at once", f->view->id, f->view->id, f->view->id);
    else
        say("left %s running: `rota logs -f %s` shows it, `rota stop %s` ends it", f->view->id,
            f->view->id, f->view->id);
    f->detached = f->done = true;
}

static void on_signal(void *arg, int signum)
{
    struct follow *f = arg;
    bool interrupt = signum == SIGINT;
    f->interrupts++;
    if (f->view->state == SESSION_ENDED || f->interrupts >= 3) {
        detach(f);
    } else if (f->interrupts == 2 || !placed(f->view->state)) {
        if (interrupt) say("stopping %s; once more leaves it", f->view->id);
        net_timer_stop(f->signal_timer);
        order_stop(f);
        f->interrupts = 2;
    } else {
        f->signum = signum;
        f->signal_tries = 0;
        hand_on(f);
    }
}

/* Nobody reads our output: as in any pipe, the writer ends. */
static void on_sink_broken(void *arg, int problem)
{
    struct follow *f = arg;
    if (f->output_broken) return;
    f->output_broken = true;
    if (problem != EPIPE) say("cannot write the output: %s; stopping %s", strerror(problem),
                              f->view->id);
    if (f->view->state != SESSION_ENDED) order_stop(f);
}

static const struct sink_ops sink_callbacks = {on_sink_drain, on_sink_broken};

/* ---- the whole ---- */

int follow_exit_code(const struct session_view *v)
{
    bool ran = v->started_at[0] != '\0';
    const char *detail = v->detail[0] ? v->detail : v->reason;
    if (!ran) {
        if (v->outcome == OUTCOME_CANCELLED) say("%s was cancelled before it ran", v->id);
        else if (v->outcome == OUTCOME_TIMED_OUT) say("%s did not start in time", v->id);
        else say("%s did not run: %s", v->id, detail[0] ? detail : "no reason was given");
        return EXIT_ROTA;
    }
    if (v->oom) say("%s ran out of memory and was killed", v->id);
    else if (v->outcome == OUTCOME_TIMED_OUT) say("%s reached its time limit", v->id);
    else if (v->outcome == OUTCOME_LOST) say("%s is lost: %s", v->id, detail);
    if (v->signal > 0) return 128 + v->signal;
    if (v->exit_code >= 0) return v->exit_code > 255 ? 255 : v->exit_code;
    say("%s ended, but its exit code is not known: %s", v->id, detail);
    return EXIT_ROTA;
}

static void follow_free(struct follow *f)
{
    static const int kinds = 3;
    for (int i = 0; i < kinds; i++) net_signal_free(f->signals[i]);
    input_free(f->input);
    close_streams(f);
    api_cancel(f->poll);
    api_cancel(f->order);
    net_timer_free(f->poll_timer);
    net_timer_free(f->drain_timer);
    net_timer_free(f->signal_timer);
    for (int i = 0; i < 2; i++) sink_free(f->sinks[i]);
    mem_free(f->members);
}

int follow_session(struct api *a, const struct follow_spec *spec, struct session_view *view)
{
    struct net_loop *l = api_loop(a);
    struct follow f = {.api = a, .spec = spec, .view = view, .began_ms = net_now_ms()};
    uint32_t members = view->members;
    f.members = mem_array(members, sizeof(*f.members));
    for (uint32_t i = 0; i < members; i++) f.members[i] = (struct member){.f = &f, .no = i};
    f.sinks[0] = sink_new(l, STDOUT_FILENO, &sink_callbacks, &f);
    f.sinks[1] = sink_new(l, STDERR_FILENO, &sink_callbacks, &f);
    f.poll_timer = net_timer_new(l, on_poll_timer, &f);
    f.drain_timer = net_timer_new(l, on_drain_over, &f);
    f.signal_timer = net_timer_new(l, hand_on, &f);
    static const int kinds[] = {SIGINT, SIGTERM, SIGQUIT};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        f.signals[i] = net_signal_new(l, kinds[i], on_signal, &f);
    if (placed(view->state)) open_streams(&f);
    poll_now(&f);
    if (view->state == SESSION_ENDED) f.done = true;
    (void)net_loop_run_until(l, &f.done, -1);
    int code = f.detached ? 128 + SIGINT : f.lost ? EXIT_ROTA : 0;
    bool judge = !f.detached && !f.lost, broken = f.output_broken;
    follow_free(&f);
    if (!judge) return code;
    if (broken) say_pipe_closed();
    return follow_exit_code(view);
}
