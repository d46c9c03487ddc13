/* agent/metrics.h - what this agent and its containers do, for Prometheus.
 *
 * GET /metrics in the clear, on loopback alone: it names sessions to whoever may
 * connect to this machine's loopback.  docs/spec/node.md, "Utilisation" */
#ifndef AGENT_METRICS_H
#define AGENT_METRICS_H
#include "agent/link.h"
#include "agent/meters.h"

struct metrics;

/* ERR_INVALID: not an address of loopback.  `link` is asked through its pointer: it may
 * come later. */
int metrics_open(struct net_loop *loop, const char *listen, const struct meters *meters,
                 struct link *const *link, struct metrics **ret, struct err *err);
void metrics_close(struct metrics *m); /* NULL is fine */
struct str metrics_addr(const struct metrics *m);

#endif
