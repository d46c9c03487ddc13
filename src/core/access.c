/* core/access.c - one table: what is not listed is refused. */
#include "core/access.h"

#include "base/check.h"
#include "base/mem.h"

static const char *const OBJECT_NAMES[] = {
    [OBJECT_SESSION] = "session", [OBJECT_NODE] = "node",   [OBJECT_GROUP] = "group",
    [OBJECT_EVENT] = "event",     [OBJECT_TOKEN] = "token", [OBJECT_CLUSTER] = "cluster",
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

static const uint32_t ALLOWED[ACCOUNT_ROLES][OBJECT_KINDS] = {
    [ROLE_ADMIN] = {
        [OBJECT_SESSION] = MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(STOP) | MAY(SIGNAL) |
                           MAY(LOGS) | MAY(EXEC) | MAY(UPDATE) | MAY(DELETE),
        [OBJECT_NODE] = MAY(LIST) | MAY(READ) | MAY(UPDATE) | MAY(DELETE),
        [OBJECT_GROUP] = MAY(LIST) | MAY(READ) | MAY(CREATE) | MAY(UPDATE) | MAY(DELETE),
        [OBJECT_EVENT] = MAY(LIST) | MAY(READ),
        [OBJECT_TOKEN] = MAY(LIST) | MAY(CREATE) | MAY(DELETE),
        [OBJECT_CLUSTER] = MAY(READ) | MAY(ADMIN),
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

bool access_allows(enum account_role role, enum object_kind kind, enum action a)
{
    CHECK(role < ACCOUNT_ROLES);
    CHECK(kind >= OBJECT_SESSION);
    CHECK(kind < OBJECT_KINDS);
    CHECK(a >= ACTION_LIST);
    CHECK(a < ACTIONS);
    return (ALLOWED[role][kind] >> a & 1) != 0;
}
