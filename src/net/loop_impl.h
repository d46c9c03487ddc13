/* net/loop_impl.h - what the files of net/ share about the loop; nobody else's. */
#ifndef NET_LOOP_IMPL_H
#define NET_LOOP_IMPL_H
#include <stddef.h>
#include "net/loop.h"

struct net_conn;

/* Reads of all connections go through one buffer: a loop has one thread, and data
 * is only lent to callbacks.  128 KiB is where large bodies stop getting faster. */
#define NET_READ_BYTES (128 * 1024)

char *net_loop_buffer(struct net_loop *l); /* NET_READ_BYTES */
/* Connections that nobody owns any more (they are flushing their last bytes);
 * net_loop_free closes them. */
struct net_conn **net_loop_orphans(struct net_loop *l);
/* fn(arg) is called when the loop is freed, unless taken back before. */
void net_loop_at_free(struct net_loop *l, void (*fn)(void *arg), void *arg);
void net_loop_not_at_free(struct net_loop *l, const void *arg);
/* Frees the memory of a handle that is the first member of its struct. */
void net_handle_freed(uv_handle_t *h);
/* Marks a handle so that net_loop_free closes and frees it. */
void net_handle_own(uv_handle_t *h);

#endif
