/* shim/into.c - a command of the user's starts in a directory of the user's choice.
 *
 * The runtime would go there while it still holds descriptors of the machine, and a path such
 * as /proc/self/fd/7, or a link to it, leads through one of them out of the container; and a
 * directory that is not there would be the runtime's failure, and so the node's.  Here nothing
 * of the machine is open any more, and the failure is the command's.  docs/spec/node.md */
#include "shim/into.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int into_main(const char *dir, char *const *argv)
{
    char at[PATH_MAX];
    if (chdir(dir) < 0) {
        dprintf(STDERR_FILENO, "rota: cannot start in %s: %s\n", dir, strerror(errno));
        return 126;
    }
    /* Not the C library's, which would look for a way of its own. */
    if (syscall(SYS_getcwd, at, sizeof(at)) < 0 || at[0] != '/') {
        dprintf(STDERR_FILENO, "rota: cannot start in %s: it is not in the container\n", dir);
        return 126;
    }
    execvp(argv[0], argv);
    int code = errno == ENOENT || errno == ENOTDIR ? 127 : 126;
    dprintf(STDERR_FILENO, "rota: cannot run %s: %s\n", argv[0],
            code == 127 ? "there is no such command" : strerror(errno));
    return code;
}
