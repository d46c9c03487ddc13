/* agent/image/manifest.h - the documents that images are described by.
 *
 * Index, manifest and configuration as the OCI image specification and Docker's
 * second schema have them, and our own record of an image that is ready here.
 * All of them come from strangers but the last: bounded, and digests are checked
 * by whoever fetched the bytes.  docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_MANIFEST_H
#define AGENT_IMAGE_MANIFEST_H
#include <stdbool.h>
#include <stdint.h>
#include "agent/image/digest.h"
#include "base/err.h"
#include "base/vec.h"
#include "wire/table.h"

#define IMAGE_LAYERS_MAX 127 /* as Docker's; one overlay takes 500 */
#define IMAGE_DOC_MAX ((size_t)1 << 20)

struct image_platform { char os[32], architecture[32]; };
struct image_notes { char ref_name[129]; };
struct image_part { /* a descriptor */
    char media_type[160];
    char digest[DIGEST_TEXT];
    int64_t size;
    struct image_platform platform;
    struct image_notes annotations;
};

/* An index has `manifests`, a manifest has `config` and `layers`. */
struct image_doc {
    uint32_t schema;
    char media_type[160];
    VEC(struct image_part) manifests;
    struct image_part config;
    VEC(struct image_part) layers;
};
int image_doc_parse(struct str json, struct image_doc *ret, struct err *err);
void image_doc_done(struct image_doc *d);
bool image_doc_is_index(const struct image_doc *d);
/* The manifest of an index that runs here ("amd64"); tag: "" or the name it must have. */
int image_doc_choose(const struct image_doc *d, const char *arch, const char *tag,
                     struct image_part *ret, struct err *err);
/* What OCI calls the machine that uname calls so ("x86_64" is "amd64"). */
const char *image_arch(const char *machine);

/* What an image says of how it is run. */
struct image_run {
    struct wire_texts env, entrypoint, cmd;
    char workdir[256]; /* or "" */
};
struct image_config {
    char os[32], architecture[32];
    struct image_run config;
};
int image_config_parse(struct str json, struct image_config *ret, struct err *err);
void image_config_done(struct image_config *c);

struct image_layer { char digest[DIGEST_TEXT]; };
struct image_record {
    char digest[DIGEST_TEXT]; /* of the manifest */
    VEC(struct image_layer) layers; /* the lowest first */
    struct image_run run;
};
extern const struct wire_table image_record_table;

#endif
