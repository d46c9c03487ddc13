/* agent/adopt.c - what a container without a known supervisor is, and what to do.
 * docs/spec/node.md */
#include "agent/adopt.h"
#include <string.h>
#include "agent/claim.h"
#include "host/file.h"

enum adopt_verdict adopt_decide(const struct adopt_facts *f)
{
    if (!f->claim) return ADOPT_REMOVE;
    if (f->exit) return ADOPT_ENDED;
    if (!f->this_boot) return ADOPT_REBOOTED;
    if (f->locked) return f->silent ? ADOPT_KILL : ADOPT_CONNECT;
    if (!f->went) return ADOPT_AGAIN;
    return f->spent ? ADOPT_KILL : ADOPT_RESUME;
}

struct adopt_facts adopt_look(const struct crun_node *n, int dir)
{
    struct adopt_facts f = {0};
    struct container_claim c;
    struct memo_exit e;
    f.claim = claim_read(dir, &c, NULL) == 0;
    f.this_boot = f.claim && strcmp(c.boot_id, n->boot_id) == 0;
    int lock = crun_node_lock(dir, NULL);
    f.locked = lock == ERR_CONFLICT;
    file_close(&lock);
    /* After the lock: a supervisor writes its records before it lets go. */
    f.exit = memo_read_exit(dir, &e, NULL) == 0;
    f.went = memo_went(dir, n->boot_id);
    return f;
}
