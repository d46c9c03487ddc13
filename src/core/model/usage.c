/* core/model/usage.c - three books a session: its user's, its project's, its domain's.
 *
 * A row is booked where it comes and goes, a session where its state changes;
 * both touch the same three books.  What RESERVED sessions are promised has no
 * rows: it is booked with the state.  Sums cannot overflow in a world that was
 * loaded: quota_* refuses what would make them (sched/quota.h), and loading
 * refuses a store in which they do.  docs/spec/scheduling.md, "Objects" */
#include "core/model/usage.h"

#include "base/check.h"

#define BOOKS 3
struct books { struct usage *of[BOOKS]; };

/* Where the three of a world lie: its own, or those that are counted anew. */
struct shelf { struct usage *users, *projects, *domains; };

static uint32_t project_domain(const struct world *w, const struct session *s)
{
    const struct project *p = world_project(w, s->project);
    CHECK(p != NULL);
    return p->domain;
}

static struct books books_of(const struct world *w, const struct session *s)
{
    struct user *u = world_user(w, s->user);
    struct project *p = world_project(w, s->project);
    struct domain *d = world_domain(w, project_domain(w, s));
    CHECK(u != NULL);
    CHECK(d != NULL);
    return (struct books){{&u->usage, &p->usage, &d->usage}};
}

static struct books shelf_books(const struct world *w, const struct shelf *shelf,
                                const struct session *s)
{
    return (struct books){{
        &shelf->users[world_user(w, s->user) - w->users.v],
        &shelf->projects[world_project(w, s->project) - w->projects.v],
        &shelf->domains[world_domain(w, project_domain(w, s)) - w->domains.v],
    }};
}

static bool add(const struct books *b, const struct slots *slots)
{
    for (int i = 0; i < BOOKS; i++) {
        if (!slots_add(&b->of[i]->used, slots, &b->of[i]->used)) return false;
    }
    return true;
}

static void sub(const struct books *b, const struct slots *slots)
{
    for (int i = 0; i < BOOKS; i++) {
        bool had = slots_sub(&b->of[i]->used, slots, &b->of[i]->used);
        CHECK(had);
    }
}

/* Which of the two counts a session in this state is part of. */
static uint32_t *count_of(struct usage *u, enum session_state state)
{
    if (state == SESSION_PENDING) return &u->pending;
    return state >= SESSION_RESERVED && state <= SESSION_STOPPING ? &u->running : NULL;
}

static bool enter(const struct books *b, const struct session *s, enum session_state state)
{
    struct slots total;
    for (int i = 0; i < BOOKS; i++) {
        uint32_t *count = count_of(b->of[i], state);
        if (count) (*count)++;
    }
    return state != SESSION_RESERVED || (session_total(s, &total) && add(b, &total));
}

static void leave(const struct books *b, const struct session *s, enum session_state state)
{
    struct slots total;
    for (int i = 0; i < BOOKS; i++) {
        uint32_t *count = count_of(b->of[i], state);
        if (!count) continue;
        CHECK(*count > 0);
        (*count)--;
    }
    if (state != SESSION_RESERVED) return;
    bool sane = session_total(s, &total);
    CHECK(sane);
    sub(b, &total);
}

void usage_take(struct world *w, const struct alloc *a)
{
    const struct session *s = world_session(w, a->ref.session);
    CHECK(s != NULL);
    CHECK(!a->revoked);
    struct books b = books_of(w, s);
    bool fits = add(&b, &a->slots);
    CHECK(fits);
}

void usage_give(struct world *w, const struct alloc *a)
{
    const struct session *s = world_session(w, a->ref.session);
    CHECK(s != NULL);
    struct books b = books_of(w, s);
    sub(&b, &a->slots);
    w->relieved = true;
}

void usage_moved(struct world *w, const struct session *s, enum session_state from,
                 enum session_state to)
{
    CHECK(from < SESSION_STATES);
    CHECK(to < SESSION_STATES);
    struct books b = books_of(w, s);
    if (from != 0) leave(&b, s, from);
    if (from > SESSION_PENDING) w->relieved = true;
    bool fits = enter(&b, s, to);
    CHECK(fits);
}

/* ---- all anew */

static struct shelf shelf_new(const struct world *w)
{
    return (struct shelf){mem_array(w->users.n, sizeof(struct usage)),
                          mem_array(w->projects.n, sizeof(struct usage)),
                          mem_array(w->domains.n, sizeof(struct usage))};
}

static void shelf_done(struct shelf *shelf)
{
    mem_free(shelf->users);
    mem_free(shelf->projects);
    mem_free(shelf->domains);
}

static bool count_all(const struct world *w, const struct shelf *shelf)
{
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *s = &w->sessions.v[i];
        if (s->id == 0) continue;
        struct books b = shelf_books(w, shelf, s);
        if (!enter(&b, s, s->state)) return false;
        for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
            if (!a->revoked && !add(&b, &a->slots)) return false;
        }
    }
    return true;
}

bool usage_recount(struct world *w)
{
    struct shelf shelf = shelf_new(w);
    bool fits = count_all(w, &shelf);
    for (uint32_t i = 0; fits && i < w->users.n; i++) w->users.v[i].usage = shelf.users[i];
    for (uint32_t i = 0; fits && i < w->projects.n; i++) w->projects.v[i].usage = shelf.projects[i];
    for (uint32_t i = 0; fits && i < w->domains.n; i++) w->domains.v[i].usage = shelf.domains[i];
    shelf_done(&shelf);
    return fits;
}

static bool same(const struct usage *a, const struct usage *b)
{
    return memcmp(&a->used, &b->used, sizeof(a->used)) == 0 && a->running == b->running &&
           a->pending == b->pending;
}

const char *usage_audit(const struct world *w)
{
    struct shelf shelf = shelf_new(w);
    const char *why = count_all(w, &shelf) ? NULL : "what an account uses overflows";
    for (uint32_t i = 0; !why && i < w->users.n; i++) {
        if (!same(&w->users.v[i].usage, &shelf.users[i])) why = "a user's use is not its rows'";
    }
    for (uint32_t i = 0; !why && i < w->projects.n; i++) {
        bool fine = same(&w->projects.v[i].usage, &shelf.projects[i]);
        if (!fine) why = "a project's use is not its rows'";
    }
    for (uint32_t i = 0; !why && i < w->domains.n; i++) {
        bool fine = same(&w->domains.v[i].usage, &shelf.domains[i]);
        if (!fine) why = "a domain's use is not its rows'";
    }
    shelf_done(&shelf);
    return why;
}
