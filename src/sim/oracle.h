/* sim/oracle.h - what must hold, judged by what really is. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H
#include "sim/disk.h"

struct cluster;

void oracle_world(struct cluster *c);   /* of a world alone: audit, deadlines, reasons */
void oracle_step(struct cluster *c);    /* after every step: the world and all machines */
void oracle_durable(struct cluster *c, const struct turn *t); /* when a turn is stored */
void oracle_reload(struct cluster *c);  /* nothing pending: the stored world equals the live one */
void oracle_end(struct cluster *c);     /* faults have stopped: everything has come to its end */

#endif
