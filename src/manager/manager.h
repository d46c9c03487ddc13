/* manager/manager.h - the manager's parts and what they share.
 *
 * One loop, one thread; the store has its own (committer.h).  Only files of this
 * folder include this.  docs/spec/api.md */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "manager/auth.h"
#include "manager/authority.h"
#include "manager/settings.h"
#include "manager/doc_cache.h"
#include "manager/event.h"
#include "manager/idem.h"
#include "manager/beat.h"
#include "manager/orphan.h"
#include "manager/turn.h"
#include "manager/watch.h"
#include "net/http_server.h"
#include "net/log.h"
#include "net/loop.h"
#include "store/store.h"

#define MANAGER_DOCS_BYTES ((size_t)4 << 20)
#define MANAGER_DRAIN_MS 3000
#define MANAGER_CALM_MS 5000 /* without a turn: a burst is over */

struct http_counts { uint64_t by_class[6]; /* [2]: answers 200..299 */ };

struct manager {
    struct settings cfg;
    struct net_loop *loop;
    struct store *store;
    struct store_reader *reader;
    struct turns *turns;
    char cluster[33], incarnation[33];
    char agent_url[SETTINGS_ADDR_MAX];
    struct authority authority;
    struct auth auth;
    struct idem idem;
    struct doc_cache docs;
    struct beats beats;
    struct orphans orphans;
    struct fencer *fencer; /* NULL: no fence command */
    struct events events;
    struct watches watches;
    struct http_counts http;
    struct http_server *people, *agents;
    struct net_notify *notify; /* from when it can take work */
    struct net_timer *calm;
    uint64_t calm_turn; /* the last turn when it was armed */
    bool closing;
    bool deposed;
    void (*on_end)(void *arg, int code); /* the process should end */
    void *on_end_arg;
};

/* Opens the store, takes its lock, listens.  on_end is called when this manager can
 * not go on (another one leads, keys cannot be written). */
int manager_open(const struct settings *cfg, struct net_loop *loop,
                 void (*on_end)(void *arg, int code), void *arg, struct manager **ret,
                 struct err *err);
/* Stops listening, finishes what is open, then calls done. */
void manager_stop(struct manager *m, void (*done)(void *arg), void *arg);
/* At once; the loop must not run any more afterwards.  NULL is fine. */
void manager_close(struct manager *m);

#endif
