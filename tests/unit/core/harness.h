/* A small cluster around step(): nodes that do what they are wished, and a store.
 *
 * Every step is audited, its changes are put into the store, and the store can
 * be read back at any time: lab_restart() is a manager that was killed. */
#ifndef TESTS_CORE_HARNESS_H
#define TESTS_CORE_HARNESS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/explain.h"
#include "core/sched/quota.h"
#include "core/step.h"

#define LAB_NODES 16
#define RUN(tests) cmocka_run_group_tests((tests), NULL, NULL)

struct lab_node {
    uint32_t id;
    uint64_t epoch, seq, turn;
    VEC(struct member_report) list; /* sorted */
};

struct lab_store {
    VEC(struct session_row) sessions;
    VEC(struct alloc) allocs;
    VEC(struct node) nodes;
    VEC(struct group) groups;
    VEC(struct reservation) reservations;
    VEC(struct domain) domains;
    VEC(struct project) projects;
    VEC(struct user) users;
    uint64_t last_session;
};

struct lab {
    struct world *w;
    struct effects fx; /* of the last step */
    struct lab_store store;
    struct lab_node nodes[LAB_NODES];
    uint32_t n_nodes;
    int64_t now_ms;
    bool more_coming; /* so say all events: the pass waits */
};

/* One group "default" that says `blocked`, users 1 and 2, project 1. */
struct lab *lab_new(enum on_blocked blocked);
void lab_free(struct lab *l);

enum verdict lab_step(struct lab *l, const struct event *ev);
enum verdict lab_tick(struct lab *l, int64_t ms); /* lets time pass first */
void lab_restart(struct lab *l);
char *lab_dump(const struct world *w); /* caller frees */

/* More accounts than lab_new has, and what they may use; 0 of `max` is none at all. */
uint32_t lab_domain(struct lab *l, const char *name);
uint32_t lab_project(struct lab *l, uint32_t domain, const char *name);
uint32_t lab_user(struct lab *l, uint32_t domain, const char *name);
void lab_limit(struct lab *l, enum account_level level, uint32_t id, enum limit_kind k,
               int64_t max);

/* Amounts are whole CPUs, GiB and devices. */
struct slots lab_slots(int64_t cpu, int64_t gib, int64_t gpu);
struct session lab_request(uint32_t members, int64_t cpu, int64_t gib, int64_t gpu);
enum verdict lab_submit(struct lab *l, const struct session *req);
uint64_t lab_run(struct lab *l, const struct session *req); /* must be accepted */
enum verdict lab_stop(struct lab *l, uint64_t session, int64_t grace_ms);

/* Index of the new node; it has joined and reported. */
uint32_t lab_join(struct lab *l, const char *name, int64_t cpu, int64_t gib, int64_t gpu);
enum verdict lab_rejoin(struct lab *l, uint32_t node, int64_t gpu, const char *boot);
/* What the node will say about a member of the current attempt, and saying it. */
void lab_set(struct lab *l, uint32_t node, uint64_t session, uint32_t member,
             enum member_phase phase, const struct member_end *end);
void lab_forget(struct lab *l, uint32_t node, uint64_t session);
enum verdict lab_report(struct lab *l, uint32_t node); /* having acted on the last turn */
enum verdict lab_report_at(struct lab *l, uint32_t node, uint64_t turn);
enum verdict lab_say(struct lab *l, uint32_t node, uint64_t session, uint32_t member,
                     enum member_phase phase); /* set and report */
enum verdict lab_exit(struct lab *l, uint32_t node, uint64_t session, uint32_t member, int code);
/* The node carries out its wishes and reports; true if anything changed. */
bool lab_act(struct lab *l, uint32_t node);
void lab_settle(struct lab *l); /* all nodes act until nothing changes */

enum session_state lab_state(const struct lab *l, uint64_t session); /* ENDED: not live */
/* Of an ended session, from the store's last row. */
enum session_outcome lab_outcome(const struct lab *l, uint64_t session);
const struct session *lab_stored(const struct lab *l, uint64_t session);
const struct member_end *lab_end(const struct lab *l, uint64_t session); /* stored with it */
uint32_t lab_rows(const struct lab *l); /* live ledger rows */
const struct change *lab_change(const struct lab *l, enum change_kind kind); /* first, or NULL */
uint32_t lab_changes(const struct lab *l, enum change_kind kind);
enum want_act lab_want(const struct lab *l, uint32_t node, uint64_t session, uint32_t member);
void lab_expect_why(const struct lab *l, uint64_t session, enum why_kind kind, const char *text);

#endif
