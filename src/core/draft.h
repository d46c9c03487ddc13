/* core/draft.h - what one step is collecting; private to the step's own files.
 *
 * Objects that change are only marked.  At the end of the step each is copied
 * once, as it then is, so that a change is never written half.  What is released
 * or told to people is copied at once. */
#ifndef CORE_DRAFT_H
#define CORE_DRAFT_H
#include "core/step.h"

struct draft_end { uint64_t session; enum session_outcome outcome; };

struct draft {
    struct world *w;
    const struct event *ev;
    struct effects *out;
    uint32_t actor; /* who caused what happens now; 0: nobody, it followed */
    bool counted_silent, many_silent; /* whether nodes fell silent together, once a step */
    VEC(struct draft_end) ended; /* sessions, for those that depend on them */
    VEC(struct member_end) ends; /* of rows whose containers are proved gone */
    VEC(uint32_t) sessions, allocs, nodes, groups; /* slots and indexes, with doubles */
};

void draft_session(struct draft *d, const struct session *s);
void draft_alloc(struct draft *d, const struct alloc *a);
void draft_node(struct draft *d, const struct node *n);
void draft_group(struct draft *d, const struct group *g);
/* Its list of wishes changed. */
void draft_wants(struct draft *d, uint32_t node);
void draft_wants_of(struct draft *d, const struct session *s); /* of all its nodes */
/* What it holds will be free sooner than its time limit said: the pass may plan with that. */
void draft_ends_sooner(struct draft *d, const struct session *s);
/* What the node said of the end of a row, until the row is released in the same step. */
void draft_end(struct draft *d, struct alloc *a, const struct member_end *end);
const struct member_end *draft_end_of(const struct draft *d, const struct alloc *a);
/* Releases the row: the change, the ledger, the node's wishes, the pass. */
void draft_release(struct draft *d, struct alloc *a);
struct history *draft_history(struct draft *d, enum history_what what); /* until the next one */
struct history *draft_session_history(struct draft *d, enum history_what what,
                                      const struct session *s);
struct history *draft_node_history(struct draft *d, enum history_what what, const struct node *n);
/* Fills the verdict of a refusal; nothing must have changed. */
void draft_refuse(struct draft *d, enum verdict v, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The live session; NULL when there is none, which is then refused with this field. */
struct session *draft_find(struct draft *d, uint64_t id, const char *field);
/* Copies what was marked, drops ended sessions. */
void draft_finish(struct draft *d);

#endif
