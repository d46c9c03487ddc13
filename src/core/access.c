/* core/access.c - one table: what is not listed is refused. */
#include "core/access.h"

#include "base/check.h"
#include "base/mem.h"

static const char *const OBJECT_NAMES[] = {
    [OBJECT_SESSION] = "session", [OBJECT_NODE] = "node",   [OBJECT_GROUP] = "group",
    [OBJECT_EVENT] = "event",     [OBJECT_TOKEN] = "token", [OBJECT_CLUSTER] = "cluster",
    [OBJECT_ACCOUNT] = "account", [OBJECT_QUEUE] = "queue",
    [OBJECT_RESERVATION] = "reservation",
};
_Static_assert(ARRAY_LEN(OBJECT_NAMES) == OBJECT_KINDS, "one name a kind");

static const char *const ACTION_NAMES[] = {
    [ACTION_LIST] = "list",     [ACTION_READ] = "read",     [ACTION_CREATE] = "create",
    [ACTION_STOP] = "stop",     [ACTION_SIGNAL] = "signal", [ACTION_LOGS] = "logs",
    [ACTION_EXEC] = "exec",     [ACTION_UPDATE] = "update", [ACTION_DELETE] = "delete",
    [ACTION_ADMIN] = "admin",
};
_Static_assert(ARRAY_LEN(ACTION_NAMES) == ACTIONS, "one name an action");

#define MAY(action) (1u << ACTION_##action)

/* To which of the two a right extends; what both name extends to all. */
struct rights { uint32_t all, own; };

#define TO_ALL(...) {.all = (__VA_ARGS__)}
#define TO_OWN(...) {.own = (__VA_ARGS__)}

static const struct rights RIGHTS[ACCOUNT_ROLES][OBJECT_KINDS] = {
    [ROLE_ADMIN] = {
        [OBJECT_SESSION] = TO_ALL(MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(STOP) | MAY(SIGNAL) |
                                  MAY(LOGS) | MAY(EXEC) | MAY(UPDATE) | MAY(DELETE)),
        [OBJECT_NODE] = TO_ALL(MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(UPDATE) | MAY(DELETE)),
        [OBJECT_GROUP] = TO_ALL(MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(UPDATE) | MAY(DELETE)),
        [OBJECT_EVENT] = TO_ALL(MAY(LIST) | MAY(READ)),
        [OBJECT_TOKEN] = TO_ALL(MAY(LIST) | MAY(CREATE) | MAY(DELETE)),
        [OBJECT_CLUSTER] = TO_ALL(MAY(READ) | MAY(ADMIN)),
        [OBJECT_ACCOUNT] = TO_ALL(MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(UPDATE)),
        [OBJECT_QUEUE] = TO_ALL(MAY(LIST) | MAY(READ)),
        [OBJECT_RESERVATION] = TO_ALL(MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(DELETE)),
    },
    [ROLE_MEMBER] = {
        [OBJECT_SESSION] = TO_OWN(MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(STOP) | MAY(SIGNAL) |
                                  MAY(LOGS) | MAY(EXEC) | MAY(UPDATE) | MAY(DELETE)),
        [OBJECT_NODE] = TO_ALL(MAY(LIST) | MAY(READ)),
        [OBJECT_GROUP] = TO_ALL(MAY(LIST) | MAY(READ)),
        [OBJECT_EVENT] = TO_OWN(MAY(LIST) | MAY(READ)),
        [OBJECT_TOKEN] = TO_OWN(MAY(LIST) | MAY(CREATE) | MAY(DELETE)),
        [OBJECT_CLUSTER] = TO_ALL(MAY(READ)),
        [OBJECT_ACCOUNT] = TO_OWN(MAY(READ)),
        [OBJECT_QUEUE] = {.all = MAY(LIST), .own = MAY(READ)},
        [OBJECT_RESERVATION] = TO_ALL(MAY(LIST) | MAY(READ)),
    },
};

const char *object_kind_name(enum object_kind k)
{
    CHECK(k >= OBJECT_SESSION);
    CHECK(k < OBJECT_KINDS);
    return OBJECT_NAMES[k];
}

const char *action_name(enum action a)
{
    CHECK(a >= ACTION_LIST);
    CHECK(a < ACTIONS);
    return ACTION_NAMES[a];
}

enum access access_of(enum account_role role, enum object_kind kind, enum action a)
{
    CHECK(role < ACCOUNT_ROLES);
    CHECK(kind >= OBJECT_SESSION);
    CHECK(kind < OBJECT_KINDS);
    CHECK(a >= ACTION_LIST);
    CHECK(a < ACTIONS);
    const struct rights *r = &RIGHTS[role][kind];
    if (r->all >> a & 1) return ACCESS_ALL;
    return r->own >> a & 1 ? ACCESS_OWN : ACCESS_NONE;
}

bool access_allows(enum account_role role, enum object_kind kind, enum action a)
{
    return access_of(role, kind, a) != ACCESS_NONE;
}

bool access_to(const struct user *who, enum object_kind kind, enum action a, uint32_t owner)
{
    if (who->disabled) return false;
    enum access to = access_of(who->role, kind, a);
    return to == ACCESS_ALL || (to == ACCESS_OWN && who->id == owner);
}
