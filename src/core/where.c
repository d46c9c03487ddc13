/* core/where.c - constraints at submission, and the words for them everywhere.
 *
 * docs/spec/scheduling.md, "Placement" */
#include "core/where.h"

#include "base/check.h"
#include "base/labels.h"

/* ---- judging */

static bool refuse(struct draft *d, const char *field, const char *expected)
{
    draft_refuse(d, VERDICT_BAD_VALUE, field, "%s: expected %s", field, expected);
    return false;
}

static bool terminated(const char *text, size_t cap) { return memchr(text, '\0', cap) != NULL; }

static bool node_sane(struct draft *d, const struct session *s)
{
    if (s->where.node == 0) return true;
    const struct node *n = world_node(d->w, s->where.node);
    if (!n) {
        draft_refuse(d, VERDICT_NOT_FOUND, "node", "there is no such node");
        return false;
    }
    if (n->group == s->group) return true;
    const struct group *g = world_group(d->w, n->group);
    CHECK(g != NULL);
    draft_refuse(d, VERDICT_BAD_VALUE, "node", "node: %s is in group %s", n->name, g->name);
    return false;
}

bool where_sane(struct draft *d, struct session *s)
{
    struct constraint *c = &s->where;
    if (!terminated(c->gpu_models, sizeof(c->gpu_models)) ||
        (c->gpu_models[0] != '\0' && !labels_models_sane(c->gpu_models))) {
        return refuse(d, "gpu_models", "names of models separated by '|', such as h100|a100");
    }
    if (!terminated(c->labels, sizeof(c->labels)) || !labels_sort(c->labels)) {
        return refuse(d, "node_labels", "key=value pairs separated by ',', each key once");
    }
    if (!terminated(c->arch, sizeof(c->arch)) ||
        (c->arch[0] != '\0' && !str_is_name(str_of(c->arch), sizeof(c->arch) - 1))) {
        return refuse(d, "arch", "the name of an architecture, such as x86_64");
    }
    if (s->strategy < 0 || s->strategy >= PLACE_STRATEGIES) {
        return refuse(d, "strategy", "a strategy of placement");
    }
    return node_sane(d, s);
}

/* ---- words */

void where_words(const struct world *w, const struct session *s, enum filter f, struct strbuf *out)
{
    const struct constraint *c = &s->where;
    const struct node *n = world_node(w, c->node);
    switch (f) {
    case FILTER_NODE: strbuf_fmt(out, "other than %s", n ? n->name : "a node that is gone"); return;
    case FILTER_ARCH: strbuf_fmt(out, "not %s", c->arch); return;
    case FILTER_LABELS: strbuf_fmt(out, "without label %s", c->labels); return;
    case FILTER_MODEL: strbuf_fmt(out, "without GPU model %s", c->gpu_models); return;
    case FILTER_FAILED:
        strbuf_fmt(out, "where it failed to start %d times", SESSION_START_TRIES);
        return;
    case FILTER_NONE:
    case FILTERS: break;
    }
    UNREACHABLE();
}

static void put_filtered(const struct world *w, const struct session *s,
                         const struct place_miss *miss, struct strbuf *out)
{
    bool first = true;
    for (enum filter f = FILTER_NODE; f < FILTERS; f++) {
        uint32_t n = miss->filtered[f];
        if (n == 0) continue;
        strbuf_fmt(out, "%s%u node%s ", first ? "" : ", ", n, n == 1 ? "" : "s");
        where_words(w, s, f, out);
        first = false;
    }
}

static uint32_t count_filtered(const struct place_miss *miss)
{
    uint32_t n = 0;
    for (enum filter f = FILTER_NODE; f < FILTERS; f++) n += miss->filtered[f];
    return n;
}

static void put_nearest(const struct world *w, const struct session *s,
                        const struct place_miss *miss, struct strbuf *out)
{
    bool first = true;
    strbuf_fmt(out, "%s has at most ", world_node(w, miss->nearest_node)->name);
    for (enum slot_kind k = SLOT_CPU; k < SLOT_KINDS; k++) {
        if (miss->missing.v[k] == 0) continue;
        if (!first) strbuf_puts(out, ", ");
        slot_print(out, k, miss->free.v[k]);
        strbuf_puts(out, " of the ");
        slot_print(out, k, miss->asked.v[k]);
        strbuf_fmt(out, " %s asked", slot_label(k));
        first = false;
    }
    if (miss->busy > 0) strbuf_puts(out, ", beside the other members");
    if (s->one_node) strbuf_puts(out, ", for all members on one node");
}

void where_refuse(struct draft *d, const struct session *s, const struct place *failed)
{
    struct place_miss miss;
    struct strbuf text;
    place_explain(d->w, s, PLACE_EVER, failed, &miss);
    uint32_t filtered = count_filtered(&miss);
    CHECK(miss.nearest_node != 0 || filtered == miss.nodes);
    CHECK(miss.nodes > 0); /* a group without nodes is not judged */
    strbuf_init(&text, 2048);
    strbuf_fmt(&text, "group %s could never run this: ", world_group(d->w, s->group)->name);
    if (miss.nearest_node != 0) put_nearest(d->w, s, &miss, &text);
    if (miss.nearest_node != 0 && filtered > 0) strbuf_puts(&text, "; ");
    put_filtered(d->w, s, &miss, &text);
    draft_refuse(d, VERDICT_IMPOSSIBLE, miss.nearest_node != 0 ? "roles" : "where", "%.*s",
                 (int)text.n, text.p);
    strbuf_done(&text);
}
