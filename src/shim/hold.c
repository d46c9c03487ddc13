/* shim/hold.c - keeps a unit of the service manager alive that containers live below.
 *
 * The unit has Delegate=yes and holds nothing but this process; supervisors and
 * containers are in groups that the agent makes beside it, so that the agent's own
 * unit may come and go.  docs/spec/node.md */
#include "shim/hold.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"
#include "host/cgroup.h"
#include "host/file.h"
#include "base/notify.h"

#define LEAF "holder"

/* "0::/rota.slice/rota-containers.service" -> its path; version 1 has no such rule, and then
 * the line is absent or names the root. */
static bool own_group(char *ret, size_t cap)
{
    char buf[8192];
    size_t n = 0;
    struct str rest, line;
    if (file_read(AT_FDCWD, "/proc/self/cgroup", buf, sizeof(buf), &n, NULL) < 0) return false;
    rest = str_n(buf, n);
    while (str_cut(&rest, '\n', &line)) {
        if (!str_starts(line, STR("0::/"))) continue;
        struct str path = str_n(line.p + 3, line.n - 3);
        if (str_ends(path, STR("/" LEAF))) path.n -= sizeof("/" LEAF) - 1; /* restarted in it */
        return path.n > 1 && text_set(ret, cap, path);
    }
    return false;
}

static int enter_leaf(struct err *err)
{
    char own[CGROUP_PATH], path[CGROUP_PATH + 64];
    if (!own_group(own, sizeof(own))) return 0;
    text_fmt(path, sizeof(path), "/sys/fs/cgroup%s", own);
    if (access(path, F_OK) < 0) return 0; /* mounted elsewhere: version 1 beside it */
    text_fmt(path, sizeof(path), "/sys/fs/cgroup%s/" LEAF, own);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_sys(err, ERR_IO, errno, "cannot make %s", path);
    text_fmt(path, sizeof(path), "/sys/fs/cgroup%s/" LEAF "/cgroup.procs", own);
    return file_put(AT_FDCWD, path, "0", err);
}

int hold_main(void)
{
    struct err err = {0};
    sigset_t set;
    int signum;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int rc = enter_leaf(&err);
    if (rc == 0) rc = notify_say("READY=1\nSTATUS=containers live below this unit", &err);
    if (rc < 0) {
        fprintf(stderr, "rota-shim hold: %s\n", err.text);
        return 1;
    }
    while (sigwait(&set, &signum) != 0) continue;
    return 0;
}
