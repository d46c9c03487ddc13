/* shim/init.h - process 1 of every container.  docs/spec/node.md */
#ifndef SHIM_INIT_H
#define SHIM_INIT_H

int init_main(char *const *argv); /* argv: the job's; does not return */

#endif
