/* cli/config.h - which cluster a command talks to, and as whom.
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
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

#define CONFIG_DEFAULT_URL "http://127.0.0.1:7410"
#define CONFIG_DEFAULT_TOKEN_FILE "/var/lib/rota/manager/admin.token"
#define CONFIG_CONTEXTS_MAX 32
#define CONFIG_TOKEN_MAX 256

struct config_context {
    char name[64];
    char url[256];
    char token[CONFIG_TOKEN_MAX]; /* either this */
    char token_file[512];         /* or where it stands */
    char ca_sha256[65];
};
struct config {
    char current[64];
    uint32_t n_contexts;
    struct config_context contexts[CONFIG_CONTEXTS_MAX];
};
struct config_target { /* secrets inside: config_target_done */
    char url[256];
    char token[CONFIG_TOKEN_MAX]; /* "" when there is none */
    char ca_sha256[65];
    char from[600]; /* for messages: "ROTA_URL", "context lab of FILE" */
};

/* context NULL: the current one. */
int config_target(const char *context, struct config_target *ret, struct err *err);
void config_target_done(struct config_target *t);
/* "" when neither ROTA_CONFIG nor a home directory is known. */
void config_path(char *ret, size_t cap);
/* A missing file reads as an empty configuration. */
int config_read(const char *path, struct config *ret, struct err *err);
/* Whole or not at all, mode 0600; makes the folder. */
int config_write(const char *path, const struct config *c, struct err *err);
/* First line of a token file, checked for characters that a header may hold. */
int config_read_token(const char *path, char ret[CONFIG_TOKEN_MAX], struct err *err);

#endif
