/* shim/main.c - rota-shim: supervisor of a container, its process 1, and the
 * helper that runs a command inside it; also what keeps their unit alive.
 *
 * One static program, because one of its modes is started inside whatever image
 * the container has.  Not for people: the agent starts it.  docs/spec/node.md */
#include <stdio.h>
#include <string.h>
#include "base/str.h"
#include "shim/archive.h"
#include "shim/exec.h"
#include "shim/guest.h"
#include "shim/hold.h"
#include "shim/init.h"
#include "shim/into.h"
#include "shim/probe.h"
#include "shim/super.h"

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    uint64_t fence_ms = 0;
    if (strcmp(mode, "init") == 0 && argc > 3 && strcmp(argv[2], "--") == 0)
        return init_main(0, argv + 3);
    if (strcmp(mode, "init") == 0 && argc > 5 && strcmp(argv[2], "--fence") == 0 &&
        str_to_u64(str_of(argv[3]), &fence_ms) && fence_ms > 0 && fence_ms < INT32_MAX &&
        strcmp(argv[4], "--") == 0)
        return init_main((int64_t)fence_ms, argv + 5);
    if (strcmp(mode, "guest") == 0 && argc > 4 && str_to_u64(str_of(argv[3]), &fence_ms) &&
        fence_ms < INT32_MAX)
        return guest_main(argv[2], (int64_t)fence_ms, argv + 4);
    if (strcmp(mode, "pack") == 0 && argc == 3) return archive_pack_main(argv[2]);
    if (strcmp(mode, "unpack") == 0 && (argc == 3 || argc == 4))
        return archive_unpack_main(argv[2], argc == 4 ? argv[3] : "");
    if (strcmp(mode, "run") == 0 && argc == 2) return super_run_main();
    if (strcmp(mode, "adopt") == 0 && argc == 2) return super_adopt_main();
    if (strcmp(mode, "exec") == 0 && argc == 2) return exec_main(false);
    if (strcmp(mode, "exec-tty") == 0 && argc == 2) return exec_main(true);
    if (strcmp(mode, "probe") == 0 && argc == 2) return probe_main();
    if (strcmp(mode, "into") == 0 && argc > 4 && strcmp(argv[3], "--") == 0)
        return into_main(argv[2], argv + 4);
    if (strcmp(mode, "hold") == 0 && argc == 2) return hold_main();
    if (strcmp(mode, "--version") == 0) {
        puts("rota-shim " ROTA_VERSION);
        return 0;
    }
    fputs("rota-shim belongs to the Rota agent, which starts it for each container.\n", stderr);
    return 2;
}
