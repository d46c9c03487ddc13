/* sim/disk.c - rows in plain arrays; small worlds, so searches are walks. */
#include "sim/disk.h"
#include "base/check.h"

void disk_init(struct disk *d)
{
    memset(d, 0, sizeof(*d));
    struct group *g = VEC_ADD(&d->groups);
    *g = group_make(1, "default", BLOCKED_STOP);
    for (int k = KIND_BATCH; k < SESSION_KINDS; k++) g->time_limit_ms[k] = 0;
}

void disk_done(struct disk *d)
{
    VEC_DONE(&d->live);
    VEC_DONE(&d->ended);
    VEC_DONE(&d->allocs);
    VEC_DONE(&d->nodes);
    VEC_DONE(&d->groups);
    VEC_DONE(&d->reservations);
    VEC_DONE(&d->keys);
}

static void put_session(struct disk *d, const struct session_row *row)
{
    const struct session *s = &row->session;
    for (uint32_t i = 0; i < d->live.n; i++) {
        if (d->live.v[i].session.id != s->id) continue;
        if (session_live(s)) {
            d->live.v[i] = *row;
            return;
        }
        VEC_REMOVE(&d->live, i);
        break;
    }
    CHECK(disk_ended(d, s->id) == NULL); /* final: nothing writes it again */
    if (session_live(s)) VEC_PUSH(&d->live, *row);
    else VEC_PUSH(&d->ended, *s);
}

static void put_alloc(struct disk *d, const struct alloc *a, bool gone)
{
    for (uint32_t i = 0; i < d->allocs.n; i++) {
        if (member_ref_cmp(d->allocs.v[i].ref, a->ref) != 0) continue;
        if (gone) VEC_REMOVE(&d->allocs, i);
        else d->allocs.v[i] = *a;
        return;
    }
    if (!gone) VEC_PUSH(&d->allocs, *a);
}

static void put_node(struct disk *d, const struct node *n, bool gone)
{
    for (uint32_t i = 0; i < d->nodes.n; i++) {
        if (d->nodes.v[i].id != n->id) continue;
        if (gone) VEC_REMOVE(&d->nodes, i);
        else d->nodes.v[i] = *n;
        return;
    }
    if (!gone) VEC_PUSH(&d->nodes, *n);
}

static void put_group(struct disk *d, const struct group *g)
{
    VEC_EACH(have, &d->groups) {
        if (have->id != g->id) continue;
        *have = *g;
        return;
    }
    VEC_PUSH(&d->groups, *g);
}

static void put_reservation(struct disk *d, const struct reservation *r, bool gone)
{
    for (uint32_t i = 0; i < d->reservations.n; i++) {
        if (d->reservations.v[i].id != r->id) continue;
        CHECK(gone); /* one never changes */
        VEC_REMOVE(&d->reservations, i);
        return;
    }
    if (!gone) VEC_PUSH(&d->reservations, *r);
}

void disk_apply(struct disk *d, const struct turn *t)
{
    CHECK(t->no == d->turn + 1);
    CHECK(t->core_ms >= d->core_ms);
    VEC_EACH(c, &t->changes) {
        switch (c->kind) {
        case CHANGE_SESSION: put_session(d, &c->u.session_row); break;
        case CHANGE_ALLOC: put_alloc(d, &c->u.alloc, false); break;
        case CHANGE_ALLOC_GONE: put_alloc(d, &c->u.alloc, true); break;
        case CHANGE_NODE: put_node(d, &c->u.node, false); break;
        case CHANGE_NODE_GONE: put_node(d, &c->u.node, true); break;
        case CHANGE_GROUP: put_group(d, &c->u.group); break;
        case CHANGE_DOMAIN: /* the accounts of a simulation are those that it began with */
        case CHANGE_PROJECT:
        case CHANGE_USER: UNREACHABLE();
        case CHANGE_RESERVATION: put_reservation(d, &c->u.reservation, false); break;
        case CHANGE_RESERVATION_GONE: put_reservation(d, &c->u.reservation, true); break;
        case CHANGE_HISTORY: break; /* for people; no decision reads it back */
        case CHANGE_KINDS:
        default: UNREACHABLE();
        }
    }
    VEC_EACH(k, &t->keys) VEC_PUSH(&d->keys, *k);
    d->turn = t->no;
    d->core_ms = t->core_ms;
}

struct world *disk_load(const struct disk *d)
{
    struct world *w = world_new();
    struct domain domain = {.id = 1};
    struct project project = {.id = 1, .domain = 1};
    struct user user = {.id = 1, .domain = 1, .role = ROLE_ADMIN, .uid = 65534, .gid = 65534};
    CHECK(TEXT_SET(domain.name, STR("default")));
    CHECK(TEXT_SET(project.name, STR("default")));
    CHECK(TEXT_SET(user.name, STR("admin")));
    CHECK(world_put_domain(w, &domain));
    CHECK(world_put_project(w, &project));
    CHECK(world_put_user(w, &user));
    VEC_EACH(g, &d->groups) CHECK(world_put_group(w, g));
    VEC_EACH(n, &d->nodes) CHECK(world_put_node(w, n));
    VEC_EACH(r, &d->live) CHECK(world_put_session_row(w, r));
    VEC_EACH(a, &d->allocs) CHECK(world_put_alloc(w, a));
    VEC_EACH(r, &d->reservations) CHECK(world_put_reservation(w, r));
    VEC_EACH(s, &d->ended) {
        if (s->id > w->last_session) w->last_session = s->id;
    }
    VEC_EACH(r, &d->live) {
        if (r->session.id > w->last_session) w->last_session = r->session.id;
    }
    w->turn = d->turn;
    w->now_ms = d->core_ms;
    const char *why = NULL;
    bool fits = world_ready(w, &why);
    CHECK(fits);
    return w;
}

uint64_t disk_session_of_key(const struct disk *d, uint64_t key)
{
    VEC_EACH(k, &d->keys) {
        if (k->key == key) return k->session;
    }
    return 0;
}

const struct session *disk_ended(const struct disk *d, uint64_t session)
{
    VEC_EACH(s, &d->ended) {
        if (s->id == session) return s;
    }
    return NULL;
}

const struct session *disk_live(const struct disk *d, uint64_t session)
{
    VEC_EACH(r, &d->live) {
        if (r->session.id == session) return &r->session;
    }
    return NULL;
}
