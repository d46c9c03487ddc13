/* core/model/account.h - who may hold something: domain > project > user. */
#ifndef CORE_MODEL_ACCOUNT_H
#define CORE_MODEL_ACCOUNT_H
#include <stdint.h>

enum account_role { ROLE_NONE = 0, ROLE_ADMIN, ACCOUNT_ROLES };

struct domain { uint32_t id; char name[64]; };
struct project { uint32_t id, domain; char name[64]; };
struct user {
    uint32_t id, domain;
    char name[64];
    enum account_role role;
    uint32_t uid, gid; /* what its containers run as */
};

#endif
