/* agent/claim.h - what the agent promises itself, durably, before it acts.
 *
 * A directory named SESSION.ATTEMPT.MEMBER with the file `claim` in it is the
 * whole of the agent's memory of a container.  A directory without one was never
 * begun.  docs/spec/node.md */
#ifndef AGENT_CLAIM_H
#define AGENT_CLAIM_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "core/nodeplan/plan.h"
#include "host/memo.h"

struct container_claim {
    char incarnation[33]; /* store incarnation that ordered it */
    char boot_id[PROC_BOOT_ID];
    int64_t uid, gid;
    char workdir[MEMO_PATH];
    char image[80];       /* digest of its image, or "" */
    char gids[384];       /* what `exec` is granted too: further groups, "44 109"; */
    bool memlock;         /* locked memory */
    bool tty, stdin_open;
    int64_t cpu_milli, mem_bytes, devices; /* what it holds of the node; devices: mask */
};

struct grant;
/* What of a grant a command that is run inside later gets; and back, to grant_done. */
void claim_take_grant(struct container_claim *c, const struct grant *g);
void claim_give_grant(const struct container_claim *c, struct grant *ret);

void claim_name(struct member_ref ref, char ret[MEMO_NAME]);
bool claim_parse_name(struct str name, struct member_ref *ret);

/* Makes the directory and the claim in it: the directory's descriptor, or a
 * code and nothing left.  ERR_CONFLICT: it exists. */
int claim_make(int containers, const char *name, const struct container_claim *c, struct err *err);
int claim_read(int dir, struct container_claim *ret, struct err *err);

/* The environment, for commands that are run inside later. */
int claim_write_env(int dir, const char *const *envp, struct err *err);
/* NULL-terminated; free the array and its first string's block with
 * claim_free_env. */
int claim_read_env(int dir, const char ***ret, struct err *err);
void claim_free_env(const char **envp);

#endif
