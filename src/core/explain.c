/* core/explain.c - the pass's own questions, asked for one session. */
#include "core/explain.h"

#include "base/check.h"
#include "base/fmt.h"
#include "core/model/pool.h"
#include "core/sched/fence.h"
#include "core/sched/place.h"
#include "core/where.h"

static const char *const WHY_NAMES[] = {
    [WHY_NONE] = "none",
    [WHY_PLACED] = "placed",
    [WHY_WAITING] = "waiting",
    [WHY_NO_CAPACITY] = "no_capacity",
    [WHY_SKIPPED] = "skipped",
    [WHY_STARTING] = "starting",
    [WHY_STOPPING] = "stopping",
    [WHY_RUNNING] = "running",
};
_Static_assert(ARRAY_LEN(WHY_NAMES) == WHY_KINDS, "one name a kind");
_Static_assert(WHY_FILTERS == FILTERS, "each filter is counted");

const char *why_kind_name(enum why_kind k)
{
    CHECK(k < WHY_KINDS);
    return WHY_NAMES[k];
}

static void explain_miss(const struct world *w, const struct session *s, struct why *why)
{
    struct place place = {0};
    struct place_miss miss;
    why->kind = WHY_PLACED;
    if (!place_decide(w, s, PLACE_NOW, &place)) {
        place_explain(w, s, PLACE_NOW, &place, &miss);
        why->kind = WHY_NO_CAPACITY;
        why->nodes = miss.nodes;
        why->unreachable = miss.unreachable;
        why->cordoned = miss.cordoned;
        why->quarantined = miss.quarantined;
        memcpy(why->filtered, miss.filtered, sizeof(why->filtered));
        why->too_small = miss.too_small;
        why->busy = miss.busy;
        why->nearest_node = miss.nearest_node;
        why->asked = miss.asked;
        why->free = miss.free;
        why->missing = miss.missing;
    }
    place_done(&place);
}

static void explain_pending(const struct world *w, const struct session *s, struct why *why)
{
    (void)pool_entries(w, s->group, &why->queue_length);
    why->place = pool_place(w, s);
    CHECK(why->place <= why->queue_length);
    if (session_waits(s, w->now_ms)) {
        why->kind = WHY_WAITING;
        why->retry_ms = s->not_before_ms;
        return;
    }
    const struct session *blocker = NULL;
    if (world_group(w, s->group)->on_blocked == BLOCKED_STOP) blocker = fence_blocker(w, s);
    if (blocker) {
        why->kind = WHY_SKIPPED;
        why->blocker = blocker->id;
        return;
    }
    explain_miss(w, s, why);
}

void explain_session(const struct world *w, const struct session *s, struct why *ret)
{
    struct why why = {.since_ms = s->since_ms};
    switch (s->state) {
    case SESSION_PENDING: explain_pending(w, s, &why); break;
    case SESSION_RESERVED:
    case SESSION_ALLOCATED: why.kind = WHY_PLACED; break;
    case SESSION_PREPARING:
    case SESSION_READY:
    case SESSION_STARTING: why.kind = WHY_STARTING; break;
    case SESSION_RUNNING: why.kind = WHY_RUNNING; break;
    case SESSION_STOPPING: why.kind = WHY_STOPPING; break;
    case SESSION_ENDED: why.kind = WHY_NONE; break;
    case SESSION_STATES: UNREACHABLE();
    }
    *ret = why;
}

/* ---- in words */

static void put_missing(const struct world *w, const struct why *why, struct strbuf *out)
{
    const struct node *n = world_node(w, why->nearest_node);
    CHECK(n != NULL);
    strbuf_puts(out, "needs ");
    bool first = true;
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        if (why->missing.v[k] == 0) continue;
        if (!first) strbuf_puts(out, " and ");
        slot_print(out, k, why->missing.v[k]);
        strbuf_fmt(out, " more %s", slot_label(k));
        first = false;
    }
    CHECK(!first);
    strbuf_fmt(out, ": %s has ", n->name);
    first = true;
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        if (why->missing.v[k] == 0) continue;
        if (!first) strbuf_puts(out, "; ");
        slot_print(out, k, why->free.v[k]);
        strbuf_puts(out, " of ");
        slot_print(out, k, n->capacity.v[k]);
        strbuf_puts(out, k == SLOT_MEM ? " memory free, " : " free, ");
        slot_print(out, k, why->asked.v[k]);
        strbuf_puts(out, " asked");
        first = false;
    }
}

/* What is kept there for others while it would run. */
static void put_reserved(const struct world *w, const struct session *s, const struct why *why,
                         struct strbuf *out)
{
    VEC_EACH(r, &w->reservations) {
        int64_t in_ms = r->start_ms - w->now_ms;
        bool there = false, late = s->time_limit_ms > 0 && in_ms >= s->time_limit_ms;
        for (uint32_t i = 0; i < r->n_parts; i++) {
            there = there || r->parts[i].node == why->nearest_node;
        }
        if (!there || late || reservation_admits(r, s)) continue;
        strbuf_fmt(out, "; r%u keeps room there for others ", r->id);
        strbuf_puts(out, in_ms > 0 ? "in " : "for ");
        fmt_duration(out, in_ms > 0 ? in_ms : r->end_ms - w->now_ms);
    }
}

static void put_count(struct strbuf *out, uint32_t n, const char *what, bool *first)
{
    if (n == 0) return;
    strbuf_fmt(out, "%s%u %s", *first ? "" : ", ", n, what);
    *first = false;
}

static uint32_t count_filtered(const struct why *why)
{
    uint32_t n = 0;
    for (enum filter f = FILTER_NODE; f < FILTERS; f++) n += why->filtered[f];
    return n;
}

static void put_no_capacity(const struct world *w, const struct session *s, const struct why *why,
                            struct strbuf *out)
{
    const char *group = world_group(w, s->group)->name;
    uint32_t filtered = count_filtered(why);
    if (why->nodes == 0) {
        strbuf_fmt(out, "group %s has no nodes", group);
        return;
    }
    if (why->nearest_node != 0) put_missing(w, why, out);
    else if (filtered == why->nodes) strbuf_fmt(out, "no node of group %s is what it asks", group);
    else if (filtered > 0) strbuf_fmt(out, "no node that it asks for takes new work now");
    else strbuf_fmt(out, "no node of group %s takes new work now", group);
    put_reserved(w, s, why, out);
    strbuf_fmt(out, " (%u node%s: ", why->nodes, why->nodes == 1 ? "" : "s");
    bool first = true;
    put_count(out, why->busy, "busy", &first);
    put_count(out, why->too_small, "too small", &first);
    put_count(out, why->cordoned, "cordoned", &first);
    put_count(out, why->quarantined, "quarantined", &first);
    put_count(out, why->unreachable, "unreachable", &first);
    for (enum filter f = FILTER_NODE; f < FILTERS; f++) {
        if (why->filtered[f] == 0) continue;
        strbuf_fmt(out, "%s%u ", first ? "" : ", ", why->filtered[f]);
        where_words(w, s, f, out);
        first = false;
    }
    strbuf_putc(out, ')');
}

static void put_place(const struct why *why, struct strbuf *out)
{
    strbuf_fmt(out, "; place %u of %u in the queue", why->place, why->queue_length);
}

static void put_waiting(const struct world *w, const struct session *s, const struct why *why,
                        struct strbuf *out)
{
    strbuf_fmt(out, "start %u of %u failed", s->failed_starts, SESSION_START_TRIES);
    if (s->end.detail[0] != '\0') strbuf_fmt(out, " (%s)", s->end.detail);
    strbuf_puts(out, ", next try in ");
    fmt_duration(out, why->retry_ms > w->now_ms ? why->retry_ms - w->now_ms : 0);
}

void explain_other(const struct world *w, const struct session *other,
                   const struct session *asking, bool hidden, struct strbuf *out)
{
    struct slots total;
    if (!hidden) {
        strbuf_fmt(out, "s%llu (%s)", (unsigned long long)other->id, other->name);
        return;
    }
    bool sane = session_total(other, &total);
    CHECK(sane); /* it was submitted */
    strbuf_fmt(out, "a %s session of another %s (", session_kind_name(other->kind),
               other->project == asking->project ? "user" : "project");
    bool first = true;
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        if (total.v[k] == 0) continue;
        if (!first) strbuf_puts(out, ", ");
        slot_print(out, k, total.v[k]);
        strbuf_fmt(out, " %s", slot_label(k));
        first = false;
    }
    strbuf_fmt(out, "), %s for ", other->state == SESSION_PENDING ? "waiting" : "there");
    fmt_duration(out, w->now_ms > other->since_ms ? w->now_ms - other->since_ms : 0);
}

static void put_skipped(const struct world *w, const struct session *s, const struct why *why,
                        struct strbuf *out)
{
    const struct session *b = world_session(w, why->blocker);
    CHECK(b != NULL);
    strbuf_puts(out, "waits behind ");
    explain_other(w, b, s, why->blocker_hidden, out);
    strbuf_puts(out, ", which is ahead in the queue and does not fit yet");
}

/* The nodes that have not come as far as they should, or all that hold it. */
static void put_nodes(const struct world *w, const struct session *s, struct strbuf *out)
{
    uint32_t rows = 0, named = 0;
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        const struct node *n = world_node(w, a->node);
        if (rows++ >= 4) continue;
        strbuf_fmt(out, "%s%s", named++ ? ", " : " on ", n->name);
        if (n->unreachable) strbuf_puts(out, " (unreachable)");
    }
    if (rows > named) strbuf_fmt(out, " and %u more", rows - named);
}

void explain_text(const struct world *w, const struct session *s, const struct why *why,
                  struct strbuf *out)
{
    switch (why->kind) {
    case WHY_NONE: strbuf_puts(out, "it has ended"); return;
    case WHY_PLACED:
        if (s->state == SESSION_PENDING) {
            strbuf_puts(out, "there is room: it starts next");
            return;
        }
        strbuf_puts(out, "placed, waits to be taken");
        put_nodes(w, s, out);
        return;
    case WHY_WAITING: put_waiting(w, s, why, out); put_place(why, out); return;
    case WHY_NO_CAPACITY: put_no_capacity(w, s, why, out); put_place(why, out); return;
    case WHY_SKIPPED: put_skipped(w, s, why, out); put_place(why, out); return;
    case WHY_STARTING:
        strbuf_puts(out, session_state_name(s->state));
        put_nodes(w, s, out);
        return;
    case WHY_STOPPING:
        strbuf_puts(out, s->alarm ? "its grace is over and its end is not proved:" : "stopping");
        put_nodes(w, s, out);
        return;
    case WHY_RUNNING:
        strbuf_puts(out, "running");
        put_nodes(w, s, out);
        return;
    case WHY_KINDS: break;
    }
    UNREACHABLE();
}
