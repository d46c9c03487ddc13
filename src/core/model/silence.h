/* core/model/silence.h - what may be concluded from a node's silence.
 *
 * A silent node is not a dead one: what runs there goes on, and its rows stay
 * held.  Only a session that asked for it (fence_ms) is different.  Its
 * containers end by themselves when no beat of their agent was answered for
 * fence_ms, counted from when that beat was sent.  A beat is answered only after
 * it was heard, so `heard_ms + fence_ms` is never before that end, as the manager
 * counts time; FENCE_MARGIN_MS is for clocks that run at different speeds and for
 * a machine that has just woken.  A manager that has just begun knows of no beat
 * and counts from its own beginning.  docs/spec/node.md, "Silence" */
#ifndef CORE_MODEL_SILENCE_H
#define CORE_MODEL_SILENCE_H
#include "core/model/world.h"

#define FENCE_MARGIN_MS 60000
#define SILENCE_WINDOW_MS 60000 /* who falls silent within it fell silent together */
#define SILENCE_LEAST 3u        /* of fewer nodes nothing can be concluded from their number */
#define SILENCE_AGAIN_MS 5000   /* between looks at what is due and may not be released */

enum silence_verdict {
    SILENCE_KEEP = 1, /* it did not ask for it: held until the node is back, or given up */
    SILENCE_HEARD,    /* its node is not silent */
    SILENCE_WAIT,     /* its containers may still run */
    SILENCE_MANY,     /* so many nodes are silent at once that it may be us who are cut off */
    SILENCE_COMMAND,  /* the fence command has not succeeded yet */
    SILENCE_RELEASE,
    SILENCE_VERDICTS
};

struct silence_facts {
    bool opted_in, unreachable;
    int64_t silent_ms, fence_ms;
    bool many;      /* nodes fell silent together */
    bool command;   /* a fence command is set ... */
    bool confirmed; /* ... and has succeeded for this silence */
};
enum silence_verdict silence_decide(const struct silence_facts *f);

struct silence_node { int64_t heard_ms; bool silent; };
/* Whether half or more of at least SILENCE_LEAST nodes fell silent within SILENCE_WINDOW_MS, of
 * those that were heard when that began.  Sorts `v`. */
bool silence_is_shared(struct silence_node *v, uint32_t n);

/* The same of the world.  Nodes whose silence an operator has accepted do not count. */
bool silence_of_many(const struct world *w);
/* About the session's containers there, `many` as silence_of_many says. */
enum silence_verdict silence_judge(const struct world *w, const struct node *n,
                                   const struct session *s, bool many);
/* When its containers there have ended by themselves at the latest, and when it may wait again;
 * the session must have asked for it. */
int64_t silence_end_ms(const struct node *n, const struct session *s);
int64_t silence_release_ms(const struct node *n, const struct session *s);
/* A row of its newest attempt that may stand for a container which runs, or NULL.  Those on node
 * `lost` (0: none), and on nodes that were silent for a day, are given up.  Earlier attempts never
 * passed their barrier, were proved gone or given up: else there were no newer one. */
const struct alloc *silence_unproved(const struct world *w, const struct session *s,
                                     uint32_t lost);

#endif
