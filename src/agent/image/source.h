/* agent/image/source.h - where an image's bytes come from: a registry through
 * skopeo, or a layout on this machine.
 *
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_SOURCE_H
#define AGENT_IMAGE_SOURCE_H
#include "agent/image/fetch.h"
#include "agent/image/ref.h"
#include "base/strbuf.h"
#include "net/loop.h"

struct source {
    const struct fetch_opts *o;
    const struct image_store *store;
    struct image_ref ref;
    struct net_loop *loop;
    int layout;                     /* OCI: its directory */
    const struct image_doc *wanted; /* while layers are fetched */
};
int source_open(struct source *s, const struct fetch_opts *o, const struct image_store *store,
                struct err *err);
void source_close(struct source *s);

/* The document that the image's name leads to (digest NULL), or the one with that digest. */
int source_manifest(struct source *s, const char *digest, struct strbuf *ret, struct err *err);
/* The configuration `part` of the manifest with that digest. */
int source_config(struct source *s, const char *manifest, const struct image_part *part,
                  struct strbuf *ret, struct err *err);
/* Brings all layers of it that are missing among the store's blobs. */
int source_layers(struct source *s, const char *manifest, const struct image_doc *doc,
                  struct err *err);
/* A layer's archive: a descriptor. */
int source_blob(struct source *s, const char *digest, struct err *err);

/* layout.c: what needs no registry. */
int layout_open(struct source *s, struct err *err);
int layout_read(const struct source *s, const char *digest, struct strbuf *ret, struct err *err);
int layout_index(const struct source *s, struct strbuf *ret, struct err *err);
int layout_blob(const struct source *s, const char *digest, struct err *err);

#endif
