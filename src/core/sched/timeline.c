/* core/sched/timeline.c - the room of a node in a window of time.
 *
 * Between the beginnings of holds, what is used only falls: the most used in a window
 * is at its first instant or where something begins inside it.
 * docs/spec/scheduling.md, "The plan" */
#include "core/sched/timeline.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/sched/plan.h"
#include "core/sched/promise.h"

int64_t timeline_end(int64_t at_ms, int64_t len_ms)
{
    CHECK(at_ms >= 0);
    CHECK(len_ms >= 0);
    if (len_ms == 0 || at_ms >= PLAN_NEVER - len_ms) return PLAN_NEVER;
    return at_ms + len_ms;
}

/* What should be over holds still: it ends at the next instant, at the earliest. */
static int64_t not_yet(const struct world *w, int64_t end_ms)
{
    return end_ms > w->now_ms ? end_ms : w->now_ms + 1;
}

int64_t timeline_row_end(const struct world *w, const struct alloc *a)
{
    const struct session *s = world_session(w, a->ref.session);
    CHECK(a->live);
    if (!s || a->revoked) return not_yet(w, 0); /* its node is about to prove it gone */
    if (s->state == SESSION_STOPPING) return not_yet(w, s->since_ms + s->grace_ms);
    if (s->time_limit_ms == 0) return PLAN_NEVER;
    if (s->state == SESSION_RUNNING && s->deadline_ms > 0) return not_yet(w, s->deadline_ms);
    return not_yet(w, timeline_end(s->since_ms, s->time_limit_ms));
}

void timeline_gather(const struct world *w, uint32_t node, uint64_t own, struct timeline *ret)
{
    VEC_CLEAR(&ret->holds);
    for (struct alloc *a = world_allocs_of_node(w, world_node(w, node)); a;
         a = world_next_of_node(w, a)) {
        VEC_PUSH(&ret->holds, ((struct hold){.until_ms = timeline_row_end(w, a),
                                             .session = a->ref.session,
                                             .devices = a->devices,
                                             .slots = a->slots}));
    }
    promise_gather(w, node, own, ret);
    VEC_EACH(h, &ret->holds) h->until_ms = not_yet(w, h->until_ms);
}

static void use(struct slots *used, const struct slots *more)
{
    bool sane = slots_add(used, more, used);
    CHECK(sane);
}

/* What is held at an instant. */
static struct slots used_at(const struct timeline *t, int64_t at_ms)
{
    struct slots used = {{0}};
    VEC_EACH(h, &t->holds) {
        if (h->from_ms <= at_ms && at_ms < h->until_ms) use(&used, &h->slots);
    }
    return used;
}

static void least(const struct slots *capacity, const struct slots *used, struct slots *free)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        int64_t left = capacity->v[k] > used->v[k] ? capacity->v[k] - used->v[k] : 0;
        if (left < free->v[k]) free->v[k] = left;
    }
}

void timeline_window(const struct world *w, uint32_t node, const struct timeline *t,
                     const struct window *win, struct room *ret)
{
    const struct node *n = world_node(w, node);
    struct room room = w->rooms.v[node - 1];
    CHECK(n != NULL);
    CHECK(win->from_ms < win->until_ms);
    room.devices = node_healthy_devices(n);
    room.free = room.capacity;
    struct slots used = used_at(t, win->from_ms);
    least(&room.capacity, &used, &room.free);
    VEC_EACH(h, &t->holds) {
        if (h->from_ms >= win->until_ms || h->until_ms <= win->from_ms) continue;
        room.devices &= ~h->devices;
        if (h->from_ms <= win->from_ms) continue;
        used = used_at(t, h->from_ms);
        least(&room.capacity, &used, &room.free);
    }
    room.free.v[SLOT_GPU] = bits_count(room.devices);
    CHECK(slots_fit(&room.free, &room.capacity));
    *ret = room;
}

void timeline_done(struct timeline *t) { VEC_DONE(&t->holds); }
