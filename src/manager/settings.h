/* manager/settings.h - what an operator tells the manager: a file, and flags over it. */
#ifndef MANAGER_SETTINGS_H
#define MANAGER_SETTINGS_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

#define SETTINGS_PATH_MAX 256
#define SETTINGS_ADDR_MAX 280
#define SETTINGS_ARGS_MAX 8

struct settings {
    char dir[SETTINGS_PATH_MAX];          /* store, keys, admin token */
    char listen[SETTINGS_ADDR_MAX];       /* people's API */
    char agent_listen[SETTINGS_ADDR_MAX]; /* agents and proxies, TLS */
    char agent_url[SETTINGS_ADDR_MAX];    /* how they reach it; "": from agent_listen */
    char proxy_url[SETTINGS_ADDR_MAX];    /* told to clients that carry */
    char tls_cert[SETTINGS_PATH_MAX], tls_key[SETTINGS_PATH_MAX]; /* people's API; "": plain */
    bool insecure;                      /* plain HTTP elsewhere than on loopback */
    char log_level[8], log_format[8];
    uint32_t n_fence;                   /* program and arguments, without a shell; 0: none */
    char fence[SETTINGS_ARGS_MAX][SETTINGS_PATH_MAX];
    uint32_t admin_uid, admin_gid;      /* of user "admin" at the first start */
};

void settings_defaults(struct settings *c);
/* Strict YAML over what c holds; an error names file, line, column and nearest key. */
int settings_parse(struct settings *c, struct str text, const char *file, struct err *err);
int settings_read(struct settings *c, const char *file, struct err *err);
/* What the values say together: addresses, and plain HTTP on loopback alone. */
int settings_check(struct settings *c, struct err *err);

#endif
