/* programs/dev_stop.h - `rotad dev stop`: ends sessions, then roles, then the folder. */
#ifndef PROGRAMS_DEV_STOP_H
#define PROGRAMS_DEV_STOP_H
#include <stdbool.h>
#include <stdint.h>

/* Works whether the roles run or not: containers of an earlier run are ended too. */
int dev_stop(const char *dir, bool purge, int64_t grace_ms);

#endif
