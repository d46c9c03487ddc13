/* wire/accounts.c - tables of domains, projects, users, tokens and limits. */
#include "wire/accounts.h"

#define OMIT .flags = WIRE_OMIT
#define YEARS_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

/* ---- limits and use ---- */

#define LIMIT_FIELDS(least, absent) \
    WIRE_F_I64(struct limits_view, cpu_milli, "cpu_milli", .alias = "cpu", \
               .flags = WIRE_OMIT | WIRE_CPU, .min = (least), .max = INT64_MAX, .def = (absent), \
               .doc = "Thousandths of a core at once."), \
    WIRE_F_I64(struct limits_view, mem_bytes, "mem_bytes", .alias = "mem", \
               .flags = WIRE_OMIT | WIRE_BYTES, .min = (least), .max = INT64_MAX, \
               .def = (absent), .doc = "Memory at once."), \
    WIRE_F_I64(struct limits_view, gpu, "gpu", OMIT, .min = (least), .max = INT64_MAX, \
               .def = (absent), .doc = "Devices at once."), \
    WIRE_F_I64(struct limits_view, running, "running", OMIT, .min = (least), .max = UINT32_MAX, \
               .def = (absent), .doc = "Sessions at once."), \
    WIRE_F_I64(struct limits_view, pending, "pending", OMIT, .min = (least), .max = UINT32_MAX, \
               .def = (absent), .doc = "Sessions that wait."), \
    WIRE_F_I64(struct limits_view, containers, "containers", OMIT, .min = (least), \
               .max = UINT32_MAX, .def = (absent), .doc = "Containers of one session.")

static const struct wire_field limits_fields[] = {LIMIT_FIELDS(LIMIT_NONE, LIMIT_NONE)};
static const struct wire_table limits_table =
    WIRE_TABLE("limits", struct limits_view, limits_fields);
static const struct wire_field said_fields[] = {LIMIT_FIELDS(LIMIT_NONE, LIMIT_STAYS)};
static const struct wire_table said_table = WIRE_TABLE("limits", struct limits_view, said_fields);

static const size_t limit_offsets[LIMIT_KINDS] = {
    [LIMIT_CPU] = offsetof(struct limits_view, cpu_milli),
    [LIMIT_MEM] = offsetof(struct limits_view, mem_bytes),
    [LIMIT_GPU] = offsetof(struct limits_view, gpu),
    [LIMIT_RUNNING] = offsetof(struct limits_view, running),
    [LIMIT_PENDING] = offsetof(struct limits_view, pending),
    [LIMIT_CONTAINERS] = offsetof(struct limits_view, containers),
};

static int64_t *amount_at(struct limits_view *v, enum limit_kind k)
{
    return (int64_t *)(void *)((char *)v + limit_offsets[k]);
}

void limits_merge(const struct limits_view *said, struct limits *ret)
{
    struct limits_view v = *said;
    for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) {
        int64_t amount = *amount_at(&v, k);
        uint32_t bit = UINT32_C(1) << k;
        if (amount == LIMIT_STAYS) continue;
        if (amount == LIMIT_NONE) ret->set &= ~bit;
        else ret->set |= bit;
        ret->max[k] = amount > 0 ? amount : 0;
    }
}

void limits_show(const struct limits *l, struct limits_view *ret)
{
    for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) {
        *amount_at(ret, k) = limit_has(l, k) ? l->max[k] : LIMIT_NONE;
    }
}

static const struct wire_field usage_fields[] = {
    WIRE_F_I64(struct usage_view, cpu_milli, "cpu_milli", .doc = "Thousandths of a core."),
    WIRE_F_I64(struct usage_view, mem_bytes, "mem_bytes", .doc = "Memory."),
    WIRE_F_I64(struct usage_view, gpu, "gpu", .doc = "Devices."),
    WIRE_F_U32(struct usage_view, running, "running", .doc = "Sessions that have their room."),
    WIRE_F_U32(struct usage_view, pending, "pending", .doc = "Sessions that wait."),
};
static const struct wire_table usage_table = WIRE_TABLE("use", struct usage_view, usage_fields);

/* ---- requests ---- */

static const struct wire_field domain_request_fields[] = {
    WIRE_F_TEXT(struct account_request, name, "name", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "Unique among domains; only when it is made."),
    WIRE_F_OBJECT(struct account_request, limits, "limits", &said_table, OMIT,
                  .doc = "-1: none."),
};
const struct wire_table wire_domain_request =
    WIRE_TABLE("domain", struct account_request, domain_request_fields);

static const struct wire_field project_request_fields[] = {
    WIRE_F_TEXT(struct account_request, name, "name", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "Unique among projects; only when it is made."),
    WIRE_F_TEXT(struct account_request, domain, "domain", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "\"default\" when absent; only when it is made."),
    WIRE_F_OBJECT(struct account_request, limits, "limits", &said_table, OMIT,
                  .doc = "-1: none."),
};
const struct wire_table wire_project_request =
    WIRE_TABLE("project", struct account_request, project_request_fields);

static const struct wire_name given_role[] = {
    {ROLE_NONE, ""}, {ROLE_ADMIN, "admin"}, {ROLE_MEMBER, "member"}, {0, NULL},
};

static const struct wire_field user_request_fields[] = {
    WIRE_F_TEXT(struct user_request, name, "name", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "Unique among users; only when it is made."),
    WIRE_F_TEXT(struct user_request, domain, "domain", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "\"default\" when absent; only when it is made."),
    WIRE_F_ENUM(struct user_request, role, "role", given_role, OMIT,
                .doc = "member (of a new user) or admin."),
    WIRE_F_U32(struct user_request, uid, "uid", OMIT, .min = 1, .max = INT32_MAX,
               .doc = "Containers run as; one of its own unless named."),
    WIRE_F_U32(struct user_request, gid, "gid", OMIT, .min = 1, .max = INT32_MAX,
               .doc = "Containers run as; one of its own unless named."),
    WIRE_F_ENUM(struct user_request, disabled, "disabled", names_choice, OMIT,
                .doc = "yes: its tokens open nothing; what runs goes on."),
    WIRE_F_OBJECT(struct user_request, limits, "limits", &said_table, OMIT, .doc = "-1: none."),
};
const struct wire_table wire_user_request =
    WIRE_TABLE("user", struct user_request, user_request_fields);

/* ---- views ---- */

static const struct wire_field domain_fields[] = {
    WIRE_F_U32(struct domain_view, id, "id", .doc = "Number."),
    WIRE_F_TEXT(struct domain_view, name, "name", .flags = WIRE_REQUIRED, .doc = "Name."),
    WIRE_F_OBJECT(struct domain_view, limits, "limits", &limits_table, .doc = "Absent: none."),
    WIRE_F_OBJECT(struct domain_view, used, "used", &usage_table, .doc = "Now."),
};
const struct wire_table wire_domain_view = WIRE_TABLE("domain", struct domain_view, domain_fields);

static const struct wire_field project_fields[] = {
    WIRE_F_U32(struct project_view, id, "id", .doc = "Number."),
    WIRE_F_TEXT(struct project_view, name, "name", .flags = WIRE_REQUIRED, .doc = "Name."),
    WIRE_F_TEXT(struct project_view, domain, "domain", .doc = "That it belongs to."),
    WIRE_F_OBJECT(struct project_view, limits, "limits", &limits_table, .doc = "Absent: none."),
    WIRE_F_OBJECT(struct project_view, used, "used", &usage_table, .doc = "Now."),
};
const struct wire_table wire_project_view =
    WIRE_TABLE("project", struct project_view, project_fields);

static const struct wire_field user_fields[] = {
    WIRE_F_U32(struct user_view, id, "id", .doc = "Number."),
    WIRE_F_TEXT(struct user_view, name, "name", .flags = WIRE_REQUIRED, .doc = "Name."),
    WIRE_F_TEXT(struct user_view, domain, "domain", .doc = "That it belongs to."),
    WIRE_F_ENUM(struct user_view, role, "role", names_account_role, .doc = "admin or member."),
    WIRE_F_U32(struct user_view, uid, "uid", .doc = "Containers run as."),
    WIRE_F_U32(struct user_view, gid, "gid", .doc = "Containers run as."),
    WIRE_F_BOOL(struct user_view, disabled, "disabled", OMIT, .doc = "Its tokens open nothing."),
    WIRE_F_OBJECT(struct user_view, limits, "limits", &limits_table, .doc = "Absent: none."),
    WIRE_F_OBJECT(struct user_view, used, "used", &usage_table, .doc = "Now."),
};
const struct wire_table wire_user_view = WIRE_TABLE("user", struct user_view, user_fields);

/* ---- tokens ---- */

static const struct wire_field token_request_fields[] = {
    WIRE_F_TEXT(struct token_request, name, "name", OMIT, .doc = "For people: what it is for."),
    WIRE_F_I64(struct token_request, valid_ms, "valid_ms", .alias = "valid",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = YEARS_MS,
               .doc = "How long it opens anything; 0 or absent: until it is revoked."),
};
const struct wire_table wire_token_request =
    WIRE_TABLE("token", struct token_request, token_request_fields);

static const struct wire_field token_fields[] = {
    WIRE_F_TEXT(struct token_view, id, "id", .flags = WIRE_REQUIRED, .doc = "To revoke it by."),
    WIRE_F_TEXT(struct token_view, name, "name", OMIT, .doc = "What it is for."),
    WIRE_F_TEXT(struct token_view, user, "user", .doc = "Whose."),
    WIRE_F_TEXT(struct token_view, created_at, "created_at", OMIT, .doc = "When."),
    WIRE_F_TEXT(struct token_view, expires_at, "expires_at", OMIT, .doc = "Absent: never."),
    WIRE_F_BOOL(struct token_view, expired, "expired", OMIT, .doc = "It opens nothing any more."),
    WIRE_F_STRING(struct token_view, token, "token", 256, .flags = WIRE_SECRET,
                  .doc = "Itself, shown once: in the answer that made it."),
};
const struct wire_table wire_token_view = WIRE_TABLE("token", struct token_view, token_fields);

/* ---- quota, and who asks ---- */

static const struct wire_field quota_fields[] = {
    WIRE_F_TEXT(struct quota_view, level, "level", .flags = WIRE_REQUIRED,
                .doc = "user, project or domain."),
    WIRE_F_TEXT(struct quota_view, name, "name", .flags = WIRE_REQUIRED, .doc = "Its name."),
    WIRE_F_OBJECT(struct quota_view, limits, "limits", &limits_table, .doc = "Absent: none."),
    WIRE_F_OBJECT(struct quota_view, used, "used", &usage_table, .doc = "Now."),
};
const struct wire_table wire_quota_view = WIRE_TABLE("quota", struct quota_view, quota_fields);

static const struct wire_field whoami_fields[] = {
    WIRE_F_TEXT(struct whoami_view, user, "user", .flags = WIRE_REQUIRED, .doc = "Name."),
    WIRE_F_TEXT(struct whoami_view, domain, "domain", .doc = "That it belongs to."),
    WIRE_F_ENUM(struct whoami_view, role, "role", names_account_role, .doc = "admin or member."),
    WIRE_F_U32(struct whoami_view, uid, "uid", .doc = "Containers run as."),
    WIRE_F_U32(struct whoami_view, gid, "gid", .doc = "Containers run as."),
    WIRE_F_TEXTS(struct whoami_view, projects, "projects", 100000, 16 << 20,
                 .doc = "Where it may submit."),
    WIRE_F_TEXT(struct whoami_view, token, "token", OMIT, .doc = "Id of the token that asks."),
    WIRE_F_TEXT(struct whoami_view, token_name, "token_name", OMIT, .doc = "What it is for."),
    WIRE_F_TEXT(struct whoami_view, expires_at, "expires_at", OMIT, .doc = "Absent: never."),
};
const struct wire_table wire_whoami_view = WIRE_TABLE("whoami", struct whoami_view, whoami_fields);

#define LIST_TABLE(noun) \
    static const struct wire_field noun##_list_fields[] = { \
        WIRE_F_LIST(struct noun##_list, items, "items", &wire_##noun##_view, 100000, \
                    .flags = WIRE_REQUIRED, .doc = "In order."), \
        WIRE_F_TEXT(struct noun##_list, next, "next", .doc = "Cursor; empty: no more."), \
    }; \
    const struct wire_table wire_##noun##_list = \
        WIRE_TABLE(#noun " list", struct noun##_list, noun##_list_fields, \
                   .max_bytes = (size_t)64 << 20)
LIST_TABLE(domain);
LIST_TABLE(project);
LIST_TABLE(user);
LIST_TABLE(token);
LIST_TABLE(quota);
