/* store/checkpoint.h - moves the write-ahead log into the database, beside the writer.
 *
 * A thread with a connection of its own, asleep until it is told that the log has
 * grown.  Failing changes nothing: the log stays, and is tried again.  For src/store. */
#ifndef STORE_CHECKPOINT_H
#define STORE_CHECKPOINT_H
#include <stdint.h>

struct checkpoint;

struct checkpoint *checkpoint_start(const char *path); /* NULL: no thread could be made */
void checkpoint_wake(struct checkpoint *c, uint32_t log_pages); /* NULL is fine */
void checkpoint_stop(struct checkpoint *c); /* waits for the one under way; NULL is fine */

#endif
