/* manager/beat.h - agents: each beat says all that is, and is held until there is
 * something to hear.
 *
 * At most one request of a node is held; a newer one releases the older.  An
 * answer is the full list of wishes as of one turn, made when that turn is
 * closed and sent when it is durable: a node that acts on turn N has seen every
 * row made up to N.  A beat that changes nothing stores nothing.  Lists are full,
 * so a long one leaves seldom: how much a node is told in a second is bounded,
 * however often its wishes change.
 * Of each node the last full list is kept, and what was last wished of it, so that
 * neither has to travel again while it is the same.
 * docs/spec/node.md, "Agent and manager" */
#ifndef MANAGER_BEAT_H
#define MANAGER_BEAT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/map.h"
#include "base/vec.h"
#include "base/str.h"
#include "core/nodeplan/plan.h"

struct manager;
struct turn_batch;
struct sync_request;
struct peer;
struct use_node;
struct use_entry;

#define BEAT_POLL_MIN_MS 20
#define BEAT_POLL_MAX_MS 60000
#define BEAT_ROWS_A_MS 32     /* rows of both lists: the next answer leaves that much later */
#define BEAT_GAP_MAX_MS 1000
#define BEAT_BODIES_BYTES ((size_t)8 << 20) /* in one answer; the rest is asked for again */
#define BEAT_REQUEST_MAX ((size_t)16 << 20)
#define BEAT_ANSWER_MAX ((size_t)64 << 20)

struct beats {
    VEC(struct peer *) peers; /* one a node name, never removed while the world lives */
    struct map_str by_name;
};

void beat_closing(struct manager *m, const struct turn_batch *b);
void beat_lost(struct manager *m); /* held requests are told to come again */
void beat_done(struct manager *m);
/* The highest start count heard from a node of that name; 0: none was heard. */
uint64_t beat_epoch(const struct manager *m, struct str node);
/* What the node of that name uses; NULL: it was not heard. */
const struct use_node *beat_use(const struct manager *m, struct str node);
/* What the node of that name last said of a member; NULL: nothing. */
const struct member_report *beat_member(const struct manager *m, struct str node,
                                        struct member_ref ref);
/* The last full list of a node, by index in `peers`; NULL: none. */
const struct sync_request *beat_list(const struct manager *m, uint32_t at);
/* It is to hear something now. */
void beat_tell(struct manager *m, struct str node);
uint32_t beat_held(const struct manager *m); /* nodes whose request is held now */

#endif
