/* shim/hold.h - keeps a unit of the service manager alive that containers live below. */
#ifndef SHIM_HOLD_H
#define SHIM_HOLD_H

/* Moves into a leaf below its own control group, so that groups beside it may have limits
 * (version 2 allows no processes in between), says that it is ready, and waits for a signal. */
int hold_main(void);

#endif
