/* agent/image/start.h - from a session's wishes and an image's own to one start.
 *
 * Pure.  The session goes before the image, the image before what Rota gives when
 * nobody says anything; what nobody may change stays Rota's.
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_START_H
#define AGENT_IMAGE_START_H
#include "agent/driver.h"
#include "agent/image/manifest.h"

struct image_start {
    struct wire_texts env, argv;
    char workdir[256];
};
/* ERR_INVALID: neither names a command. */
int image_start_make(const struct image_run *run, const struct container_spec *spec,
                     struct image_start *ret, struct err *err);
void image_start_done(struct image_start *s);
/* The spec with these in place of its own: borrowed from both. */
struct container_spec image_start_spec(const struct container_spec *spec,
                                       const struct image_start *s);

#endif
