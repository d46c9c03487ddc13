/* manager/event.h - the stream of what happened, for whoever follows it.
 *
 * An entry's id is "TURN.INDEX".  A follower that knows the last one it saw gets
 * every later one, in order, without gaps: from the store until it has caught
 * up, then as turns become durable.  One that reads slowly falls back to the
 * store, so that no follower holds more memory than its queue. */
#ifndef MANAGER_EVENT_H
#define MANAGER_EVENT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"
#include "base/vec.h"

struct manager;
struct http_req;
struct turn_batch;
struct event_stream;
struct net_timer;

#define EVENT_STREAMS_MAX 1000
#define EVENT_QUIET_MS 20000 /* then a comment keeps the stream alive */

struct events {
    VEC(struct event_stream *) streams;
    struct net_timer *quiet;
};

struct event_cursor { uint64_t turn; uint32_t index; };

bool event_cursor_parse(struct str text, struct event_cursor *ret);
struct event_filter {
    uint64_t session; /* 0: all */
    uint32_t owner;   /* 0: any; else entries of this user's sessions alone */
};
/* The request becomes a stream; false when there are too many. */
bool event_follow(struct manager *m, struct http_req *req, struct event_filter filter,
                  struct event_cursor after);
void event_durable(struct manager *m, const struct turn_batch *b);
void event_lost(struct manager *m); /* ends all: they resume by their last id */
void events_done(struct manager *m);

#endif
