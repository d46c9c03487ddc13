/* wire/snapshot.c - a world out, and in again. */
#include "wire/snapshot.h"

#include "base/check.h"

static const struct wire_field fields[] = {
    WIRE_F_U64(struct snapshot_rows, turn, "turn", .flags = WIRE_REQUIRED, .max = INT64_MAX,
               .doc = "The last one that is in it."),
    WIRE_F_I64(struct snapshot_rows, core_ms, "core_ms", .flags = WIRE_REQUIRED, .min = 0,
               .max = INT64_MAX / 4, .doc = "Core time."),
    WIRE_F_I64(struct snapshot_rows, wall_ms, "wall_ms", .min = 0, .max = INT64_MAX,
               .doc = "For people."),
    WIRE_F_LIST(struct snapshot_rows, domains, "domains", &wire_row_domain, 1 << 20),
    WIRE_F_LIST(struct snapshot_rows, projects, "projects", &wire_row_project, 1 << 20),
    WIRE_F_LIST(struct snapshot_rows, users, "users", &wire_row_user, 1 << 20),
    WIRE_F_LIST(struct snapshot_rows, groups, "groups", &wire_row_group, WORLD_GROUPS_MAX),
    WIRE_F_LIST(struct snapshot_rows, nodes, "nodes", &wire_row_node, WORLD_NODES_MAX),
    WIRE_F_LIST(struct snapshot_rows, sessions, "sessions", &wire_row_session, WORLD_SESSIONS_MAX),
    WIRE_F_LIST(struct snapshot_rows, allocs, "allocs", &wire_row_alloc, 1 << 24),
    WIRE_F_LIST(struct snapshot_rows, reservations, "reservations", &wire_row_reservation,
                WORLD_RESERVATIONS_MAX, .flags = WIRE_OMIT),
};
const struct wire_table wire_snapshot =
    WIRE_TABLE("snapshot", struct snapshot_rows, fields, .version = 1, .max_bytes = SNAPSHOT_MAX);

void snapshot_take(const struct world *w, int64_t wall_ms, struct snapshot_rows *ret)
{
    struct snapshot_rows s = {.turn = w->turn, .core_ms = w->now_ms, .wall_ms = wall_ms};
    CHECK(w->ready);
    VEC_EACH(x, &w->domains) VEC_PUSH(&s.domains, *x);
    VEC_EACH(x, &w->projects) VEC_PUSH(&s.projects, *x);
    VEC_EACH(x, &w->users) VEC_PUSH(&s.users, *x);
    VEC_EACH(x, &w->groups) if (x->id) VEC_PUSH(&s.groups, *x);
    VEC_EACH(x, &w->nodes) if (x->name[0]) VEC_PUSH(&s.nodes, *x);
    VEC_EACH(x, &w->sessions) if (x->id) {
        VEC_PUSH(&s.sessions, ((struct session_row){*x, *ends_of(w, x)}));
    }
    VEC_EACH(x, &w->allocs) if (x->live) VEC_PUSH(&s.allocs, (struct alloc_row){.alloc = *x});
    VEC_EACH(x, &w->reservations) VEC_PUSH(&s.reservations, *x);
    *ret = s;
}

/* The number of the row that was refused, or 0. */
#define PUT(list, put) \
    for (uint32_t i = 0; i < s->list.n; i++) { \
        if (put(w, &s->list.v[i])) continue; \
        return err_set(err, ERR_INVALID, "snapshot: item %u of " #list \
                       " contradicts itself or another", i); \
    }

static bool put_row(struct world *w, const struct alloc_row *r)
{
    return world_put_alloc(w, &r->alloc);
}

static int put_rows(const struct snapshot_rows *s, struct world *w, struct err *err)
{
    PUT(domains, world_put_domain)
    PUT(projects, world_put_project)
    PUT(users, world_put_user)
    PUT(groups, world_put_group)
    PUT(nodes, world_put_node)
    PUT(sessions, world_put_session_row)
    PUT(allocs, put_row)
    PUT(reservations, world_put_reservation)
    return 0;
}

int snapshot_load(const struct snapshot_rows *s, struct world *w, struct err *err)
{
    const char *why = NULL;
    int rc = put_rows(s, w, err);
    if (rc) return rc;
    w->turn = s->turn;
    w->now_ms = s->core_ms;
    if (world_ready(w, &why)) return 0;
    return err_set(err, ERR_INVALID, "snapshot: %s", why ? why : "its rows contradict each other");
}
