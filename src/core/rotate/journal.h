/* core/rotate/journal.h - what was decided, since when, and how often.
 *
 * Keeps changes and counts, never a row per tick: what a rotor's log and `rota why` say.
 * docs/spec/rotation.md, "Reasons" */
#ifndef CORE_ROTATE_JOURNAL_H
#define CORE_ROTATE_JOURNAL_H
#include "core/rotate/gate.h"
#include "core/rotate/loop.h"

/* The headline of a tick: the loop's branch, or where the gate was asked and refused, its
 * first check. */
struct journal_headline {
    enum rotate_branch branch;
    enum gate_check check; /* 0: the gate did not refuse */
};
/* gate may be NULL: not asked. */
struct journal_headline journal_headline(const struct rotate_verdict *loop,
                                         const struct gate_verdict *gate);
const char *journal_name(struct journal_headline h);
const char *journal_text(struct journal_headline h);

struct journal { /* {0}: nothing was decided yet */
    struct journal_headline now;
    int64_t since_ms;    /* when it became the headline */
    uint64_t repeats;    /* ticks with it since then, the first among them */
    int64_t counted_ms;  /* since when the counts below are kept */
    uint64_t by_branch[ROTATE_BRANCHES]; /* ticks on which the gate did not refuse */
    uint64_t by_check[GATE_CHECKS];
};
/* Takes one tick; true when it is a change, which is a row of the log. */
bool journal_note(struct journal *j, struct journal_headline h, int64_t now_ms);
/* Counts anew, for instance when a run started; the headline stays. */
void journal_restart(struct journal *j, int64_t now_ms);

struct journal_sum {
    uint64_t refused;             /* ticks that ended in staying, since counted_ms */
    struct journal_headline most; /* the reason of most of them; the earlier one of two */
    uint64_t most_times;
};
/* "Refused N times since ..., mostly X". */
struct journal_sum journal_refusals(const struct journal *j);

#endif
