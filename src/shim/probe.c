/* shim/probe.c - says what a process inside a container can see and do, one fact
 * a line; the agent compares with what it promises.  docs/spec/node.md */
#include "shim/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"

static void status_line(const char *name, const char *as)
{
    char buf[8192];
    size_t n = 0;
    if (file_read(AT_FDCWD, "/proc/self/status", buf, sizeof(buf), &n, NULL) < 0) return;
    struct str rest = str_n(buf, n), line, key;
    while (str_cut(&rest, '\n', &line)) {
        if (!str_cut(&line, ':', &key) || !str_eq(key, str_of(name))) continue;
        struct str v = str_trim(line);
        while (v.n > 1 && v.p[0] == '0') v = str_n(v.p + 1, v.n - 1);
        printf("%s %.*s\n", as, (int)v.n, v.p);
    }
}

int probe_main(void)
{
    status_line("Seccomp", "seccomp");
    status_line("NoNewPrivs", "no_new_privs");
    status_line("CapBnd", "capabilities");
    printf("uid %u\n", getuid());
    int fd = open("/tmp/denied", O_RDWR | O_CLOEXEC);
    printf("device %s\n", fd < 0 && errno == EPERM ? "refused"
                          : fd < 0                 ? strerror(errno)
                                                   : "opened");
    printf("hidden %s\n", access("/etc/shadow", F_OK) < 0 && errno == ENOENT ? "yes" : "no");
    return 0;
}
