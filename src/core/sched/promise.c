/* core/sched/promise.c - promises by session, and which of them became void.
 *
 * A promise ends with its session's turn: it started, it ended, or somebody drops it.
 * It is void when one of its nodes can no longer keep it.
 * docs/spec/scheduling.md, "The plan" */
#include "core/sched/promise.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/sched/sched.h"

static struct promises *book_of(const struct world *w)
{
    return w->sched ? w->sched->promises : NULL;
}

struct promises *promises_read(const struct world *w)
{
    struct promises *book = book_of(w);
    for (; book && book->taken_in < w->changed.n; book->taken_in++) {
        outlook_changed(book, w, w->changed.v[book->taken_in] + 1);
    }
    if (book && book->reservations_seen != w->reservation_changes) outlook_reserved(book, w);
    return book;
}

struct promises *promises_of(struct world *w)
{
    struct sched *sched = sched_of(w);
    if (!sched->promises) sched->promises = mem_alloc(sizeof(*sched->promises));
    return sched->promises;
}

void promise_done(struct promise *p) { VEC_DONE(&p->picks); }

void plan_free(struct world *w)
{
    struct promises *book = book_of(w);
    if (!book) return;
    outlook_done(book);
    VEC_EACH(p, &book->kept) promise_done(p);
    VEC_DONE(&book->kept);
    VEC_DONE(&book->free_kept);
    map_u64_done(&book->by_session);
    heap_done(&book->due);
    mem_free(book);
    w->sched->promises = NULL;
}

static struct promise *find(const struct promises *book, uint64_t session)
{
    uint32_t slot = book ? map_u64_get(&book->by_session, session) : MAP_NONE;
    if (slot == MAP_NONE) return NULL;
    CHECK(book->kept.v[slot].session == session);
    return &book->kept.v[slot];
}

const struct promise *plan_of(const struct world *w, uint64_t session)
{
    return find(book_of(w), session);
}

/* ---- when something is due */

static bool item_valid(const struct promises *book, const struct heap_item *item)
{
    const struct promise *p = &book->kept.v[item->slot];
    return p->session == item->tie && p->at_ms == item->key;
}

static void drop_old_tops(struct promises *book, int64_t now_ms)
{
    struct heap_item gone;
    const struct heap_item *top;
    while ((top = heap_top(&book->due)) && (top->key <= now_ms || !item_valid(book, top))) {
        heap_pop(&book->due, &gone);
    }
}

/* Promises that were dropped leave items with far instants: they must not pile up. */
static void compact(struct promises *book)
{
    uint32_t most = 2 * book->by_session.n + 64;
    if (book->due.n <= most) return;
    struct heap fresh = {0};
    for (uint32_t i = 0; i < book->kept.n; i++) {
        const struct promise *p = &book->kept.v[i];
        if (p->session == 0) continue;
        heap_push(&fresh, (struct heap_item){.key = p->at_ms, .tie = p->session, .slot = i});
    }
    heap_done(&book->due);
    book->due = fresh;
}

int64_t plan_next_ms(const struct world *w)
{
    const struct promises *book = book_of(w);
    const struct heap_item *top = book ? heap_top(&book->due) : NULL;
    int64_t next = reservation_next_ms(w);
    if (!top) return next;
    if (top->key > w->now_ms && item_valid(book, top)) return top->key < next ? top->key : next;
    VEC_EACH(p, &book->kept) { /* time went on since the last sync */
        if (p->session != 0 && p->at_ms > w->now_ms && p->at_ms < next) next = p->at_ms;
    }
    return next;
}

/* ---- keeping */

/* Its nodes enter or leave the index. */
static void touch(struct world *w, const struct promise *p)
{
    VEC_EACH(pick, &p->picks) VEC_PUSH(&w->changed, pick->node - 1);
}

void plan_keep(struct world *w, struct promise *p)
{
    struct promises *book = promises_of(w);
    const struct session *s = world_session(w, p->session);
    CHECK(s != NULL);
    CHECK(find(book, p->session) == NULL);
    CHECK(p->picks.n == s->members);
    CHECK(p->at_ms < p->end_ms);
    uint32_t slot = book->kept.n;
    if (book->free_kept.n > 0) slot = VEC_POP(&book->free_kept);
    else (void)VEC_ADD(&book->kept);
    book->kept.v[slot] = *p;
    if (p->first_ms == 0) book->kept.v[slot].first_ms = p->at_ms;
    memset(&p->picks, 0, sizeof(p->picks));
    p = &book->kept.v[slot];
    map_u64_put(&book->by_session, p->session, slot);
    touch(w, p);
    heap_push(&book->due, (struct heap_item){.key = p->at_ms, .tie = p->session, .slot = slot});
    compact(book);
    for (uint32_t m = 0; m < p->picks.n; m++) {
        struct line_promise on = {.session = p->session,
                                  .hold = {.from_ms = p->at_ms, .until_ms = p->end_ms,
                                           .devices = p->picks.v[m].devices,
                                           .slots = session_role_of(s, m)->slots}};
        outlook_promise(book, w, p->picks.v[m].node, &on);
    }
}

bool plan_drop(struct world *w, uint64_t session)
{
    struct promises *book = book_of(w);
    struct promise *p = find(book, session);
    uint32_t last = 0;
    if (!p) return false;
    touch(w, p);
    VEC_EACH(pick, &p->picks) {
        if (pick->node != last) outlook_unpromise(book, w, pick->node, session);
        pool_freed(w, &w->nodes.v[pick->node - 1]); /* others may use what it kept */
        last = pick->node;
    }
    bool known = map_u64_del(&book->by_session, session);
    CHECK(known);
    promise_done(p);
    VEC_PUSH(&book->free_kept, (uint32_t)(p - book->kept.v));
    *p = (struct promise){0};
    drop_old_tops(book, w->now_ms);
    return true;
}

bool plan_any(const struct world *w)
{
    const struct promises *book = book_of(w);
    return w->reservations.n > 0 || (book && book->by_session.n > 0);
}

bool plan_promised(const struct world *w, uint32_t node)
{
    struct promises *book = book_of(w); /* it does not matter what changed on the nodes */
    if (book && book->reservations_seen != w->reservation_changes) outlook_reserved(book, w);
    if (!book || node > book->lines.n) return false;
    const struct line *line = &book->lines.v[node - 1];
    return line->promised.n > 0 || line->reserved.n > 0;
}

/* ---- following the world */

static void drop_void(struct world *w, struct promises *book, uint32_t node)
{
    for (uint32_t i = book->lines.v[node - 1].promised.n; i > 0; i--) {
        const struct line *line = &book->lines.v[node - 1];
        if (i > line->promised.n) continue; /* the last one took more of them along */
        uint64_t session = line->promised.v[i - 1].session;
        if (outlook_keeps(book, w, node, session)) continue;
        bool dropped = plan_drop(w, session);
        CHECK(dropped);
        w->sched->voided = true;
    }
}

void plan_sync(struct world *w)
{
    struct promises *book = promises_of(w);
    if (book->reservations_seen != w->reservation_changes) outlook_reserved(book, w);
    for (uint32_t i = 0; i < w->changed.n; i++) {
        uint32_t node = w->changed.v[i] + 1;
        outlook_changed(book, w, node);
        if (book->lines.v[node - 1].less) drop_void(w, book, node);
        book->lines.v[node - 1].less = false;
    }
    book->taken_in = 0; /* they are cleared now */
    drop_old_tops(book, w->now_ms);
}
