/* manager/api_session.c - naming, listing and showing sessions. */
#include "manager/api_session.h"
#include <stdlib.h>
#include "base/check.h"
#include "manager/view.h"

/* ---- which session ---- */

bool session_ref_of(struct api_call *c, struct session_ref *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->user = c->user;
    if (session_id_parse(c->id, &ret->id)) return true;
    if (str_is_name(c->id, SESSION_NAME_MAX) && TEXT_SET(ret->name, c->id)) return true;
    answer_now(c->m, c->req, 404, "not_found", "", "expected the id or the name of a session");
    return false;
}

/* What somebody may not read is not there for them. */
static bool readable(const struct manager *m, const struct session_ref *ref,
                     const struct session *s)
{
    const struct user *u = world_user(turns_world(m->turns), ref->user);
    return u && access_to(u, OBJECT_SESSION, ACTION_READ, s->user);
}

struct session *session_ref_live(const struct manager *m, const struct session_ref *ref)
{
    const struct world *w = turns_world(m->turns);
    struct session *s = ref->id ? world_session(w, ref->id)
                                : world_session_named(w, ref->user, str_of(ref->name));
    return s && readable(m, ref, s) ? s : NULL;
}

int session_ref_stored(const struct manager *m, const struct session_ref *ref,
                       struct session_row *ret, struct err *err)
{
    struct session_row s;
    int rc = ref->id ? store_read_session(m->reader, ref->id, &s, err)
                     : store_read_session_named(m->reader, ref->user, str_of(ref->name), &s, err);
    bool hidden = rc == 0 && !readable(m, ref, &s.session);
    if (hidden) rc = err_set(err, ERR_NOT_FOUND, "no such session");
    if (rc == 0) *ret = s;
    return rc;
}

void session_ref_unknown(struct manager *m, struct http_req *req, const struct session_ref *ref)
{
    char id[24] = "";
    if (ref->id) session_id_format(ref->id, id);
    answer_problem(m, req, 404, "not_found", "", "there is no session \"%s\"%s",
                   ref->id ? id : ref->name,
                   ref->id ? "" : " of yours (those of others go by their id)");
}

/* ---- showing ---- */

static void answer_view(struct manager *m, struct http_req *req, int status,
                        struct session_view *v)
{
    answer_object(m, req, status ? status : 200, &wire_session_view, v);
    wire_free(&wire_session_view, v);
}

static void show_now(struct manager *m, struct http_req *req, void *arg)
{
    const struct session_ref *ref = arg;
    struct session_view v;
    const struct session *live = session_ref_live(m, ref);
    if (live) {
        view_live(m, live, &v);
        view_add_spec(m, session_document(live), &v);
        answer_view(m, req, ref->status, &v);
        return;
    }
    struct session_row stored;
    struct err err = {0};
    int rc = session_ref_stored(m, ref, &stored, &err);
    if (rc == 0) rc = view_stored(m, &stored, &v, &err);
    if (rc == ERR_NOT_FOUND) {
        session_ref_unknown(m, req, ref);
    } else if (rc != 0) {
        answer_err(m, req, &err);
    } else {
        view_add_spec(m, session_document(&stored.session), &v);
        answer_view(m, req, ref->status, &v);
    }
}

void session_show_later(struct manager *m, struct http_req *req, const struct session_ref *ref)
{
    struct session_ref *own = mem_alloc(sizeof(*own));
    *own = *ref;
    api_after(m, req, show_now, own, mem_free);
}

void api_session_show(struct api_call *c)
{
    static const char *const known[] = {"wait", "timeout_ms", NULL};
    struct session_ref ref;
    int64_t timeout_ms = 30000;
    if (!api_query_only(c, known) || !session_ref_of(c, &ref)) return;
    if (!api_number(c, "timeout_ms", 0, API_WAIT_MAX_MS, &timeout_ms)) return;
    struct str wait;
    enum watch_for what;
    if (http_query(c->req, "wait", &wait)) {
        if (!watch_parse(wait, &what)) {
            answer_now(c->m, c->req, 400, "invalid", "wait",
                       "wait: expected placed, running or ended");
            return;
        }
        const struct session *s = session_ref_live(c->m, &ref);
        if (s && !watch_reached(what, s)) {
            watch_add(c->m, c->req, s, c->user, what, timeout_ms);
            return;
        }
    }
    session_show_later(c->m, c->req, &ref);
}

/* ---- listing ---- */

struct list_query {
    struct store_filter filter;
    char name[SESSION_NAME_MAX + 1];
};

static bool list_name(struct api_call *c, const char *param, struct str *ret)
{
    if (!http_query(c->req, param, ret) || ret->n == 0) {
        *ret = (struct str){NULL, 0};
        return true;
    }
    if (str_is_name(*ret, SESSION_NAME_MAX)) return true;
    answer_now(c->m, c->req, 400, "invalid", param, "expected a name");
    return false;
}

static bool list_refs(struct api_call *c, struct list_query *q)
{
    const struct world *w = turns_world(c->m->turns);
    struct str owner, group, name;
    if (!list_name(c, "owner", &owner) || !list_name(c, "group", &group) ||
        !list_name(c, "name", &name))
        return false;
    const struct user *u = owner.n ? world_user_named(w, owner) : NULL;
    const struct user *asks = world_user(w, c->user);
    bool own = access_of(asks->role, OBJECT_SESSION, ACTION_LIST) == ACCESS_OWN;
    if (own && !owner.n) u = asks;
    if (own && u != asks) u = NULL; /* others are not there */
    const struct group *g = group.n ? world_group_named(w, group) : NULL;
    if ((owner.n && !u) || (group.n && !g)) {
        bool is_owner = owner.n && !u;
        answer_problem(c->m, c->req, 400, "invalid", is_owner ? "owner" : "group",
                       is_owner ? "owner: there is no such user" : "group: there is no such group");
        return false;
    }
    q->filter.user = u ? u->id : 0;
    q->filter.group = g ? g->id : 0;
    bool fits = TEXT_SET(q->name, name);
    CHECK(fits);
    return true;
}

static bool list_query_of(struct api_call *c, struct list_query *q)
{
    static const char *const known[] = {"state", "owner", "group", "name", "limit", "cursor", NULL};
    memset(q, 0, sizeof(*q));
    if (!api_query_only(c, known) || !api_limit(c, &q->filter.limit)) return false;
    int64_t before = 0;
    if (!api_number(c, "cursor", 1, INT64_MAX, &before)) return false;
    q->filter.before = (uint64_t)before;
    struct str state = STR("live");
    http_query(c->req, "state", &state);
    if (str_eq(state, STR("live"))) q->filter.which = STORE_LIVE;
    else if (str_eq(state, STR("ended"))) q->filter.which = STORE_ENDED;
    else if (str_eq(state, STR("all"))) q->filter.which = STORE_ALL;
    else {
        answer_now(c->m, c->req, 400, "invalid", "state", "state: expected live, ended or all");
        return false;
    }
    return list_refs(c, q);
}

static int newest_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static bool passes(const struct session *s, const struct list_query *q)
{
    return s->state && (!q->filter.before || s->id < q->filter.before) &&
           (!q->filter.user || s->user == q->filter.user) &&
           (!q->filter.group || s->group == q->filter.group) &&
           (!q->name[0] || strcmp(s->name, q->name) == 0);
}

static void list_live(struct manager *m, const struct list_query *q, struct session_list *out)
{
    const struct world *w = turns_world(m->turns);
    VEC(uint64_t) ids = {0};
    VEC_EACH(s, &w->sessions)
        if (passes(s, q)) VEC_PUSH(&ids, s->id);
    if (ids.n > 1) qsort(ids.v, ids.n, sizeof(ids.v[0]), newest_first);
    for (uint32_t i = 0; i < ids.n && i < q->filter.limit; i++)
        view_live(m, world_session(w, ids.v[i]), VEC_ADD(&out->items));
    if (ids.n > q->filter.limit)
        text_fmt(out->next, sizeof(out->next), "%llu",
                 (unsigned long long)ids.v[q->filter.limit - 1]);
    VEC_DONE(&ids);
}

static int list_stored(struct manager *m, const struct list_query *q, struct session_list *out,
                       struct err *err)
{
    struct store_sessions rows = {0};
    struct store_filter f = q->filter;
    f.name = str_of(q->name);
    int rc = store_read_sessions(m->reader, &f, &rows, err);
    for (uint32_t i = 0; rc == 0 && i < rows.v.n; i++) {
        const struct session *live = world_session(turns_world(m->turns), rows.v.v[i].session.id);
        struct session_view v;
        if (live) view_live(m, live, &v);
        else rc = view_stored(m, &rows.v.v[i], &v, err);
        if (rc == 0) VEC_PUSH(&out->items, v);
    }
    if (rc == 0 && rows.next)
        text_fmt(out->next, sizeof(out->next), "%llu", (unsigned long long)rows.next);
    VEC_DONE(&rows.v);
    return rc;
}

static void list_now(struct manager *m, struct http_req *req, void *arg)
{
    const struct list_query *q = arg;
    struct session_list list;
    struct err err = {0};
    wire_init(&wire_session_list, &list);
    int rc = 0;
    if (q->filter.which == STORE_LIVE) list_live(m, q, &list);
    else rc = list_stored(m, q, &list, &err);
    if (rc == 0) answer_object(m, req, 200, &wire_session_list, &list);
    else answer_err(m, req, &err);
    wire_free(&wire_session_list, &list);
}

void api_session_list(struct api_call *c)
{
    struct list_query q;
    if (!list_query_of(c, &q)) return;
    struct list_query *own = mem_alloc(sizeof(*own));
    *own = q;
    api_after(c->m, c->req, list_now, own, mem_free);
}
