/* shim/exec.h - one command inside a running container.  docs/spec/node.md */
#ifndef SHIM_EXEC_H
#define SHIM_EXEC_H
#include <stdbool.h>

/* Begins in the container's directory, with the descriptors of fds.h. */
int exec_main(bool tty);

#endif
