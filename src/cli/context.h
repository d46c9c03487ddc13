/* cli/context.h - which cluster a command talks to, and as whom.
 *
 * In order: ROTA_URL with ROTA_TOKEN or ROTA_TOKEN_FILE; the context named by
 * --context or the current one of the configuration file; the development
 * cluster on this machine.  The file is ROTA_CONFIG or
 * $XDG_CONFIG_HOME/rota/config.yaml, readable by its owner alone:
 *
 *     current: lab
 *     contexts:
 *       - name: lab
 *         url: https://rota.example.org:7410
 *         token_file: /home/me/.config/rota/lab.token     (or token: ...)
 *         ca_sha256: 5f1c...   (pins a private certificate authority) */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

#define CONTEXT_DEFAULT_URL "http://127.0.0.1:7410"
#define CONTEXT_DEFAULT_TOKEN_FILE "/var/lib/rota/manager/admin.token"
#define CONTEXTS_MAX 32
#define CONTEXT_TOKEN_MAX 256

struct context {
    char name[64];
    char url[256];
    char token[CONTEXT_TOKEN_MAX]; /* either this */
    char token_file[512];         /* or where it stands */
    char ca_sha256[65];
};
struct contexts {
    char current[64];
    uint32_t n_contexts;
    struct context contexts[CONTEXTS_MAX];
};
struct context_target { /* secrets inside: context_target_done */
    char url[256];
    char token[CONTEXT_TOKEN_MAX]; /* "" when there is none */
    char ca_sha256[65];
    char from[600]; /* for messages: "ROTA_URL", "context lab of FILE" */
};

/* context NULL: the current one. */
int context_target(const char *context, struct context_target *ret, struct err *err);
void context_target_done(struct context_target *t);
/* "" when neither ROTA_CONFIG nor a home directory is known. */
void context_path(char *ret, size_t cap);
/* A missing file reads as an empty configuration. */
int context_read(const char *path, struct contexts *ret, struct err *err);
/* Whole or not at all, mode 0600; makes the folder. */
int context_write(const char *path, const struct contexts *c, struct err *err);
/* First line of a token file, checked for characters that a header may hold. */
int context_read_token(const char *path, char ret[CONTEXT_TOKEN_MAX], struct err *err);

#endif
