/* agent/docker/load.h - an image from an OCI layout on this machine into an engine.
 *
 * Docker reads no layouts before version 25, so it is sent as the archive that both engines
 * load: the same configuration and the same layers under other names.
 * docs/spec/node.md, "Engines" */
#ifndef AGENT_DOCKER_LOAD_H
#define AGENT_DOCKER_LOAD_H
#include "agent/docker/api.h"

struct load_image {
    int dir;                 /* of the layout */
    char manifest[80];       /* digests: "sha256:..." */
    char config[80];
    VEC(struct load_layer { char digest[80]; int64_t bytes; }) layers;
    int64_t config_bytes;
};
/* "/dir" or "/dir:tag"; without a tag the layout must hold exactly one image. */
int load_open(const char *ref, struct load_image *ret, struct err *err);
void load_done(struct load_image *l);
/* Loads it unless the engine has it; its id there. */
int load_send(const char *socket, const struct load_image *l, char ret_id[DOCKER_ID],
                struct err *err);

#endif
