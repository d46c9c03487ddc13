/* host/memo.h - the small files of a container's directory that agent and
 * supervisor write for each other and for whoever comes after a crash.
 *
 *     conf    agent       what the supervisor needs; written before it starts
 *     life    supervisor  who it is, and who the container is
 *     go      supervisor  boot id; written before the barrier opens: without it
 *                         the command never ran
 *     status  init        how the job ended; survives the supervisor
 *     exit    supervisor  the end, durable; written last
 *
 * Lines "key value".  Unknown keys are ignored, so that versions may differ; a
 * key twice, a bad number or a text too long makes the file corrupt.
 * docs/spec/node.md */
#ifndef HOST_MEMO_H
#define HOST_MEMO_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "host/cgroup.h"
#include "host/file.h"
#include "host/proc.h"

#define MEMO_NAME 64
#define MEMO_PATH 256
#define MEMO_LOWER 1024
#define MEMO_MAX 16384 /* bytes of a file */

enum memo_type { MEMO_TEXT, MEMO_INT, MEMO_BOOL };

struct memo_field {
    const char *key;
    enum memo_type type;
    uint32_t offset; /* of char[cap], int64_t or bool */
    uint32_t cap;    /* of a text, its end included */
};

struct memo_table {
    const char *name; /* of the file */
    const struct memo_field *fields;
    uint32_t n;       /* at most 64 */
};

/* One file from or to a struct, by its table.  Texts hold no newline (ERR_INVALID). */
int memo_write(int dir, const struct memo_table *t, const void *from, enum file_sync sync,
               struct err *err);
int memo_read(int dir, const struct memo_table *t, void *to, struct err *err);

struct memo_conf {
    char name[MEMO_NAME];        /* SESSION.ATTEMPT.MEMBER, also the runtime's id */
    char crun[MEMO_PATH];        /* the runtime's program */
    char crun_root[MEMO_PATH];   /* its state directory */
    char hide[MEMO_PATH];        /* mount to take away before the runtime looks, or "" */
    char lower[MEMO_LOWER];      /* what the overlay stands on: "/", or links to layers */
    char home[MEMO_PATH];        /* control group that the supervisor moves to, or "" */
    bool tty, stdin_open;
    bool disk;                   /* the upper layer lives in a file system of its own, in `disk` */
    bool slow;                   /* the runtime's documented way, without shortcuts */
    bool engine;                 /* another engine's container: crun is the helper that asks it,
                                    crun_root its socket; the groups are known once it is there */
    int64_t limit_ms, grace_ms;
    int64_t fence_ms;            /* 0: none.  Absent in files of older agents */
    struct cgroup_set cgroups;
};
int memo_write_conf(int dir, const struct memo_conf *c, struct err *err);
int memo_read_conf(int dir, struct memo_conf *ret, struct err *err);

struct memo_life {
    char boot_id[PROC_BOOT_ID];
    int64_t shim_pid, shim_start;
    int64_t pid, start;    /* the container's init; 0: not created yet */
    int64_t signal_done;   /* number of the last signal wish carried out */
    int64_t limit_boot_ms; /* CLOCK_BOOTTIME at which its time is up; 0: none */
    int64_t started_wall_us;
    bool timed_out;        /* the time limit has begun to end it */
};
int memo_write_life(int dir, const struct memo_life *l, struct err *err);
int memo_read_life(int dir, struct memo_life *ret, struct err *err);

int memo_write_go(int dir, const char *boot_id, struct err *err);
/* True if the barrier was opened in this boot. */
bool memo_went(int dir, const char *boot_id);

/* The wait status that init recorded; ERR_NOT_FOUND if it wrote none. */
#define MEMO_STATUS_LEN 9 /* eight hex digits and a newline */
void memo_format_status(int status, char ret[MEMO_STATUS_LEN]);
/* Init ended the container because the agent had no answer for too long. */
void memo_format_fenced(char ret[MEMO_STATUS_LEN]);
#define MEMO_FENCED_TEXT "it ended by itself: this node was cut off"
/* Fenced: *ret is that of a SIGKILL. */
int memo_read_status(int dir, int *ret, bool *ret_fenced, struct err *err);

struct memo_exit {
    bool ran;        /* false: it could not be started, text says why */
    bool fatal;      /* not started, and trying again cannot help */
    bool known;      /* status says how it ended */
    int64_t status;  /* wait status */
    bool timed_out, oom, fenced;
    int64_t started_wall_us, ended_wall_us;
    int64_t mem_peak_bytes, cpu_us; /* -1: not known */
    char text[128];
};
int memo_write_exit(int dir, const struct memo_exit *e, struct err *err); /* durable */
int memo_read_exit(int dir, struct memo_exit *ret, struct err *err);

#endif
