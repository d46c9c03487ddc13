/* manager/watch.c - waiting requests, chained by the session they wait for.
 *
 * Invariant: a watch is in the chain of its session until it is taken out, and
 * taken out before it is answered; an empty chain has no entry in the map. */
#include "manager/watch.h"
#include "base/check.h"
#include "manager/api_session.h"

struct watch {
    struct manager *m;
    struct http_req *req;
    uint64_t session;
    uint32_t user; /* who asks */
    enum watch_for what;
    struct net_timer *timer;
    struct watch *next;
};

bool watch_parse(struct str text, enum watch_for *ret)
{
    if (str_eq(text, STR("placed"))) *ret = WATCH_PLACED;
    else if (str_eq(text, STR("running"))) *ret = WATCH_RUNNING;
    else if (str_eq(text, STR("ended"))) *ret = WATCH_ENDED;
    else return false;
    return true;
}

bool watch_reached(enum watch_for what, const struct session *s)
{
    if (s->state == SESSION_ENDED) return true;
    switch (what) {
    case WATCH_PLACED: return s->state >= SESSION_ALLOCATED;
    case WATCH_RUNNING: return s->state >= SESSION_RUNNING;
    case WATCH_ENDED: return false;
    }
    UNREACHABLE();
}

/* ---- chains ---- */

static void chain_put(struct watches *all, struct watch *w)
{
    uint32_t at = map_u64_get(&all->by_session, w->session);
    if (at == MAP_NONE) {
        if (all->free.n > 0) {
            at = VEC_POP(&all->free);
        } else {
            at = all->slots.n;
            VEC_ADD(&all->slots);
        }
        all->slots.v[at] = NULL;
        map_u64_put(&all->by_session, w->session, at);
    }
    w->next = all->slots.v[at];
    all->slots.v[at] = w;
}

static void chain_take(struct watches *all, struct watch *w)
{
    uint32_t at = map_u64_get(&all->by_session, w->session);
    CHECK(at != MAP_NONE);
    struct watch **link = &all->slots.v[at];
    while (*link != w) {
        CHECK(*link != NULL);
        link = &(*link)->next;
    }
    *link = w->next;
    if (all->slots.v[at]) return;
    map_u64_del(&all->by_session, w->session);
    VEC_PUSH(&all->free, at);
}

/* Takes it out and ends it; the request is the caller's to answer. */
static struct http_req *finish(struct watch *w)
{
    struct http_req *req = w->req;
    chain_take(&w->m->watches, w);
    net_timer_free(w->timer);
    mem_free(w);
    return req;
}

static void show(struct watch *w)
{
    struct manager *m = w->m;
    struct session_ref ref = {.id = w->session, .user = w->user};
    struct http_req *req = finish(w);
    http_req_on_close(req, NULL, NULL);
    session_show_later(m, req, &ref);
}

static void on_timeout(void *arg) { show(arg); }

static void on_left(struct http_req *req, void *arg)
{
    struct watch *w = arg;
    CHECK(w->req == req);
    finish(w);
}

/* ---- for others ---- */

void watch_add(struct manager *m, struct http_req *req, const struct session *s, uint32_t user,
               enum watch_for what, int64_t timeout_ms)
{
    struct watch *w = mem_alloc(sizeof(*w));
    *w = (struct watch){.m = m, .req = req, .session = s->id, .user = user, .what = what};
    w->timer = net_timer_new(m->loop, on_timeout, w);
    net_timer_set(w->timer, timeout_ms, 0);
    http_req_on_close(req, on_left, w);
    chain_put(&m->watches, w);
}

static void session_changed(struct manager *m, const struct session *s)
{
    uint32_t at = map_u64_get(&m->watches.by_session, s->id);
    if (at == MAP_NONE) return;
    struct watch *w = m->watches.slots.v[at];
    while (w) {
        struct watch *next = w->next;
        if (watch_reached(w->what, s)) show(w);
        w = next;
    }
}

void watch_durable(struct manager *m, const struct turn_batch *b)
{
    if (m->watches.by_session.n == 0) return;
    VEC_EACH(op, &b->turn.ops)
        if (op->kind == STORE_PUT_SESSION) session_changed(m, &op->u.session);
}

void watch_lost(struct manager *m)
{
    struct watches *all = &m->watches;
    for (uint32_t i = 0; i < all->slots.n; i++) {
        while (all->slots.v[i]) {
            struct http_req *req = finish(all->slots.v[i]);
            http_req_on_close(req, NULL, NULL);
            answer_lost(m, req);
        }
    }
    VEC_DONE(&all->slots);
    VEC_DONE(&all->free);
    map_u64_done(&all->by_session);
}
