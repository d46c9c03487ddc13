/* core/model/reservation.c - the list of reservations, by id.
 *
 * A change of the list is a change of its nodes: whoever follows w->changed sees it.
 * docs/spec/scheduling.md, "Reservations" */
#include "core/model/reservation.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/model/world.h"

/* Where it is, or would be. */
static uint32_t rank(const struct world *w, uint32_t id)
{
    uint32_t at = 0;
    while (at < w->reservations.n && w->reservations.v[at].id < id) at++;
    return at;
}

struct reservation *world_reservation(const struct world *w, uint32_t id)
{
    uint32_t at = rank(w, id);
    bool there = id > 0 && at < w->reservations.n && w->reservations.v[at].id == id;
    return there ? &w->reservations.v[at] : NULL;
}

static void touch(struct world *w, const struct reservation *r)
{
    for (uint32_t i = 0; i < r->n_parts; i++) {
        if (r->parts[i].node <= w->nodes.n) VEC_PUSH(&w->changed, r->parts[i].node - 1);
    }
}

static bool sane(const struct reservation *r)
{
    if (r->id == 0 || (r->user == 0) == (r->project == 0) || r->group == 0) return false;
    if (r->start_ms < 0 || r->start_ms >= r->end_ms || r->end_ms > INT64_MAX / 4) return false;
    if (!slots_valid(&r->slots) || slots_zero(&r->slots)) return false;
    if (r->n_parts == 0 || r->n_parts > RESERVATION_PARTS_MAX) return false;
    for (uint32_t i = 0; i < r->n_parts; i++) {
        if (r->parts[i].node == 0) return false;
        if ((int64_t)bits_count(r->parts[i].devices) != r->slots.v[SLOT_GPU]) return false;
        for (uint32_t k = 0; k < i; k++) {
            if (r->parts[k].node == r->parts[i].node) return false;
        }
    }
    return true;
}

bool world_put_reservation(struct world *w, const struct reservation *r)
{
    uint32_t at = rank(w, r->id);
    if (!sane(r) || w->reservations.n >= WORLD_RESERVATIONS_MAX) return false;
    if (world_reservation(w, r->id)) return false;
    VEC_INSERT(&w->reservations, at, *r);
    w->reservation_changes++;
    touch(w, r);
    return true;
}

void world_drop_reservation(struct world *w, uint32_t id)
{
    const struct reservation *r = world_reservation(w, id);
    CHECK(r != NULL);
    touch(w, r);
    w->reservation_changes++;
    VEC_REMOVE(&w->reservations, (uint32_t)(r - w->reservations.v));
}

bool reservation_admits(const struct reservation *r, const struct session *s)
{
    CHECK((r->user == 0) != (r->project == 0));
    if (s->group != r->group) return false;
    return r->user > 0 ? s->user == r->user : s->project == r->project;
}

bool reservation_covers(const struct reservation *r, const struct reservation_part *part,
                        const struct session *s, uint32_t devices)
{
    if (!reservation_admits(r, s)) return false;
    return part->devices != 0 ? (part->devices & devices) != 0 : s->id > r->since;
}

bool reservation_succeeds(const struct world *w, const struct alloc *a, const struct session *s)
{
    const struct session *holder = world_session(w, a->ref.session);
    VEC_EACH(r, &w->reservations) {
        for (uint32_t i = 0; i < r->n_parts; i++) {
            if (r->parts[i].node != a->node || !holder || reservation_admits(r, s)) continue;
            if (reservation_covers(r, &r->parts[i], holder, a->devices)) return true;
        }
    }
    return false;
}

bool reservation_favours(const struct world *w, const struct session *s)
{
    VEC_EACH(r, &w->reservations) if (reservation_admits(r, s)) return true;
    return false;
}

static void sooner(const struct world *w, int64_t at_ms, int64_t *ret)
{
    if (at_ms > w->now_ms && at_ms < *ret) *ret = at_ms;
}

int64_t reservation_next_ms(const struct world *w)
{
    int64_t next = INT64_MAX;
    VEC_EACH(r, &w->reservations) {
        sooner(w, r->start_ms, &next);
        sooner(w, r->end_ms, &next);
    }
    return next;
}

const char *reservation_audit(const struct world *w)
{
    for (uint32_t i = 0; i < w->reservations.n; i++) {
        const struct reservation *r = &w->reservations.v[i];
        if (!sane(r)) return "a reservation contradicts itself";
        if (i > 0 && r[-1].id >= r->id) return "reservations are out of order";
        if (!world_group(w, r->group)) return "a reservation's group is unknown";
        if (r->user > 0 && !world_user(w, r->user)) return "a reservation's user is unknown";
        if (r->project > 0 && !world_project(w, r->project)) {
            return "a reservation's project is unknown";
        }
        for (uint32_t k = 0; k < r->n_parts; k++) {
            if (r->parts[k].node > w->nodes.n) return "a reservation's node is unknown";
        }
    }
    return NULL;
}
