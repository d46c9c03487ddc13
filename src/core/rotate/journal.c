/* core/rotate/journal.c - a decision that repeats is a count, not a row.
 *
 * docs/spec/rotation.md, "Reasons" */
#include "core/rotate/journal.h"
#include <stddef.h>
#include "base/check.h"

struct journal_headline journal_headline(const struct rotate_verdict *loop,
                                         const struct gate_verdict *gate)
{
    struct journal_headline h = {.branch = loop->branch};
    CHECK(h.branch < ROTATE_BRANCHES);
    if (gate == NULL || gate->answer != GATE_REFUSE) return h;
    CHECK(gate->headline >= GATE_PINNED);
    CHECK(gate->headline < GATE_CHECKS);
    h.check = gate->headline;
    return h;
}

const char *journal_name(struct journal_headline h)
{
    return h.check != 0 ? gate_check_name(h.check) : rotate_branch_name(h.branch);
}

const char *journal_text(struct journal_headline h)
{
    return h.check != 0 ? gate_check_text(h.check) : rotate_branch_text(h.branch);
}

static uint64_t *count_of(struct journal *j, struct journal_headline h)
{
    CHECK(h.branch < ROTATE_BRANCHES);
    CHECK(h.check < GATE_CHECKS);
    return h.check != 0 ? &j->by_check[h.check] : &j->by_branch[h.branch];
}

bool journal_note(struct journal *j, struct journal_headline h, int64_t now_ms)
{
    bool first = j->repeats == 0;
    bool changed = first || j->now.branch != h.branch || j->now.check != h.check;
    if (first) j->counted_ms = now_ms;
    if (changed) {
        j->now = h;
        j->since_ms = now_ms;
        j->repeats = 0;
    }
    j->repeats++;
    ++*count_of(j, h);
    return changed;
}

void journal_restart(struct journal *j, int64_t now_ms)
{
    struct journal anew = {.now = j->now, .since_ms = j->since_ms, .repeats = j->repeats,
                           .counted_ms = now_ms};
    *j = anew;
}

static void add(struct journal_sum *sum, struct journal_headline h, uint64_t times)
{
    sum->refused += times;
    if (times <= sum->most_times) return;
    sum->most_times = times;
    sum->most = h;
}

/* Two branches move; NONE, and a handover that the gate did not refuse, refuse nothing. */
struct journal_sum journal_refusals(const struct journal *j)
{
    struct journal_sum sum = {.refused = 0};
    for (enum rotate_branch b = ROTATE_STAY_TRAINING; b < ROTATE_STAY_HANDOVER; b++) {
        if (b == ROTATE_MOVE_PREEMPT || b == ROTATE_MOVE_IDLE) continue;
        add(&sum, (struct journal_headline){.branch = b}, j->by_branch[b]);
    }
    for (enum gate_check c = GATE_PINNED; c < GATE_CHECKS; c++) {
        add(&sum, (struct journal_headline){ROTATE_STAY_HANDOVER, c}, j->by_check[c]);
    }
    CHECK(sum.most_times <= sum.refused);
    return sum;
}
