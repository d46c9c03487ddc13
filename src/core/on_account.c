/* core/on_account.c - domains, projects and users, as an administrator puts them.
 *
 * Id 0 makes a new one, any other changes the one there is: whole, so the caller
 * begins with a copy.  Names are unique among their kind; who belongs to a domain
 * stays in it, because what runs is booked there.  A limit may be lowered below
 * what is used: nothing is taken from those who run.  Somebody always stays who
 * may administrate.  docs/spec/scheduling.md, "Objects" */
#include "base/check.h"
#include "core/events.h"
#include "core/model/pool.h"

#define ACCOUNTS_MAX (UINT32_C(1) << 20)

static bool name_sane(struct draft *d, const char *name, size_t cap)
{
    if (memchr(name, '\0', cap) && str_is_name(str_of(name), cap - 1)) return true;
    draft_refuse(d, VERDICT_BAD_VALUE, "name",
                 "name: expected at most %zu of a-z, 0-9, '.', '_' and '-', with a letter or "
                 "digit at both ends",
                 cap - 1);
    return false;
}

/* Judges what all three have in common.  `have` is the number of the one that is changed,
 * 0: there is none of that number; `holder` that of the one with the name. */
static bool judged(struct draft *d, const char *what, uint32_t id, uint32_t have, uint32_t holder,
                   const char *name)
{
    if (id != have) {
        draft_refuse(d, VERDICT_NOT_FOUND, "", "there is no such %s", what);
        return false;
    }
    if (holder != 0 && holder != id) {
        draft_refuse(d, VERDICT_NAME_TAKEN, "name", "there is a %s named %s already", what, name);
        return false;
    }
    return true;
}

static bool room_for(struct draft *d, const char *what, uint32_t n)
{
    if (n < ACCOUNTS_MAX) return true;
    draft_refuse(d, VERDICT_FULL, "", "there are %u %ss already", n, what);
    return false;
}

static bool limits_fine(struct draft *d, const struct limits *l)
{
    if (limits_sane(l)) return true;
    draft_refuse(d, VERDICT_BAD_VALUE, "limits", "limits: expected amounts from 0 on");
    return false;
}

static bool domain_kept(struct draft *d, const char *what, uint32_t have, uint32_t wanted)
{
    if (!world_domain(d->w, wanted)) {
        draft_refuse(d, VERDICT_NOT_FOUND, "domain", "there is no such domain");
        return false;
    }
    if (have == 0 || have == wanted) return true;
    draft_refuse(d, VERDICT_BAD_VALUE, "domain", "domain: a %s stays in its domain", what);
    return false;
}

/* What was limited may fit now. */
static void limits_changed(struct world *w)
{
    for (uint32_t g = 1; g <= w->groups.n; g++) pool_due(w, g);
}

static void tell(struct draft *d, const char *what, const char *name, bool added)
{
    struct history *h = draft_history(d, HISTORY_ACCOUNT);
    text_fmt(h->text, sizeof(h->text), "%s %s %s", what, name, added ? "added" : "changed");
    limits_changed(d->w);
}

/* Numbers rise, so that one is never given twice. */
#define NEXT_ID(vec) \
    ({ \
        uint32_t last_ = 0; \
        VEC_EACH(item_, (vec)) if (item_->id > last_) last_ = item_->id; \
        last_ + 1; \
    })

void on_domain_put(struct draft *d)
{
    struct world *w = d->w;
    const struct domain *in = &d->ev->u.domain;
    if (!name_sane(d, in->name, sizeof(in->name))) return;
    struct domain *have = world_domain(w, in->id);
    const struct domain *named = world_domain_named(w, str_of(in->name));
    if (!judged(d, "domain", in->id, have ? have->id : 0, named ? named->id : 0, in->name)) return;
    if (!limits_fine(d, &in->limits) || (!have && !room_for(d, "domain", w->domains.n))) return;
    struct domain next = *in;
    bool added = !have;
    next.id = have ? have->id : NEXT_ID(&w->domains);
    next.usage = have ? have->usage : (struct usage){.running = 0};
    if (added) have = VEC_ADD(&w->domains);
    *have = next;
    d->out->account = next.id;
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_DOMAIN;
    c->u.domain = next;
    tell(d, "domain", next.name, added);
}

void on_project_put(struct draft *d)
{
    struct world *w = d->w;
    const struct project *in = &d->ev->u.project;
    if (!name_sane(d, in->name, sizeof(in->name))) return;
    struct project *have = world_project(w, in->id);
    const struct project *named = world_project_named(w, str_of(in->name));
    if (!judged(d, "project", in->id, have ? have->id : 0, named ? named->id : 0, in->name)) return;
    if (!domain_kept(d, "project", have ? have->domain : 0, in->domain)) return;
    if (!limits_fine(d, &in->limits) || (!have && !room_for(d, "project", w->projects.n))) return;
    struct project next = *in;
    bool added = !have;
    next.id = have ? have->id : NEXT_ID(&w->projects);
    next.usage = have ? have->usage : (struct usage){.running = 0};
    if (added) have = VEC_ADD(&w->projects);
    *have = next;
    d->out->account = next.id;
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_PROJECT;
    c->u.project = next;
    tell(d, "project", next.name, added);
}

static bool administrates(const struct user *u) { return u->role == ROLE_ADMIN && !u->disabled; }

static bool id_fine(struct draft *d, const char *field, uint32_t id, uint32_t own)
{
    if (id == own || (id >= 1 && id < USER_UID_FIRST)) return true;
    draft_refuse(d, VERDICT_BAD_VALUE, field,
                 "%s: expected 1 to %u: containers do not run as root, and what is above is "
                 "allotted", field, USER_UID_FIRST - 1);
    return false;
}

/* A shared uid that an older store has stays until somebody changes it. */
static bool uid_free(struct draft *d, const struct user *in, const struct user *have)
{
    if (have && have->uid == in->uid) return true;
    VEC_EACH(u, &d->w->users) {
        if (u->id == in->id || u->uid != in->uid) continue;
        draft_refuse(d, VERDICT_BAD_VALUE, "uid", "uid: %u is that of user %s: who shares it can "
                     "read the other's files", in->uid, u->name);
        return false;
    }
    return true;
}

static bool user_fine(struct draft *d, const struct user *in)
{
    bool other = administrates(in);
    if (in->role != ROLE_ADMIN && in->role != ROLE_MEMBER) {
        draft_refuse(d, VERDICT_BAD_VALUE, "role", "role: expected admin or member");
        return false;
    }
    VEC_EACH(u, &d->w->users) other = other || (u->id != in->id && administrates(u));
    if (other) return true;
    draft_refuse(d, VERDICT_BAD_VALUE, in->disabled ? "disabled" : "role",
                 "%s is the last administrator: give that role to somebody else first", in->name);
    return false;
}

void on_user_put(struct draft *d)
{
    struct world *w = d->w;
    const struct user *in = &d->ev->u.user;
    if (!name_sane(d, in->name, sizeof(in->name))) return;
    struct user *have = world_user(w, in->id);
    const struct user *named = world_user_named(w, str_of(in->name));
    if (!judged(d, "user", in->id, have ? have->id : 0, named ? named->id : 0, in->name)) return;
    if (!domain_kept(d, "user", have ? have->domain : 0, in->domain)) return;
    if (!limits_fine(d, &in->limits) || !user_fine(d, in)) return;
    if (!have && !room_for(d, "user", w->users.n)) return;
    struct user next = *in;
    bool added = !have;
    next.id = have ? have->id : NEXT_ID(&w->users);
    if (next.uid == 0) next.uid = user_own_id(next.id);
    if (next.gid == 0) next.gid = user_own_id(next.id);
    if (!id_fine(d, "uid", next.uid, user_own_id(next.id)) ||
        !id_fine(d, "gid", next.gid, user_own_id(next.id)) || !uid_free(d, &next, have))
        return;
    next.usage = have ? have->usage : (struct usage){.running = 0};
    if (added) have = VEC_ADD(&w->users);
    *have = next;
    d->out->account = next.id;
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_USER;
    c->u.user = next;
    tell(d, "user", next.name, added);
}
