/* agent/carry.h - one client's stream out of (and into) one container.
 *
 * Logs are read from the supervisor's files as fast as the client takes them and
 * never held in memory; a client that attaches also sends.  It ends with the
 * container's end, the client's leaving, or an error sentence. */
#ifndef AGENT_CARRY_H
#define AGENT_CARRY_H
#include "agent/act.h"
#include "net/conn.h"
#include "wire/ticket.h"

struct carry_host { /* what every carry of a node shares */
    struct net_loop *loop;
    const struct driver *driver;
    struct act *act;
    int inotify_fd;
    uint32_t live;
    struct carry *first; /* all of them */
};

struct carry_opts {
    struct member_ref ref;
    enum ticket_action action;
    bool follow;
    bool has_tail;
    uint64_t tail;
};

/* Owns conn (paused, fresh from an upgrade) from now on. */
void carry_start(struct carry_host *h, struct net_conn *conn, const struct carry_opts *o);
void carry_wake_log(struct carry_host *h, int wd); /* more may have come in that directory */
void carry_wake_all(struct carry_host *h);         /* the driver's list changed */
void carry_end_all(struct carry_host *h); /* at once */

#endif
