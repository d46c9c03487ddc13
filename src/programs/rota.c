/* programs/rota.c - the command line as a program. */
#include "cli/main.h"

int main(int argc, char **argv) { return cli_main(argc, argv); }
