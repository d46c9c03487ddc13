/* core/access.h - who may do what: one table of (object kind, role, action).
 *
 * A right is to all objects of a kind or to one's own: a session has its owner, a token and an
 * account theirs.  What somebody may not read is not there for them: 404, not 403. */
#ifndef CORE_ACCESS_H
#define CORE_ACCESS_H
#include <stdbool.h>
#include "core/model/account.h"

enum object_kind {
    OBJECT_SESSION = 1, OBJECT_NODE, OBJECT_GROUP, OBJECT_EVENT, OBJECT_TOKEN, OBJECT_CLUSTER,
    OBJECT_ACCOUNT, /* a domain, project or user */
    OBJECT_QUEUE,   /* what waits: of others the size and since when, not the name */
    OBJECT_RESERVATION,
    OBJECT_KINDS
};
enum action {
    ACTION_LIST = 1, ACTION_READ, ACTION_CREATE, ACTION_STOP, ACTION_SIGNAL, ACTION_LOGS,
    ACTION_EXEC, ACTION_UPDATE, ACTION_DELETE, ACTION_ADMIN, ACTIONS
};
enum access { ACCESS_NONE = 0, ACCESS_OWN, ACCESS_ALL };
const char *object_kind_name(enum object_kind k);
const char *action_name(enum action a);
enum access access_of(enum account_role role, enum object_kind kind, enum action a);
/* Whether any such object may be acted on at all. */
bool access_allows(enum account_role role, enum object_kind kind, enum action a);
/* Whether this one may, which belongs to `owner`. */
bool access_to(const struct user *who, enum object_kind kind, enum action a, uint32_t owner);

#endif
