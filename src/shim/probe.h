/* shim/probe.h - says what a process inside a container can see and do. */
#ifndef SHIM_PROBE_H
#define SHIM_PROBE_H

int probe_main(void);

#endif
