/* manager/api_token.c - tokens of people: making, listing, revoking.
 *
 * A token is shown once, in the answer that makes it.  Afterwards it is known by
 * the first digits of its hash, which is all that the store keeps.  A member
 * sees its own alone. */
#include "base/check.h"
#include "manager/api.h"
#include "manager/view.h"

static bool no_query(struct api_call *c)
{
    static const char *const none[] = {NULL};
    return api_query_only(c, none);
}

static bool may(const struct api_call *c, enum action a, uint32_t owner)
{
    const struct user *u = world_user(turns_world(c->m->turns), c->user);
    CHECK(u != NULL);
    return access_to(u, OBJECT_TOKEN, a, owner);
}

static const struct user *owner_of(struct api_call *c, enum action a)
{
    const struct user *u = world_user_named(turns_world(c->m->turns), c->id);
    if (u && may(c, a, u->id)) return u;
    answer_problem(c->m, c->req, 404, "not_found", "", "there is no such user");
    return NULL;
}

static void view_token(const struct user *owner, const struct store_token *t, int64_t wall_ms,
                       struct token_view *ret)
{
    wire_init(&wire_token_view, ret);
    auth_token_id(t, ret->id);
    TEXT_CLIP(ret->name, str_of(t->name));
    TEXT_CLIP(ret->user, str_of(owner->name));
    wire_time_format(t->created_wall_ms, ret->created_at);
    wire_time_format(t->expires_wall_ms, ret->expires_at);
    ret->expired = auth_expired(t, wall_ms);
}

void api_token_list(struct api_call *c)
{
    const struct user *u = no_query(c) ? owner_of(c, ACTION_LIST) : NULL;
    struct token_list list;
    int64_t wall_ms = net_wall_ms();
    if (!u) return;
    wire_init(&wire_token_list, &list);
    VEC_EACH(t, &c->m->auth.tokens) {
        if (t->kind != STORE_TOKEN_API || t->user != u->id) continue;
        view_token(u, t, wall_ms, VEC_ADD(&list.items));
    }
    answer_object(c->m, c->req, 200, &wire_token_list, &list);
    wire_free(&wire_token_list, &list);
}

void api_token_create(struct api_call *c)
{
    struct token_request rq;
    struct manager *m = c->m;
    if (!no_query(c) || !api_body(c, &wire_token_request, &rq)) return;
    const struct user *u = owner_of(c, ACTION_CREATE);
    if (!u || !api_accepting(c)) return;
    char text[AUTH_TOKEN_TEXT];
    struct store_token token;
    struct token_view v;
    int64_t wall_ms = net_wall_ms();
    auth_new_api(u->id, str_of(rq.name), wall_ms, &token, text);
    if (rq.valid_ms > 0) token.expires_wall_ms = wall_ms + rq.valid_ms;
    struct store_turn *turn = turns_open(m->turns);
    store_turn_op(turn, STORE_PUT_TOKEN)->u.token = token;
    auth_sweep(&m->auth, turn, wall_ms);
    auth_add(&m->auth, &token);
    view_token(u, &token, wall_ms, &v);
    v.token = text;
    answer_object(m, c->req, 201, &wire_token_view, &v);
    mem_zero_secret(text, sizeof(text));
}

void api_token_revoke(struct api_call *c)
{
    struct manager *m = c->m;
    if (!no_query(c)) return;
    const struct store_token *t = auth_by_id(&m->auth, c->id);
    const struct user *u = t ? world_user(turns_world(m->turns), t->user) : NULL;
    if (!u || !may(c, ACTION_DELETE, u->id)) {
        answer_problem(m, c->req, 404, "not_found", "", "there is no such token");
        return;
    }
    if (!api_accepting(c)) return;
    struct token_view v;
    view_token(u, t, net_wall_ms(), &v);
    struct store_op *op = store_turn_op(turns_open(m->turns), STORE_REMOVE_TOKEN);
    bool fits = TEXT_SET(op->u.token_hash, str_of(t->hash));
    CHECK(fits);
    auth_remove(&m->auth, op->u.token_hash);
    answer_object(m, c->req, 200, &wire_token_view, &v);
}
