/* agent/gpu/cdi.h - Container Device Interface: what vendors say their devices need.
 *
 * Specifications are JSON or YAML in /etc/cdi and, before it, /var/run/cdi, versions 0.3.0
 * to 0.8.0.  A file is taken whole or not at all, with the reason kept.  Two files of one
 * directory that name the same device make it one that nobody gets, unless the stronger
 * directory names it too.  https://github.com/cncf-tags/container-device-interface
 * docs/spec/node.md, "Devices in a container" */
#ifndef AGENT_GPU_CDI_H
#define AGENT_GPU_CDI_H
#include "agent/gpu/grant.h"

#define CDI_FILE_MAX (1024 * 1024)
#define CDI_FILES_MAX 64 /* in a directory */
#define CDI_DEVICES_MAX 1024
#define CDI_DIRS 2
#define CDI_NAME 128

struct cdi_node {
    char path[GRANT_PATH], host[GRANT_PATH], type[4], access[8];
    int64_t major, minor, mode, uid, gid; /* -1: not said */
};
struct cdi_mount {
    char from[GRANT_PATH], to[GRANT_PATH], type[16];
    struct wire_texts options;
};
struct cdi_hook {
    char stage[24], path[GRANT_PATH];
    struct wire_texts args, env;
    int32_t timeout_s;
};
struct cdi_rdt { char clos[64], l3[256], mem_bw[256]; bool cmt, mbm; };
struct cdi_edits {
    struct wire_texts env;
    VEC(struct cdi_node) nodes;
    VEC(struct cdi_mount) mounts;
    VEC(struct cdi_hook) hooks;
    struct cdi_rdt rdt;
    struct wire_texts gids;
};
struct cdi_item {
    char name[CDI_NAME];
    struct wire_map annotations;
    struct cdi_edits edits;
};
struct cdi_spec {
    char version[16], kind[CDI_NAME]; /* "nvidia.com/gpu" */
    struct wire_map annotations;
    VEC(struct cdi_item) devices;
    struct cdi_edits edits; /* for each container that gets any of them */
};
extern const struct wire_table cdi_spec_table;

/* One file's text: YAML unless its name ends with .json. */
int cdi_parse(const char *file, struct str text, struct cdi_spec *ret, struct err *err);
void cdi_spec_done(struct cdi_spec *s);

struct cdi { /* all of them; zeroed: none */
    VEC(struct cdi_file {
        uint32_t dir; /* the larger the stronger */
        char name[CDI_NAME];
        struct cdi_spec spec;
    }) files;
    char why[256]; /* the first file that could not be taken, and why; or "" */
};
/* Weakest first; a directory that is not there is empty. */
void cdi_load(struct cdi *c, const char *const dirs[CDI_DIRS]);
void cdi_done(struct cdi *c);

struct cdi_rules { /* of this node */
    const char *const *hooks; /* paths that may be run, NULL-terminated; NULL: none */
    int root;                 /* descriptor of the directory in which hostPath is looked up */
};
/* ERR_NOT_FOUND: no file names it.  ERR_CONFLICT: two of the same strength do. */
int cdi_find(const struct cdi *c, const char *kind, const char *name,
             const struct cdi_file **ret_file, const struct cdi_item **ret_item, struct err *err);
/* Adds the edits of one file or one of its devices.  On failure `g` holds some of them. */
int cdi_apply(const struct cdi_edits *e, const struct cdi_rules *rules, struct grant *g,
              struct err *err);
/* The device under that path, as it is: never through a link. */
int cdi_look(int root, const char *path, struct grant_node *ret, struct err *err);

#endif
