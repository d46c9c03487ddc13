/* core/sched/filter.c - the constraints, one after the other.
 *
 * docs/spec/scheduling.md, "Placement" */
#include "core/sched/filter.h"

#include "base/check.h"
#include "base/labels.h"

static const char *const NAMES[] = {
    [FILTER_NONE] = "none",     [FILTER_NODE] = "node",       [FILTER_ARCH] = "arch",
    [FILTER_LABELS] = "labels", [FILTER_MODEL] = "gpu_model", [FILTER_FAILED] = "failed",
};
_Static_assert(ARRAY_LEN(NAMES) == FILTERS, "one name a filter");

const char *filter_name(enum filter f)
{
    CHECK(f < FILTERS);
    return NAMES[f];
}

bool filter_asks(const struct session *s)
{
    const struct constraint *c = &s->where;
    return c->gpu_models[0] != '\0' || c->labels[0] != '\0' || c->arch[0] != '\0' ||
           (c->node != 0 && !c->node_preferred) || s->n_failed_on > 0;
}

uint32_t filter_failures(const struct session *s, uint32_t node)
{
    CHECK(s->n_failed_on <= SESSION_FAILED_NODES);
    for (uint32_t i = 0; i < s->n_failed_on; i++) {
        if (s->failed_on[i].node == node) return s->failed_on[i].times;
    }
    return 0;
}

static bool has_models(const struct node *n, const char *asked)
{
    for (uint32_t i = 0; i < n->n_devices; i++) {
        if (!labels_name_model(asked, n->devices[i].model)) return false;
    }
    return n->n_devices > 0;
}

enum filter filter_kind(const struct session *s, const struct slots *need, const struct node *n)
{
    const struct constraint *c = &s->where;
    if (c->arch[0] != '\0' && strcmp(c->arch, n->arch) != 0) return FILTER_ARCH;
    if (!labels_hold(c->labels, n->labels)) return FILTER_LABELS;
    if (c->gpu_models[0] != '\0' && need->v[SLOT_GPU] > 0 && !has_models(n, c->gpu_models)) {
        return FILTER_MODEL;
    }
    return FILTER_NONE;
}

/* How many members the node could hold if it were empty, at most `enough`. */
static uint32_t room_for(const struct world *w, const struct session *s, const struct slots *need,
                         uint32_t at, uint32_t enough)
{
    const struct constraint *c = &s->where;
    const struct slots *capacity = &w->rooms.v[at].capacity;
    int64_t n = enough;
    if (w->rooms.v[at].group != s->group || !w->rooms.v[at].usable) return 0;
    if (c->node != 0 && !c->node_preferred && c->node != at + 1) return 0;
    if (filter_failures(s, at + 1) >= SESSION_START_TRIES) return 0;
    if (filter_kind(s, need, &w->nodes.v[at]) != FILTER_NONE) return 0;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > 0 && capacity->v[k] / need->v[k] < n) n = capacity->v[k] / need->v[k];
    }
    return (uint32_t)n;
}

/* Whether it could run without the nodes where it failed too often.  Of gangs with several
 * roles that is not known, and a start that fails again is better than none for ever. */
static bool has_others(const struct world *w, const struct session *s)
{
    struct slots need = s->roles[0].slots;
    uint32_t left = s->one_node ? 1 : s->members;
    if (s->one_node && !session_total(s, &need)) return false;
    if (!s->one_node && s->n_roles > 1) return false;
    for (uint32_t at = 0; at < w->rooms.n && left > 0; at++) {
        left -= room_for(w, s, &need, at, left);
    }
    return left == 0;
}

bool filter_passed_over(const struct world *w, const struct session *s, uint32_t at)
{
    return filter_failures(s, at + 1) >= SESSION_START_TRIES && has_others(w, s);
}

enum filter filter_node(const struct world *w, const struct session *s, const struct slots *need,
                        uint32_t at)
{
    const struct constraint *c = &s->where;
    CHECK(at < w->nodes.n);
    if (!filter_asks(s)) return FILTER_NONE;
    if (c->node != 0 && !c->node_preferred && c->node != at + 1) return FILTER_NODE;
    enum filter kind = filter_kind(s, need, &w->nodes.v[at]);
    if (kind != FILTER_NONE) return kind;
    return filter_passed_over(w, s, at) ? FILTER_FAILED : FILTER_NONE;
}
