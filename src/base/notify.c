/* base/notify.c - tells the service manager that started us how we are. */
#include "base/notify.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/str.h"

int notify_say(const char *lines, struct err *err)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || !path[0]) return 0;
    size_t n = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || n >= sizeof(to.sun_path))
        return err_set(err, ERR_INVALID, "NOTIFY_SOCKET: expected a path or @name, got '%.100s'",
                       path);
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') to.sun_path[0] = 0;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot make a socket");
    ssize_t sent = sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&to, size);
    int saved = errno;
    close(fd);
    return sent < 0 ? err_sys(err, ERR_IO, saved, "cannot tell the service manager") : 0;
}

int64_t notify_watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *whose = getenv("WATCHDOG_PID");
    uint64_t usec, pid;
    if (!text || !str_to_u64(str_of(text), &usec) || usec > INT64_MAX) return 0;
    if (whose && (!str_to_u64(str_of(whose), &pid) || pid != (uint64_t)getpid())) return 0;
    int64_t ms = (int64_t)(usec / 2000);
    return ms > 0 || usec == 0 ? ms : 1;
}
