/* programs/rota.c - the command line as a program. */
#include "base/fds.h"
#include "cli/main.h"
#include "cli/verb.h"
#include "programs/sim.h"

static const struct verb VERBS[] = {
    {"sim", "try scheduling on recorded work, without a cluster", sim_main, false},
    {NULL, NULL, NULL, false},
};

int main(int argc, char **argv)
{
    if (fds_take_standard() != 0) return 1;
    return cli_main(argc, argv, VERBS);
}
