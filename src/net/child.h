/* net/child.h - child processes, watched by pidfd on the loop.
 *
 * The child gets exactly the descriptors named and nothing else of ours; signals
 * are reset; nothing passes through a shell.  Each child is reaped by its own
 * pidfd (no SIGCHLD handler: libraries and tests keep theirs). */
#ifndef NET_CHILD_H
#define NET_CHILD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "base/str.h"
#include "net/loop.h"

struct child;

struct child_fd { int ours, theirs; }; /* dup of ours becomes number theirs */

enum { CHILD_FDS_MAX = 16 };

struct child_spec { /* everything is borrowed during the call alone */
    const char *path;        /* absolute; NULL: argv[0] looked up in PATH */
    const char *const *argv; /* NULL-terminated */
    const char *const *envp; /* NULL-terminated; NULL: ours */
    const char *cwd;         /* NULL: ours */
    struct child_fd fds[CHILD_FDS_MAX]; /* 0, 1, 2 where not named: stdin is an empty pipe,
                                         * stdout and stderr go to on_output or /dev/null */
    uint32_t n_fds;
    struct str input;        /* fed as stdin (at most 1 MiB); p NULL: none */
    int parent_death_signal; /* 0: outlives us */
    bool new_session;        /* setsid */
    bool inherit_stdio;      /* 0, 1, 2 where not named are ours */
    /* Runs in the child just before exec, sharing our memory while we stand still: only
     * system calls, no allocation, no locks.  Not 0: the spawn fails with that errno. */
    int (*before_exec)(void *arg);
    void *before_exec_arg;
};

struct child_exit {
    int code;     /* 0..255, or 128 + signal */
    int signum;   /* 0 when it exited by itself */
};

struct child_ops {
    /* stream 1 or 2, as it comes; NULL: not captured. */
    void (*on_output)(void *arg, int stream, struct str data);
    /* Once, after the end and after all output (which a grandchild may hold open:
     * it is waited for 200 ms at most).  c is gone when it returns. */
    void (*on_exit)(void *arg, const struct child_exit *e);
};

/* NULL on failure, exec's own included: err says which step (ERR_NOT_FOUND when
 * there is no such program). */
struct child *child_spawn(struct net_loop *l, const struct child_spec *spec,
                          const struct child_ops *ops, void *arg, struct err *err);
pid_t child_pid(const struct child *c);
int child_pidfd(const struct child *c);       /* ours to keep; dup it if it is to last */
/* By pidfd: never hits a stranger.  False when it has ended. */
bool child_signal(struct child *c, int signum);
/* Gives the child up: no callback comes.  It is still reaped; kill: SIGKILL first. */
void child_free(struct child *c, bool kill);  /* NULL is fine */

/* Runs to its end and gathers its output (both streams together, clipped at
 * output_max): for start-up code without a loop of its own.  Kills at the limit. */
struct strbuf;
int child_run(const struct child_spec *spec, int64_t timeout_ms, struct strbuf *ret_output,
              struct child_exit *ret, struct err *err);

#endif
