/* shim/into.h - the last step before a command.  docs/spec/node.md */
#ifndef SHIM_INTO_H
#define SHIM_INTO_H

/* Goes to the directory and becomes the command; returns the exit code that says why not. */
int into_main(const char *dir, char *const *argv);

#endif
