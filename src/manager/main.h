/* manager/main.h - the manager as a program. */
#ifndef MANAGER_MAIN_H
#define MANAGER_MAIN_H

/* argv[0] is what messages begin with.  Returns the exit code. */
int manager_main(int argc, char **argv);

#endif
