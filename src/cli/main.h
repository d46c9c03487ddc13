/* cli/main.h - the command line of Rota. */
#ifndef CLI_MAIN_H
#define CLI_MAIN_H

struct verb;

/* `more`: verbs of the program itself, as verb_table; NULL for none. */
int cli_main(int argc, char **argv, const struct verb *more);

#endif
