/* agent/image/fetcher.h - the agent's side of fetching: who asks, and how far it is.
 *
 * Levels, as everywhere: a driver asks again and again for the image of a member
 * until it is there or can never be.  One child fetches for all who ask for the
 * same image in the same attempt of a session, so that all its members here run
 * the same digest.  What nobody asks for any more is given up after a while.
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_FETCHER_H
#define AGENT_IMAGE_FETCHER_H
#include "agent/image/store.h"
#include "core/nodeplan/plan.h"
#include "net/loop.h"

struct fetcher;

struct fetcher_config {
    const char *program;   /* whose `image-fetch` is run */
    const char *state_dir;
    const char *authfile;  /* or "" */
    const char *insecure;  /* registries without TLS, or "" */
    int64_t limit_bytes;
    int64_t stall_ms;      /* 0: two minutes */
    int64_t forget_ms;     /* unasked for so long; 0: ten minutes */
    void (*on_change)(void *arg); /* somebody who asked should ask again */
    void *arg;
};
struct fetcher *fetcher_new(struct net_loop *loop, const struct fetcher_config *config);
void fetcher_free(struct fetcher *f); /* ends what runs */

struct fetcher_want {
    struct member_ref ref;
    const char *image;
    uint32_t uid, gid;     /* of the session */
};
/* 0: it is in the store.  ERR_UNAVAILABLE: it is being fetched, err says how far.  Any other
 * code is the end of it for this attempt: err->field is "retry" when another may succeed. */
int fetcher_ask(struct fetcher *f, const struct fetcher_want *want, char ret_digest[DIGEST_TEXT],
                struct err *err);

#endif
