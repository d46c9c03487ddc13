/* agent/config.h - what an agent is told: flags, and a YAML file with the same names.
 *
 * Flags win over the file.  Unknown keys, doubles and values out of range are
 * errors that name file, line and column.  docs/spec/node.md, "Configuration" */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "core/model/node.h"

#define CONFIG_PATH_MAX 256
#define CONFIG_NOT_GIVEN INT64_C(-1)

struct config_reserve { int64_t cpu_milli, mem_bytes; }; /* kept for the machine itself */
struct config_devices {
    uint32_t simulated; /* pretended GPUs */
    char model[32];     /* and of which model */
    char links[LINK_TEXT]; /* and how they reach each other: core/model/linkmap.h */
    char cdi_hooks[1024];  /* programs that CDI files may have run, separated by ':' */
    uint32_t expect;    /* that the machine should have; 0: whatever there is */
    char nvml[CONFIG_PATH_MAX]; /* NVIDIA's library, elsewhere than usual; or "" */
    char root_proc[CONFIG_PATH_MAX], root_sys[CONFIG_PATH_MAX], root_dev[CONFIG_PATH_MAX];
};

struct config_health {
    char command[CONFIG_PATH_MAX]; /* says whether this node may take work; "": it may */
    int64_t every_ms, timeout_ms;
};

struct agent_config {
    char dir[CONFIG_PATH_MAX];
    char manager[CONFIG_PATH_MAX]; /* "https://host:port" */
    char join_token_file[CONFIG_PATH_MAX];
    char name[NODE_NAME_MAX + 1];  /* default: the host's name */
    char group[64];
    char labels[256];              /* "disk=ssd,zone=a", sorted by key */
    char data_listen[CONFIG_PATH_MAX];
    char metrics_listen[64];       /* on loopback; "": nowhere */
    char data_addr[64];            /* what others dial; default: where we listen */
    char net_addr[48];             /* where other nodes reach this one; default: as data_addr */
    char driver[16];               /* "crun", "docker", "fake" */
    char docker_socket[CONFIG_PATH_MAX]; /* "unix:///path" */
    char shim[CONFIG_PATH_MAX];
    char cgroup_parent[CONFIG_PATH_MAX]; /* group of all containers; "": /rota */
    int64_t cpu_milli, mem_bytes;  /* offered to sessions; not given: measured less the reserve */
    struct config_reserve reserve;
    struct config_devices devices;
    int64_t log_keep_bytes;
    int64_t image_cache_bytes;     /* 0: 50 GiB, or a quarter of the disk */
    int64_t disk_bytes;            /* most a container may write to its root; 0: no limit */
    char registry_auth[CONFIG_PATH_MAX];
    char registries_insecure[512]; /* without TLS: "host:port,host:port" */
    char prolog[CONFIG_PATH_MAX], epilog[CONFIG_PATH_MAX]; /* around each container, or "" */
    int64_t hook_timeout_ms;       /* of each of them */
    struct config_health health;
    char log_level[8]; /* "debug", "info", "warn", "error" */
};

/* argv as main gets it; argv[0] names the program in messages.  --help prints and
 * sets *ret_help. */
int agent_config_parse(int argc, char **argv, struct agent_config *ret, bool *ret_help,
                       struct err *err);
/* The file alone, over the defaults. */
int agent_config_parse_yaml(struct str text, const char *file, struct agent_config *ret,
                            struct err *err);

#endif
