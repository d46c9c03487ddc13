/* shim/fds.h - the descriptors that a mode of rota-shim is started with.
 *
 * All modes but init are started by the agent with the container's directory as
 * working directory. */
#ifndef SHIM_FDS_H
#define SHIM_FDS_H

#define INIT_STATUS_FD 3 /* init: the file that takes the job's wait status */
#define INIT_READY_FD 4  /* init: a pipe that gets one byte when the job has begun */
#define INIT_PULSE_FD 5  /* init --fence: host/pulse.h */

#define SHIM_AGENT_FD 3 /* run, adopt, exec: SEQPACKET pair, the agent's first connection */
#define SHIM_LOCK_FD 4  /* run, adopt: holds the lock on DIR/lock for the supervisor's life */
#define SHIM_SPEC_FD 4  /* exec: the process, as JSON in memory */

#endif
