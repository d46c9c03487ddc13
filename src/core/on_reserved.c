/* core/on_reserved.c - sessions that are promised the room of others: made so, and followed up.
 *
 * Before each pass they are looked at in order.  One that fits by now starts, wherever that
 * is; one that will fit once all who leave have left keeps its promise; one that will not
 * waits again.  Who ended by himself therefore counts, and nobody waits for an eviction
 * that does not come.  docs/spec/scheduling.md, "Preemption" */
#include "base/check.h"
#include "core/events.h"
#include "core/sched/quota.h"
#include "core/sched/sched.h"
#include "core/sched/vacate.h"
#include "core/transition.h"

/* After a start of the manager not all nodes of the group have spoken yet. */
static bool all_heard(const struct world *w, uint32_t group)
{
    VEC_EACH(n, &w->nodes) {
        if (n->name[0] != '\0' && n->group == group && !n->heard && !n->unreachable) return false;
    }
    return true;
}

static void follow_up(struct draft *d, struct session *s)
{
    struct world *w = d->w;
    const struct vacate *v = vacate_of(w, s->id);
    struct vacate was = {0};
    struct place place = {0};
    CHECK(s->state == SESSION_RESERVED);
    CHECK(v != NULL);
    VEC_EACH(pick, &v->picks) VEC_PUSH(&was.picks, *pick);
    vacate_open(w, s->id);
    sched_sync(w);
    if (quota_allows(w, s, NULL) && place_decide(w, s, PLACE_NOW, &place)) {
        transition_place(d, s, &place);
    } else if (!vacate_derive(w, s, &was) && all_heard(w, s->group)) {
        transition(d, s, SESSION_PENDING, "the room that it was promised is gone");
    }
    sched_sync(w);
    place_done(&place);
    VEC_DONE(&was.picks);
}

void on_reserved(struct draft *d)
{
    struct world *w = d->w;
    VEC(uint64_t) ids = {0};
    sched_sync(w);
    if (!vacate_take_due(w)) return;
    for (uint32_t i = 0; vacate_at(w, i) != 0; i++) VEC_PUSH(&ids, vacate_at(w, i));
    VEC_EACH(id, &ids) follow_up(d, world_session(w, *id));
    VEC_DONE(&ids);
    (void)vacate_take_due(w); /* what the promises themselves changed is taken in */
}
