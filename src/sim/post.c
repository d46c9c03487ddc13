/* sim/post.c - one heap of letters. */
#include "sim/post.h"
#include "base/check.h"

void post_init(struct post *p, uint64_t seed)
{
    memset(p, 0, sizeof(*p));
    p->rng.state = seed;
}

void letter_done(struct letter *l)
{
    mem_free(l->members);
    mem_free(l->wishes);
    l->members = NULL;
    l->wishes = NULL;
}

void post_done(struct post *p)
{
    struct heap_item item;
    while (heap_pop(&p->heap, &item)) letter_done(&p->letters.v[item.slot]);
    heap_done(&p->heap);
    VEC_DONE(&p->letters);
    VEC_DONE(&p->free);
}

void post_timer(struct post *p, struct letter l, int64_t delay_ms)
{
    CHECK(delay_ms >= 0);
    uint32_t slot;
    if (p->free.n > 0) {
        slot = VEC_POP(&p->free);
    } else {
        slot = p->letters.n;
        VEC_ADD(&p->letters);
    }
    p->letters.v[slot] = l;
    heap_push(&p->heap,
              (struct heap_item){.key = p->now_ms + delay_ms, .tie = p->posted++, .slot = slot});
}

static struct letter copy(const struct letter *l)
{
    struct letter c = *l;
    if (l->members) {
        c.members = mem_array(l->n + 1, sizeof(*l->members));
        memcpy(c.members, l->members, l->n * sizeof(*l->members));
    }
    if (l->wishes) {
        c.wishes = mem_array(l->n + 1, sizeof(*l->wishes));
        memcpy(c.wishes, l->wishes, l->n * sizeof(*l->wishes));
    }
    return c;
}

static int64_t delay(struct post *p)
{
    if (post_chance(p, p->late_pct)) return (int64_t)rng_below(&p->rng, POST_LATE_MS);
    return 1 + (int64_t)rng_below(&p->rng, 40);
}

void post_send(struct post *p, struct letter l)
{
    if (post_chance(p, p->double_pct)) {
        p->doubled++;
        post_timer(p, copy(&l), delay(p));
    }
    if (post_chance(p, p->loss_pct)) {
        p->lost++;
        letter_done(&l);
        return;
    }
    post_timer(p, l, delay(p));
}

bool post_next(struct post *p, struct letter *ret)
{
    struct heap_item item;
    if (!heap_pop(&p->heap, &item)) return false;
    CHECK(item.key >= p->now_ms);
    p->now_ms = item.key;
    *ret = p->letters.v[item.slot];
    memset(&p->letters.v[item.slot], 0, sizeof(struct letter));
    VEC_PUSH(&p->free, item.slot);
    p->delivered++;
    return true;
}
