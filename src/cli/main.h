/* cli/main.h - the command line of Rota. */
#ifndef CLI_MAIN_H
#define CLI_MAIN_H

int cli_main(int argc, char **argv);

#endif
