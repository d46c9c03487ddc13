/* manager/api_account.c - domains, projects and users: listing, making, changing.
 *
 * POST makes, PATCH changes; what is absent stays.  A member sees its own account
 * and the projects and domain that it belongs to; any other is not there. */
#include "base/check.h"
#include "manager/api.h"
#include "manager/view.h"


static const struct user *caller(const struct api_call *c)
{
    const struct user *u = world_user(turns_world(c->m->turns), c->user);
    CHECK(u != NULL); /* the route has let it in */
    return u;
}

static bool no_query(struct api_call *c)
{
    static const char *const none[] = {NULL};
    return api_query_only(c, none);
}

static void unknown(struct api_call *c, const char *what)
{
    char said[64];
    text_clip(said, sizeof(said), str_is_utf8(c->id) ? c->id : STR("?"));
    answer_problem(c->m, c->req, 404, "not_found", "", "there is no %s \"%s\"", what, said);
}

/* A name may only be said where the object is made. */
static bool name_fine(struct api_call *c, const char *name, const char *domain, bool made)
{
    if (made && name[0] == '\0') {
        answer_now(c->m, c->req, 400, "invalid", "name", "name: is required");
        return false;
    }
    if (made || (name[0] == '\0' && domain[0] == '\0')) return true;
    answer_now(c->m, c->req, 400, "invalid", name[0] ? "name" : "domain",
               "a name and a domain cannot be changed");
    return false;
}

/* 0: it has been answered. */
static uint32_t domain_of(struct api_call *c, const char *name)
{
    const struct domain *d = world_domain_named(turns_world(c->m->turns),
                                                name[0] ? str_of(name) : STR("default"));
    if (d) return d->id;
    answer_problem(c->m, c->req, 400, "invalid", "domain", "domain: there is no such domain");
    return 0;
}

/* The number of what was put; 0: it was refused, and that has been answered. */
static uint32_t put(struct api_call *c, struct event *ev)
{
    ev->actor = c->user;
    const struct effects *e = turns_step(c->m->turns, ev);
    if (e->verdict == VERDICT_OK) return e->account;
    answer_verdict(c->m, c->req, e);
    return 0;
}

/* Lists are whole; the bound of the world is the bound of the answer. */
#define LIST(noun, vec, visible) \
    do { \
        const struct world *w = turns_world(c->m->turns); \
        struct noun##_list list; \
        if (!no_query(c)) return; \
        wire_init(&wire_##noun##_list, &list); \
        VEC_EACH(item, vec) if (visible) view_##noun(w, item, VEC_ADD(&list.items)); \
        answer_object(c->m, c->req, 200, &wire_##noun##_list, &list); \
        wire_free(&wire_##noun##_list, &list); \
    } while (0)

#define SHOW(noun, status, item) \
    do { \
        struct noun##_view v; \
        view_##noun(turns_world(c->m->turns), (item), &v); \
        answer_object(c->m, c->req, (status), &wire_##noun##_view, &v); \
        wire_free(&wire_##noun##_view, &v); \
    } while (0)

/* ---- domains ---- */

static bool reads_domain(const struct api_call *c, uint32_t domain)
{
    return view_may_read_in(turns_world(c->m->turns), c->user, domain);
}

static struct domain *find_domain(struct api_call *c)
{
    struct domain *d = world_domain_named(turns_world(c->m->turns), c->id);
    if (d && reads_domain(c, d->id)) return d;
    unknown(c, "domain");
    return NULL;
}

void api_domain_list(struct api_call *c) { LIST(domain, &w->domains, true); }

void api_domain_show(struct api_call *c)
{
    const struct domain *d = no_query(c) ? find_domain(c) : NULL;
    if (d) SHOW(domain, 200, d);
}

static void put_domain(struct api_call *c, const struct domain *have)
{
    struct account_request rq;
    if (!no_query(c) || !api_body(c, &wire_domain_request, &rq) || !api_accepting(c)) return;
    if (!name_fine(c, rq.name, "", !have)) return;
    struct event ev = {.kind = EVENT_DOMAIN_PUT};
    if (have) ev.u.domain = *have;
    else TEXT_CLIP(ev.u.domain.name, str_of(rq.name));
    limits_merge(&rq.limits, &ev.u.domain.limits);
    uint32_t id = put(c, &ev);
    if (id) SHOW(domain, have ? 200 : 201, world_domain(turns_world(c->m->turns), id));
}

void api_domain_create(struct api_call *c) { put_domain(c, NULL); }

void api_domain_update(struct api_call *c)
{
    const struct domain *have = find_domain(c);
    if (have) put_domain(c, have);
}

/* ---- projects ---- */

static struct project *find_project(struct api_call *c)
{
    struct project *p = world_project_named(turns_world(c->m->turns), c->id);
    if (p && reads_domain(c, p->domain)) return p;
    unknown(c, "project");
    return NULL;
}

void api_project_list(struct api_call *c) { LIST(project, &w->projects, true); }

void api_project_show(struct api_call *c)
{
    const struct project *p = no_query(c) ? find_project(c) : NULL;
    if (p) SHOW(project, 200, p);
}

static void put_project(struct api_call *c, const struct project *have)
{
    struct account_request rq;
    if (!no_query(c) || !api_body(c, &wire_project_request, &rq) || !api_accepting(c)) return;
    if (!name_fine(c, rq.name, rq.domain, !have)) return;
    struct event ev = {.kind = EVENT_PROJECT_PUT};
    if (have) ev.u.project = *have;
    else {
        TEXT_CLIP(ev.u.project.name, str_of(rq.name));
        ev.u.project.domain = domain_of(c, rq.domain);
        if (ev.u.project.domain == 0) return;
    }
    limits_merge(&rq.limits, &ev.u.project.limits);
    uint32_t id = put(c, &ev);
    if (id) SHOW(project, have ? 200 : 201, world_project(turns_world(c->m->turns), id));
}

void api_project_create(struct api_call *c) { put_project(c, NULL); }

void api_project_update(struct api_call *c)
{
    const struct project *have = find_project(c);
    if (have) put_project(c, have);
}

/* ---- users ---- */

static struct user *find_user(struct api_call *c)
{
    struct user *u = world_user_named(turns_world(c->m->turns), c->id);
    if (u && access_to(caller(c), OBJECT_ACCOUNT, ACTION_READ, u->id)) return u;
    unknown(c, "user");
    return NULL;
}

void api_user_list(struct api_call *c) { LIST(user, &w->users, true); }

void api_user_show(struct api_call *c)
{
    const struct user *u = no_query(c) ? find_user(c) : NULL;
    if (u) SHOW(user, 200, u);
}

static void put_user(struct api_call *c, const struct user *have)
{
    struct user_request rq;
    if (!no_query(c) || !api_body(c, &wire_user_request, &rq) || !api_accepting(c)) return;
    if (!name_fine(c, rq.name, rq.domain, !have)) return;
    struct event ev = {.kind = EVENT_USER_PUT};
    struct user *u = &ev.u.user;
    if (have) *u = *have;
    else {
        *u = (struct user){.role = ROLE_MEMBER};
        TEXT_CLIP(u->name, str_of(rq.name));
        u->domain = domain_of(c, rq.domain);
        if (u->domain == 0) return;
    }
    if (rq.role != ROLE_NONE) u->role = rq.role;
    if (rq.uid) u->uid = rq.uid;
    if (rq.gid) u->gid = rq.gid;
    if (rq.disabled != CHOICE_DEFAULT) u->disabled = rq.disabled == CHOICE_YES;
    limits_merge(&rq.limits, &u->limits);
    uint32_t id = put(c, &ev);
    if (id) SHOW(user, have ? 200 : 201, world_user(turns_world(c->m->turns), id));
}

void api_user_create(struct api_call *c) { put_user(c, NULL); }

void api_user_update(struct api_call *c)
{
    const struct user *have = find_user(c);
    if (have) put_user(c, have);
}

/* ---- who asks, and what is left ---- */

void api_whoami(struct api_call *c)
{
    const struct world *w = turns_world(c->m->turns);
    const struct user *u = caller(c);
    const struct store_token *t =
        auth_token(&c->m->auth, http_header(c->req, "Authorization"), net_wall_ms());
    struct whoami_view v;
    if (!no_query(c)) return;
    wire_init(&wire_whoami_view, &v);
    TEXT_CLIP(v.user, str_of(u->name));
    TEXT_CLIP(v.domain, str_of(world_domain(w, u->domain)->name));
    v.role = u->role;
    v.uid = u->uid;
    v.gid = u->gid;
    VEC_EACH(p, &w->projects)
        if (p->domain == u->domain) wire_texts_add(&v.projects, str_of(p->name));
    if (t) {
        auth_token_id(t, v.token);
        TEXT_CLIP(v.token_name, str_of(t->name));
        wire_time_format(t->expires_wall_ms, v.expires_at);
    }
    answer_object(c->m, c->req, 200, &wire_whoami_view, &v);
    wire_free(&wire_whoami_view, &v);
}

static void put_level(struct quota_list *list, const char *level, const char *name,
                      const struct limits *limits, const struct usage *used)
{
    struct quota_view *v = VEC_ADD(&list->items);
    wire_init(&wire_quota_view, v);
    TEXT_CLIP(v->level, str_of(level));
    TEXT_CLIP(v->name, str_of(name));
    limits_show(limits, &v->limits);
    view_usage(used, &v->used);
}

/* Whose quota; NULL: it has been answered. */
static const struct user *quota_user(struct api_call *c)
{
    struct str name;
    if (!http_query(c->req, "user", &name)) return caller(c);
    const struct user *u = world_user_named(turns_world(c->m->turns), name);
    if (u && access_to(caller(c), OBJECT_ACCOUNT, ACTION_READ, u->id)) return u;
    answer_problem(c->m, c->req, 400, "invalid", "user", "user: there is no such user");
    return NULL;
}

void api_quota(struct api_call *c)
{
    static const char *const known[] = {"user", "project", NULL};
    const struct world *w = turns_world(c->m->turns);
    if (!api_query_only(c, known)) return;
    const struct user *u = quota_user(c);
    struct str name;
    const struct project *only = NULL;
    if (!u) return;
    if (http_query(c->req, "project", &name)) {
        only = world_project_named(w, name);
        if (!only || only->domain != u->domain) {
            answer_problem(c->m, c->req, 400, "invalid", "project",
                           "project: there is no such project");
            return;
        }
    }
    struct quota_list list;
    wire_init(&wire_quota_list, &list);
    put_level(&list, "user", u->name, &u->limits, &u->usage);
    VEC_EACH(p, &w->projects) {
        if (p->domain != u->domain || (only && p != only)) continue;
        put_level(&list, "project", p->name, &p->limits, &p->usage);
    }
    const struct domain *d = world_domain(w, u->domain);
    put_level(&list, "domain", d->name, &d->limits, &d->usage);
    answer_object(c->m, c->req, 200, &wire_quota_list, &list);
    wire_free(&wire_quota_list, &list);
}
