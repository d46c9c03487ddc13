/* cli/stream.c - opens the carried stream, again where needed, and skips what is known. */
#include "cli/stream.h"

enum { RETRY_FIRST_MS = 30, RETRY_MAX_MS = 1000 };

struct stream {
    struct api *api;
    const struct stream_ops *ops;
    void *arg;
    char session[128];
    uint32_t member;
    bool follow, input, open, paused;
    int64_t tail, pause_ms;
    struct carry *carry;
    struct net_timer *timer;
    uint64_t seen[2], skip[2]; /* bytes of stdout and stderr: delivered, still to skip */
};

static void start(struct stream *s);

static void drop_carry(struct stream *s)
{
    carry_free(s->carry);
    s->carry = NULL;
    s->open = false;
}

static void try_later(struct stream *s)
{
    drop_carry(s);
    net_timer_set(s->timer, s->pause_ms, 0);
    s->pause_ms = s->pause_ms * 2 < RETRY_MAX_MS ? s->pause_ms * 2 : RETRY_MAX_MS;
}

static void on_over(void *arg, const char *code, const struct err *why)
{
    struct stream *s = arg;
    struct err copy = *why;
    char code_copy[32];
    text_fmt(code_copy, sizeof(code_copy), "%s", code);
    /* It ended before its input could be reached: what it wrote is there all the same. */
    if (strcmp(code, "ended") == 0) s->input = false;
    try_later(s);
    s->ops->on_trouble(s->arg, code_copy, &copy);
}

static void output(struct stream *s, bool is_stderr, struct str data)
{
    uint64_t *skip = &s->skip[is_stderr];
    if (*skip >= data.n) {
        *skip -= data.n;
        return;
    }
    data = str_n(data.p + *skip, data.n - (size_t)*skip);
    *skip = 0;
    s->seen[is_stderr] += data.n;
    s->ops->on_output(s->arg, is_stderr, data);
}

static void ended(struct stream *s, struct str payload)
{
    struct carry_end end;
    struct err why = {0};
    if (wire_parse(&wire_carry_end, payload, &end, &why) < 0) {
        on_over(s, "", &why);
        return;
    }
    drop_carry(s);
    s->ops->on_ended(s->arg, &end);
}

static void on_frame(void *arg, enum carry_type type, struct str payload)
{
    struct stream *s = arg;
    s->pause_ms = RETRY_FIRST_MS;
    struct err why = {0};
    switch (type) {
    case CARRY_STDOUT: output(s, false, payload); return;
    case CARRY_STDERR: output(s, true, payload); return;
    case CARRY_NOTICE: s->ops->on_notice(s->arg, payload); return;
    case CARRY_END: ended(s, payload); return;
    case CARRY_ERROR:
        err_set(&why, ERR_UNAVAILABLE, "%.*s", (int)(payload.n < 200 ? payload.n : 200), payload.p);
        on_over(s, "", &why);
        return;
    case CARRY_COMMAND:
    case CARRY_STDIN:
    case CARRY_STDIN_END:
    case CARRY_RESIZE:
    case CARRY_SIGNAL: return; /* an agent cannot send these: carry_head_get refused */
    }
}

static void on_open(void *arg)
{
    struct stream *s = arg;
    s->open = true;
    if (s->input && s->ops->on_drain) s->ops->on_drain(s->arg);
}

static void on_drain(void *arg)
{
    struct stream *s = arg;
    if (s->input && s->ops->on_drain) s->ops->on_drain(s->arg);
}

static const struct carry_ops carry_callbacks = {
    .on_open = on_open, .on_frame = on_frame, .on_drain = on_drain, .on_over = on_over};

static void start(struct stream *s)
{
    char query[64] = "";
    bool again = s->seen[0] + s->seen[1] > 0;
    /* A tail counts from the end, which has moved: what follows is all that can be had. */
    int64_t tail = again && s->tail >= 0 ? 0 : s->tail;
    if (tail >= 0) text_fmt(query, sizeof(query), "%stail=%lld", s->follow ? "follow=1&" : "",
                            (long long)tail);
    else if (s->follow) text_fmt(query, sizeof(query), "follow=1");
    for (int i = 0; i < 2; i++) s->skip[i] = s->tail >= 0 ? 0 : s->seen[i];
    struct carry_target t = {s->session, s->member, s->input ? "attach" : "logs", query, false};
    s->carry = carry_open(s->api, &t, &carry_callbacks, s);
    if (s->paused) carry_pause(s->carry);
    if (again && s->tail >= 0)
        s->ops->on_notice(s->arg, STR("the stream was opened again: lines may be missing here"));
}

static void on_timer(void *arg) { start(arg); }

struct stream *stream_open(struct api *a, const struct stream_spec *spec,
                           const struct stream_ops *ops, void *arg)
{
    struct stream *s = mem_alloc(sizeof(*s));
    *s = (struct stream){
        .api = a, .ops = ops, .arg = arg, .member = spec->member, .follow = spec->follow,
        .input = spec->input, .tail = spec->tail, .pause_ms = RETRY_FIRST_MS,
    };
    text_fmt(s->session, sizeof(s->session), "%s", spec->session);
    s->timer = net_timer_new(api_loop(a), on_timer, s);
    start(s);
    return s;
}

void stream_free(struct stream *s)
{
    if (!s) return;
    drop_carry(s);
    net_timer_free(s->timer);
    mem_free(s);
}

void stream_restart(struct stream *s)
{
    s->seen[0] = s->seen[1] = 0;
    s->pause_ms = RETRY_FIRST_MS;
    try_later(s);
}

void stream_pause(struct stream *s, bool paused)
{
    if (s->paused == paused) return;
    s->paused = paused;
    if (!s->carry) return;
    if (paused) carry_pause(s->carry);
    else carry_resume(s->carry);
}

bool stream_is_open(const struct stream *s) { return s->open; }

bool stream_send(struct stream *s, enum carry_type type, struct str payload)
{
    return !s->input || !s->carry || carry_send(s->carry, type, payload);
}
