/* manager/fencer.c - see fencer.h. */
#include "manager/fencer.h"

#include "base/check.h"
#include "manager/manager.h"
#include "net/child.h"

struct fencing {
    struct fencer *fencer;
    char node[NODE_NAME_MAX + 1];
    uint32_t id;         /* 0: a free place */
    int64_t heard_ms;    /* of the silence that it is run for */
    int64_t until_ms;    /* running: killed then; else: looked at again then */
    struct child *child; /* NULL: it has failed */
    char said[160];      /* its last words */
};

struct fencer {
    struct manager *m;
    struct net_timer *timer;
    struct fencing all[FENCER_AT_ONCE];
};

static void on_output(void *arg, int stream, struct str data)
{
    struct fencing *f = arg;
    (void)stream;
    text_clip(f->said, sizeof(f->said), str_trim(data));
    for (char *p = f->said; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
}

static void on_exit(void *arg, const struct child_exit *e)
{
    struct fencing *f = arg;
    struct manager *m = f->fencer->m;
    f->child = NULL;
    if (e->code != 0 || !turns_world(m->turns)) {
        log_event(LOG_ERROR, "fence.failed", LOG_S("node", f->node), LOG_I("code", e->code),
                  LOG_S("said", f->said));
        f->until_ms = net_now_ms() + FENCER_AGAIN_MS;
        return;
    }
    log_event(LOG_WARN, "fence.done", LOG_S("node", f->node), LOG_S("said", f->said));
    struct event ev = {.kind = EVENT_NODE_FENCED};
    ev.u.fenced = (struct event_fenced){f->id, f->heard_ms};
    f->id = 0;
    turns_step(m->turns, &ev); /* stale when it was heard since: then nothing is released */
}

/* The node's name is the last argument. */
static void run(struct fencing *f)
{
    static const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    static const struct child_ops ops = {on_output, on_exit};
    const struct settings *c = &f->fencer->m->cfg;
    const char *argv[SETTINGS_ARGS_MAX + 2];
    struct err err = {0};
    for (uint32_t i = 0; i < c->n_fence; i++) argv[i] = c->fence[i];
    argv[c->n_fence] = f->node;
    argv[c->n_fence + 1] = NULL;
    struct child_spec spec = {.path = argv[0], .argv = argv, .envp = env, .cwd = "/",
                              .new_session = true};
    f->said[0] = '\0';
    f->child = child_spawn(f->fencer->m->loop, &spec, &ops, f, &err);
    f->until_ms = net_now_ms() + (f->child ? FENCER_LIMIT_MS : FENCER_AGAIN_MS);
    if (!f->child)
        log_event(LOG_ERROR, "fence.failed", LOG_S("node", f->node), LOG_ERR(&err));
}

static struct fencing *place_for(struct fencer *f, uint32_t id)
{
    struct fencing *unused = NULL;
    for (uint32_t i = 0; i < FENCER_AT_ONCE; i++) {
        if (f->all[i].id == id) return &f->all[i];
        if (f->all[i].id == 0 && !unused) unused = &f->all[i];
    }
    return unused;
}

static void on_look(void *arg)
{
    struct fencer *f = arg;
    const struct world *w = turns_world(f->m->turns);
    int64_t now_ms = net_now_ms();
    for (uint32_t i = 0; i < FENCER_AT_ONCE; i++) {
        struct fencing *one = &f->all[i];
        const struct node *n = w && one->id ? world_node(w, one->id) : NULL;
        if (one->child && now_ms >= one->until_ms) child_signal(one->child, SIGKILL);
        if (!one->child && !(n && n->fence_asked)) one->id = 0;
    }
    for (uint32_t i = 0; w && i < w->nodes.n; i++) {
        const struct node *n = &w->nodes.v[i];
        struct fencing *one = n->fence_asked ? place_for(f, n->id) : NULL;
        if (!one || one->child || (one->id == n->id && now_ms < one->until_ms)) continue;
        *one = (struct fencing){.fencer = f, .id = n->id, .heard_ms = n->heard_ms};
        TEXT_CLIP(one->node, str_of(n->name));
        run(one);
    }
}

struct fencer *fencer_new(struct manager *m)
{
    if (m->cfg.n_fence == 0) return NULL;
    struct fencer *f = mem_alloc(sizeof(*f));
    f->m = m;
    f->timer = net_timer_new(m->loop, on_look, f);
    net_timer_set(f->timer, FENCER_LOOK_MS, FENCER_LOOK_MS);
    return f;
}

void fencer_free(struct fencer *f)
{
    if (!f) return;
    for (uint32_t i = 0; i < FENCER_AT_ONCE; i++) child_free(f->all[i].child, true);
    net_timer_free(f->timer);
    mem_free(f);
}
