/* agent/gpu/grant.h - what one container gets beside what all have: devices, and what
 * their drivers need.
 *
 * Made by agent/gpu/inject.c; each driver of containers puts it into its runtime's words.
 * docs/spec/node.md, "Devices in a container" */
#ifndef AGENT_GPU_GRANT_H
#define AGENT_GPU_GRANT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/vec.h"
#include "wire/table.h" /* struct wire_texts */

#define GRANT_PATH 256
#define GRANT_NODES_MAX 128
#define GRANT_MOUNTS_MAX 512
#define GRANT_HOOKS_MAX 32
#define GRANT_GIDS_MAX 32
#define GRANT_CPUS 512

struct grant_node {
    char path[GRANT_PATH], host[GRANT_PATH]; /* inside; on this machine */
    bool block;
    uint32_t major, minor;
    char access[4];          /* of r, w, m */
    uint32_t mode, uid, gid; /* inside */
};
/* A file or directory of this machine; never with its devices or set-uid bits. */
struct grant_mount {
    char from[GRANT_PATH], to[GRANT_PATH];
    bool writable, noexec, deep; /* deep: with what is mounted below */
};
struct grant_hook { /* a program on this machine that the configuration allows */
    char stage[24];  /* "createRuntime" ... */
    char path[GRANT_PATH];
    struct wire_texts args, env;
    int32_t timeout_s; /* 0: none */
};
struct grant_rdt {
    bool set, cmt, mbm;
    char clos[64], l3[256], mem_bw[256];
};

struct grant { /* zeroed: nothing */
    VEC(struct grant_node) nodes;
    VEC(struct grant_mount) mounts;
    VEC(struct grant_hook) hooks;
    VEC(uint32_t) gids;
    struct wire_texts env;   /* "NAME=value" */
    char libs[GRANT_PATH];   /* directories for LD_LIBRARY_PATH, or "" */
    char cpus[GRANT_CPUS], mems[64]; /* "0-15,32-47", "0": where it is best run, or "" */
    bool memlock;            /* locked memory has no limit */
    struct grant_rdt rdt;
};

void grant_done(struct grant *g);
/* Adds one, or says why it cannot be: a second one under the same path must be the same
 * device; a second mount on a place takes the first one's. */
int grant_add_node(struct grant *g, const struct grant_node *n, struct err *err);
int grant_add_mount(struct grant *g, const struct grant_mount *m, struct err *err);
/* A later value of the same name wins. */
int grant_add_env(struct grant *g, const char *pair, struct err *err);
int grant_add_gid(struct grant *g, uint32_t gid, struct err *err);
int grant_add_libs(struct grant *g, const char *dir, struct err *err);

/* Absolute, no empty, "." or ".." part, short enough. */
bool grant_path_sane(const char *path);

#endif
