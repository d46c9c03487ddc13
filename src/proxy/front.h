/* proxy/front.h - what people connect to, and the way on to the agents.
 *
 * A request shows a ticket; the proxy checks it with the manager's public key, asks
 * nobody, dials the agent that the ticket names and from then on only passes
 * bytes.  It keeps nothing but what is under way.  docs/spec/proxy.md */
#ifndef PROXY_FRONT_H
#define PROXY_FRONT_H
#include "enrol/identity.h"
#include "net/loop.h"

struct tls_ctx;
struct front;

struct front_opts {
    const char *listen;
    struct tls_ctx *tls;        /* for people; NULL: plain */
    struct tls_ctx *agents;     /* our certificate for dialling agents, any name */
    struct identity identity;
    int64_t dial_ms;            /* 0: 10 s to reach an agent and hear its answer */
};

struct front *front_new(struct net_loop *loop, const struct front_opts *o, struct err *err);
void front_free(struct front *f); /* cuts what is under way; NULL is fine */
struct str front_addr(const struct front *f);
uint32_t front_live(const struct front *f); /* requests being dialled and streams */

#endif
