/* probe/main.h - the device probe as a program. */
#ifndef PROBE_MAIN_H
#define PROBE_MAIN_H

/* argv[0] is what messages begin with.  Returns the exit code: 0 when nobody reads any
 * more, 2 for wrong flags, 1 where it cannot begin; with --once 1 also when the report
 * is not complete.  PROBE_EXIT_STALLED when a driver's call did not come back. */
enum { PROBE_EXIT_STALLED = 3 };
int probe_main(int argc, char **argv);

#endif
