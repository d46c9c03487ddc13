/* agent/gpu/watch.c - see watch.h.
 *
 * Invariant: the timer is armed always: towards the deadline of the probe that runs, or
 * towards the start of the next. */
#include "agent/gpu/watch.h"
#include <signal.h>
#include "base/check.h"
#include "net/child.h"
#include "net/log.h"

#define FIRST_MS 10000
#define SILENT_MS 5000
#define PAUSE_MS 1000
#define PAUSE_DOUBLINGS 6
#define DIE_MS 2000 /* after SIGKILL, until it is left behind */
#define LINE_MAX_BYTES ((size_t)1 << 20)

struct watch {
    struct net_loop *loop;
    struct watch_opts o;
    struct net_timer *timer;
    struct child *child;
    struct strbuf line;
    uint32_t doublings, left; /* probes in a row without a report; probes left behind */
    bool killed, told_silent;
};

static void start_in(struct watch *w, int64_t ms) { net_timer_set(w->timer, ms, 0); }

static void silent(struct watch *w, const char *why)
{
    if (w->told_silent) return;
    w->told_silent = true;
    log_event(LOG_WARN, "probe.silent", LOG_S("why", why));
    w->o.on_silent(w->o.arg, why);
}

/* No probe runs now. */
static void ended(struct watch *w, const char *why)
{
    w->child = NULL;
    w->killed = false;
    strbuf_reset(&w->line);
    silent(w, why);
    start_in(w, w->o.pause_ms << w->doublings);
    if (w->doublings < PAUSE_DOUBLINGS) w->doublings++;
}

static bool take_line(struct watch *w, struct str line)
{
    struct probe_report r;
    struct err err = {0};
    if (wire_parse(&wire_probe_report, line, &r, &err) != 0) {
        log_event(LOG_WARN, "probe.line", LOG_ERR(&err));
        return false;
    }
    w->doublings = 0;
    w->told_silent = false;
    if (!w->killed) net_timer_set(w->timer, w->o.silent_ms, 0);
    w->o.on_report(w->o.arg, &r);
    wire_free(&wire_probe_report, &r);
    return true;
}

static void stop_probe(struct watch *w)
{
    if (w->killed) return;
    w->killed = true;
    child_signal(w->child, SIGKILL);
    net_timer_set(w->timer, DIE_MS, 0);
}

static void on_output(void *arg, int stream, struct str data)
{
    struct watch *w = arg;
    struct str part;
    if (stream != 1 || w->killed) return;
    while (str_cut(&data, '\n', &part)) {
        strbuf_put(&w->line, part);
        bool fine = !w->line.full && take_line(w, strbuf_str(&w->line));
        strbuf_reset(&w->line);
        if (fine) continue;
        stop_probe(w); /* it speaks another language: nothing of it is believed */
        return;
    }
    strbuf_put(&w->line, part);
    if (w->line.full) stop_probe(w);
}

static void on_exit_of(void *arg, const struct child_exit *e)
{
    char why[64];
    text_fmt(why, sizeof(why), "the probe ended with code %d", e->code);
    ended(arg, why);
}

static void start(struct watch *w)
{
    static const struct child_ops ops = {.on_output = on_output, .on_exit = on_exit_of};
    struct child_spec spec = {.path = w->o.argv[0], .argv = w->o.argv,
                              .parent_death_signal = SIGKILL};
    struct err err = {0};
    w->child = child_spawn(w->loop, &spec, &ops, w, &err);
    if (w->child == NULL) {
        log_event(LOG_ERROR, "probe.start", LOG_ERR(&err));
        ended(w, "the probe cannot be started");
        return;
    }
    net_timer_set(w->timer, w->o.first_ms, 0);
}

static void on_timer(void *arg)
{
    struct watch *w = arg;
    if (w->child == NULL) {
        start(w);
    } else if (!w->killed) {
        silent(w, "the probe hangs");
        stop_probe(w);
    } else { /* the kernel holds it: it ends when its driver lets it go */
        log_event(LOG_ERROR, "probe.stuck", LOG_I("pid", child_pid(w->child)),
                  LOG_U("left", ++w->left));
        child_free(w->child, true);
        ended(w, "the probe hangs in the kernel");
    }
}

struct watch *watch_new(struct net_loop *loop, const struct watch_opts *o)
{
    struct watch *w = mem_alloc(sizeof(*w));
    *w = (struct watch){.loop = loop, .o = *o};
    CHECK(o->argv != NULL && o->argv[0] != NULL);
    if (w->o.first_ms <= 0) w->o.first_ms = FIRST_MS;
    if (w->o.silent_ms <= 0) w->o.silent_ms = SILENT_MS;
    if (w->o.pause_ms <= 0) w->o.pause_ms = PAUSE_MS;
    strbuf_init(&w->line, LINE_MAX_BYTES);
    w->timer = net_timer_new(loop, on_timer, w);
    start_in(w, 0);
    return w;
}

void watch_free(struct watch *w)
{
    if (w == NULL) return;
    child_free(w->child, true);
    net_timer_free(w->timer);
    strbuf_done(&w->line);
    mem_free(w);
}

int64_t watch_pid(const struct watch *w) { return w->child ? child_pid(w->child) : 0; }
