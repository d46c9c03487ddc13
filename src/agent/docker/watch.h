/* agent/docker/watch.h - looks after the engine: whether it answers, what it is, whether it
 * keeps its promises, and what it has that nobody claims.
 *
 * On a worker, so that an engine that hangs holds nothing up; again and again, so that one
 * that was away is noticed when it is back.  docs/spec/node.md, "Engines" */
#ifndef AGENT_DOCKER_WATCH_H
#define AGENT_DOCKER_WATCH_H
struct crun;
struct docker_watch;

struct docker_watch *docker_watch_new(struct crun *c);
/* Something may be coming to be of what was given up: looks again in a moment. */
void docker_watch_soon(struct docker_watch *w); /* NULL is fine */
void docker_watch_free(struct docker_watch *w); /* NULL is fine; no job of its may be running */

#endif
