/* cli/args.h - argument lists that many verbs have: names of sessions, nodes, groups. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H
#include "cli/verb.h"

enum { ARGS_MAX = 256 };

struct names_args { /* first member of a verb's own arguments */
    struct common common;
    const char *names[ARGS_MAX];
    uint32_t n;
    uint32_t least, most;
    const char *what; /* "session": for error texts */
};
/* Child parser that gathers plain words into a names_args and checks their number.
 * It also takes --context, and -o when it is names_output_argp. */
extern const struct argp names_argp, names_output_argp;
extern const struct argp_child args_plain[], args_output[]; /* that child alone */
/* The parser of a verb without options of its own: the child gets its input. */
error_t args_pass_input(int key, char *arg, struct argp_state *state);

/* "/api/v1/PREFIX/NAME/SUFFIX" with NAME escaped. */
void args_target(struct strbuf *b, const char *prefix, const char *name, const char *suffix);
/* One POST for each name; says each failure; returns the exit code. */
int args_post_each(struct names_args *a, const char *prefix, const char *suffix, const char *body,
                   const char *past); /* "stopped": said of each; NULL: nothing */

#endif
