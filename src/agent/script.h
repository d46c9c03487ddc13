/* agent/script.h - a program of the administrator's, with a deadline.
 *
 * No shell, an environment of ours alone, in "/", in a session of its own; it dies with
 * the agent.  What it prints goes line by line into the agent's log, up to a bound; the
 * last line says why it failed.  docs/spec/node.md, "Prolog, epilog, health" */
#ifndef AGENT_SCRIPT_H
#define AGENT_SCRIPT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "net/loop.h"

#define SCRIPT_WHY 128

struct script;

struct script_opts { /* borrowed during the call */
    const char *what; /* "prolog": in the log; fixed text */
    const char *path; /* absolute */
    const char *const *envp;
    int64_t timeout_ms;
    int hold; /* kept open by it and whatever it starts, as its descriptor 3; -1: nothing */
    /* Once; s is gone when it returns.  why: "" where it succeeded. */
    void (*on_end)(void *arg, const char *why);
    void *arg;
};

/* NULL: it could not be started, err says why. */
struct script *script_start(struct net_loop *loop, const struct script_opts *o, struct err *err);
/* Kills it and what it started in its process group; no callback comes.  NULL is fine. */
void script_free(struct script *s);

#endif
