/* manager/fencer.h - runs the operator's fence command for nodes that are silent.
 *
 * What asked to be run again elsewhere ends by itself where it runs; where even the
 * overlap of a machine that stood still matters, a program (a power switch, say)
 * must succeed before anything is released.  The core says for which node it is due;
 * each is run at most once at a time, with a limit, and again after a pause when it
 * failed.  docs/spec/node.md, "Silence" */
#ifndef MANAGER_FENCER_H
#define MANAGER_FENCER_H

#define FENCER_AT_ONCE 8
#define FENCER_LIMIT_MS 60000
#define FENCER_AGAIN_MS 30000 /* after one that failed */
#define FENCER_LOOK_MS 1000

struct manager;
struct fencer;

struct fencer *fencer_new(struct manager *m); /* NULL: no command is set */
void fencer_free(struct fencer *f);           /* NULL is fine; ends what runs */

#endif
