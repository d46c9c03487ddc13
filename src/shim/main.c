/* shim/main.c - rota-shim: supervisor of a container, its process 1, and the
 * helper that runs a command inside it; also what keeps their unit alive.
 *
 * One static program, because one of its modes is started inside whatever image
 * the container has.  Not for people: the agent starts it.  docs/spec/node.md */
#include <stdio.h>
#include <string.h>
#include "shim/exec.h"
#include "shim/hold.h"
#include "shim/init.h"
#include "shim/probe.h"
#include "shim/super.h"

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "init") == 0 && argc > 3 && strcmp(argv[2], "--") == 0)
        return init_main(argv + 3);
    if (strcmp(mode, "run") == 0 && argc == 2) return super_run_main();
    if (strcmp(mode, "adopt") == 0 && argc == 2) return super_adopt_main();
    if (strcmp(mode, "exec") == 0 && argc == 2) return exec_main(false);
    if (strcmp(mode, "exec-tty") == 0 && argc == 2) return exec_main(true);
    if (strcmp(mode, "probe") == 0 && argc == 2) return probe_main();
    if (strcmp(mode, "hold") == 0 && argc == 2) return hold_main();
    if (strcmp(mode, "--version") == 0) {
        puts("rota-shim " ROTA_VERSION);
        return 0;
    }
    fputs("rota-shim belongs to the Rota agent, which starts it for each container.\n", stderr);
    return 2;
}
