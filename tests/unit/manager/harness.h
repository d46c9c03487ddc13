/* tests/unit/manager/harness.h - a whole manager in this process, on a real store,
 * with people and nodes that speak to it over loopback. */
#ifndef TEST_MANAGER_HARNESS_H
#define TEST_MANAGER_HARNESS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/strbuf.h"
#include "manager/manager.h"
#include "net/http_client.h"
#include "wire/objects.h"
#include "wire/sync.h"

#define RIG_WAIT_MS 20000 /* longer than anything takes; a test that waits so long fails */

struct rig {
    char dir[64];
    struct net_loop *loop;
    struct manager *m;
    struct http_client *people;
    char token[AUTH_TOKEN_TEXT];
    int end_code; /* of on_end; -1: not called */
    const char *fence[4];  /* the next start's fence command */
    uint32_t n_fence;
};

void rig_open(struct rig *r);  /* fresh directory, manager started, token read */
void rig_stop(struct rig *r);  /* as SIGTERM does */
void rig_kill(struct rig *r);  /* as SIGKILL does: nothing is finished */
void rig_start(struct rig *r); /* again, on the same directory */
void rig_close(struct rig *r); /* stop and remove the directory */
/* Turns the loop until the manager has a world. */
void rig_ready(struct rig *r);
void dir_make(char ret[64]);
void dir_remove(const char *dir);

struct reply { int status; struct strbuf body; bool done; char retry_after[16], location[64]; };
void reply_done(struct reply *p);
#define AUTO_REPLY CLEANUP(reply_done)

struct call { /* zeroed fields: GET, the rig's token, no body */
    const char *method, *target, *body, *token, *key, *last_event;
};
/* Begins; p->done becomes true. */
void rig_begin(struct rig *r, const struct call *c, struct reply *p);
/* Begins and waits.  Returns the status. */
int rig_call(struct rig *r, const struct call *c, struct reply *p);
void rig_wait(struct rig *r, const bool *done);
/* Status must be `status`; the body is parsed by the table. */
void rig_get(struct rig *r, const char *target, const struct wire_table *t, void *ret);
/* Submits this document; returns the id. */
uint64_t rig_submit(struct rig *r, const char *doc);
void rig_dump(struct rig *r, struct strbuf *out);
bool reply_has(const struct reply *p, const char *text);

struct fake_node {
    struct rig *r;
    char name[64];
    struct http_client *client;
    struct tls_ctx *tls;
    char *key, *cert, *ca;
    uint64_t epoch, seq, turn;
    char cluster[33], incarnation[33];
    int64_t cpu_milli, mem_bytes;
    const char *data_addr; /* NULL: a good one */
    const char *unhealthy; /* NULL: it is not */
    uint32_t protocol;     /* 0: 1 */
    bool brief;            /* names its list instead of sending it */
    uint64_t list_no, wants_no;
    int64_t used_ms;       /* with these, when not 0 */
    const struct use_row *used;
    uint32_t n_used;
};
/* Shows a fresh token under n->name; what the manager said is in p, the key in n. */
void fake_node_ask(struct fake_node *n, const char *role, struct reply *p);
/* Joins with a fresh token.  cpu in cores. */
void fake_node_join(struct rig *r, const char *name, int cpu, struct fake_node *ret);
void fake_node_connect(struct fake_node *n); /* after the manager was started again */
void fake_node_done(struct fake_node *n);
/* Begins a beat with these members; the answer is in p. */
void fake_node_begin(struct fake_node *n, const struct member_report *members, uint32_t count,
                     int64_t poll_ms, struct reply *p);
/* Waits for it, takes its turn over; ret is the caller's to free by its table. */
void fake_node_finish(struct fake_node *n, struct reply *p, struct sync_answer *ret);
void fake_node_beat(struct fake_node *n, const struct member_report *members, uint32_t count,
                    int64_t poll_ms, struct sync_answer *ret);

#endif
