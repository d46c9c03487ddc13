/* programs/rotad.c - the daemon: one program, one role a process. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/docker/helper.h"
#include "agent/image/fetch.h"
#include "agent/main.h"
#include "base/fds.h"
#include "manager/main.h"
#include "probe/main.h"
#include "programs/dev.h"
#include "proxy/main.h"

static const char usage[] =
    "Usage: rotad ROLE [OPTION...]\n\n"
    "  manager   accepts, decides, remembers; one for a cluster\n"
    "  agent     runs containers; one on each machine\n"
    "  proxy     carries people's connections to their sessions\n"
    "  dev       all of them on this machine; `dev stop` ends them\n"
    "  probe     reads this machine's GPUs; an agent runs it, `probe --once` shows them\n"
    "  version   version of this program\n"
    "  help      this text\n\n"
    "Examples:\n"
    "  rotad dev --detach\n"
    "  rotad dev stop --purge\n"
    "  rotad manager --dir /var/lib/rota/manager --listen 127.0.0.1:7410\n\n"
    "`rotad ROLE --help` says more.\n";

static int say_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return puts("rotad " ROTA_VERSION) < 0;
}

static int say_help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return fputs(usage, stdout) < 0;
}

static const struct {
    const char *name, *program;
    int (*run)(int argc, char **argv);
} roles[] = {
    {"manager", "rotad manager", manager_main},
    {"agent", "rotad agent", agent_main},
    {"proxy", "rotad proxy", proxy_main},
    {"probe", "rotad probe", probe_main},
    {"dev", "rotad dev", dev_main},
    {"image-fetch", "rotad image-fetch", fetch_main}, /* the agent's child */
    {"engine", "rotad engine", helper_main}, /* for supervisors, not for people */
    {"version", "rotad version", say_version},
    {"--version", "rotad version", say_version},
    {"help", "rotad help", say_help},
    {"--help", "rotad help", say_help},
    {"-h", "rotad help", say_help},
};

int main(int argc, char **argv)
{
    static char program[32];
    if (fds_take_standard() != 0) return 1;
    for (size_t i = 0; argc > 1 && i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strcmp(argv[1], roles[i].name) != 0) continue;
        (void)snprintf(program, sizeof(program), "%s", roles[i].program);
        argv[1] = program; /* what the role's own messages begin with */
        return roles[i].run(argc - 1, argv + 1);
    }
    if (argc > 1) (void)fprintf(stderr, "rotad: there is no role '%s'\n\n", argv[1]);
    (void)fputs(usage, stderr);
    return 2;
}
