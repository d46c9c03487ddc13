/* shim/init.h - process 1 of every container.  docs/spec/node.md */
#ifndef SHIM_INIT_H
#define SHIM_INIT_H
#include <stdint.h>

/* argv: the job's.  fence_ms: it ends, and the job with it, when the agent was not answered for
 * so long; 0: never for that.  Does not return. */
int init_main(int64_t fence_ms, char *const *argv);
/* Records the job's wait status and ends the container. */
_Noreturn void init_leave(int status);

#endif
