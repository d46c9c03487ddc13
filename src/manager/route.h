/* manager/route.h - every request that is understood, and who may make it.
 *
 * The one table drives dispatch, 404 and 405, and access: a request that is not
 * in it does not exist, and none can be added without naming its object kind and
 * action. */
#ifndef MANAGER_ROUTE_H
#define MANAGER_ROUTE_H
#include "core/access.h"
#include "manager/api.h"
#include "net/http_parse.h"

enum route_side { SIDE_PEOPLE = 1, SIDE_AGENTS };
enum route_gate {
    GATE_OPEN = 1, /* anybody: says nothing about anybody */
    GATE_TOKEN,    /* a bearer token whose role allows (kind, action) */
    GATE_JOIN,     /* carries its own proof in the body */
    GATE_NODE,     /* a client certificate of ours */
};

struct route {
    enum http_method method;
    const char *pattern; /* "/api/v1/sessions/{id}/why" */
    enum route_side side;
    enum route_gate gate;
    enum object_kind kind;
    enum action action;
    bool world;          /* needs the world: 503 while it is being loaded */
    void (*handler)(struct api_call *c);
    const char *doc;
};

extern const struct route routes[];
extern const uint32_t n_routes;

/* NULL: none; *ret_allowed then lists the methods of the path ("GET, POST"), "" when there is no
 * such path.  *ret_id is the path's {...} segment. */
const struct route *route_find(enum route_side side, enum http_method method, struct str path,
                               struct str *ret_id, char ret_allowed[64]);
/* How large a body is read before its sender has shown who it is. */
#define ROUTE_STRANGER_BODY_MAX ((size_t)64 << 10)
size_t route_people_limit(void *manager, const struct http_req *req);
size_t route_agents_limit(void *manager, const struct http_req *req);

void route_people(void *manager, struct http_req *req);
void route_agents(void *manager, struct http_req *req);

#endif
