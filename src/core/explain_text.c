/* core/explain_text.c - reasons in plain words, with every number.
 *
 * Who may not read another session is told its kind, its size and since when, never its
 * name.  docs/spec/scheduling.md, "Explain" */
#include "base/check.h"
#include "base/fmt.h"
#include "core/access.h"
#include "core/explain.h"
#include "core/where.h"

/* ---- pieces */

bool explain_hides(const struct world *w, const struct why *why, const struct session *other)
{
    const struct user *u = world_user(w, why->viewer);
    if (why->viewer == 0) return false;
    return !u || !access_to(u, OBJECT_SESSION, ACTION_READ, other->user);
}

/* "2 CPU, 1 GiB memory, 1 GPU" */
static void put_slots(const struct slots *s, struct strbuf *out)
{
    bool first = true;
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        if (s->v[k] == 0) continue;
        if (!first) strbuf_puts(out, ", ");
        slot_print(out, k, s->v[k]);
        strbuf_fmt(out, " %s", slot_label(k));
        first = false;
    }
}

void explain_other(const struct world *w, const struct session *other,
                   const struct session *asking, bool hidden, struct strbuf *out)
{
    struct slots total;
    if (!hidden) {
        char id[24];
        session_id_format(other->id, id);
        strbuf_puts(out, id);
        if (strcmp(id, other->name) != 0) strbuf_fmt(out, " (%s)", other->name);
        return;
    }
    bool sane = session_total(other, &total);
    CHECK(sane); /* it was submitted */
    strbuf_fmt(out, "a %s session of another %s (", session_kind_name(other->kind),
               other->project == asking->project ? "user" : "project");
    put_slots(&total, out);
    bool waits = other->state == SESSION_PENDING;
    int64_t since_ms = !waits && other->started_ms > 0 ? other->started_ms : other->since_ms;
    strbuf_fmt(out, ", %s for ", waits ? "waiting" : "there");
    fmt_duration(out, w->now_ms > since_ms ? w->now_ms - since_ms : 0);
    strbuf_putc(out, ')');
}

/* The session of that number, as the viewer may know it. */
static void put_other(const struct world *w, const struct session *s, const struct why *why,
                      uint64_t id, struct strbuf *out)
{
    const struct session *other = world_session(w, id);
    if (other) explain_other(w, other, s, explain_hides(w, why, other), out);
    else strbuf_puts(out, "one that has ended"); /* its rows await their proof */
}

static void put_after(const struct world *w, int64_t at_ms, struct strbuf *out)
{
    fmt_duration(out, at_ms > w->now_ms ? at_ms - w->now_ms : 0);
}

static void put_count(struct strbuf *out, uint32_t n, const char *what, bool *first)
{
    if (n == 0) return;
    strbuf_fmt(out, "%s%u %s", *first ? "" : ", ", n, what);
    *first = false;
}

/* Its place, and what was done to it there. */
static void put_place(const struct world *w, const struct session *s, const struct why *why,
                      struct strbuf *out)
{
    const struct group *g = world_group(w, s->group);
    strbuf_fmt(out, "; place %u of %u in the queue", why->place, why->queue_length);
    if (s->lowered > 0) {
        strbuf_fmt(out, ", its priority lowered by %d to %d", s->lowered,
                   session_order_priority(s));
    }
    if (s->blocked_tries < 2 || g->lower_after == 0) return;
    strbuf_fmt(out, "; it was at the head and did not fit %u times: after %u its priority goes "
               "down by %d", s->blocked_tries, g->lower_after, g->lower_by);
}

/* ---- no room */

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

static uint32_t count_filtered(const struct why *why)
{
    uint32_t n = 0;
    for (enum filter f = FILTER_NODE; f < FILTERS; f++) n += why->filtered[f];
    return n;
}

static void put_reserved(const struct world *w, const struct session *s, const struct why *why,
                         struct strbuf *out)
{
    const struct reservation *r = world_reservation(w, why->reservation);
    const struct node *n = world_node(w, why->at_node);
    CHECK(r != NULL);
    CHECK(n != NULL);
    strbuf_fmt(out, "%s is reserved for others (r%u)", n->name, r->id);
    if (r->start_ms > w->now_ms) {
        strbuf_puts(out, " in ");
        put_after(w, r->start_ms, out);
        if (s->time_limit_ms > 0) {
            strbuf_puts(out, ", and it may take ");
            fmt_duration(out, s->time_limit_ms);
        } else {
            strbuf_puts(out, ", and it has no time limit");
        }
    } else {
        strbuf_puts(out, " for ");
        put_after(w, r->end_ms, out);
        strbuf_puts(out, " more");
    }
}

/* What is kept for others, while it would run, on the node that lacks least. */
static void put_kept(const struct world *w, const struct session *s, const struct why *why,
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

static void put_no_capacity(const struct world *w, const struct session *s, const struct why *why,
                            struct strbuf *out)
{
    const struct group *g = world_group(w, s->group);
    uint32_t filtered = count_filtered(why);
    if (why->reservation != 0) {
        put_reserved(w, s, why, out);
        return;
    }
    if (why->nodes == 0) {
        strbuf_fmt(out, "group %s has no nodes", g->name);
        return;
    }
    if (why->nearest_node != 0) put_missing(w, why, out);
    else if (filtered == why->nodes)
        strbuf_fmt(out, "no node of group %s is what it asks", g->name);
    else if (filtered > 0) strbuf_puts(out, "no node that it asks for takes new work now");
    else strbuf_fmt(out, "no node of group %s takes new work now", g->name);
    put_kept(w, s, why, out);
    strbuf_fmt(out, " (%u node%s: ", why->nodes, why->nodes == 1 ? "" : "s");
    bool first = true;
    put_count(out, why->busy, "busy", &first);
    put_count(out, why->too_small, "too small", &first);
    put_count(out, why->cordoned, "cordoned", &first);
    put_count(out, why->quarantined, "quarantined", &first);
    put_count(out, why->unhealthy, "unhealthy", &first);
    put_count(out, why->unreachable, "unreachable", &first);
    for (enum filter f = FILTER_NODE; f < FILTERS; f++) {
        if (why->filtered[f] == 0) continue;
        strbuf_fmt(out, "%s%u ", first ? "" : ", ", why->filtered[f]);
        where_words(w, s, f, out);
        first = false;
    }
    strbuf_putc(out, ')');
    explain_devices_out(w, s, out);
    if (g->on_blocked != BLOCKED_SKIP || why->place == why->queue_length) return;
    strbuf_fmt(out, "; group %s lets those behind it go first, so it may wait for long", g->name);
}

/* ---- its turn has not come */

static void put_dependencies(const struct world *w, const struct session *s,
                             const struct why *why, struct strbuf *out)
{
    static const char *const UNTIL[] = {
        [DEPEND_SUCCESS] = "to succeed", [DEPEND_END] = "to end", [DEPEND_FAILURE] = "to fail"};
    _Static_assert(ARRAY_LEN(UNTIL) == DEPEND_KINDS, "words for each kind");
    strbuf_puts(out, "waits for ");
    for (uint32_t i = 0; i < s->n_depends; i++) {
        const struct dependency *dep = &s->depends[i];
        const struct session *other = world_session(w, dep->session);
        CHECK(dep->on < DEPEND_KINDS);
        if (i > 0) strbuf_puts(out, i + 1 == s->n_depends ? " and for " : ", for ");
        put_other(w, s, why, dep->session, out);
        strbuf_fmt(out, " %s", UNTIL[dep->on]);
        if (other) strbuf_fmt(out, ", which is %s", session_state_name(other->state));
    }
}

static void put_backoff(const struct world *w, const struct session *s, const struct why *why,
                        struct strbuf *out)
{
    if (s->failed_starts > 0) {
        strbuf_fmt(out, "start %u of %u failed", s->failed_starts, SESSION_START_TRIES);
    } else {
        strbuf_fmt(out, "it failed and starts again, time %u of %u", s->restarts, s->restart_max);
    }
    const struct member_end *end = ends_of(w, s);
    if (end->detail[0] != '\0') strbuf_fmt(out, " (%s)", end->detail);
    strbuf_puts(out, ", next try in ");
    put_after(w, why->retry_ms, out);
}

static void put_unproved(const struct world *w, const struct session *s, struct strbuf *out)
{
    const struct alloc *a = silence_unproved(w, s, 0);
    const struct node *n = a ? world_node(w, a->node) : NULL;
    bool told = n && n->heard && !n->unreachable;
    strbuf_fmt(out, "attempt %u may still run on %s, which %s", s->attempt,
               n ? n->name : "its node", told ? "is told to end it" : "is cut off");
    if (!n || s->fence_ms == 0 || !n->unreachable) return;
    strbuf_puts(out, ": that ends by itself, and is sure in ");
    put_after(w, silence_release_ms(n, s), out);
}

static void put_waiting(const struct world *w, const struct session *s, const struct why *why,
                        struct strbuf *out)
{
    switch (why->wait) {
    case WAIT_HOLD:
        strbuf_fmt(out, "held until `rota release s%llu`", (unsigned long long)s->id);
        return;
    case WAIT_DEPENDENCY: put_dependencies(w, s, why, out); return;
    case WAIT_START:
        strbuf_puts(out, "may not start before its time, in ");
        put_after(w, why->retry_ms, out);
        return;
    case WAIT_BACKOFF: put_backoff(w, s, why, out); return;
    case WAIT_PROOF: put_unproved(w, s, out); return;
    case WAIT_ARRAY:
        strbuf_fmt(out, "%u of %u tasks of its array run, and no more may at once",
                   why->array_active, s->array_limit);
        return;
    case WAIT_NONE:
    case WAIT_KINDS: break;
    }
    UNREACHABLE();
}

static void put_quota(const struct world *w, const struct why *why, struct strbuf *out)
{
    CHECK(why->n_excess > 0);
    CHECK(why->n_excess <= QUOTA_EXCESSES_MAX);
    strbuf_puts(out, "over a limit: ");
    for (uint32_t i = 0; i < why->n_excess; i++) {
        if (i > 0) strbuf_puts(out, "; ");
        quota_print(w, &why->excess[i], out);
    }
}

/* ---- others are in its way */

static void put_skipped(const struct world *w, const struct session *s, const struct why *why,
                        struct strbuf *out)
{
    const struct node *n = world_node(w, why->at_node);
    switch (why->skip) {
    case SKIP_ORDER:
        strbuf_puts(out, "waits behind ");
        put_other(w, s, why, why->blocker, out);
        strbuf_puts(out, ", which is ahead in the queue and does not fit yet");
        return;
    case SKIP_PROMISE:
        CHECK(n != NULL);
        strbuf_puts(out, "would delay ");
        put_other(w, s, why, why->blocker, out);
        strbuf_fmt(out, ", which is ahead and is promised %s in ", n->name);
        put_after(w, why->promised_ms, out);
        if (s->time_limit_ms > 0) {
            strbuf_puts(out, ": it may take ");
            fmt_duration(out, s->time_limit_ms);
        } else {
            strbuf_puts(out, ": it has no time limit");
        }
        return;
    case SKIP_CLOSED:
        CHECK(n != NULL);
        strbuf_puts(out, "waits behind ");
        put_other(w, s, why, why->blocker, out);
        strbuf_fmt(out, ", for which nobody can say when it starts: %s is kept free for it",
                   n->name);
        return;
    case SKIP_NONE:
    case WHY_SKIPS: break;
    }
    UNREACHABLE();
}

static void put_leaving(const struct world *w, const struct session *s, const struct why *why,
                        struct strbuf *out)
{
    uint32_t named = why->n_leaving < WHY_LEAVING ? why->n_leaving : WHY_LEAVING;
    for (uint32_t i = 0; i < named; i++) {
        if (i > 0) strbuf_puts(out, i + 1 == why->n_leaving ? " and " : ", ");
        put_other(w, s, why, why->leaving[i], out);
    }
    if (why->n_leaving > named) strbuf_fmt(out, " and %u more", why->n_leaving - named);
}

static void put_preempting(const struct world *w, const struct session *s, const struct why *why,
                           struct strbuf *out)
{
    const struct node *n = world_node(w, why->at_node);
    if (s->state == SESSION_PENDING) { /* it would be so */
        put_leaving(w, s, why, out);
        strbuf_fmt(out, " would be stopped to make room for it on %s", n ? n->name : "?");
        return;
    }
    if (!n) {
        strbuf_puts(out, "others leave to make room for it");
    } else if (why->n_leaving == 0) {
        strbuf_fmt(out, "room on %s is kept for it", n->name);
    } else {
        strbuf_fmt(out, "gets room on %s when ", n->name);
        put_leaving(w, s, why, out);
        strbuf_puts(out, why->n_leaving == 1 ? " has left" : " have left");
    }
    strbuf_puts(out, "; after ");
    put_after(w, why->retry_ms, out);
    strbuf_puts(out, " without it, it waits again");
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

/* ---- when */

static void put_date(const struct world *w, const struct session *s, const struct why *why,
                     struct strbuf *out)
{
    const struct forecast *f = &why->expected;
    const struct node *n = world_node(w, f->node);
    CHECK(n != NULL);
    if (f->at_ms <= w->now_ms) {
        strbuf_puts(out, "now");
    } else {
        strbuf_puts(out, "in ");
        put_after(w, f->at_ms, out);
    }
    strbuf_fmt(out, " on %s", n->name);
    if (f->n_nodes > 1) strbuf_fmt(out, " and %u more", f->n_nodes - 1);
    if (f->reservation != 0) strbuf_fmt(out, ", when reservation r%u is over", f->reservation);
    if (f->rests_on == 0) return;
    strbuf_puts(out, f->in_order ? ", not before " : ", when ");
    put_other(w, s, why, f->rests_on, out);
    strbuf_puts(out, f->in_order ? " ahead of it starts" : " has to end");
}

void explain_expected_text(const struct world *w, const struct session *s, const struct why *why,
                           struct strbuf *out)
{
    const struct forecast *f = &why->expected;
    switch (f->kind) {
    case FORECAST_NONE:
    case FORECAST_WAITS:
    case FORECAST_OVER: return;
    case FORECAST_DATED: put_date(w, s, why, out); return;
    case FORECAST_LATER:
        strbuf_puts(out, "not known: those ahead of it will have reached the limits first");
        return;
    case FORECAST_UNDATED:
        strbuf_puts(out, "not known: ");
        if (f->rests_on == 0) {
            strbuf_puts(out, "the nodes that take new work could not hold it even if empty");
            return;
        }
        put_other(w, s, why, f->rests_on, out);
        strbuf_puts(out, " has no time limit");
        return;
    case FORECAST_BEHIND:
        strbuf_puts(out, "not known: nor is that of ");
        put_other(w, s, why, f->rests_on, out);
        strbuf_puts(out, " ahead of it");
        return;
    case FORECAST_KINDS: break;
    }
    UNREACHABLE();
}

/* ---- a silent node */

/* "; node n3 is silent for 2 min: its container ends by itself in 8 min, it waits again 1 min
 * later": what is to come is said as of now. */
static void put_silence(const struct world *w, const struct why *why, struct strbuf *out)
{
    const struct node *n = world_node(w, why->silent_node);
    CHECK(n != NULL);
    strbuf_fmt(out, "; node %s is silent for ", n->name);
    fmt_duration(out, w->now_ms - why->heard_ms);
    strbuf_puts(out, ": ");
    switch (why->silence) {
    case SILENCE_KEEP:
    case SILENCE_HEARD:
        strbuf_puts(out, "what runs there goes on, and is held until the node is back or given up");
        return;
    case SILENCE_WAIT:
        if (why->fence_end_ms > w->now_ms) {
            strbuf_puts(out, "its containers end by themselves in ");
            put_after(w, why->fence_end_ms, out);
        } else {
            strbuf_puts(out, "its containers have ended by themselves");
        }
        strbuf_puts(out, ", it waits again in ");
        put_after(w, why->release_ms, out);
        return;
    case SILENCE_MANY:
        strbuf_puts(out, "so many nodes fell silent at once that it is held until they return or "
                         "an operator accepts it (rota admin silence accept)");
        return;
    case SILENCE_COMMAND:
        strbuf_puts(out, "it waits again once the fence command has succeeded");
        return;
    case SILENCE_RELEASE: strbuf_puts(out, "it waits again at once"); return;
    case SILENCE_VERDICTS: break;
    }
    UNREACHABLE();
}

/* ---- all of it */

static void put_pending(const struct world *w, const struct session *s, const struct why *why,
                        struct strbuf *out)
{
    switch (why->kind) {
    case WHY_PLACED: strbuf_puts(out, "there is room: it starts next"); return;
    case WHY_WAITING: put_waiting(w, s, why, out); break;
    case WHY_OVER_QUOTA: put_quota(w, why, out); break;
    case WHY_NO_CAPACITY: put_no_capacity(w, s, why, out); break;
    case WHY_SKIPPED: put_skipped(w, s, why, out); break;
    case WHY_PREEMPTING: put_preempting(w, s, why, out); return;
    case WHY_NONE:
    case WHY_STARTING:
    case WHY_STOPPING:
    case WHY_RUNNING:
    case WHY_KINDS: UNREACHABLE();
    }
    put_place(w, s, why, out);
}

void explain_text(const struct world *w, const struct session *s, const struct why *why,
                  struct strbuf *out)
{
    if (s->state == SESSION_PENDING) {
        put_pending(w, s, why, out);
        return;
    }
    switch (why->kind) {
    case WHY_NONE: strbuf_puts(out, "it has ended"); return;
    case WHY_PLACED: strbuf_puts(out, "placed, waits to be taken"); break;
    case WHY_PREEMPTING: put_preempting(w, s, why, out); return;
    case WHY_STARTING: strbuf_puts(out, session_state_name(s->state)); break;
    case WHY_STOPPING:
        strbuf_puts(out, s->alarm ? "its grace is over and its end is not proved:" : "stopping");
        break;
    case WHY_RUNNING: strbuf_puts(out, "running"); break;
    case WHY_WAITING:
    case WHY_OVER_QUOTA:
    case WHY_NO_CAPACITY:
    case WHY_SKIPPED:
    case WHY_KINDS: UNREACHABLE();
    }
    put_nodes(w, s, out);
    explain_devices_held(w, s, out);
    if (why->silent_node != 0) put_silence(w, why, out);
    if (s->outcome != OUTCOME_PREEMPTED) return;
    strbuf_puts(out, ": it makes room for another");
    if (s->requeue) strbuf_puts(out, ", then it waits to run again");
}
