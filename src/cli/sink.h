/* cli/sink.h - a descriptor that a session's output goes to, byte for byte.
 *
 * Writing never blocks the loop, so that signals are heard while a reader is
 * slow: what the descriptor does not take now waits here, and whoever fills it
 * is asked to stop above the mark. */
#ifndef CLI_SINK_H
#define CLI_SINK_H
#include <stdbool.h>
#include "base/strbuf.h"
#include "net/loop.h"

struct sink;

struct sink_ops {
    void (*on_drain)(void *arg);           /* below the mark again, or empty */
    void (*on_broken)(void *arg, int problem); /* once: nobody reads any more (an errno) */
};
struct sink *sink_new(struct net_loop *l, int fd, const struct sink_ops *ops, void *arg);
void sink_free(struct sink *s); /* NULL is fine */
/* False: above the mark, stop until on_drain.  A broken sink drops everything. */
bool sink_put(struct sink *s, struct str data);
bool sink_empty(const struct sink *s);
bool sink_blocked(const struct sink *s); /* above the mark */

#endif
