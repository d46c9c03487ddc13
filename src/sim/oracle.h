/* sim/oracle.h - what must hold, judged by what really is. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H
#include "sim/disk.h"

struct box;
struct letter;
struct machine;
struct snapshot;
struct cluster;

void oracle_world(struct cluster *c);   /* of a world alone: audit, deadlines, reasons */
void oracle_step(struct cluster *c);    /* after every step: the world and all machines */
void oracle_durable(struct cluster *c, const struct turn *t); /* when a turn is stored */
/* Nothing pending: the stored world equals the live one, and nodes may hear all of it. */
void oracle_rest(struct cluster *c);
void oracle_before_report(struct cluster *c, const struct event_report *e);
void oracle_report(struct cluster *c, const struct event_report *e); /* after its step */
/* A machine has done all that an answer makes it do. */
void oracle_acted(struct cluster *c, const struct machine *m, const struct letter *answer);
void oracle_made(struct cluster *c, const struct box *b);            /* by an agent */
void oracle_ran(struct cluster *c, const struct box *b);
void oracle_ready(struct cluster *c, const struct box *b);           /* it is at the barrier */
void oracle_go(struct cluster *c, const struct box *b);              /* it may pass */
void oracle_stop(struct cluster *c, const struct event_stop *e);      /* after its step */
/* A turn is stored that changes what a machine is answered. */
void oracle_publish(struct cluster *c, const struct snapshot *was, const struct snapshot *is);
void oracle_day(struct cluster *c); /* a machine was silent for more than a day */
void oracle_end(struct cluster *c);     /* faults have stopped: everything has come to its end */

#endif
