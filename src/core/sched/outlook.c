/* core/sched/outlook.c - lines of nodes and ready times of groups, followed from change to
 * change.
 *
 * A line is followed by differences while nothing on it is overdue; from then on its
 * timeline depends on the present instant and is made anew whenever that moved.
 * docs/spec/scheduling.md, "The plan" */
#include "base/bitset.h"
#include "base/check.h"
#include "core/model/order.h"
#include "core/sched/promise.h"
#include "core/sched/vacate.h"

static int64_t raw_end(const struct alloc *a) { return a->end_ms > 0 ? a->end_ms : LEDGER_SOON; }

/* ---- ready times */

static void set_ready(const struct world *w, struct outlook *o, uint32_t pos, struct line *line)
{
    const struct node *n = world_node(w, o->nodes.v[pos]);
    int64_t ends[NODE_DEVICES_MAX], first = PLAN_NEVER;
    uint32_t count = 0, healthy = n ? node_healthy_devices(n) : 0;
    bool usable = n && w->rooms.v[n->id - 1].usable;
    line->n_endless = 0;
    line->first_endless = 0;
    for (uint32_t left = usable ? healthy & ~n->used_devices : 0; left; left &= left - 1) {
        ends[count++] = READY_FREE;
    }
    for (struct alloc *a = usable ? world_allocs_of_node(w, n) : NULL; a;
         a = world_next_of_node(w, a)) {
        int64_t end = raw_end(a);
        if (end < first) first = end;
        if (end == PLAN_NEVER) {
            line->n_endless++;
            if (line->first_endless == 0 || a->ref.session < line->first_endless) {
                line->first_endless = a->ref.session;
            }
        }
        for (uint32_t left = a->devices & healthy; left; left &= left - 1) {
            uint32_t at = count++;
            for (; at > 0 && ends[at - 1] > end; at--) ends[at] = ends[at - 1];
            ends[at] = end;
        }
    }
    CHECK(count <= NODE_DEVICES_MAX);
    o->ready[0].v[pos] = usable ? READY_FREE : PLAN_NEVER;
    for (uint32_t k = 1; k <= NODE_DEVICES_MAX; k++) {
        o->ready[k].v[pos] = k <= count ? ends[k - 1] : PLAN_NEVER;
    }
    o->first_end.v[pos] = first;
}

struct named { struct str name; uint32_t node; };

static int cmp_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c = str_natural_cmp(x->name, y->name);
    return c != 0 ? c : order_cmp_u32(&x->node, &y->node);
}

#define RESIZE(vec, count) (VEC_RESERVE(vec, count), (void)((vec)->n = (count)))

static void remake(struct promises *book, const struct world *w, uint32_t group)
{
    struct outlook *o = &book->groups.v[group - 1];
    VEC(struct named) names = {0};
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        struct line *line = &book->lines.v[i];
        if (line->group == group) line->group = 0;
        if (w->rooms.v[i].group != group) continue;
        VEC_PUSH(&names, ((struct named){str_of(w->nodes.v[i].name), i + 1}));
    }
    order_sort(names.v, names.n, sizeof(*names.v), cmp_named);
    RESIZE(&o->nodes, names.n);
    RESIZE(&o->first_end, names.n);
    for (uint32_t k = 0; k <= NODE_DEVICES_MAX; k++) RESIZE(&o->ready[k], names.n);
    for (uint32_t pos = 0; pos < names.n; pos++) {
        struct line *line = &book->lines.v[names.v[pos].node - 1];
        o->nodes.v[pos] = names.v[pos].node;
        line->group = group;
        line->pos = pos;
        set_ready(w, o, pos, line);
    }
    o->stale = false;
    VEC_DONE(&names);
}

/* New nodes and groups get their places. */
static void grow(struct promises *book, const struct world *w)
{
    while (book->lines.n < w->rooms.n) VEC_ADD(&book->lines)->anew = true;
    while (book->groups.n < w->groups.n) VEC_ADD(&book->groups)->stale = true;
}

struct outlook *outlook_of(struct promises *book, const struct world *w, uint32_t group)
{
    grow(book, w);
    CHECK(group >= 1);
    CHECK(group <= book->groups.n);
    if (book->groups.v[group - 1].stale) remake(book, w, group);
    return &book->groups.v[group - 1];
}

/* True when it is not what it was. */
static bool look_at_node(struct line *line, const struct world *w, uint32_t node)
{
    const struct node *n = world_node(w, node);
    struct slots capacity = w->rooms.v[node - 1].capacity;
    uint32_t healthy = n ? node_healthy_devices(n) : 0;
    if (healthy == line->healthy && memcmp(&capacity, &line->capacity, sizeof(capacity)) == 0) {
        return false;
    }
    line->capacity = capacity;
    line->healthy = healthy;
    line->anew = true;
    return true;
}

void outlook_changed(struct promises *book, const struct world *w, uint32_t node)
{
    grow(book, w);
    struct line *line = &book->lines.v[node - 1];
    uint32_t group = w->rooms.v[node - 1].group;
    bool moved = line->group != group, kept = !slots_zero(&w->nodes.v[node - 1].kept);
    line->behind = true;
    if (kept || line->kept) line->anew = true; /* what is kept holds what others hold still */
    line->kept = kept;
    if (moved) {
        if (line->group > 0) book->groups.v[line->group - 1].stale = true;
        if (group > 0) book->groups.v[group - 1].stale = true;
    } else if (group > 0 && !book->groups.v[group - 1].stale) {
        set_ready(w, &book->groups.v[group - 1], line->pos, line);
    }
    if (look_at_node(line, w, node) || moved || !w->rooms.v[node - 1].usable) line->less = true;
}

/* ---- lines */

/* What of it lies ahead; what should be over holds for one instant more. */
static struct hold ahead(const struct line *line, const struct hold *h, int64_t now_ms)
{
    struct hold rest = *h;
    if (rest.until_ms <= now_ms) rest.until_ms = now_ms + 1;
    if (rest.from_ms < now_ms) rest.from_ms = now_ms;
    rest.devices &= line->healthy;
    return rest;
}

static void follow_release(struct line *line, const struct hold *h, int64_t now_ms)
{
    if (line->timeline.tangled || line->reserved.n > 0) line->anew = true;
    if (line->anew || h->until_ms <= now_ms) return;
    struct hold rest = ahead(line, h, now_ms);
    timeline_release(&line->timeline, &rest);
}

static void follow_hold(struct line *line, const struct hold *h, int64_t now_ms)
{
    if (h->until_ms <= now_ms || line->reserved.n > 0) line->anew = true;
    if (line->anew) return;
    struct hold rest = ahead(line, h, now_ms);
    timeline_hold(&line->timeline, &rest);
}

static void put_row(struct line *line, const struct line_row *row)
{
    uint32_t at = line->rows.n;
    while (at > 0 && (line->rows.v[at - 1].end_ms > row->end_ms ||
                      (line->rows.v[at - 1].end_ms == row->end_ms &&
                       line->rows.v[at - 1].slot > row->slot))) {
        at--;
    }
    VEC_INSERT(&line->rows, at, *row);
}

/* Rows that are there no more, or end at another time, leave the line and its timeline. */
static void rows_gone(struct promises *book, const struct world *w, uint32_t node)
{
    struct line *line = &book->lines.v[node - 1];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < line->rows.n; i++) {
        const struct line_row *row = &line->rows.v[i];
        const struct alloc *a = row->slot < w->allocs.n ? &w->allocs.v[row->slot] : NULL;
        if (a && a->live && a->node == node && raw_end(a) == row->end_ms &&
            a->devices == row->hold.devices &&
            memcmp(&a->slots, &row->hold.slots, sizeof(a->slots)) == 0) {
            book->marks.v[row->slot] = book->walks;
            line->rows.v[kept++] = *row;
        } else {
            follow_release(line, &row->hold, w->now_ms);
        }
    }
    line->rows.n = kept;
}

static void rows_come(struct promises *book, const struct world *w, uint32_t node)
{
    struct line *line = &book->lines.v[node - 1];
    const struct node *n = world_node(w, node);
    for (struct alloc *a = n ? world_allocs_of_node(w, n) : NULL; a;
         a = world_next_of_node(w, a)) {
        uint32_t slot = ledger_slot(w, a);
        if (book->marks.v[slot] == book->walks) continue;
        struct line_row row = {.end_ms = raw_end(a), .slot = slot,
                               .hold = {.until_ms = raw_end(a), .devices = a->devices,
                                        .slots = a->slots}};
        put_row(line, &row);
        follow_hold(line, &row.hold, w->now_ms);
    }
}

/* The instant from which on something of the line is overdue. */
static int64_t first_until(const struct line *line)
{
    int64_t first = line->rows.n > 0 ? line->rows.v[0].end_ms : PLAN_NEVER;
    VEC_EACH(p, &line->promised) if (p->hold.until_ms < first) first = p->hold.until_ms;
    return first;
}

/* From the rows by their end, then the promises, then what is reserved; but for the viewer. */
static void make(const struct world *w, uint32_t node, const struct line *line,
                 const struct session *viewer, struct timeline *ret)
{
    struct slots left = line->capacity;
    uint32_t devices = line->healthy;
    VEC_EACH(row, &line->rows) {
        devices &= ~row->hold.devices;
        for (int k = 0; k < SLOT_KINDS; k++) left.v[k] -= row->hold.slots.v[k];
    }
    timeline_begin(ret, w->now_ms, &left, devices);
    VEC_EACH(row, &line->rows) {
        if (row->end_ms == PLAN_NEVER) break;
        int64_t end_ms = row->end_ms > w->now_ms ? row->end_ms : w->now_ms + 1;
        timeline_free_from(ret, end_ms, &row->hold.slots, row->hold.devices & line->healthy);
    }
    VEC_EACH(p, &line->promised) {
        if (viewer && p->session == viewer->id) continue;
        struct hold rest = ahead(line, &p->hold, w->now_ms);
        timeline_hold(ret, &rest);
    }
    vacate_hold(w, node, viewer ? viewer->id : 0, ret);
    if (line->reserved.n > 0) reserved_hold(w, node, line, viewer, ret);
}

static void bring_up(struct promises *book, const struct world *w, uint32_t node)
{
    struct line *line = &book->lines.v[node - 1];
    bool changed = line->behind || line->anew;
    if (changed) {
        (void)look_at_node(line, w, node);
        if (line->clamped) line->anew = true;
        while (book->marks.n < w->allocs.n) (void)VEC_ADD(&book->marks);
        book->walks++;
        rows_gone(book, w, node);
        rows_come(book, w, node);
        line->behind = false;
    }
    bool overdue = first_until(line) <= w->now_ms || line->kept; /* from now on */
    bool dated = (overdue || line->clamped) && line->made_ms != w->now_ms;
    if (line->anew || dated || (overdue && !line->clamped)) {
        make(w, node, line, NULL, &line->timeline);
        line->clamped = overdue;
        line->made_ms = w->now_ms;
    } else {
        timeline_trim(&line->timeline, w->now_ms);
    }
    line->anew = false;
}

static bool promised_to(const struct promises *book, const struct line *line, uint64_t session)
{
    if (line->promised.n == 0 || map_u64_get(&book->by_session, session) == MAP_NONE) return false;
    VEC_EACH(p, &line->promised) if (p->session == session) return true;
    return false;
}

/* The line without the viewer's own promise, which is all that sets it apart. */
static void without_own(struct promises *book, const struct world *w, const struct line *line,
                        const struct session *viewer)
{
    VEC_CLEAR(&book->scratch.segs);
    VEC_RESERVE(&book->scratch.segs, line->timeline.segs.n);
    memcpy(book->scratch.segs.v, line->timeline.segs.v,
           line->timeline.segs.n * sizeof(*line->timeline.segs.v));
    book->scratch.segs.n = line->timeline.segs.n;
    book->scratch.tangled = false;
    VEC_EACH(p, &line->promised) {
        if (p->session != viewer->id || p->hold.until_ms <= w->now_ms) continue;
        struct hold rest = ahead(line, &p->hold, w->now_ms);
        timeline_release(&book->scratch, &rest);
    }
}

const struct timeline *outlook_line(struct promises *book, const struct world *w, uint32_t node,
                                    const struct session *viewer)
{
    grow(book, w);
    struct line *line = &book->lines.v[node - 1];
    bring_up(book, w, node);
    bool apart = viewer && (promised_to(book, line, viewer->id) || line->kept ||
                            reserved_for(w, line, viewer));
    if (!apart) return &line->timeline;
    if (line->kept || line->reserved.n > 0 || line->clamped || line->timeline.tangled) {
        make(w, node, line, viewer, &book->scratch);
    } else {
        without_own(book, w, line, viewer);
    }
    return &book->scratch;
}

void outlook_reserved(struct promises *book, const struct world *w)
{
    grow(book, w);
    VEC_EACH(line, &book->lines) {
        if (line->reserved.n > 0) line->anew = true;
        VEC_CLEAR(&line->reserved);
    }
    VEC_EACH(r, &w->reservations) {
        for (uint32_t i = 0; i < r->n_parts; i++) {
            if (r->parts[i].node > book->lines.n) continue;
            struct line *line = &book->lines.v[r->parts[i].node - 1];
            line->anew = true;
            VEC_PUSH(&line->reserved, r->id);
        }
    }
    book->reservations_seen = w->reservation_changes;
}

void outlook_promise(struct promises *book, const struct world *w, uint32_t node,
                     const struct line_promise *p)
{
    grow(book, w);
    struct line *line = &book->lines.v[node - 1];
    VEC_PUSH(&line->promised, *p);
    if (line->clamped) line->anew = true;
    follow_hold(line, &p->hold, w->now_ms);
}

void outlook_unpromise(struct promises *book, const struct world *w, uint32_t node,
                       uint64_t session)
{
    struct line *line = &book->lines.v[node - 1];
    for (uint32_t i = line->promised.n; i > 0; i--) {
        if (line->promised.v[i - 1].session != session) continue;
        struct hold hold = line->promised.v[i - 1].hold;
        line->promised.v[i - 1] = line->promised.v[--line->promised.n];
        if (line->clamped) line->anew = true;
        follow_release(line, &hold, w->now_ms);
    }
}

bool outlook_keeps(const struct promises *book, const struct world *w, uint32_t node,
                   uint64_t session)
{
    const struct line *line = &book->lines.v[node - 1];
    const struct node *n = world_node(w, node);
    const struct session *s = world_session(w, session);
    struct slots sum = {{0}};
    CHECK(s != NULL); /* who leaves the world gives up its promise before */
    if (!n || !w->rooms.v[node - 1].usable || n->group != s->group) return false;
    VEC_EACH(p, &line->promised) {
        if (p->session != session) continue;
        if (p->hold.devices & ~node_healthy_devices(n)) return false;
        if (!slots_add(&sum, &p->hold.slots, &sum)) return false;
    }
    return slots_fit(&sum, &n->capacity);
}

void outlook_done(struct promises *book)
{
    VEC_EACH(line, &book->lines) {
        VEC_DONE(&line->rows);
        VEC_DONE(&line->promised);
        VEC_DONE(&line->reserved);
        timeline_done(&line->timeline);
    }
    VEC_EACH(o, &book->groups) {
        VEC_DONE(&o->nodes);
        VEC_DONE(&o->first_end);
        for (uint32_t k = 0; k <= NODE_DEVICES_MAX; k++) VEC_DONE(&o->ready[k]);
    }
    VEC_DONE(&book->lines);
    VEC_DONE(&book->groups);
    VEC_DONE(&book->marks);
    timeline_done(&book->scratch);
}
