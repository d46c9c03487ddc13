/* shim/guest.h - the init of a container that another engine has started, and what its
 * supervisor does in place of a runtime of ours.
 *
 * An engine passes no descriptors on, so init fetches them itself: it connects to a
 * socket in a directory mounted into the container, gets the job's streams and the
 * files of its status there, and waits for "go".  Only the first process that
 * connects, the container's process 1, is served; then nobody listens any more.
 *
 *     supervisor to init    F and descriptors, G (go)
 *     init to supervisor    M and a terminal's master, E (the job has ended)
 *
 * After E init stays until the other end closes: as long as it lives the engine
 * leaves the control groups alone, and what they counted can be read.
 * docs/spec/node.md, "Engines" */
#ifndef SHIM_GUEST_H
#define SHIM_GUEST_H
#include <stdint.h>

#define GUEST_DIR "ctl"                 /* in the container's directory of the agent */
#define GUEST_SOCKET "/run/rota/sock"   /* the same, seen from inside */

enum guest_kind { GUEST_FDS = 'F', GUEST_GO = 'G', GUEST_MASTER = 'M', GUEST_ENDED = 'E' };
enum { GUEST_IN, GUEST_OUT, GUEST_ERR, GUEST_STATUS, GUEST_READY, GUEST_PULSE, GUEST_N };

/* Process 1: fetches, waits, and becomes init_main in the directory. */
int guest_main(const char *workdir, int64_t fence_ms, char *const *argv);
/* The job has ended and its status is written: lets the supervisor look. */
void guest_linger(void);

#endif
