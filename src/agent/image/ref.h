/* agent/image/ref.h - the names of images, as people write them.
 *
 *     host                                this machine's own programs
 *     oci:/DIR[:TAG]                      an OCI layout on this machine
 *     docker://[HOST[:PORT]/]NAME[:TAG][@DIGEST]   of a registry
 *
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_REF_H
#define AGENT_IMAGE_REF_H
#include "agent/image/digest.h"
#include "base/err.h"

enum image_kind { IMAGE_NONE = 0, IMAGE_HOST, IMAGE_OCI, IMAGE_DOCKER };

struct image_ref {
    enum image_kind kind;
    char name[256];    /* OCI: the directory; DOCKER: registry and repository */
    char tag[129];     /* or "" */
    char digest[DIGEST_TEXT]; /* DOCKER: pinned by it, or "" */
    char registry[128];       /* DOCKER: "127.0.0.1:5000", "docker.io" */
};

/* The one place that knows names of images.  ERR_INVALID says what is expected. */
int image_ref_parse(const char *text, struct image_ref *ret, struct err *err);

#endif
