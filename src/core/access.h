/* core/access.h - who may do what: one table of (object kind, role, action). */
#ifndef CORE_ACCESS_H
#define CORE_ACCESS_H
#include <stdbool.h>
#include "core/model/account.h"

enum object_kind {
    OBJECT_SESSION = 1, OBJECT_NODE, OBJECT_GROUP, OBJECT_EVENT, OBJECT_TOKEN, OBJECT_CLUSTER,
    OBJECT_KINDS
};
enum action {
    ACTION_LIST = 1, ACTION_READ, ACTION_CREATE, ACTION_STOP, ACTION_SIGNAL, ACTION_LOGS,
    ACTION_EXEC, ACTION_UPDATE, ACTION_DELETE, ACTION_ADMIN, ACTIONS
};
const char *object_kind_name(enum object_kind k);
const char *action_name(enum action a);
bool access_allows(enum account_role role, enum object_kind kind, enum action a);

#endif
