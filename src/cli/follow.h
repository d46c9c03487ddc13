/* cli/follow.h - stays with a session from its submission to its end.
 *
 * Shows what it waits for, streams its output, hands signals and input on, and
 * survives restarts of everything in between. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H
#include "cli/api.h"

struct follow_spec {
    bool input, tty;   /* standard input goes to member 0 */
    bool quiet;        /* no word about waiting */
};
/* view: what the submission answered; at the end it is the session's last view.
 * Returns the exit code for our own process. */
int follow_session(struct api *a, const struct follow_spec *spec, struct session_view *view);
/* By the conventions of docker run: the command's own code, 128 + signal, or 125
 * when it never ran.  Says a word where the code alone would not do. */
int follow_exit_code(const struct session_view *v);

#endif
