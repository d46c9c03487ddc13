/* What the tests of the store share: a store in a directory of its own, and a
 * world whose steps are committed to it turn by turn. */
#ifndef TEST_STORE_RIG_H
#define TEST_STORE_RIG_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "core/step.h"
#include "store/store.h"

#define RUN(tests) cmocka_run_group_tests((tests), NULL, NULL)
#define RIG_LEADER "0123456789abcdef0123456789abcdef"
#define RIG_WALL INT64_C(1790000000000)

struct rig {
    char dir[64], path[96];
    struct store *store;
    struct store_reader *reader;
    struct world *world;
    struct effects fx;
    struct err err;
    int64_t now_ms;
};

#define OK(rig, call) \
    do { \
        int rc_ = (call); \
        if (rc_ != 0) fail_msg("%s: %d %s", #call, rc_, (rig)->err.text); \
    } while (0)

void rig_init(struct rig *r);
void rig_done(struct rig *r);    /* removes the directory */
void rig_open(struct rig *r);    /* store and reader; the world is loaded */
void rig_close(struct rig *r);   /* store, reader and world */
void rig_reload(struct rig *r);  /* the world alone, from the open store */
char *rig_dump(struct rig *r);   /* of the world; caller frees with mem_free */
/* The next turn, empty. */
struct store_turn rig_turn(struct rig *r);
/* Steps and commits the changes as one turn; the turn's error code. */
int rig_step(struct rig *r, struct event *ev);
/* Steps without committing: the turn is the caller's. */
struct store_turn rig_step_turn(struct rig *r, struct event *ev);
/* Events */
struct event rig_join(const char *name, uint32_t gpus);
struct event rig_submit(const char *name, uint32_t members);
struct event rig_stop(uint64_t session);
/* A session row that stands for nothing, for tests of rows alone. */
struct session rig_session(uint64_t id);

#endif
