/* agent/docker/watch.c - looks after the engine.  docs/spec/node.md, "Engines" */
#include "agent/docker/watch.h"
#include <stdatomic.h>
#include <string.h>
#include "agent/crun_impl.h"
#include "agent/docker/host.h"
#include "base/mem.h"

#define FIRST_MS 0
#define AWAY_MS 2000   /* between looks at one that does not answer or does not keep its word */
#define STEADY_MS 30000
#define SOON_MS 1000

struct docker_watch {
    struct crun *c;
    struct net_timer *timer;
    struct docker_version known; /* whose promises were seen kept */
    /* of the job under way */
    struct docker_version now;
    bool probed;
    int rc;
    struct err err;
};

static bool same(const struct docker_version *a, const struct docker_version *b)
{
    return a->kind == b->kind && strcmp(a->version, b->version) == 0;
}

static void look(void *arg)
{
    struct docker_watch *w = arg;
    struct crun *c = w->c;
    w->err = (struct err){0};
    w->probed = false;
    w->rc = docker_version(c->node.docker->socket, &w->now, &w->err);
    if (w->rc < 0) return;
    atomic_store(&c->node.docker->kind, w->now.kind);
    /* Another version may have come with an upgrade of the machine. */
    if (!same(&w->now, &w->known)) {
        w->rc = crun_probe_docker(c, &w->err);
        w->probed = w->rc == 0;
    }
    struct err swept = {0};
    if (w->rc == 0) (void)docker_sweep(&c->node, &swept); /* what it leaves it meets again */
}

static void describe(const struct docker_watch *w, bool *ret_proved, char *note, size_t cap)
{
    const char *name = w->now.kind == DOCKER_PODMAN ? "Podman" : "Docker";
    *ret_proved = w->rc == 0;
    if (w->rc == 0)
        text_fmt(note, cap, "%s %s; user ids are the machine's, no image 'host'", name,
                 w->now.version);
    else
        text_fmt(note, cap, "container engine: %.130s", w->err.text);
}

static void looked(void *arg)
{
    struct docker_watch *w = arg;
    struct crun *c = w->c;
    char note[sizeof(c->note)];
    bool proved;
    c->jobs--;
    describe(w, &proved, note, sizeof(note));
    if (w->probed) w->known = w->now;
    /* One that is away may come back as another: it is created with only when it is known. */
    atomic_store(&c->node.docker->ready, proved);
    if (proved != c->proved || strcmp(note, c->note) != 0) {
        c->proved = proved;
        TEXT_CLIP(c->note, str_of(note));
        crun_changed(c);
    }
    if (!c->closing) net_timer_set(w->timer, proved ? STEADY_MS : AWAY_MS, 0);
}

static void on_time(void *arg)
{
    struct docker_watch *w = arg;
    if (w->c->closing) return;
    if (net_work(w->c->loop, look, looked, w)) w->c->jobs++;
    else net_timer_set(w->timer, AWAY_MS, 0);
}

struct docker_watch *docker_watch_new(struct crun *c)
{
    struct docker_watch *w = mem_alloc(sizeof(*w));
    w->c = c;
    w->timer = net_timer_new(c->loop, on_time, w);
    net_timer_set(w->timer, FIRST_MS, 0);
    TEXT_CLIP(c->note, STR("container engine: not heard of yet"));
    return w;
}

void docker_watch_soon(struct docker_watch *w)
{
    if (w && net_timer_armed(w->timer) && !w->c->closing) net_timer_set(w->timer, SOON_MS, 0);
}

void docker_watch_free(struct docker_watch *w)
{
    if (!w) return;
    net_timer_free(w->timer);
    mem_free(w);
}
