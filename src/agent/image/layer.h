/* agent/image/layer.h - one layer of an image, from its archive to a directory.
 *
 * What an archive says is hostile: nothing is ever made or read outside the
 * directory, whatever names and links say (names are resolved by the kernel as
 * in a root of their own), devices, sockets and pipes are left out, nothing is
 * set-user-id, extended attributes are dropped, and bytes and entries are
 * bounded.  Deletions become the marks that overlays know.
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_LAYER_H
#define AGENT_IMAGE_LAYER_H
#include <stdint.h>
#include "base/err.h"

#define LAYER_ENTRIES_MAX 2000000u

struct layer_size { int64_t bytes, entries; };

/* blob: the archive, from its beginning; digest: of all of it.  root: an empty directory.
 * ERR_LIMIT: more than `most`; ERR_CORRUPT: not what the digest says; ERR_INVALID: an entry
 * that no honest layer has, or no archive; ERR_UNAVAILABLE: the disk is full. */
int layer_unpack(int blob, const char *digest, int root, const struct layer_size *most,
                 struct layer_size *ret, struct err *err);
/* The same in a process of its own, which sees nothing but that directory. */
int layer_unpack_apart(int blob, const char *digest, int root, const struct layer_size *most,
                       struct layer_size *ret, struct err *err);

#endif
