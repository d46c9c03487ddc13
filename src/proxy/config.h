/* proxy/config.h - what a proxy is told: flags, and a YAML file with the same names.
 * Flags win; unknown keys are errors with file, line and column. */
#ifndef PROXY_CONFIG_H
#define PROXY_CONFIG_H
#include <stdbool.h>
#include "base/err.h"
#include "core/model/node.h"

#define CONFIG_PATH_MAX 256

struct proxy_config {
    char dir[CONFIG_PATH_MAX];
    char listen[CONFIG_PATH_MAX];
    char manager[CONFIG_PATH_MAX];
    char join_token_file[CONFIG_PATH_MAX];
    char name[NODE_NAME_MAX + 1]; /* default "proxy" */
    char cert[CONFIG_PATH_MAX], key[CONFIG_PATH_MAX]; /* for people: HTTPS; "": plain */
    bool insecure;                /* plain beyond this machine all the same */
};

/* --help prints and sets *ret_help. */
int proxy_config_parse(int argc, char **argv, struct proxy_config *ret, bool *ret_help,
                       struct err *err);

#endif
