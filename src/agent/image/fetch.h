/* agent/image/fetch.h - one image, from its name to a record in the store.
 *
 * Runs in a process of its own for each image, so that a registry that hangs, a
 * fetcher that is killed or an archive that breaks its reader harm nobody else.
 * What was fetched whole stays, whatever happens then, and is not fetched again;
 * of two that need the same layer one waits for the other.
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_FETCH_H
#define AGENT_IMAGE_FETCH_H
#include "agent/image/store.h"

struct fetch_opts {
    const char *image;     /* "docker://...", "oci:..." */
    const char *state_dir;
    const char *arch;      /* as OCI calls it */
    const char *authfile;  /* of the registries, or NULL */
    const char *insecure;  /* registries without TLS, "host:port,host:port", or "" */
    const char *skopeo;    /* its program */
    int64_t limit_bytes;   /* of the store */
    int64_t stall_ms;      /* without a byte for so long the fetch is given up */
    uint32_t uid, gid;     /* who must be able to read an OCI layout */
    void (*say)(void *arg, const char *text); /* how far it is, for people */
    void *arg;
};
/* The digest of the image's manifest: its record is in the store. */
int fetch_image(const struct fetch_opts *o, char ret_digest[DIGEST_TEXT], struct err *err);

/* `rotad image-fetch NAME=VALUE...`: the same as a program.  It prints "say TEXT", and at last
 * "done DIGEST" or "fail CODE TEXT". */
int fetch_main(int argc, char **argv);

#endif
