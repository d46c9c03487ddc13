/* programs/rota.c - the command line as a program. */
#include "base/fds.h"
#include "cli/main.h"

int main(int argc, char **argv)
{
    if (fds_take_standard() != 0) return 1;
    return cli_main(argc, argv);
}
