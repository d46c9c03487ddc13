/* agent/image/layer_path.h - names inside a layer that is being unpacked.
 *
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_LAYER_PATH_H
#define AGENT_IMAGE_LAYER_PATH_H
#include <stdbool.h>
#include "base/err.h"

#define LAYER_PATH 4096

struct layer_path {
    char text[LAYER_PATH]; /* relative, plain: "usr/bin/x"; "" is the root */
    const char *name;      /* its last part */
};
/* ERR_INVALID: it leaves the layer, or is longer than any real one. */
int layer_path_parse(const char *text, struct layer_path *ret, struct err *err);

/* What a name says about the layers below. */
enum layer_mark { LAYER_PLAIN = 0, LAYER_GONE, LAYER_OPAQUE, LAYER_IGNORE };
/* LAYER_GONE: ret_name is what is not there any more. */
enum layer_mark layer_mark_of(const char *name, const char **ret_name);

/* The directory that holds it, made if need be: a descriptor, or a code. */
int layer_path_parent(int root, const struct layer_path *p, struct err *err);
bool layer_is_gone(int dir, const char *name);       /* the mark is there */
int layer_set_gone(int dir, const char *name, struct err *err);
int layer_set_opaque(int dir, struct err *err);

#endif
