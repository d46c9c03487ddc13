/* core/model/ends.c - one entry for each live session whose end is not all zero. */
#include "core/model/ends.h"

#include "base/check.h"
#include "core/model/world.h"

static bool says_nothing(const struct member_end *e)
{
    return e->exit_code == 0 && e->signal == 0 && !e->oom && !e->timed_out && !e->fatal &&
           !e->vanished && e->detail[0] == '\0' && e->cpu_us == 0 &&
           e->mem_peak_bytes == 0;
}

const struct member_end *ends_of(const struct world *w, const struct session *s)
{
    static const struct member_end nothing;
    uint32_t at = map_u64_get(&w->ends.by_session, s->id);
    if (at == MAP_NONE) return &nothing;
    CHECK(at < w->ends.v.n);
    return &w->ends.v.v[at];
}

void ends_put(struct world *w, const struct session *s, const struct member_end *end)
{
    struct end_index *x = &w->ends;
    CHECK(s->id > 0);
    if (says_nothing(end)) {
        ends_drop(w, s);
        return;
    }
    struct member_end own = *end; /* which may be that of another */
    uint32_t at = map_u64_get(&x->by_session, s->id);
    if (at == MAP_NONE) {
        if (x->free.n > 0) {
            at = VEC_POP(&x->free);
        } else {
            at = x->v.n;
            (void)VEC_ADD(&x->v);
        }
        map_u64_put(&x->by_session, s->id, at);
    }
    x->v.v[at] = own;
}

void ends_drop(struct world *w, const struct session *s)
{
    struct end_index *x = &w->ends;
    uint32_t at = map_u64_get(&x->by_session, s->id);
    if (at == MAP_NONE) return;
    bool known = map_u64_del(&x->by_session, s->id);
    CHECK(known);
    x->v.v[at] = (struct member_end){0};
    VEC_PUSH(&x->free, at);
}

const char *ends_audit(const struct world *w)
{
    const struct end_index *x = &w->ends;
    uint32_t known = 0;
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->id == 0 || map_u64_get(&x->by_session, s->id) == MAP_NONE) continue;
        if (says_nothing(ends_of(w, s))) return "an end is kept that says nothing";
        known++;
    }
    if (known != x->by_session.n) return "an end is kept of a session that is gone";
    return x->v.n == known + x->free.n ? NULL : "a place for an end is lost";
}

void ends_done(struct end_index *x)
{
    map_u64_done(&x->by_session);
    VEC_DONE(&x->v);
    VEC_DONE(&x->free);
}
