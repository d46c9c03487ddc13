/* shim/notice.h - what the job may read about its own end, in a file inside its container. */
#ifndef SHIM_NOTICE_H
#define SHIM_NOTICE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes the second of the wall clock after which a job that must make room is killed into
 * the container of `pid`, whole or not at all.  False: it could not; the signals come anyway. */
bool notice_preempt(pid_t pid, int pidfd, int64_t until_wall_s);

#endif
