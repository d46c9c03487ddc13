/* cli/say.h - what the command line says about itself, and how it ends.
 *
 * Sentences go to standard error as "rota: ..."; results go to standard output
 * through cli/sink.h or say_out.  A reader of our output that leaves early ends
 * us quietly, as it ends cat. */
#ifndef CLI_SAY_H
#define CLI_SAY_H
#include "base/err.h"
#include "base/strbuf.h"

/* Exit codes of our own; a session's own code is passed through as it is. */
enum {
    EXIT_FAILED = 1,   /* the manager refused, or what was asked for is not there */
    EXIT_USAGE = 2,    /* the command line makes no sense */
    EXIT_ROTA = 125,   /* `run` and `exec`: Rota failed, not the command */
};

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int say_err(const struct err *err, int code); /* says it, returns code */
/* Writes all of it to standard output; on failure says so and ends the process. */
void say_out(struct str text);
_Noreturn void say_pipe_closed(void); /* dies by SIGPIPE, without a word */
/* Writes all; false with errno set. */
bool say_write_all(int fd, struct str text);

#endif
