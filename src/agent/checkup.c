/* agent/checkup.c - see checkup.h. */
#include "agent/checkup.h"
#include <string.h>
#include "agent/script.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/log.h"

struct checkup {
    struct net_loop *loop;
    struct net_timer *timer;
    struct script *script;
    char path[256];
    int64_t every_ms, timeout_ms;
    void (*on_change)(void *arg);
    void *arg;
    char why[SCRIPT_WHY];
};

static void on_end(void *arg, const char *why)
{
    struct checkup *c = arg;
    c->script = NULL;
    net_timer_set(c->timer, c->every_ms, 0);
    if (strcmp(c->why, why) == 0) return;
    if (why[0] != '\0') log_event(LOG_WARN, "health.failed", LOG_S("error", why));
    else log_event(LOG_INFO, "health.passed", LOG_S("before", c->why));
    TEXT_CLIP(c->why, str_of(why));
    c->on_change(c->arg);
}

static void on_timer(void *arg)
{
    static const char *const envp[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
        "ROTA_HOOK=health", NULL};
    struct checkup *c = arg;
    struct err err = {0};
    c->script = script_start(c->loop,
                             &(struct script_opts){.what = "health", .path = c->path, .envp = envp,
                                                   .timeout_ms = c->timeout_ms, .hold = -1,
                                                   .on_end = on_end, .arg = c}, &err);
    if (c->script == NULL) on_end(c, err.text);
}

struct checkup *checkup_new(struct net_loop *loop, const struct checkup_opts *o)
{
    struct checkup *c = mem_alloc(sizeof(*c));
    c->loop = loop;
    TEXT_CLIP(c->path, str_of(o->path));
    c->every_ms = o->every_ms;
    c->timeout_ms = o->timeout_ms;
    c->on_change = o->on_change;
    c->arg = o->arg;
    TEXT_CLIP(c->why, STR("has not passed yet"));
    c->timer = net_timer_new(loop, on_timer, c);
    net_timer_set(c->timer, 0, 0);
    return c;
}

void checkup_free(struct checkup *c)
{
    if (c == NULL) return;
    script_free(c->script);
    net_timer_free(c->timer);
    mem_free(c);
}

const char *checkup_why(const struct checkup *c) { return c != NULL ? c->why : ""; }
