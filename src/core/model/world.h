/* core/model/world.h - all that the manager knows, as plain structs in dense arrays.
 *
 * step() in core/step.h is the only way it changes, apart from loading: the
 * world_put_* functions fill an empty world from the store, then world_ready()
 * builds every index.  A reloaded world equals the one that was dropped
 * (world_dump proves it). */
#ifndef CORE_MODEL_WORLD_H
#define CORE_MODEL_WORLD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/model/account.h"
#include "core/model/ends.h"
#include "core/model/group.h"
#include "core/model/ledger.h"
#include "core/model/names.h"
#include "core/model/node.h"
#include "core/model/reservation.h"
#include "core/model/session.h"

/* A pending session as its group's queue knows it; what a pass reads before the session. */
struct queue_entry {
    int32_t priority; /* that it queues with */
    uint32_t slot;
    uint64_t seq;
    int64_t rank;     /* inside the priority, by the group's order; the number settles ties */
    int64_t limit_ms; /* INT64_MAX: none */
    int64_t cpu, mem; /* of the choice that a search makes: a member, or all on one node */
    uint32_t family;
    bool parked;      /* it waits for something of its own; pool_add is called when that is over */
};

/* What the last walk found of an entry.  As long as nothing of what is known of its family
 * is taken back, it need not be asked again: then the stamp is the family's. */
struct queue_mark { uint32_t family, stamp; };
#define MARK_NOW 1u  /* it cannot start */
#define MARK_EVER 2u /* it cannot be dated */
#define MARK_NEW 4u  /* nobody asked yet */

/* The pending sessions of one group, in order: v[first .. first + n).  model/pool.h */
struct pool_queue {
    struct queue_entry *v;
    struct queue_mark *marks; /* of the same entries: all that most of them are asked for */
    uint32_t first, n, cap;
    uint32_t from; /* a pass that is due begins with this entry: those before are as they were */
    uint32_t shut; /* entries after which the last walk found every node fenced; 0: it did not */
    bool due;      /* something changed that a pass of this group could use */
    bool over;     /* the last walk passed somebody over for a limit */
    bool unpark;   /* a place in an array may have come free: nobody is parked any more */
};

/* No request of the family that asks at least so much of all three fits. */
struct family_point {
    int64_t cpu, mem, limit_ms;
    bool woken;     /* a node was freed that could change this */
    uint64_t after; /* only behind the endless promise of this session; 0: anywhere ... */
    int32_t priority; /* ... else what is promised before this place in the queue counts, too */
    int64_t rank;
    uint64_t seq;
};
#define FAMILY_POINTS 16u

/* All that a request says, except amounts of cpu and memory.  With several roles on many
 * nodes the amounts belong to the family: entries have 0 for them. */
struct family {
    uint32_t pending;   /* entries of its group's queue; 0: a free place */
    uint32_t group;
    uint32_t n_demands; /* what a single node must have free to be of use, but for cpu, mem */
    struct slots demands[SESSION_ROLES_MAX];
    uint32_t n_now, n_ever;
    struct family_point now[FAMILY_POINTS];  /* what cannot start now */
    struct family_point ever[FAMILY_POINTS]; /* what cannot be dated at all */
    uint32_t version;                 /* how often something known of it was taken back */
    bool listed;                      /* in w->woken */
    uint64_t fenced, fence;           /* walks in which it was fenced, and fenced others, ... */
    int64_t fenced_cpu, fenced_mem, fence_cpu, fence_mem; /* ... and with which amounts */
};

struct pool_left { uint64_t session; uint32_t group; };

/* The hot part of a node, all that a search reads; derived by node_refresh. */
struct room {
    struct slots capacity, free;
    uint32_t devices; /* mask of those that may be given */
    uint32_t group;   /* 0: forgotten */
    bool usable;      /* new work may be placed here at all */
};

struct array_work { uint64_t array; uint32_t live, active; }; /* model/wait.h */
struct dependent { uint64_t session; uint32_t next; };         /* MAP_NONE ends a chain */
struct wait_ids { VEC(uint64_t) v; };

struct world {
    /* Stored. */
    uint64_t turn;       /* the turn being built (the caller counts), or the last one */
    int64_t now_ms;      /* core time of the last event: never goes back */
    uint64_t last_session; /* the highest id ever given */
    VEC(struct session) sessions; /* slots; state 0 marks a free one */
    VEC(struct alloc) allocs;     /* slots */
    VEC(struct node) nodes;       /* index = id - 1; forgotten nodes have an empty name */
    VEC(struct group) groups;     /* index = id - 1 */
    VEC(struct domain) domains;
    VEC(struct project) projects;
    VEC(struct user) users;
    VEC(struct reservation) reservations; /* by id */
    /* Indexes. */
    struct map_u64 session_by_id;
    struct name_index names; /* of live sessions, unique for each user */
    struct end_index ends; /* stored with their sessions */
    struct map_str node_by_name;
    struct map_str family_by_key;
    VEC(uint32_t) free_sessions, free_allocs, free_families;
    VEC(struct room) rooms;        /* by node index */
    VEC(struct pool_queue) queues; /* by group index */
    VEC(struct family) families;
    VEC(uint32_t) stamps;          /* by family; 0: something of it was woken */
    VEC(uint32_t) woken;           /* families with points that were woken */
    VEC(struct pool_left) left;    /* sessions that left their queue; sched takes them out */
    uint64_t reservation_changes; /* of the list */
    VEC(uint32_t) changed; /* nodes whose rows, room or use changed since sched looked; doubles */
    struct sched *sched;   /* what the wing sched derives and keeps */
    void (*sched_free)(struct world *w);
    VEC(uint32_t) freed;  /* nodes whose room grew in this step, with doubles */
    VEC(uint32_t) opened; /* those that this pass has seen, each once */
    uint64_t regroupings; /* a node came to a group, or left one */
    bool relieved;        /* a user, project or domain uses less, or may use more */
    struct map_u64 array_by_id, dependents_by_id;
    VEC(struct array_work) arrays; /* slots; array 0: free */
    VEC(struct dependent) dependents; /* slots; session 0: free */
    VEC(uint32_t) free_arrays, free_dependents;
    struct heap timers;  /* at most one valid item a session and a node */
    uint32_t n_sessions; /* live */
    uint64_t walks;      /* passes begun: names what `fenced` was marked in */
    bool fence_command;  /* set by the shell: releases wait for it, too */
    bool pass_due;       /* a queue is due */
    bool ready;          /* loaded and indexed */
    bool started;        /* an event came: the silence of nodes is counted from then */
};

#define WORLD_SESSIONS_MAX (UINT32_C(1) << 20)
#define WORLD_NODES_MAX (UINT32_C(1) << 14)
#define WORLD_GROUPS_MAX 1024u

struct world *world_new(void);
void world_free(struct world *w);
/* Loading: rows in any order. Each returns false when the row contradicts itself
 * or another (id 0, double id, value out of its range): the store is corrupt. */
bool world_put_domain(struct world *w, const struct domain *d);
bool world_put_project(struct world *w, const struct project *p);
bool world_put_user(struct world *w, const struct user *u);
bool world_put_group(struct world *w, const struct group *g);
/* An empty name keeps the number of a forgotten node from being used again. */
bool world_put_node(struct world *w, const struct node *n);
bool world_put_session(struct world *w, const struct session *s);
bool world_put_session_row(struct world *w, const struct session_row *r);
bool world_put_alloc(struct world *w, const struct alloc *a);
/* Checks references and builds indexes; `why` says what does not fit. */
bool world_ready(struct world *w, const char **ret_why);

struct session *world_session(const struct world *w, uint64_t id); /* NULL: not live */
struct session *world_session_named(const struct world *w, uint32_t user, struct str name);
struct node *world_node(const struct world *w, uint32_t id);
struct node *world_node_named(const struct world *w, struct str name);
struct group *world_group(const struct world *w, uint32_t id);
struct group *world_group_named(const struct world *w, struct str name);
struct user *world_user(const struct world *w, uint32_t id);
struct user *world_user_named(const struct world *w, struct str name);
struct domain *world_domain(const struct world *w, uint32_t id);
struct domain *world_domain_named(const struct world *w, struct str name);
struct project *world_project(const struct world *w, uint32_t id);
struct project *world_project_named(const struct world *w, struct str name);
/* Rows of a session or node, by following chains: for (a = world_allocs_of_session(w, s); a;
 * a = world_next_of_session(w, a)). */
struct alloc *world_allocs_of_session(const struct world *w, const struct session *s);
struct alloc *world_next_of_session(const struct world *w, const struct alloc *a);
struct alloc *world_allocs_of_node(const struct world *w, const struct node *n);
struct alloc *world_next_of_node(const struct world *w, const struct alloc *a);

/* Takes an ended session out; rows that still await their node's proof stay.
 * For step() alone. */
void world_drop_session(struct world *w, struct session *s);
/* A zeroed place, reachable by nothing yet.  Pointers to sessions end here. */
struct session *world_add_session(struct world *w);
/* Makes it findable by id and name. */
void world_index_session(struct world *w, struct session *s);
/* A zeroed node, group with the next number; only step() and loading call them. */
struct node *world_add_node(struct world *w);
struct group *world_add_group(struct world *w);

/* Every stored fact but time and turn in one canonical text, sorted by id:
 * equal worlds, equal text. */
void world_dump(const struct world *w, struct strbuf *out);
/* The oracles of docs/spec/scheduling.md that a single state can be judged by;
 * returns NULL or what is broken. */
const char *world_audit(const struct world *w);

#endif
