/* agent/docker/api.h - what we ask of a container engine: the Docker Engine API, as Docker
 * and Podman both speak it.
 *
 * Each blocks until its deadline.  ERR_UNAVAILABLE: no answer; nothing is known, and nothing
 * may be concluded.  Other codes: the engine refused, in its own words.
 * docs/spec/node.md, "Engines" */
#ifndef AGENT_DOCKER_API_H
#define AGENT_DOCKER_API_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#define DOCKER_ID 128 /* "sha256:" and 64 digits, with room */
#define DOCKER_NAME 256

enum docker_kind { DOCKER_UNKNOWN = 0, DOCKER_DOCKER, DOCKER_PODMAN };
struct docker_version {
    enum docker_kind kind;
    char version[32];
};
int docker_version(const char *socket, struct docker_version *ret, struct err *err);

/* Names the container; ERR_CONFLICT: the name is taken. */
int docker_create(const char *socket, const char *name, struct str spec, struct err *err);
/* Makes a directory in a container that is not started yet, and those above it, where they are
 * missing; what is there stays as it is. */
int docker_mkdir(const char *socket, const char *name, const char *dir, uint32_t uid, uint32_t gid,
                 struct err *err);
int docker_start(const char *socket, const char *name, struct err *err);

struct docker_state {
    char id[DOCKER_ID];
    char error[256]; /* why it could not be started, or "" */
    int64_t pid;     /* 0: does not run */
    int64_t exit_code;
    bool running, oom_killed;
};
int docker_inspect(const char *socket, const char *name, struct docker_state *ret, struct err *err);
/* Killed and removed with all it had; it need not be there.  0 is the engine's word that
 * nothing of that name is left. */
int docker_remove(const char *socket, const char *name, struct err *err);

struct docker_item { char name[DOCKER_NAME]; };
struct docker_list { VEC(struct docker_item) items; };
/* Names of all containers, running or not, with the label; freed by docker_list_done. */
int docker_list(const char *socket, const char *label, struct docker_list *ret, struct err *err);
void docker_list_done(struct docker_list *l);

/* The image's id, or ERR_NOT_FOUND. */
int docker_image(const char *socket, const char *name, char ret_id[DOCKER_ID], struct err *err);
int docker_image_remove(const char *socket, const char *name, struct err *err);
/* Fetches it through the engine.  ERR_NOT_FOUND, ERR_DENIED, ERR_IO in the engine's words. */
int docker_pull(const char *socket, const char *name, struct err *err);

/* An image without any file. */
int docker_image_empty(const char *socket, const char *repo, const char *tag, struct err *err);

/* A command inside; its id. */
int docker_exec_create(const char *socket, const char *name, struct str spec,
                       char ret_id[DOCKER_ID], struct err *err);
struct docker_exec_state { bool running; int64_t exit_code, pid; };
int docker_exec_inspect(const char *socket, const char *id, struct docker_exec_state *ret,
                        struct err *err);
int docker_exec_resize(const char *socket, const char *id, uint16_t rows, uint16_t cols,
                       struct err *err);

/* What an answer of that status means, in the engine's words; for others that call it. */
int docker_refused(int status, struct str body, struct err *err);

#endif
