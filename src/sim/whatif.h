/* sim/whatif.h - the live queue, exported, and what would become of it.
 *
 * The same step() that decides the live queue goes on from a snapshot: what runs ends
 * when its time limit says (or a share of it), what waits is started by the policy that
 * is tried, and nothing new arrives.  What has no time limit runs on.
 * docs/cli.md, "rota sim queue" */
#ifndef SIM_WHATIF_H
#define SIM_WHATIF_H
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/model/world.h"

#define WHATIF_NEVER INT64_MAX
#define WHATIF_DRAINS_MAX 64
#define WHATIF_DAYS_MAX 3660

struct whatif_drain { char node[NODE_NAME_MAX + 1]; int64_t at_ms; /* from the snapshot on */ };
struct whatif_change {
    /* Applied to the groups: to the named one, or all. */
    char group[64];
    enum on_blocked on_blocked;       /* 0: as it is */
    enum queue_order order;           /* 0 */
    enum place_strategy strategy;     /* 0 */
    uint32_t reserve_depth;           /* 0 */
    char like[NODE_NAME_MAX + 1];     /* nodes to be added are like this one */
    uint32_t add_nodes;
    uint32_t n_drains;
    struct whatif_drain drains[WHATIF_DRAINS_MAX];
    uint32_t use_percent;             /* of its limit that each session uses; 0: 100 */
};

struct whatif_start {
    uint64_t session;
    int64_t start_ms; /* since the snapshot; WHATIF_NEVER: not within WHATIF_DAYS_MAX days */
};
struct whatif { VEC(struct whatif_start) starts; }; /* of all that waited, by id */

/* Goes on from `w`, which is ready and not started, and uses it up (the caller frees it).
 * ERR_NOT_FOUND names a node or group that is not there. */
int whatif_run(struct world *w, const struct whatif_change *change, struct whatif *ret,
               struct err *err);
void whatif_done(struct whatif *r);

#endif
