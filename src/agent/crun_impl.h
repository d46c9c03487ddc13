/* agent/crun_impl.h - the driver's members and jobs.  For the crun_* files alone.
 *
 * A member is known by its directory; this is what the agent holds of it while
 * it runs.  At most one job of a member is on the workers at a time; what is
 * wished meanwhile waits in its flags and is looked at when the job is done
 * (crun_next).  docs/spec/node.md */
#ifndef AGENT_CRUN_IMPL_H
#define AGENT_CRUN_IMPL_H
#include "agent/adopt.h"
#include "agent/claim.h"
#include "agent/crun_node.h"
#include "agent/driver.h"
#include "agent/image/fetcher.h"
#include "agent/image/start.h"
#include "agent/prepare.h"
#include "base/vec.h"
#include "host/pulse.h"
#include "net/loop.h"
#include "wire/shim.h"

enum crun_job_kind { CRUN_PREPARE = 1, CRUN_RESUME, CRUN_WIRE, CRUN_BURY, CRUN_CLEAN };

struct crun;
struct crun_child;
struct docker_watch;

struct crun_member {
    struct crun *driver;
    struct member_ref ref;
    char name[MEMO_NAME];
    struct container_claim claim;
    struct member_report report;
    int dir;                    /* of its claim */
    int sock, input;            /* connection to the supervisor, and one for input */
    struct net_watch *on_sock;
    bool created, started;      /* as the supervisor says */
    bool wired;                 /* its network is there, or it gets none */
    bool go, stop, clean;       /* wished */
    bool go_sent, stop_sent;    /* ... and said on this connection */
    int64_t stop_grace_ms;
    bool stop_preempted;        /* it makes room for another */
    bool busy;                  /* a job is on the workers */
    enum crun_job_kind job;     /* wanted next; 0: none */
    char why[128];              /* for CRUN_BURY */
    int64_t retry_ms;           /* look again then; 0: not */
    int64_t late_ms;            /* a stop that was said should have ended it by then; 0: none */
    int64_t silent_ms;          /* without an answer by then it counts as silent; 0: not waiting */
    uint32_t resumed;           /* supervisors tried */
    struct prepare *prepare;    /* of CRUN_PREPARE, owned */
};

struct crun {
    struct driver_ops ops; /* the same of both, under its own name */
    struct net_loop *loop;
    struct fetcher *fetcher;
    struct crun_node node;
    int state;              /* descriptor of the state directory */
    struct pulse pulse;
    struct net_timer *retry, *tell;
    struct docker_watch *watch; /* of an engine, or NULL */
    void (*on_change)(void *arg);
    void *arg;
    struct claim capacity;
    int64_t late_ms;
    char incarnation[33];
    char note[160];
    bool proved, closing;
    uint32_t jobs;
    VEC(struct crun_member *) members; /* sorted by ref */
    VEC(struct crun_exec *) execs;
    VEC(struct crun_child *) children;
};

/* crun.c */
struct crun_member *crun_find(struct crun *c, struct member_ref ref);
struct crun_member *crun_add(struct crun *c, struct member_ref ref, int dir);
void crun_remove(struct crun_member *m); /* frees it */
void crun_changed(struct crun *c);
void crun_retry_at(struct crun_member *m, int64_t delay_ms);
/* Connected: until its silent_ms the supervisor has time to greet. */
void crun_await_greeting(struct crun_member *m);
/* A stop has been said: from now on it has its grace, and then a moment more. */
void crun_stop_said(struct crun_member *m);

/* crun_job.c */
void crun_start_job(struct crun_member *m, enum crun_job_kind kind);
void crun_next(struct crun_member *m); /* does what is wished and possible; may free m */

/* crun_link.c: the supervisor's socket */
void crun_link(struct crun_member *m, int sock);
/* Reaps a supervisor that we started; it may outlive the member. */
void crun_watch_child(struct crun *c, int pidfd, pid_t pid);
void crun_forget_children(struct crun *c);
void crun_unlink(struct crun_member *m);
/* Waits until every supervisor connected to has greeted, but not longer than this. */
void crun_hear_all(struct crun *c, int64_t timeout_ms);
/* Takes what it has said; without a greeting in it the link is given up.  May free m. */
void crun_hear_last(struct crun_member *m);
bool crun_send(struct crun_member *m, enum shim_kind kind, const void *data, size_t n);
/* The supervisor is there, but what it was told does not happen: does it itself. */
void crun_overrule(struct crun_member *m);
/* The supervisor is not there: decides by what it left behind. */
void crun_settle(struct crun_member *m);
/* Takes the record of the end into the report. */
void crun_take_exit(struct crun_member *m);

/* crun_image.c */
/* The image is here, and how a member starts in it: spec with both wishes merged.
 * ERR_UNAVAILABLE: on its way.  Free with crun_image_done, also after a failure. */
struct crun_image {
    struct image_record record; /* no layers: the host */
    struct image_start start;
    struct container_spec spec;
};
int crun_image(struct crun *c, const struct container_spec *spec, struct crun_image *ret,
               struct err *err);
void crun_image_done(struct crun_image *i);
/* While it lives, its report names the image it runs. */
void crun_image_note(struct crun_member *m);

/* crun_exec.c */
struct crun_exec;
int crun_exec_start(struct crun_member *m, const char *const *argv, bool tty,
                    struct net_conn *conn, struct err *err);
void crun_exec_free(struct crun_exec *x); /* with its connection */

/* crun_probe.c */
int crun_probe(struct crun *c, struct err *err);
/* The same of an engine, on a worker. */
int crun_probe_docker(struct crun *c, struct err *err);

#endif
