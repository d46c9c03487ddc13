/* store/schema.h - the tables of SQLite and how older ones become today's.  For src/store. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H
#include "store/sql.h"

#define SCHEMA_APPLICATION_ID 0x526f7461 /* "Rota" */

uint32_t schema_version(void); /* that this program writes */
/* Brings the file to schema_version(), one transaction a step.  ERR_UNSUPPORTED: newer than
 * this program; ERR_CORRUPT: a database, but not ours. */
int schema_migrate(struct sql *q, int64_t wall_ms, struct err *err);

#endif
