/* agent/main.h - the agent as a program. */
#ifndef AGENT_MAIN_H
#define AGENT_MAIN_H

/* argv[0] is what messages begin with.  Returns the exit code: 0 after SIGTERM or
 * SIGINT, 2 for wrong flags or configuration, 1 for anything else. */
int agent_main(int argc, char **argv);

#endif
