/* host/proc.h - which process is which, and what time it is.
 *
 * A process is named by (boot id, pid, start time): a pid alone is used again.
 * A signal goes through a pidfd that was opened first and compared after.
 * docs/spec/node.md */
#ifndef HOST_PROC_H
#define HOST_PROC_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

#define PROC_BOOT_ID 37 /* 36 characters and the end */

int proc_boot_id(char ret[PROC_BOOT_ID], struct err *err);
/* Clock ticks since boot; ERR_NOT_FOUND when there is no such process. */
int proc_start_time(int64_t pid, uint64_t *ret, struct err *err);
/* A pidfd for exactly that process, or ERR_NOT_FOUND. */
int proc_open(int64_t pid, uint64_t start, struct err *err);
/* A pidfd of a child of ours: it cannot have been replaced. */
int proc_open_child(int64_t pid, struct err *err);
bool proc_signal(int pidfd, int signum); /* false: gone already */
/* Waits until the process behind a pidfd has ended; false when it still lives. */
bool proc_wait_gone(int pidfd, int64_t timeout_ms);
bool proc_is_zombie(int64_t pid);

int64_t proc_mono_us(void);
int64_t proc_wall_us(void);
int64_t proc_boot_ms(void); /* CLOCK_BOOTTIME: goes on while the machine sleeps */

#endif
