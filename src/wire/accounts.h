/* wire/accounts.h - domains, projects, users, their tokens and limits, as people see them.
 *
 * In requests what is absent stays as it is; a limit of -1 is taken away, one of 0 allows
 * none.  In what people read, a kind without a limit is absent. */
#ifndef WIRE_ACCOUNTS_H
#define WIRE_ACCOUNTS_H
#include "wire/objects.h"

#define LIMIT_STAYS (-2)
#define LIMIT_NONE (-1)

struct limits_view { int64_t cpu_milli, mem_bytes, gpu, running, pending, containers; };
/* What a request says, on top of what there is. */
void limits_merge(const struct limits_view *said, struct limits *ret);
void limits_show(const struct limits *l, struct limits_view *ret);

struct usage_view { int64_t cpu_milli, mem_bytes, gpu; uint32_t running, pending; };

struct account_request { /* of a domain or project */
    char name[64], domain[64]; /* only when it is made; domain of a project alone */
    struct limits_view limits;
};
struct user_request {
    char name[64], domain[64]; /* only when it is made */
    enum account_role role;    /* 0: absent */
    uint32_t uid, gid;         /* 0: absent */
    enum choice disabled;
    struct limits_view limits;
};
extern const struct wire_table wire_domain_request, wire_project_request, wire_user_request;

struct domain_view {
    uint32_t id;
    char name[64];
    struct limits_view limits;
    struct usage_view used;
};
struct project_view {
    uint32_t id;
    char name[64], domain[64];
    struct limits_view limits;
    struct usage_view used;
};
struct user_view {
    uint32_t id;
    char name[64], domain[64];
    enum account_role role;
    uint32_t uid, gid;
    bool disabled;
    struct limits_view limits;
    struct usage_view used;
};
struct domain_list { VEC(struct domain_view) items; char next[64]; };
struct project_list { VEC(struct project_view) items; char next[64]; };
struct user_list { VEC(struct user_view) items; char next[64]; };
extern const struct wire_table wire_domain_view, wire_project_view, wire_user_view,
    wire_domain_list, wire_project_list, wire_user_list;

struct token_request { char name[64]; int64_t valid_ms; }; /* 0: for ever */
struct token_view {
    char id[16], name[64], user[64];
    char created_at[WIRE_TIME_TEXT], expires_at[WIRE_TIME_TEXT]; /* "": never */
    bool expired;
    char *token; /* once, where it was just made; else NULL */
};
struct token_list { VEC(struct token_view) items; char next[64]; };
extern const struct wire_table wire_token_request, wire_token_view, wire_token_list;

/* One level of somebody's quota, top down as it is judged: user, project, domain. */
struct quota_view {
    char level[16], name[64];
    struct limits_view limits;
    struct usage_view used;
};
struct quota_list { VEC(struct quota_view) items; char next[64]; };
struct whoami_view {
    char user[64], domain[64];
    enum account_role role;
    uint32_t uid, gid;
    struct wire_texts projects; /* where it may submit */
    char token[16], token_name[64], expires_at[WIRE_TIME_TEXT];
};
extern const struct wire_table wire_quota_view, wire_quota_list, wire_whoami_view;

#endif
