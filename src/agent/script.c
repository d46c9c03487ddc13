/* agent/script.c - see script.h. */
#include "agent/script.h"
#include <signal.h>
#include <string.h>
#include "base/fmt.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "net/child.h"
#include "net/log.h"

#define LINES_MAX 200 /* of one run, in the log */

struct script {
    struct child *child;
    struct net_timer *deadline;
    const char *what;
    int64_t timeout_ms;
    void (*on_end)(void *arg, const char *why);
    void *arg;
    bool late;
    uint32_t lines;
    char line[SCRIPT_WHY], last[SCRIPT_WHY]; /* the one that is coming; the last that said much */
    size_t n;
};

/* What it prints is for people's eyes: nothing in it moves a cursor, and it is text. */
static void end_line(struct script *s)
{
    struct str line = str_trim(str_n(s->line, s->n));
    s->n = 0;
    if (line.n == 0) return;
    text_clip(s->last, sizeof(s->last), line);
    if (!str_is_utf8(str_of(s->last)))
        for (char *p = s->last; *p != '\0'; p++)
            if ((unsigned char)*p >= 0x7f) *p = '?';
    if (s->lines == LINES_MAX)
        log_event(LOG_WARN, "script.more", LOG_S("script", s->what), LOG_U("lines", s->lines));
    if (s->lines++ < LINES_MAX)
        log_event(LOG_INFO, "script.says", LOG_S("script", s->what), LOG_S("line", s->last));
}

static void on_output(void *arg, int stream, struct str data)
{
    struct script *s = arg;
    (void)stream;
    for (size_t i = 0; i < data.n; i++) {
        char c = data.p[i];
        if (c == '\n') end_line(s);
        else if (s->n < sizeof(s->line)) s->line[s->n++] = (unsigned char)c < ' ' ? ' ' : c;
    }
}

static void done(struct script *s)
{
    net_timer_free(s->deadline);
    mem_free(s);
}

static void on_exit_of(void *arg, const struct child_exit *e)
{
    struct script *s = arg;
    char why[SCRIPT_WHY] = "";
    s->child = NULL;
    end_line(s);
    if (s->late) {
        AUTO_STRBUF struct strbuf b;
        strbuf_init(&b, SCRIPT_WHY);
        fmt_duration(&b, s->timeout_ms);
        text_fmt(why, sizeof(why), "did not end within %s", b.p);
    } else if (e->code != 0 && s->last[0] != '\0') {
        TEXT_CLIP(why, str_of(s->last));
    } else if (e->signum != 0) {
        text_fmt(why, sizeof(why), "was ended by signal %d", e->signum);
    } else if (e->code != 0) {
        text_fmt(why, sizeof(why), "ended with code %d", e->code);
    }
    void (*on_end)(void *arg, const char *why) = s->on_end;
    void *to = s->arg;
    done(s);
    on_end(to, why);
}

/* Its group cannot be another's while the child that leads it has not been reaped. */
static void kill_group(const struct script *s)
{
    if (child_signal(s->child, 0)) kill(-child_pid(s->child), SIGKILL);
}

static void on_deadline(void *arg)
{
    struct script *s = arg;
    s->late = true;
    if (s->child != NULL) kill_group(s);
}

struct script *script_start(struct net_loop *loop, const struct script_opts *o, struct err *err)
{
    static const struct child_ops ops = {.on_output = on_output, .on_exit = on_exit_of};
    const char *const argv[] = {o->path, NULL};
    struct script *s = mem_alloc(sizeof(*s));
    s->what = o->what;
    s->timeout_ms = o->timeout_ms;
    s->on_end = o->on_end;
    s->arg = o->arg;
    struct child_spec spec = {.path = o->path, .argv = argv, .envp = o->envp, .cwd = "/",
                              .parent_death_signal = SIGKILL, .new_session = true};
    if (o->hold >= 0) spec.fds[spec.n_fds++] = (struct child_fd){o->hold, 3};
    s->child = child_spawn(loop, &spec, &ops, s, err);
    if (s->child == NULL) {
        err_prefix(err, "%s", o->what);
        mem_free(s);
        return NULL;
    }
    s->deadline = net_timer_new(loop, on_deadline, s);
    net_timer_set(s->deadline, o->timeout_ms, 0);
    return s;
}

void script_free(struct script *s)
{
    if (s == NULL) return;
    kill_group(s);
    child_free(s->child, true);
    done(s);
}
