/* base/fds.c - see fds.h. */
#include "base/fds.h"

#include <fcntl.h>
#include <unistd.h>

int fds_take_standard(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY); /* the lowest that is free; children keep it */
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd >= 0 ? close(fd) : -1;
}
