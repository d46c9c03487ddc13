/* agent/gpu/fresh.c - see fresh.h. */
#include "agent/gpu/fresh.h"
#include <string.h>
#include "base/mem.h"
#include "base/str.h"
#include "net/log.h"

struct fresh {
    struct net_loop *loop;
    struct net_timer *timer;
    struct inject *inject;
    struct inject_files *read; /* by the worker */
    char why[256];             /* told last */
    bool busy, idle;
    char paths[1024];
    const char *hooks[FRESH_HOOKS + 1];
};

static void tell(struct fresh *f)
{
    const char *why = inject_remark(f->inject);
    if (strcmp(why, f->why) == 0) return;
    TEXT_CLIP(f->why, str_of(why));
    if (why[0]) log_event(LOG_WARN, "cdi.refused", LOG_S("why", why));
}

static void work(void *arg)
{
    struct fresh *f = arg;
    f->read = inject_read(f->inject);
}

static void done(void *arg)
{
    struct fresh *f = arg;
    inject_take(f->inject, STEAL(f->read));
    f->busy = false;
    f->idle = true;
    tell(f);
}

static void on_timer(void *arg)
{
    struct fresh *f = arg;
    if (f->busy) return;
    f->busy = net_work(f->loop, work, done, f); /* a full pool: the next time */
    f->idle = !f->busy;
}

static int take_hooks(struct fresh *f, const char *hooks, struct err *err)
{
    uint32_t n = 0;
    if (!TEXT_SET(f->paths, str_of(hooks)))
        return err_set(err, ERR_LIMIT, "cdi_hooks: longer than %zu", sizeof(f->paths) - 1);
    for (char *p = f->paths, *end; *p; p = end) {
        end = p + strcspn(p, ":");
        if (*end) *end++ = 0;
        if (n == FRESH_HOOKS)
            return err_set(err, ERR_LIMIT, "cdi_hooks: at most %d", FRESH_HOOKS);
        if (!grant_path_sane(p))
            return err_set(err, ERR_INVALID, "cdi_hooks: expected absolute paths, got \"%.80s\"",
                           p);
        f->hooks[n++] = p;
    }
    return 0;
}

int fresh_new(struct net_loop *loop, const char *hooks, struct fresh **ret, struct err *err)
{
    struct fresh *f = mem_alloc(sizeof(*f));
    struct inject_opts o = {.root = "/", .cdi_dirs = {"/etc/cdi", "/var/run/cdi"},
                            .hooks = f->hooks};
    f->loop = loop;
    f->idle = true;
    int rc = take_hooks(f, hooks, err);
    if (rc == 0) rc = inject_new(&o, &f->inject, err);
    if (rc < 0) {
        mem_free(f);
        return rc;
    }
    inject_take(f->inject, inject_read(f->inject));
    tell(f);
    f->timer = net_timer_new(loop, on_timer, f);
    net_timer_set(f->timer, FRESH_MS, FRESH_MS);
    *ret = f;
    return 0;
}

void fresh_free(struct fresh *f)
{
    if (!f) return;
    net_timer_free(f->timer);
    while (!f->idle) net_loop_run_until(f->loop, &f->idle, 1000);
    inject_free(f->inject);
    mem_free(f);
}

struct inject *fresh_inject(struct fresh *f) { return f->inject; }
