/* agent/image/store.h - images of this node on disk, within a bound.
 *
 *     cache/images/HEX.json      record of an image that is whole: written last
 *     cache/layers/sha256-HEX/   fs: one layer, as overlays read it; size: its bytes, and when
 *                                it was used last
 *     cache/blobs/sha256/HEX     fetched and not unpacked yet; or a link to nothing, which
 *                                tells the fetcher that the layer is here already
 *     cache/locks/HEX            held while somebody fetches or unpacks that layer
 *     cache/tmp/                 half of something: goes when an agent starts
 *     cache/pins/NAME            digests that stay, whoever runs
 *
 * Several processes use it: the agent's workers and a fetcher each.  Who links a
 * layer to a container or removes one holds the store's lock.  A layer is in use
 * when a directory of a container links to it: there is no count that could
 * drift.  docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_STORE_H
#define AGENT_IMAGE_STORE_H
#include <stdint.h>
#include "agent/image/manifest.h"

#define STORE_LINKS "l" /* in a container's directory: links to its layers, 0 the topmost */

struct image_store {
    char path[224];      /* of cache */
    int dir, images, layers, blobs, locks, tmp, pins;
    int containers;      /* those of the node, whose links count; -1: none */
    int64_t limit_bytes;
};
/* Makes what is not there. */
int image_store_open(const char *state_dir, int64_t limit_bytes, struct image_store *ret,
                     struct err *err);
void image_store_close(struct image_store *s);
/* Removes what an earlier agent left half done.  No fetcher runs meanwhile. */
void image_store_recover(const struct image_store *s);

bool image_store_has_layer(const struct image_store *s, const char *digest);
bool image_store_has_blob(const struct image_store *s, const char *digest);
/* ERR_NOT_FOUND unless the image and all its layers are here.  Free with wire_free. */
int image_store_read(const struct image_store *s, const char *digest, struct image_record *ret,
                     struct err *err);
int image_store_write(const struct image_store *s, const struct image_record *r, struct err *err);
/* Links the layers to a container (its directory) and so keeps them.  ret_lower: what an
 * overlay there stands on, "l/0:l/1".  ERR_UNAVAILABLE: one was evicted meanwhile. */
int image_store_link(const struct image_store *s, const struct image_record *r, int dir,
                     char *ret_lower, size_t cap, struct err *err);
/* Makes the directory `fs` of name in tmp the layer; bytes: what it takes. */
int image_store_add_layer(const struct image_store *s, const char *tmp, const char *digest,
                          int64_t bytes, struct err *err);
/* Marks layers that are here for the fetcher, by links to nothing among the blobs. */
void image_store_mark(const struct image_store *s, const struct image_record *r);
void image_store_drop_blob(const struct image_store *s, const char *digest);

/* Evicts what is used least and not in use, until `need` bytes more would fit or nothing
 * can go.  What would fit then, at least 0. */
int64_t image_store_room(const struct image_store *s, int64_t need_bytes);
struct image_usage { int64_t bytes, in_use; uint32_t layers; };
void image_store_usage(const struct image_store *s, struct image_usage *ret);

/* What a layer that is here, or its blob, takes; 0: neither is. */
int64_t image_store_bytes_of(const struct image_store *s, const char *digest);

/* What someone keeps although it does not run: a list of digests under a name of theirs. */
int image_store_pin(const struct image_store *s, const char *name, const char *const *digests,
                    struct err *err);
int image_store_unpin(const struct image_store *s, const char *name, struct err *err);

#endif
