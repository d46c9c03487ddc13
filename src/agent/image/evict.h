/* agent/image/evict.h - what must stay of the images on this node, and what may go.
 *
 * For store.c and its users under the store's lock.  docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_EVICT_H
#define AGENT_IMAGE_EVICT_H
#include "agent/image/store.h"

/* Waits for the store's lock: its descriptor, closing it lets go. */
int evict_lock(const struct image_store *s, struct err *err);
/* Waits until nobody else fetches this layer. */
int evict_lock_layer(const struct image_store *s, const char *digest, struct err *err);

#endif
