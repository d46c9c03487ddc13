/* manager/view_account.c - accounts as people read them. */
#include "base/check.h"
#include "core/access.h"
#include "manager/view.h"

bool view_may_read(const struct world *w, uint32_t user, const struct session *s)
{
    const struct user *u = world_user(w, user);
    return u && access_to(u, OBJECT_SESSION, ACTION_READ, s->user);
}

bool view_may_read_in(const struct world *w, uint32_t user, uint32_t domain)
{
    const struct user *u = world_user(w, user);
    if (!u) return false;
    return access_of(u->role, OBJECT_ACCOUNT, ACTION_READ) == ACCESS_ALL || u->domain == domain;
}

void view_usage(const struct usage *u, struct usage_view *ret)
{
    *ret = (struct usage_view){u->used.v[SLOT_CPU], u->used.v[SLOT_MEM], u->used.v[SLOT_GPU],
                               u->running, u->pending};
}

void view_domain(const struct world *w, const struct domain *d, struct domain_view *ret)
{
    (void)w;
    wire_init(&wire_domain_view, ret);
    ret->id = d->id;
    TEXT_CLIP(ret->name, str_of(d->name));
    limits_show(&d->limits, &ret->limits);
    view_usage(&d->usage, &ret->used);
}

void view_project(const struct world *w, const struct project *p, struct project_view *ret)
{
    wire_init(&wire_project_view, ret);
    ret->id = p->id;
    TEXT_CLIP(ret->name, str_of(p->name));
    TEXT_CLIP(ret->domain, str_of(world_domain(w, p->domain)->name));
    limits_show(&p->limits, &ret->limits);
    view_usage(&p->usage, &ret->used);
}

void view_user(const struct world *w, const struct user *u, struct user_view *ret)
{
    wire_init(&wire_user_view, ret);
    ret->id = u->id;
    TEXT_CLIP(ret->name, str_of(u->name));
    TEXT_CLIP(ret->domain, str_of(world_domain(w, u->domain)->name));
    ret->role = u->role;
    ret->uid = u->uid;
    ret->gid = u->gid;
    ret->disabled = u->disabled;
    limits_show(&u->limits, &ret->limits);
    view_usage(&u->usage, &ret->used);
}
