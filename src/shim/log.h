/* shim/log.h - takes a container's output into numbered, rotated files.
 *
 * A thread of its own: however slow the disk, control goes on.  It never drops
 * what it can write; when it cannot write (disk full), sequence numbers go on,
 * so that readers see how much is missing, and the job is not held up.
 * The format is in wire/shim.h.  docs/spec/node.md */
#ifndef SHIM_LOG_H
#define SHIM_LOG_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "wire/shim.h"

struct log_stream {
    int fd; /* non-blocking; -1: ended */
    uint32_t n;
    char buf[SHIM_LOG_TEXT_MAX];
};

struct log {
    int dir, fd, wake;
    int64_t size;
    uint64_t seq; /* of the next record */
    bool prompt;  /* somebody types: do not wait for more */
    pthread_t thread;
    bool running;
    struct log_stream in[2]; /* stdout or terminal, stderr */
};

/* Begins behind what is there already.  Takes the descriptors over; -1: none. */
int log_start(struct log *l, int dir, int out, int err_stream, bool prompt, struct err *err);
/* Reads until the end of both streams, but not longer than this, then stops. */
void log_finish(struct log *l, int64_t drain_ms);

#endif
