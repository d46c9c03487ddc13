/* manager/orphan.c - see orphan.h. */
#include "manager/orphan.h"

#include "base/check.h"
#include "manager/api.h"
#include "wire/objects.h"

static bool lists(const struct sync_request *list, struct member_ref ref)
{
    for (uint32_t i = 0; list && i < list->members.n; i++) {
        const struct member_report *r = &list->members.v[i];
        if (r->orphan && member_ref_cmp(r->ref, ref) == 0) return true;
    }
    return false;
}

void orphan_answer(struct manager *m, const char *node, const struct sync_request *list,
                   struct sync_answer *a)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->orphans.ending.n; i++) {
        struct orphan_end *e = &m->orphans.ending.v[i];
        bool here = strcmp(e->node, node) == 0;
        if (here && !lists(list, e->ref)) continue; /* it is gone */
        if (here) VEC_PUSH(&a->orphans_end, e->ref);
        m->orphans.ending.v[kept++] = *e;
    }
    m->orphans.ending.n = kept;
}

void orphans_done(struct manager *m) { VEC_DONE(&m->orphans.ending); }

/* ---- requests */

static void put_ref(struct member_ref ref, char ret[40])
{
    text_fmt(ret, 40, "s%llu.%u.%u", (unsigned long long)ref.session, ref.attempt, ref.member);
}

static bool parse_ref(struct str text, struct member_ref *ret)
{
    struct str session, attempt;
    uint64_t a = 0, k = 0;
    if (!str_cut(&text, '.', &session) || !str_cut(&text, '.', &attempt)) return false;
    if (!session_id_parse(session, &ret->session)) return false;
    if (!str_to_u64(attempt, &a) || a < 1 || a > UINT32_MAX) return false;
    if (!str_to_u64(text, &k) || k >= SESSION_MEMBERS_MAX) return false;
    ret->attempt = (uint32_t)a;
    ret->member = (uint32_t)k;
    return true;
}

static bool is_ending(const struct manager *m, const char *node, struct member_ref ref)
{
    VEC_EACH(e, &m->orphans.ending) {
        if (strcmp(e->node, node) == 0 && member_ref_cmp(e->ref, ref) == 0) return true;
    }
    return false;
}

void api_orphan_list(struct api_call *c)
{
    static const char *const known[] = {"node", NULL};
    struct str node = {NULL, 0};
    struct orphan_list out;
    if (!api_query_only(c, known)) return;
    bool one = http_query(c->req, "node", &node);
    wire_init(&wire_orphan_list, &out);
    for (uint32_t i = 0; i < c->m->beats.peers.n; i++) {
        const struct sync_request *list = beat_list(c->m, i);
        if (!list || (one && !str_eq(node, str_of(list->node)))) continue;
        VEC_EACH(r, &list->members) {
            if (!r->orphan || out.items.n == SYNC_ORPHANS_MAX) continue;
            struct orphan_view *v = VEC_ADD(&out.items);
            wire_init(&wire_orphan_view, v);
            TEXT_CLIP(v->node, str_of(list->node));
            put_ref(r->ref, v->ref);
            TEXT_CLIP(v->phase, str_of(member_phase_name(r->phase)));
            v->ending = is_ending(c->m, list->node, r->ref);
        }
    }
    answer_object(c->m, c->req, 200, &wire_orphan_list, &out);
    wire_free(&wire_orphan_list, &out);
}

void api_orphan_end(struct api_call *c)
{
    static const char *const none[] = {NULL};
    struct orphan_request rq;
    struct member_ref ref;
    struct orphan_end e = {0};
    if (!api_query_only(c, none) || !api_body(c, &wire_orphan_request, &rq)) return;
    const struct sync_request *list = NULL;
    for (uint32_t i = 0; i < c->m->beats.peers.n && !list; i++) {
        const struct sync_request *one = beat_list(c->m, i);
        if (one && str_eq(c->id, str_of(one->node))) list = one;
    }
    if (!parse_ref(str_of(rq.ref), &ref) || !lists(list, ref) || !TEXT_SET(e.node, c->id)) {
        answer_problem(c->m, c->req, 404, "not_found", "ref",
                       "ref: that node lists no orphan \"%s\"", rq.ref);
        return;
    }
    bool full = c->m->orphans.ending.n == SYNC_ORPHANS_MAX;
    if (full) {
        answer_now(c->m, c->req, 503, "unavailable", "", "so many are being ended already");
        return;
    }
    e.ref = ref;
    if (!is_ending(c->m, e.node, ref)) VEC_PUSH(&c->m->orphans.ending, e);
    beat_tell(c->m, c->id);
    struct orphan_view v;
    wire_init(&wire_orphan_view, &v);
    TEXT_CLIP(v.node, str_of(e.node));
    put_ref(ref, v.ref);
    v.ending = true;
    answer_object(c->m, c->req, 200, &wire_orphan_view, &v);
}
