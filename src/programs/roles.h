/* programs/roles.h - the roles of `rotad dev` as children that are kept alive.
 *
 * A child that ends is started again after a pause that grows while it keeps
 * ending quickly.  An agent or proxy that has not joined yet gets a fresh join token
 * for every start, so that a crash in the middle of joining heals too. */
#ifndef PROGRAMS_ROLES_H
#define PROGRAMS_ROLES_H
#include "cli/api.h"
#include "programs/dev.h"

struct roles;

/* Starts the manager, waits for its API, starts the rest and waits until a session could
 * run.  NULL on failure: err says why, and everything is stopped again. */
struct roles *roles_start(struct net_loop *l, const struct dev_options *o, struct err *err);
/* SIGTERM to all and a few seconds, then SIGKILL; frees. */
void roles_stop(struct roles *r);
struct api *roles_api(struct roles *r);

/* The API of a dev that runs elsewhere: address from the options, token from its files. */
struct api *roles_connect(struct net_loop *l, const struct dev_options *o, struct err *err);

#endif
