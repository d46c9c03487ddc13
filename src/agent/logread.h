/* agent/logread.h - reads a member's log files in order, across rotation.
 *
 * The supervisor writes, we only read: a record counts once its newline is there,
 * a torn last line never does.  Files may be rotated away or moved while we read;
 * what we have open stays readable, and what was lost is counted, not hidden.
 * One buffer, whatever the size of the logs.  docs/spec/node.md */
#ifndef AGENT_LOGREAD_H
#define AGENT_LOGREAD_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "wire/shim.h"

#define LOGREAD_TAIL_MAX 100000

struct logread;

/* dir is read from the oldest record kept.  ERR_NOT_FOUND when there is no such
 * directory. */
int logread_open(const char *dir, struct logread **ret, struct err *err);
void logread_free(struct logread *r); /* NULL is fine */

/* Before the first record: go to the last `lines` lines of what is there now
 * (0: to the end; at most LOGREAD_TAIL_MAX). */
void logread_tail(struct logread *r, uint64_t lines);

/* The files are in another directory now; reading goes on where it was. */
int logread_move(struct logread *r, const char *dir, struct err *err);

/* The next record; its text is valid until the next call.  False: no more for
 * now.  *ret_lost: records missing before this one. */
bool logread_next(struct logread *r, struct shim_log_record *ret, uint64_t *ret_lost);

#endif
