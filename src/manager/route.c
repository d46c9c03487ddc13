/* manager/route.c - the table of requests, and the way from a path to its handler. */
#include "manager/route.h"
#include "base/check.h"

#define P SIDE_PEOPLE
#define A SIDE_AGENTS

const struct route routes[] = {
    {HTTP_POST, "/api/v1/sessions", P, GATE_TOKEN, OBJECT_SESSION, ACTION_CREATE, true,
     api_session_create, "Submit a session; Idempotency-Key makes a repeat harmless."},
    {HTTP_POST, "/api/v1/sessions/check", P, GATE_TOKEN, OBJECT_SESSION, ACTION_CREATE, true,
     api_session_check, "What would become of such a session now; nothing is submitted."},
    {HTTP_GET, "/api/v1/sessions", P, GATE_TOKEN, OBJECT_SESSION, ACTION_LIST, true,
     api_session_list, "Sessions, newest first: ?state= &owner= &group= &name= &limit= &cursor=."},
    {HTTP_GET, "/api/v1/sessions/{id}", P, GATE_TOKEN, OBJECT_SESSION, ACTION_READ, true,
     api_session_show, "One session; ?wait=placed|running|ended &timeout_ms= waits for it."},
    {HTTP_PATCH, "/api/v1/sessions/{id}", P, GATE_TOKEN, OBJECT_SESSION, ACTION_UPDATE, true,
     api_session_update, "Change what may still change: priority, time limit, hold."},
    {HTTP_DELETE, "/api/v1/sessions/{id}", P, GATE_TOKEN, OBJECT_SESSION, ACTION_STOP, true,
     api_session_stop, "The same as POST .../stop."},
    {HTTP_GET, "/api/v1/sessions/{id}/why", P, GATE_TOKEN, OBJECT_SESSION, ACTION_READ, true,
     api_session_why, "Why it is where it is, with every number."},
    {HTTP_GET, "/api/v1/sessions/{id}/history", P, GATE_TOKEN, OBJECT_SESSION, ACTION_READ, true,
     api_session_history, "What happened to it, oldest first: ?limit= &cursor=."},
    {HTTP_GET, "/api/v1/sessions/{id}/usage", P, GATE_TOKEN, OBJECT_SESSION, ACTION_READ, true,
     api_session_use, "What its containers use, and used in the last quarter of an hour."},
    {HTTP_GET, "/api/v1/usage", P, GATE_TOKEN, OBJECT_SESSION, ACTION_LIST, true, api_use_list,
     "What running sessions use, by number: ?limit= &cursor=."},
    {HTTP_POST, "/api/v1/sessions/{id}/stop", P, GATE_TOKEN, OBJECT_SESSION, ACTION_STOP, true,
     api_session_stop, "End it: SIGTERM, grace, SIGKILL."},
    {HTTP_POST, "/api/v1/sessions/{id}/requeue", P, GATE_TOKEN, OBJECT_SESSION, ACTION_STOP, true,
     api_session_requeue, "Stop it and let it wait again at its place."},
    {HTTP_POST, "/api/v1/sessions/{id}/signal", P, GATE_TOKEN, OBJECT_SESSION, ACTION_SIGNAL, true,
     api_session_signal, "Send a signal to its running containers."},
    {HTTP_POST, "/api/v1/sessions/{id}/tickets", P, GATE_TOKEN, OBJECT_SESSION, ACTION_LOGS, true,
     api_session_ticket, "A short-lived permission to reach into a container by the proxy."},
    {HTTP_GET, "/api/v1/queue", P, GATE_TOKEN, OBJECT_QUEUE, ACTION_LIST, true, api_queue_list,
     "What waits, in scheduling order, with the reason: ?group= &limit= &cursor=."},
    {HTTP_GET, "/api/v1/nodes", P, GATE_TOKEN, OBJECT_NODE, ACTION_LIST, true, api_node_list,
     "Nodes by name."},
    {HTTP_GET, "/api/v1/nodes/{id}", P, GATE_TOKEN, OBJECT_NODE, ACTION_READ, true, api_node_show,
     "One node and who holds its devices."},
    {HTTP_GET, "/api/v1/nodes/{id}/usage", P, GATE_TOKEN, OBJECT_NODE, ACTION_READ, true,
     api_node_use, "What its containers and devices use."},
    {HTTP_POST, "/api/v1/nodes/{id}/cordon", P, GATE_TOKEN, OBJECT_NODE, ACTION_UPDATE, true,
     api_node_cordon, "Place nothing new on it."},
    {HTTP_POST, "/api/v1/nodes/{id}/drain", P, GATE_TOKEN, OBJECT_NODE, ACTION_UPDATE, true,
     api_node_drain, "Let it become empty, by a date if there is one."},
    {HTTP_POST, "/api/v1/nodes/{id}/uncordon", P, GATE_TOKEN, OBJECT_NODE, ACTION_UPDATE, true,
     api_node_uncordon, "Place work on it again."},
    {HTTP_POST, "/api/v1/nodes/{id}/device", P, GATE_TOKEN, OBJECT_NODE, ACTION_UPDATE, true,
     api_node_device, "Return a device, or quarantine it."},
    {HTTP_POST, "/api/v1/nodes/{id}/forget", P, GATE_TOKEN, OBJECT_NODE, ACTION_DELETE, true,
     api_node_forget, "The machine is gone for good: its sessions end as lost."},
    {HTTP_GET, "/api/v1/admin/orphans", P, GATE_TOKEN, OBJECT_CLUSTER, ACTION_ADMIN, true,
     api_orphan_list, "Containers that were made for another store: ?node=."},
    {HTTP_POST, "/api/v1/nodes/{id}/orphans", P, GATE_TOKEN, OBJECT_CLUSTER, ACTION_ADMIN, true,
     api_orphan_end, "End one of them."},
    {HTTP_POST, "/api/v1/admin/silence", P, GATE_TOKEN, OBJECT_CLUSTER, ACTION_ADMIN, true,
     api_silence_accept, "All nodes that are silent now are taken to be down."},
    {HTTP_GET, "/api/v1/groups", P, GATE_TOKEN, OBJECT_GROUP, ACTION_LIST, true, api_group_list,
     "Groups of nodes and their policy."},
    {HTTP_GET, "/api/v1/groups/{id}", P, GATE_TOKEN, OBJECT_GROUP, ACTION_READ, true,
     api_group_show, "One group."},
    {HTTP_PUT, "/api/v1/groups/{id}", P, GATE_TOKEN, OBJECT_GROUP, ACTION_UPDATE, true,
     api_group_put, "Make or change a group; what is absent stays as it is."},
    {HTTP_GET, "/api/v1/reservations", P, GATE_TOKEN, OBJECT_RESERVATION, ACTION_LIST, true,
     api_reservation_list, "Reservations that are not over."},
    {HTTP_POST, "/api/v1/reservations", P, GATE_TOKEN, OBJECT_RESERVATION, ACTION_CREATE, true,
     api_reservation_create, "Keep devices for a user or project in a window of time."},
    {HTTP_GET, "/api/v1/reservations/{id}", P, GATE_TOKEN, OBJECT_RESERVATION, ACTION_READ, true,
     api_reservation_show, "One reservation."},
    {HTTP_DELETE, "/api/v1/reservations/{id}", P, GATE_TOKEN, OBJECT_RESERVATION, ACTION_DELETE,
     true, api_reservation_remove, "Remove it: its devices are everybody's again."},
    {HTTP_GET, "/api/v1/domains", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_LIST, true,
     api_domain_list, "Domains, their limits and what they use."},
    {HTTP_POST, "/api/v1/domains", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_CREATE, true,
     api_domain_create, "Make a domain."},
    {HTTP_GET, "/api/v1/domains/{id}", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_READ, true,
     api_domain_show, "One domain."},
    {HTTP_PATCH, "/api/v1/domains/{id}", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_UPDATE, true,
     api_domain_update, "Change its limits; what is absent stays."},
    {HTTP_GET, "/api/v1/projects", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_LIST, true,
     api_project_list, "Projects, their limits and what they use."},
    {HTTP_POST, "/api/v1/projects", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_CREATE, true,
     api_project_create, "Make a project."},
    {HTTP_GET, "/api/v1/projects/{id}", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_READ, true,
     api_project_show, "One project."},
    {HTTP_PATCH, "/api/v1/projects/{id}", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_UPDATE, true,
     api_project_update, "Change its limits; what is absent stays."},
    {HTTP_GET, "/api/v1/users", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_LIST, true, api_user_list,
     "Users, their limits and what they use."},
    {HTTP_POST, "/api/v1/users", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_CREATE, true,
     api_user_create, "Make a user."},
    {HTTP_GET, "/api/v1/users/{id}", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_READ, true,
     api_user_show, "One user; a member itself alone."},
    {HTTP_PATCH, "/api/v1/users/{id}", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_UPDATE, true,
     api_user_update, "Change role, ids, limits, or disable it; what is absent stays."},
    {HTTP_GET, "/api/v1/users/{id}/tokens", P, GATE_TOKEN, OBJECT_TOKEN, ACTION_LIST, true,
     api_token_list, "A user's tokens, without their secrets."},
    {HTTP_POST, "/api/v1/users/{id}/tokens", P, GATE_TOKEN, OBJECT_TOKEN, ACTION_CREATE, true,
     api_token_create, "Make a token; it is shown in this answer and never again."},
    {HTTP_DELETE, "/api/v1/tokens/{id}", P, GATE_TOKEN, OBJECT_TOKEN, ACTION_DELETE, true,
     api_token_revoke, "Revoke a token at once."},
    {HTTP_GET, "/api/v1/whoami", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_READ, true, api_whoami,
     "Whose token this is."},
    {HTTP_GET, "/api/v1/quota", P, GATE_TOKEN, OBJECT_ACCOUNT, ACTION_READ, true, api_quota,
     "Limits and use at each level: ?user= &project=."},
    {HTTP_GET, "/api/v1/events", P, GATE_TOKEN, OBJECT_EVENT, ACTION_LIST, true, api_event_stream,
     "Server-sent events, resumable by Last-Event-ID: ?session=."},
    {HTTP_POST, "/api/v1/tokens/join", P, GATE_TOKEN, OBJECT_NODE, ACTION_CREATE, true,
     api_join_token, "A token with which one node or proxy may join."},
    {HTTP_GET, "/api/v1/version", P, GATE_TOKEN, OBJECT_CLUSTER, ACTION_READ, false, api_version,
     "Version, protocol, cluster and store incarnation."},
    {HTTP_GET, "/api/v1/admin/dump", P, GATE_TOKEN, OBJECT_CLUSTER, ACTION_ADMIN, true, api_dump,
     "Every stored fact in one canonical text."},
    {HTTP_GET, "/api/v1/admin/snapshot", P, GATE_TOKEN, OBJECT_CLUSTER, ACTION_ADMIN, true,
     api_snapshot, "The world as JSON, for `rota sim queue`: no documents, no secrets."},
    {HTTP_GET, "/metrics", P, GATE_TOKEN, OBJECT_CLUSTER, ACTION_READ, false, api_metrics,
     "Figures in Prometheus' text form."},
    {HTTP_GET, "/healthz", P, GATE_OPEN, OBJECT_CLUSTER, ACTION_READ, false, api_health,
     "The process answers."},
    {HTTP_GET, "/readyz", P, GATE_OPEN, OBJECT_CLUSTER, ACTION_READ, false, api_ready,
     "The world is loaded and the store takes turns."},
    {HTTP_POST, "/agent/v1/join", A, GATE_JOIN, OBJECT_NODE, ACTION_CREATE, true, api_agent_join,
     "A node or proxy shows a join token and gets its certificate."},
    {HTTP_POST, "/agent/v1/renew", A, GATE_NODE, OBJECT_NODE, ACTION_CREATE, false,
     api_agent_renew, "A node or proxy gets another certificate before its own ends."},
    {HTTP_POST, "/agent/v1/sync", A, GATE_NODE, OBJECT_NODE, ACTION_UPDATE, true, api_agent_sync,
     "A node says all that is and hears all that is wanted."},
    {HTTP_GET, "/healthz", A, GATE_OPEN, OBJECT_CLUSTER, ACTION_READ, false, api_health,
     "The process answers."},
};
const uint32_t n_routes = ARRAY_LEN(routes);

#undef P
#undef A

/* Both begin with '/'.  One segment of the pattern may be "{id}": any text but an empty one. */
static bool path_matches(struct str pattern, struct str path, struct str *ret_id)
{
    while (pattern.n > 0) {
        if (pattern.p[0] == '{') {
            struct str id = path;
            for (id.n = 0; id.n < path.n && path.p[id.n] != '/'; id.n++) {}
            if (id.n == 0) return false;
            *ret_id = id;
            path = str_n(path.p + id.n, path.n - id.n);
            struct str name;
            bool more = str_cut(&pattern, '}', &name);
            CHECK(more);
            continue;
        }
        if (path.n == 0 || path.p[0] != pattern.p[0]) return false;
        path = str_n(path.p + 1, path.n - 1);
        pattern = str_n(pattern.p + 1, pattern.n - 1);
    }
    return path.n == 0;
}

const struct route *route_find(enum route_side side, enum http_method method, struct str path,
                               struct str *ret_id, char ret_allowed[64])
{
    if (method == HTTP_HEAD) method = HTTP_GET;
    ret_allowed[0] = '\0';
    for (uint32_t i = 0; i < n_routes; i++) {
        const struct route *r = &routes[i];
        struct str id = {NULL, 0};
        if (r->side != side || !path_matches(str_of(r->pattern), path, &id)) continue;
        if (r->method == method) {
            *ret_id = id;
            return r;
        }
        size_t n = strlen(ret_allowed);
        text_fmt(ret_allowed + n, 64 - n, "%s%s", n ? ", " : "", http_method_name(r->method));
    }
    return NULL;
}

static void refuse_unknown(struct manager *m, struct http_req *req, const char *allowed)
{
    if (allowed[0] == '\0') {
        answer_now(m, req, 404, "not_found", "", "there is no such address in this API");
        return;
    }
    http_reply_header(req, "Allow", str_of(allowed));
    answer_now(m, req, 405, "invalid", "", "this address does not take that method");
}

static bool refuse_loading(struct manager *m, struct http_req *req)
{
    http_reply_header(req, "Retry-After", STR("1"));
    answer_now(m, req, 503, "unavailable", "", "the manager is loading its state: ask again");
    return false;
}

/* False: it has been answered. */
static bool pass_token(struct api_call *c)
{
    struct manager *m = c->m;
    struct world *w = turns_world(m->turns);
    if (!w && m->auth.tokens.n == 0) return refuse_loading(m, c->req);
    c->user = auth_user(&m->auth, http_header(c->req, "Authorization"), net_wall_ms());
    const struct user *u = w && c->user ? world_user(w, c->user) : NULL;
    if (c->user == 0 || (u && u->disabled)) {
        http_reply_header(c->req, "WWW-Authenticate", STR("Bearer"));
        answer_now(m, c->req, 401, "unauthorized", "",
                   "a valid token is needed: Authorization: Bearer TOKEN");
        return false;
    }
    if (!w) return true; /* what does not need the world says nothing about objects */
    if (u && access_allows(u->role, c->route->kind, c->route->action)) return true;
    char text[128];
    text_fmt(text, sizeof(text), "only administrators may do this (permission: %s %s)",
             action_name(c->route->action), object_kind_name(c->route->kind));
    answer_now(m, c->req, 403, "denied", "", text);
    return false;
}

static void dispatch(struct manager *m, struct http_req *req, enum route_side side)
{
    char allowed[64];
    struct api_call c = {.m = m, .req = req};
    c.route = route_find(side, req->method, req->path, &c.id, allowed);
    if (!c.route) {
        refuse_unknown(m, req, allowed);
        return;
    }
    if (c.route->gate == GATE_TOKEN && !pass_token(&c)) return;
    if (c.route->gate == GATE_NODE && req->tls_cn.n == 0) {
        answer_now(m, req, 401, "unauthorized", "",
                   "a client certificate of this cluster is needed");
        return;
    }
    if (c.route->world && !turns_world(m->turns)) {
        refuse_loading(m, req);
        return;
    }
    c.route->handler(&c);
}

size_t route_people_limit(void *manager, const struct http_req *req)
{
    const struct manager *m = manager;
    if (m->auth.tokens.n == 0) return SIZE_MAX; /* loading: nobody is known yet */
    struct str token = http_header(req, "Authorization");
    bool known = auth_user(&m->auth, token, net_wall_ms()) != 0;
    return known ? SIZE_MAX : ROUTE_STRANGER_BODY_MAX;
}

size_t route_agents_limit(void *manager, const struct http_req *req)
{
    (void)manager;
    return req->tls_cn.n > 0 ? SIZE_MAX : ROUTE_STRANGER_BODY_MAX; /* joining needs no more */
}

void route_people(void *manager, struct http_req *req) { dispatch(manager, req, SIDE_PEOPLE); }
void route_agents(void *manager, struct http_req *req) { dispatch(manager, req, SIDE_AGENTS); }
