/* manager/body.h - what an agent needs to make a container, sent where it lacks it. */
#ifndef MANAGER_BODY_H
#define MANAGER_BODY_H

struct manager;
struct sync_request;
struct sync_answer;

/* Adds the bodies of wished members that the node does not list (in `list`, its full
 * one), and of those it asks for (rq->need gets sorted).  What does not fit into one
 * answer, or cannot be read now, is left out: the node asks again. */
void body_add(struct manager *m, struct sync_request *rq, const struct sync_request *list,
              struct sync_answer *a);

#endif
