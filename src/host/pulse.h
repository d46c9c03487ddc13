/* host/pulse.h - the file that says when this node's agent last had an answer.
 *
 * It holds the instant (CLOCK_BOOTTIME) at which the agent sent the last beat
 * that the manager answered.  Containers that are to end when their node is cut
 * off are linked to it and read it by themselves; nobody has to tell them, so it
 * makes no difference whether the agent lives.  One file for each incarnation of
 * the manager's store: what an earlier one ordered is not kept alive by a later.
 * docs/spec/node.md, "Silence" */
#ifndef HOST_PULSE_H
#define HOST_PULSE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

#define PULSE_NAME "pulse" /* in a container's directory */
#define PULSE_LEN 34       /* the number twice, so that a torn one is not believed */

/* The agent's side; {.fd = -1} is ready for pulse_begin. */
struct pulse {
    int dir, fd; /* fd -1: no container has needed it yet */
    char name[48];
    int64_t sent_ms;
};
/* From now on for this incarnation; a file of before is no longer written.  `dir` is borrowed. */
int pulse_begin(struct pulse *p, int dir, const char *incarnation, struct err *err);
void pulse_done(struct pulse *p);
/* What was sent then has been answered. */
int pulse_answered(struct pulse *p, int64_t sent_boot_ms, struct err *err);
/* Gives a container's directory its link; ERR_UNAVAILABLE before any answer. */
int pulse_link(struct pulse *p, int dir, struct err *err);

/* The reader's side: the file in memory, or NULL. */
const volatile char *pulse_map(int fd);
/* False: it is being written, or is no pulse. */
bool pulse_read(const volatile char *map, int64_t *ret_boot_ms);

#endif
