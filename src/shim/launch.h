/* shim/launch.h - children that run the container runtime, or the helper that asks another
 * engine.
 *
 * Of a runtime each enters the container's control groups first and then a mount namespace
 * of its own, where the overlay is mounted: the host never sees that mount, and
 * the kernel removes it with the container.  docs/spec/node.md */
#ifndef SHIM_LAUNCH_H
#define SHIM_LAUNCH_H
#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"
#include "host/memo.h"

#define LAUNCH_ARGS 16

struct launch {
    const struct memo_conf *conf;
    bool locked;       /* an engine's helper that makes a container: whoever looks whether this
                        * supervisor lives waits for it, too, and it dies with us */
    bool overlay;      /* mount u, w over conf->lower at m */
    int in, out, err_fd; /* the child's 0, 1, 2; never a device of the host: the
                            runtime gives them to the container's user */
    int status, ready, pulse; /* become descriptors 3, 4 and 5, or -1 */
    int dir;           /* becomes descriptor LAUNCH_DIR_FD: working directory */
    int disk;          /* file system for the upper layer, to be mounted at d; or -1 */
    int spec;          /* becomes descriptor LAUNCH_SPEC_FD, or -1 */
    const char *log;   /* file for words about failure, in the working directory */
    const char *args[LAUNCH_ARGS]; /* behind the common options; NULL ends */
};
#define LAUNCH_DIR_FD 8
/* How the runtime, which changes its directory, is told of files there. */
#define LAUNCH_DIR "/proc/self/fd/8/"
#define LAUNCH_SPEC_FD 9

/* The pid, or a code.  What fails in the child before the runtime is there is
 * written to l->log; the child ends with LAUNCH_FAILED. */
pid_t launch_runtime(const struct launch *l, struct err *err);
/* The child's or the runtime's own words about its failure, one line. */
void launch_error(int dir, const char *log, char *ret, size_t cap);

#define LAUNCH_FAILED 125

/* Terminals: a socket in the working directory through which the runtime hands
 * the master over. */
int launch_console_listen(const char *name, struct err *err);
/* The master out of one message, or a code; waits up to timeout_ms. */
int launch_console_take(int listener, int timeout_ms, struct err *err);
/* The same from a connection that is there already. */
int launch_take_master(int conn, int timeout_ms, struct err *err);

#endif
