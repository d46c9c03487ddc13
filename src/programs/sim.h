/* programs/sim.h - `rota sim WHAT ...`: the core's deciders on recorded work.
 *
 * One table row for each WHAT.  A row gets its own argv (argv[0] is "rota sim WHAT"),
 * reads its files here, hands their text to src/sim, which does no I/O, and prints
 * what comes back.  Needs no cluster.  docs/cli.md */
#ifndef PROGRAMS_SIM_H
#define PROGRAMS_SIM_H
#include "base/err.h"
#include "base/strbuf.h"

int sim_main(int argc, char **argv);

/* ---- the rows ---- */
int sim_engine(int argc, char **argv);
int sim_rotation_cases(int argc, char **argv);
int sim_swf(int argc, char **argv);
int sim_queue(int argc, char **argv);
int sim_rotation(int argc, char **argv);

/* ---- what they share ---- */
#define SIM_FILE_MAX ((size_t)1 << 30)
/* Appends the whole file, unpacked if it is gzip; "-" is the standard input.
 * ERR_LIMIT when it does not fit below the buffer's cap. */
int sim_read(const char *path, struct strbuf *ret, struct err *err);

#endif
