/* core/nodeplan/plan.c - merging two sorted lists.
 *
 * One pass decides each member by (wish, phase) alone: nothing is remembered
 * between plans, so a lost action is simply planned again. */
#include "core/nodeplan/plan.h"

#include "base/check.h"

static const char *const PHASE_NAMES[] = {
    [MEMBER_NONE] = "none",         [MEMBER_PREPARING] = "preparing",
    [MEMBER_READY] = "ready",       [MEMBER_STARTING] = "starting",
    [MEMBER_RUNNING] = "running",   [MEMBER_STOPPING] = "stopping",
    [MEMBER_EXITED] = "exited",     [MEMBER_FAILED] = "failed",
};
_Static_assert(ARRAY_LEN(PHASE_NAMES) == MEMBER_PHASES, "one name a phase");

const char *member_phase_name(enum member_phase p)
{
    CHECK(p < MEMBER_PHASES);
    return PHASE_NAMES[p];
}

int member_ref_cmp(struct member_ref a, struct member_ref b)
{
    if (a.session != b.session) return a.session < b.session ? -1 : 1;
    if (a.attempt != b.attempt) return a.attempt < b.attempt ? -1 : 1;
    if (a.member != b.member) return a.member < b.member ? -1 : 1;
    return 0;
}

static void add(struct plan *out, enum plan_act act, const struct member_want *want)
{
    VEC_PUSH(&out->steps, ((struct plan_step){.act = act, .ref = want->ref}));
}

/* Wished for, and there (have) or not (NULL). */
static void plan_wanted(const struct member_want *want, const struct member_report *have,
                        struct plan *out)
{
    enum member_phase phase = have ? have->phase : MEMBER_NONE;
    CHECK(want->act >= WANT_HOLD);
    CHECK(want->act <= WANT_STOP);
    if (have && have->orphan) return; /* a person decides about it */
    if (phase == MEMBER_EXITED || phase == MEMBER_FAILED) return; /* the report is awaited */
    if (want->act == WANT_STOP) {
        if (!have) return; /* gone, or never begun: the next report says so */
        add(out, PLAN_STOP, want); /* again while it stops: the grace may have shrunk */
        out->steps.v[out->steps.n - 1].grace_ms = want->grace_ms;
        out->steps.v[out->steps.n - 1].preempted = want->preempted;
        return;
    }
    if (!have) {
        if (want->fresh) add(out, PLAN_CREATE, want);
        return; /* the barrier opens when it is there */
    }
    if (want->act != WANT_RUN) return;
    if (phase == MEMBER_READY) add(out, PLAN_GO, want);
    if (phase == MEMBER_RUNNING && want->signal_no > have->signal_done) {
        add(out, PLAN_SIGNAL, want);
        out->steps.v[out->steps.n - 1].signal_no = want->signal_no;
        out->steps.v[out->steps.n - 1].signal = want->signal;
    }
}

static void check_sorted(const struct member_want *want, uint32_t n_want,
                         const struct member_report *have, uint32_t n_have)
{
    for (uint32_t i = 1; i < n_want; i++) {
        CHECK(member_ref_cmp(want[i - 1].ref, want[i].ref) < 0);
    }
    for (uint32_t i = 1; i < n_have; i++) {
        CHECK(member_ref_cmp(have[i - 1].ref, have[i].ref) < 0);
    }
}

static bool frees(enum plan_act act) { return act == PLAN_STOP || act == PLAN_CLEAN; }

/* What frees comes first; order of ref inside both halves. */
static void freeing_first(struct plan *out)
{
    VEC(struct plan_step) later = {0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->steps.n; i++) {
        if (frees(out->steps.v[i].act)) out->steps.v[kept++] = out->steps.v[i];
        else VEC_PUSH(&later, out->steps.v[i]);
    }
    CHECK(kept + later.n == out->steps.n);
    for (uint32_t i = 0; i < later.n; i++) out->steps.v[kept + i] = later.v[i];
    VEC_DONE(&later);
}

void plan_node(const struct member_want *want, uint32_t n_want, const struct member_report *have,
               uint32_t n_have, struct plan *out)
{
    check_sorted(want, n_want, have, n_have);
    VEC_CLEAR(&out->steps);
    uint32_t i = 0, k = 0;
    while (i < n_want || k < n_have) {
        int order = i == n_want   ? 1
                    : k == n_have ? -1
                                  : member_ref_cmp(want[i].ref, have[k].ref);
        if (order < 0) {
            plan_wanted(&want[i++], NULL, out);
        } else if (order == 0) {
            plan_wanted(&want[i++], &have[k++], out);
        } else {
            if (!have[k].orphan) add(out, PLAN_CLEAN, &(struct member_want){.ref = have[k].ref});
            k++;
        }
    }
    freeing_first(out);
}

void plan_done(struct plan *p) { VEC_DONE(&p->steps); }

static bool want_same(const struct member_want *a, const struct member_want *b)
{
    return member_ref_cmp(a->ref, b->ref) == 0 && a->act == b->act && a->fresh == b->fresh &&
           a->signal_no == b->signal_no && a->signal == b->signal && a->grace_ms == b->grace_ms &&
           a->preempted == b->preempted;
}

bool member_wants_same(const struct member_want *a, uint32_t n_a, const struct member_want *b,
                       uint32_t n_b)
{
    if (n_a != n_b) return false;
    for (uint32_t i = 0; i < n_a; i++)
        if (!want_same(&a[i], &b[i])) return false;
    return true;
}
