/* core/model/account.h - who may hold something: domain > project > user.
 *
 * A limit can stand at each level.  What is used there is an index: it moves with
 * ledger rows and states where these move (model/usage.h), and the audit counts
 * it anew.  docs/spec/scheduling.md, "Objects" */
#ifndef CORE_MODEL_ACCOUNT_H
#define CORE_MODEL_ACCOUNT_H
#include <stdbool.h>
#include <stdint.h>
#include "core/model/slots.h"

enum account_role {
    ROLE_NONE = 0,
    ROLE_ADMIN,
    ROLE_MEMBER, /* its own sessions; sees that others wait, not what they do */
    ACCOUNT_ROLES
};

enum limit_kind { /* the first SLOT_KINDS are those of the slots */
    LIMIT_CPU = SLOT_CPU,
    LIMIT_MEM = SLOT_MEM,
    LIMIT_GPU = SLOT_GPU,
    LIMIT_RUNNING = SLOT_KINDS, /* sessions from RESERVED to STOPPING */
    LIMIT_PENDING,              /* sessions that wait: judged at submission */
    LIMIT_CONTAINERS,           /* of one session: judged at submission */
    LIMIT_KINDS
};

struct limits { /* {0}: nothing is limited.  0 with its bit set: none at all */
    uint32_t set; /* bit (1 << kind): max[kind] holds */
    int64_t max[LIMIT_KINDS];
};
static inline bool limit_has(const struct limits *l, enum limit_kind k)
{
    return (l->set >> k & 1) != 0;
}
const char *limit_name(enum limit_kind k); /* "cpu", ..., "running", "pending", "containers" */

bool limits_sane(const struct limits *l); /* kinds there are, amounts from 0 on */

struct usage { /* not stored */
    struct slots used; /* rows that are not revoked, and what is promised to RESERVED ones */
    uint32_t running, pending;
};

struct domain {
    uint32_t id;
    char name[64];
    struct limits limits;
    struct usage usage;
};
struct project {
    uint32_t id, domain;
    char name[64];
    struct limits limits;
    struct usage usage;
};
/* A user for whom nobody chose a uid gets one of its own, above those that directories and
 * their mappings hand out: two who share one could read each other's files. */
#define USER_UID_FIRST UINT32_C(2100000000)
static inline uint32_t user_own_id(uint32_t user) { return USER_UID_FIRST + user; }

struct user {
    uint32_t id, domain;
    char name[64];
    enum account_role role;
    uint32_t uid, gid; /* what its containers run as; no other user has this uid */
    bool disabled;     /* its tokens open nothing; what runs goes on */
    struct limits limits;
    struct usage usage;
};

#endif
