/* manager/use.c - see use.h. */
#include "manager/use.h"
#include "base/check.h"
#include "base/mem.h"

static void entry_free(struct use_entry *e)
{
    mem_free(e->ring.v);
    mem_free(e);
}

static bool find(const struct use_node *u, struct member_ref ref, uint32_t *ret_at)
{
    uint32_t lo = 0, hi = u->entries.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = member_ref_cmp(u->entries.v[mid]->row.ref, ref);
        if (c == 0) {
            *ret_at = mid;
            return true;
        }
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    *ret_at = lo;
    return false;
}

const struct use_entry *use_find(const struct use_node *u, struct member_ref ref)
{
    uint32_t at;
    return find(u, ref, &at) ? u->entries.v[at] : NULL;
}

static bool is_listed(const struct member_report *v, uint32_t n, struct member_ref ref)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (member_ref_cmp(v[mid].ref, ref) < 0) lo = mid + 1;
        else hi = mid;
    }
    return lo < n && member_ref_cmp(v[lo].ref, ref) == 0;
}

/* The array doubles until it is as long as it may be: most containers are young. */
static void put_point(struct meter_ring *r, struct meter_point p)
{
    if (r->n == r->cap && r->cap < USE_POINTS) {
        uint32_t cap = r->cap ? r->cap * 2 : 8;
        if (cap > USE_POINTS) cap = USE_POINTS;
        CHECK(r->next == 0); /* full, and never wrapped before */
        r->v = mem_resize(r->v, cap, sizeof(*r->v));
        r->next = r->n;
        r->cap = cap;
    }
    meter_put(r, p);
}

static struct use_entry *entry_of(struct use_node *u, struct member_ref ref)
{
    uint32_t at;
    if (find(u, ref, &at)) return u->entries.v[at];
    struct use_entry *e = mem_alloc(sizeof(*e));
    e->row.ref = ref;
    VEC_INSERT(&u->entries, at, e);
    return e;
}

void use_take(struct use_node *u, const struct sync_request *rq,
              const struct member_report *members, uint32_t n_members, int64_t now_ms)
{
    uint32_t kept = 0;
    VEC_EACH(row, &rq->used)
        if (is_listed(members, n_members, row->ref)) entry_of(u, row->ref)->row = *row;
    VEC_EACH(at, &u->entries) {
        struct use_entry *e = *at;
        if (!is_listed(members, n_members, e->row.ref)) {
            entry_free(e);
            continue;
        }
        e->heard_ms = now_ms;
        put_point(&e->ring,
                  (struct meter_point){rq->used_ms, e->row.m.cpu_us, e->row.m.mem_bytes});
        u->entries.v[kept++] = e;
    }
    u->entries.n = kept;
    u->used_ms = rq->used_ms;
    u->heard_ms = now_ms;
    u->n_devices = 0;
    VEC_EACH(d, &rq->used_devices) u->devices[u->n_devices++] = *d;
}

void use_done(struct use_node *u)
{
    VEC_EACH(e, &u->entries) entry_free(*e);
    VEC_DONE(&u->entries);
}

/* The node's clock now, as far as we can tell: what it last said and the time since. */
static struct meter_window window(const struct use_node *u, int64_t window_ms, int64_t now_ms)
{
    int64_t since = now_ms > u->heard_ms ? now_ms - u->heard_ms : 0;
    return (struct meter_window){u->used_ms + since, window_ms, USE_GAP_MS};
}

struct reading use_cpu_milli(const struct use_node *u, const struct use_entry *e,
                             int64_t window_ms, int64_t now_ms)
{
    return meter_cpu_milli(&e->ring, window(u, window_ms, now_ms));
}

enum fact use_idle(const struct use_node *u, const struct use_entry *e, int64_t window_ms,
                   int64_t milli, int64_t now_ms)
{
    return meter_idle(&e->ring, window(u, window_ms, now_ms), milli);
}
