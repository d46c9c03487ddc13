/* manager/view_why.c - reasons and expected starts as people read them. */
#include "base/check.h"
#include "core/explain.h"
#include "manager/view.h"

static void why_names(const struct session *s, struct why_view *v)
{
    wire_init(&wire_why_view, v);
    session_id_format(s->id, v->session);
    TEXT_CLIP(v->name, str_of(s->name));
    v->state = s->state;
    v->failed_starts = s->failed_starts;
}

/* Nothing when the viewer may not read it. */
static void put_named(const struct world *w, const struct why *why, uint64_t id, char ret[24])
{
    const struct session *s = id ? world_session(w, id) : NULL;
    ret[0] = '\0';
    if (s && !explain_hides(w, why, s)) session_id_format(id, ret);
}

static void put_counts(const struct world *w, const struct why *why, struct why_view *v)
{
    v->place = why->place;
    v->queue_length = why->queue_length;
    v->nodes = why->nodes;
    v->unreachable = why->unreachable;
    v->cordoned = why->cordoned;
    v->quarantined = why->quarantined;
    v->unhealthy = why->unhealthy;
    for (int f = 0; f < WHY_FILTERS; f++) v->filtered += why->filtered[f];
    v->too_small = why->too_small;
    v->busy = why->busy;
    const struct node *near = why->nearest_node ? world_node(w, why->nearest_node) : NULL;
    TEXT_CLIP(v->nearest_node, str_of(near ? near->name : ""));
    view_slots(&why->missing, &v->missing);
    v->n_excess = why->n_excess;
    for (uint32_t i = 0; i < why->n_excess; i++) {
        const struct quota_excess *e = &why->excess[i];
        struct excess_view *ev = &v->excess[i];
        TEXT_CLIP(ev->level, str_of(account_level_name(e->level)));
        TEXT_CLIP(ev->name, str_of(quota_name(w, e)));
        TEXT_CLIP(ev->what, str_of(limit_name(e->kind)));
        ev->used = e->used;
        ev->asked = e->asked;
        ev->limit = e->limit;
    }
}

static void put_expected(const struct manager *m, const struct session *s, const struct why *why,
                         struct why_view *v)
{
    const struct world *w = turns_world(m->turns);
    const struct forecast *f = &why->expected;
    struct strbuf b;
    strbuf_init(&b, 4096);
    explain_expected_text(w, s, why, &b);
    TEXT_CLIP(v->expected, strbuf_str(&b));
    strbuf_done(&b);
    TEXT_CLIP(v->estimate, str_of(forecast_kind_name(f->kind)));
    put_named(w, why, f->rests_on, v->rests_on);
    if (f->kind != FORECAST_DATED) return;
    int64_t now_ms = turns_core_ms(m->turns); /* the world's may be older: nothing happened */
    v->expected_in_ms = f->at_ms > now_ms ? f->at_ms - now_ms : 0;
    const struct node *n = world_node(w, f->node);
    CHECK(n != NULL);
    TEXT_CLIP(v->node, str_of(n->name));
}

void view_reason(const struct manager *m, const struct session *s, const struct why *why,
                 struct why_view *ret)
{
    const struct world *w = turns_world(m->turns);
    struct strbuf b;
    why_names(s, ret);
    ret->kind = why->kind;
    strbuf_init(&b, 8192);
    explain_text(w, s, why, &b);
    TEXT_CLIP(ret->text, strbuf_str(&b));
    strbuf_done(&b);
    put_named(w, why, why->blocker, ret->blocker);
    put_counts(w, why, ret);
    put_expected(m, s, why, ret);
    int64_t now_ms = turns_core_ms(m->turns);
    ret->since_ms = now_ms > why->since_ms ? now_ms - why->since_ms : 0;
    if (why->kind != WHY_WAITING) return;
    TEXT_CLIP(ret->wait, str_of(wait_kind_name(why->wait)));
    if (why->retry_ms > now_ms) ret->retry_in_ms = why->retry_ms - now_ms;
}

void view_why(const struct manager *m, uint32_t user, const struct session *s,
              struct why_view *ret)
{
    const struct world *w = turns_world(m->turns);
    struct why why;
    explain_session(w, s, &why);
    explain_expected(w, s, &why);
    why.viewer = user;
    view_reason(m, s, &why, ret);
}

void view_why_ended(const struct session_row *row, struct why_view *ret)
{
    why_names(&row->session, ret);
    ret->kind = WHY_NONE;
    view_end_text(row, ret->text, sizeof(ret->text));
}
