/* manager/watch.h - requests that wait for a session to get somewhere. */
#ifndef MANAGER_WATCH_H
#define MANAGER_WATCH_H
#include <stdbool.h>
#include <stdint.h>
#include "base/map.h"
#include "base/vec.h"
#include "core/model/session.h"

struct manager;
struct http_req;
struct turn_batch;
struct watch;

enum watch_for { WATCH_PLACED = 1, WATCH_RUNNING, WATCH_ENDED };

struct watches {
    struct map_u64 by_session;       /* -> slot of the first of its chain */
    VEC(struct watch *) slots;
    VEC(uint32_t) free;
};

bool watch_parse(struct str text, enum watch_for *ret);
/* Has a session that is like this got there? */
bool watch_reached(enum watch_for what, const struct session *s);
/* Answers `user` the session's view when it is there, or at the timeout as it is then. */
void watch_add(struct manager *m, struct http_req *req, const struct session *s, uint32_t user,
               enum watch_for what, int64_t timeout_ms);
void watch_durable(struct manager *m, const struct turn_batch *b);
void watch_lost(struct manager *m); /* all are told to ask again */

#endif
