/* manager/use.h - what the containers of a node use, as it last told.
 *
 * In memory alone: a manager that was restarted hears it again, and a beat that tells of
 * use writes nothing.  A container is forgotten when its node lists it no more; what it
 * used in all comes with its end.  docs/spec/node.md, "Utilisation" */
#ifndef MANAGER_USE_H
#define MANAGER_USE_H
#include "base/vec.h"
#include "wire/sync.h"

#define USE_PERIOD_MS 10000  /* of an agent's summaries */
#define USE_GAP_MS 25000     /* two summaries farther apart leave the time between unknown */
#define USE_NOW_MS 30000     /* the window of "now" */
#define USE_POINTS 90        /* kept of each container: a quarter of an hour */

struct use_entry {
    struct use_row row;
    int64_t heard_ms;        /* when its node last told of it, the manager's clock */
    struct meter_ring ring;  /* times are the node's */
};
struct use_node {
    VEC(struct use_entry *) entries; /* sorted by ref */
    int64_t used_ms;         /* of the last summary, the node's clock; 0: none yet */
    int64_t heard_ms;        /* the same, the manager's */
    uint32_t n_devices;
    struct use_device devices[NODE_DEVICES_MAX];
};

/* Takes a summary; `members` is the node's list of all that is there, sorted by ref. */
void use_take(struct use_node *u, const struct sync_request *rq,
              const struct member_report *members, uint32_t n_members, int64_t now_ms);
void use_done(struct use_node *u);
/* NULL: it has not been told of. */
const struct use_entry *use_find(const struct use_node *u, struct member_ref ref);
/* CPU over the last `window_ms` of what is known; `now_ms` on the manager's clock. */
struct reading use_cpu_milli(const struct use_node *u, const struct use_entry *e,
                             int64_t window_ms, int64_t now_ms);
/* Whether it used less than `milli` on average in the window before now.  UNKNOWN never
 * permits: silence, youth and figures that cannot be read are not idleness. */
enum fact use_idle(const struct use_node *u, const struct use_entry *e, int64_t window_ms,
                   int64_t milli, int64_t now_ms);

#endif
