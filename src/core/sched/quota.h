/* core/sched/quota.h - whether a session may start as far as limits go.
 *
 * A limit can stand at its user, its project and its domain; all are judged, and all
 * violations are listed.  0 and no limit are different things.  Sums are checked: what
 * would overflow exceeds.  docs/spec/scheduling.md, "Objects" */
#ifndef CORE_SCHED_QUOTA_H
#define CORE_SCHED_QUOTA_H
#include "core/model/world.h"

enum account_level { LEVEL_USER = 1, LEVEL_PROJECT, LEVEL_DOMAIN, ACCOUNT_LEVELS };
const char *account_level_name(enum account_level l);

struct quota_excess {
    enum account_level level;
    uint32_t id;           /* of the user, project or domain */
    enum limit_kind kind;  /* a slot, or LIMIT_RUNNING */
    int64_t used, asked, limit;
};
#define QUOTA_EXCESSES_MAX (3 * LIMIT_KINDS)

/* What one level still allows, negative where a limit was lowered below what is used; a
 * kind without limit has INT64_MAX less what is used: no sum that starts overflows. */
struct quota_left { int64_t left[LIMIT_KINDS]; };
void quota_user_left(const struct world *w, uint32_t user, struct quota_left *ret);
void quota_project_left(const struct world *w, uint32_t project, struct quota_left *ret);
void quota_domain_left(const struct world *w, uint32_t domain, struct quota_left *ret);
/* The smaller of project and its domain is what a whole lane of the queue can be judged by. */
void quota_lane_left(const struct world *w, uint32_t project, struct quota_left *ret);
/* What is not asked for is not judged. */
bool quota_fits(const struct quota_left *left, const struct slots *total);

/* Could it start now?  `freed`, NULL or what is to be taken off the used amounts of each
 * level first (victims that end), is judged as if it were gone.  What the session holds or
 * is promised itself is never counted against it. */
struct quota_freed {
    uint32_t n;
    const struct session *const *sessions; /* each holds its rows now */
};
bool quota_allows(const struct world *w, const struct session *s, const struct quota_freed *freed);
/* Every violation, user before project before domain; returns how many. */
uint32_t quota_excesses(const struct world *w, const struct session *s,
                        struct quota_excess ret[QUOTA_EXCESSES_MAX]);
/* At submission: the first limit that the session could never meet, even if nothing else
 * ran (also LIMIT_CONTAINERS), or LIMIT_PENDING that is reached now (of an array: by all its
 * tasks together); false: none. */
bool quota_never(const struct world *w, const struct session *s, struct quota_excess *ret);

/* The name of the user, project or domain. */
const char *quota_name(const struct world *w, const struct quota_excess *e);
/* "project vision uses 3 of 4 GPU, 2 asked". */
void quota_print(const struct world *w, const struct quota_excess *e, struct strbuf *out);

#endif
