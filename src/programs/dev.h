/* programs/dev.h - `rotad dev`: every role that exists, on this machine.
 *
 * One process that starts the roles as children, restarts what crashes, and goes
 * without touching containers.  It keeps no state but DIR/run/dev.json, which is
 * what it was started with.  docs/cli.md */
#ifndef PROGRAMS_DEV_H
#define PROGRAMS_DEV_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

#define DEV_DIR "/var/lib/rota"
#define DEV_PORT 7410 /* and the three above it */
#define DEV_PATH_MAX 256

struct dev_options { /* as given; also what DIR/run/dev.json holds */
    char dir[DEV_PATH_MAX]; /* absolute */
    uint32_t port;          /* first of four */
    uint32_t simulated_gpus;
    char simulated_model[32];
    char labels[256];
    char cpus[32], mem[32]; /* "" : measured by the agent */
    char driver[16];
    char name[64];          /* of the node; "": the host's */
};

int dev_main(int argc, char **argv);

/* DIR/file, which always fits: dir was checked for it. */
void dev_path(const struct dev_options *o, const char *file, char ret[DEV_PATH_MAX + 64]);
void dev_url(const struct dev_options *o, uint32_t offset, const char *scheme, char ret[64]);
void dev_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- DIR/run/dev.lock: one dev at a time; the kernel drops it with the process ---- */
/* ERR_CONFLICT when another holds it: *ret_pid says who. */
int dev_lock(const struct dev_options *o, int *ret_fd, int64_t *ret_pid, struct err *err);

/* ---- DIR/run/dev.json ---- */
int dev_save(const struct dev_options *o, struct err *err);
/* ERR_NOT_FOUND: nothing of ours is in dir. */
int dev_load(const char *dir, struct dev_options *ret, struct err *err);

#endif
