/* agent/image/root.h - what a container's upper layer holds over an image.
 *
 * Nothing of an image is followed: links in it are as its container will see
 * them, never as this machine does.  docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_ROOT_H
#define AGENT_IMAGE_ROOT_H
#include "agent/image/store.h"
#include "agent/rootfs.h"

/* Mount points, names, and the user's own directories, into `upper` (absolute). */
int image_root_fill(const struct image_store *s, const struct image_record *r, const char *upper,
                    const struct rootfs_user *u, struct str resolv, struct err *err);

#endif
