/* core/model/silence.c - see silence.h. */
#include "core/model/silence.h"

#include "base/check.h"
#include "core/model/order.h"

enum silence_verdict silence_decide(const struct silence_facts *f)
{
    CHECK(f->silent_ms >= 0);
    if (!f->opted_in) return SILENCE_KEEP;
    CHECK(f->fence_ms > 0);
    if (!f->unreachable) return SILENCE_HEARD;
    if (f->silent_ms < f->fence_ms + FENCE_MARGIN_MS) return SILENCE_WAIT;
    if (f->many) return SILENCE_MANY;
    if (f->command && !f->confirmed) return SILENCE_COMMAND;
    return SILENCE_RELEASE;
}

static int cmp_heard(const void *a, const void *b)
{
    const struct silence_node *x = a, *y = b;
    if (x->heard_ms != y->heard_ms) return x->heard_ms < y->heard_ms ? -1 : 1;
    return (int)y->silent - (int)x->silent; /* so that whoever was heard then counts as alive */
}

bool silence_is_shared(struct silence_node *v, uint32_t n)
{
    order_sort(v, n, sizeof(*v), cmp_heard);
    uint32_t end = 0, inside = 0; /* silent ones of v[i .. end) */
    for (uint32_t i = 0; i < n; i++) {
        while (end < n && v[end].heard_ms - v[i].heard_ms <= SILENCE_WINDOW_MS)
            inside += v[end++].silent;
        CHECK(end > i);
        /* Those from here on were still heard when the window began. */
        uint32_t alive = n - i;
        if (v[i].silent && alive >= SILENCE_LEAST && 2 * inside >= alive) return true;
        inside -= v[i].silent;
    }
    return false;
}

bool silence_of_many(const struct world *w)
{
    VEC(struct silence_node) nodes = {0};
    VEC_EACH(n, &w->nodes) {
        if (n->name[0] == '\0' || n->silence_accepted) continue;
        VEC_PUSH(&nodes, ((struct silence_node){n->heard_ms, n->unreachable}));
    }
    bool shared = silence_is_shared(nodes.v, nodes.n);
    VEC_DONE(&nodes);
    return shared;
}

enum silence_verdict silence_judge(const struct world *w, const struct node *n,
                                   const struct session *s, bool many)
{
    CHECK(w->now_ms >= n->heard_ms);
    return silence_decide(&(struct silence_facts){
        .opted_in = s->fence_ms > 0,
        .unreachable = n->unreachable,
        .silent_ms = w->now_ms - n->heard_ms,
        .fence_ms = s->fence_ms,
        .many = many,
        .command = w->fence_command,
        .confirmed = n->fence_confirmed,
    });
}

int64_t silence_end_ms(const struct node *n, const struct session *s)
{
    CHECK(s->fence_ms > 0);
    return n->heard_ms + s->fence_ms;
}

int64_t silence_release_ms(const struct node *n, const struct session *s)
{
    return silence_end_ms(n, s) + FENCE_MARGIN_MS;
}

const struct alloc *silence_unproved(const struct world *w, const struct session *s, uint32_t lost)
{
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (a->ref.attempt != s->attempt || a->node == lost) continue;
        const struct node *n = world_node(w, a->node);
        if (w->now_ms - n->heard_ms < NODE_LOST_MS) return a;
    }
    return NULL;
}
