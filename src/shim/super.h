/* shim/super.h - the supervisor of one container.
 *
 * A state machine over files and descriptors: it may be killed at any point, and
 * what it has written tells the next one where to go on.
 *
 *     CREATING -> HELD -> STARTING -> RUNNING -> ENDED
 *        |          |                              ^
 *        +----------+------------------------------+  (not created, stopped early)
 *
 * It deletes nothing: cleaning has one owner, the agent.  docs/spec/node.md */
#ifndef SHIM_SUPER_H
#define SHIM_SUPER_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "host/memo.h"
#include "shim/guest.h"
#include "shim/log.h"
#include "wire/shim.h"

#define SUPER_CLIENTS 16
#define SUPER_INPUT_MAX (64 * 1024)

enum super_phase { SUPER_CREATING = 1, SUPER_HELD, SUPER_STARTING, SUPER_RUNNING, SUPER_ENDED };

struct super_client {
    int fd;     /* -1: free */
    bool typed; /* sent input: waits with it, while others are still heard */
};

/* Of a container that another engine starts, conf.engine: see guest.h. */
struct super_guest {
    int listener, conn;
    int fds[GUEST_N];        /* for init, until it has them */
    struct cgroup_usage use; /* the last that was read */
    bool killed;             /* by us */
};

struct super {
    enum super_phase phase;
    int dir;
    struct memo_conf conf;
    struct memo_life life;
    struct memo_exit end;
    struct log log;
    pid_t runtime;         /* create or start in progress, or 0 */
    int runtime_fd;        /* its pidfd */
    int pidfd;             /* of the container's init */
    int ready;             /* says when the job has begun; -1: said, or not to be heard */
    bool is_child;         /* we may wait for it */
    bool go_wanted, stopping;
    int64_t create_until_ms; /* the runtime has until then; CLOCK_BOOTTIME; 0: no limit */
    int64_t kill_at_ms;
    int64_t move_at_ms;      /* to the group of supervisors; 0: not due */
    int listener, console;
    struct super_client clients[SUPER_CLIENTS];
    struct super_guest guest;
    int input;             /* write end or terminal; -1: closed */
    bool input_eof;        /* close once the pending bytes are out */
    uint32_t input_n;      /* pending */
    char input_buf[SUPER_INPUT_MAX];
};

/* Both begin in the container's directory, with the descriptors of fds.h. */
int super_run_main(void);
int super_adopt_main(void);

/* steps, in super.c */
enum shim_state super_state(const struct super *s);
int super_open(struct super *s, struct err *err); /* conf, socket, lock, first client */
int super_create(struct super *s, struct err *err);
void super_created(struct super *s);  /* the runtime's create has ended */
void super_go(struct super *s);
void super_go_again(struct super *s); /* adopted after go: the barrier may still be shut */
void super_ready(struct super *s);    /* init says that the job has begun */
void super_move_later(struct super *s);
void super_move(struct super *s);     /* out of the unit of whoever started us */
void super_stop(struct super *s, int64_t grace_ms, bool preempted);
void super_signal(struct super *s, uint32_t no, int signum);
void super_fail(struct super *s, const char *text);
void super_kill(struct super *s); /* everything in the container */
void super_finish(struct super *s);   /* the container is gone: the record of its end */
int super_life(struct super *s, struct err *err);

/* another engine's container, in engine.c */
int engine_listen(struct super *s, struct err *err);
/* The container is there: its init gets its streams; *ret_master is set with a terminal. */
int engine_meet(struct super *s, int *ret_master, struct err *err);
int engine_go(struct super *s, struct err *err);
/* One that took over: init may still wait for "go", and would ask for it. */
void engine_again(struct super *s);
void engine_accept(struct super *s);
void engine_look(struct super *s);  /* what its groups have counted so far */
void engine_heard(struct super *s); /* its init has something to say, or is gone */
bool engine_killed(struct super *s, bool *ret_oom);
void engine_forget(struct super *s);

/* the socket, in control.c */
int control_listen(struct super *s, struct err *err);
void control_add(struct super *s, int fd);
void control_accept(struct super *s);
void control_read(struct super *s, struct super_client *c);
void control_tell(struct super *s, enum shim_kind kind, const void *data, size_t n);
void control_input_flush(struct super *s);
/* Input is waiting for the job to read: clients are not listened to for more. */
bool control_input_full(const struct super *s);

#endif
