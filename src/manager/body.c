/* manager/body.c - bodies: the submission, its owner's ids, its place. */
#include "manager/body.h"
#include <stdlib.h>
#include "base/check.h"
#include "manager/manager.h"
#include "net/addr.h"
#include "wire/sync.h"

static bool listed(const struct sync_request *rq, uint64_t session, uint32_t attempt)
{
    uint32_t lo = 0, hi = rq->members.n; /* sorted by (session, attempt, member) */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        struct member_ref r = rq->members.v[mid].ref;
        if (r.session < session || (r.session == session && r.attempt < attempt)) lo = mid + 1;
        else hi = mid;
    }
    return lo < rq->members.n && rq->members.v[lo].ref.session == session &&
           rq->members.v[lo].ref.attempt == attempt;
}

static int by_session(const void *a, const void *b)
{
    const struct sync_need *x = a, *y = b;
    return (x->session > y->session) - (x->session < y->session);
}

static bool needed(const struct sync_request *rq, uint64_t session)
{
    struct sync_need key = {session};
    if (rq->need.n == 0) return false;
    return bsearch(&key, rq->need.v, rq->need.n, sizeof(key), by_session) != NULL;
}

/* The document, the caller's; NULL when it cannot be had now. */
static char *document(struct manager *m, uint64_t session)
{
    struct str doc = doc_cache_get(&m->docs, session);
    if (doc.p) return mem_strndup(doc.p, doc.n);
    char *text = NULL;
    if (store_read_doc(m->reader, session, &text, NULL) != 0) return NULL;
    doc_cache_put(&m->docs, session, str_of(text));
    return text;
}

static int by_member(const void *a, const void *b)
{
    const struct sync_peer *x = a, *y = b;
    return (x->member > y->member) - (x->member < y->member);
}

/* Where its node is reached by the others: as it says, or where its data port is. */
static void put_addr(const struct node *n, struct sync_peer *p)
{
    struct net_addr a;
    if (n->net_addr[0]) TEXT_CLIP(p->addr, str_of(n->net_addr));
    else if (net_addr_parse(str_of(n->data_addr), 0, &a, NULL) == 0 && a.kind == NET_ADDR_IP &&
             strlen(a.host) < sizeof(p->addr))
        TEXT_CLIP(p->addr, str_of(a.host));
}

static void add_places(const struct world *w, const struct session *s, struct sync_body *b)
{
    for (const struct alloc *a = world_allocs_of_session(w, s); a;
         a = world_next_of_session(w, a)) {
        if (a->ref.attempt != s->attempt) continue;
        const struct node *n = world_node(w, a->node);
        CHECK(n != NULL);
        struct sync_peer *p = VEC_ADD(&b->peers);
        p->member = a->ref.member;
        TEXT_CLIP(p->node, str_of(n->name));
        put_addr(n, p);
        if (a->devices)
            VEC_PUSH(&b->devices, ((struct sync_device_mask){a->ref.member, a->devices}));
    }
    if (b->peers.n > 1) qsort(b->peers.v, b->peers.n, sizeof(b->peers.v[0]), by_member);
}

static void add_one(const struct world *w, const struct session *s, char *spec,
                    struct sync_answer *a)
{
    struct sync_body *b = VEC_ADD(&a->bodies);
    const struct user *u = world_user(w, s->user);
    CHECK(u != NULL);
    b->session = s->id;
    b->attempt = s->attempt;
    b->spec = spec;
    TEXT_CLIP(b->owner, str_of(u->name));
    b->uid = u->uid;
    b->gid = u->gid;
    b->time_limit_ms = s->time_limit_ms > 0 ? s->time_limit_ms : 0;
    b->grace_ms = s->grace_ms;
    b->fence_ms = s->fence_ms;
    b->array = s->array;
    b->array_index = s->array_index;
    b->array_count = s->array_count;
    b->restarts = s->restarts;
    add_places(w, s, b);
}

void body_add(struct manager *m, struct sync_request *rq, const struct sync_request *list,
              struct sync_answer *a)
{
    if (rq->need.n > 1) qsort(rq->need.v, rq->need.n, sizeof(rq->need.v[0]), by_session);
    const struct world *w = turns_world(m->turns);
    size_t bytes = 0;
    uint64_t last = 0; /* wishes are sorted: members of one session stand together */
    VEC_EACH(want, &a->wants) {
        uint64_t id = want->ref.session;
        if (want->act == WANT_STOP || id == last) continue;
        if (listed(list, id, want->ref.attempt) && !needed(rq, id)) continue;
        const struct session *s = world_session(w, id);
        if (!s || s->attempt != want->ref.attempt) continue;
        last = id;
        char *spec = document(m, session_document(s));
        if (!spec) continue;
        bytes += strlen(spec);
        if (bytes > BEAT_BODIES_BYTES && a->bodies.n > 0) {
            mem_free(spec);
            return;
        }
        add_one(w, s, spec, a);
    }
}
