/* sim/machine.h - a machine: its containers, which outlive the agent, and the
 * agent, which runs the product's own plan_node over a model of a driver. */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H
#include "sim/post.h"

enum hang { HANG_NOWHERE = 0, HANG_PREPARING, HANG_STARTING };

/* How a job behaves, decided by the seed before it runs. */
struct job {
    uint64_t key;        /* idempotency key */
    struct session spec; /* as submitted */
    int64_t run_ms;
    int32_t exit_code;
    bool fails_to_start, fatal; /* the first `bad_starts` attempts, or all when fatal */
    uint32_t bad_starts;
    bool ignores_term, weak_member; /* weak: members but the main one fail half way */
    enum hang hang; /* where the first `bad_starts` attempts stay for longer than is waited */
    /* What the client knows. */
    bool acked;
    uint64_t session;
    bool stop_wanted;
    bool reserved; /* the last time that it waited it was promised room */
    int64_t least_grace_ms; /* that anybody ever asked for */
    /* What really happened, for the oracles. */
    bool main_exited;
    int32_t main_code;
    bool member_failed; /* some member ended with a code other than 0, by signal, or was lost */
    bool member_late;   /* some member hung */
    bool timed_out;     /* some member was ended by its node at the time limit */
    uint32_t attempt;   /* the newest of which a member was ready, and which those are */
    uint32_t ready;
    uint64_t begun; /* bit n: some machine heard of attempt n */
    bool main_bad, start_bad; /* the main member ended badly; some never ran */
    uint32_t ran_attempt, ran; /* the same of those whose command began */
};

struct box { /* one container, real as far as this world goes */
    struct member_ref ref;
    enum member_phase phase;
    struct slots slots;
    uint32_t devices;
    const struct job *job;
    bool go, removing, ran;
    bool disowned; /* its node was given up for lost, and is not */
    int64_t fence_ms; /* ends when its agent was not answered for so long; 0: never */
    int64_t next_ms; /* when `phase` moves on by itself; 0: never */
    uint32_t signal_done;
    struct member_end end;
};

struct machine {
    uint32_t index; /* from 0; its node's name is "n<index + 1>" */
    struct slots capacity;
    uint32_t n_devices, boot;
    VEC(struct box) boxes; /* sorted by ref; on disk and in the kernel */
    uint64_t epoch;        /* on disk */
    int64_t pulse_ms;      /* on disk: when the last beat that was answered left */
    int64_t fence_timer_ms;  /* the instant for which a timer is under way */
    int64_t asleep_until_ms; /* all of it stands still until then */
    /* The agent's memory; gone with it. */
    bool burnt; /* on disk and in fact: it never comes back */
    bool agent_up, joined;
    uint32_t life;
    uint64_t seq, turn;
    VEC(struct member_ref) made;    /* by this agent: nothing is made twice */
    VEC(struct member_ref) waiting; /* for room or for a body; sorted, reported */
    int64_t cut_until_ms;  /* nothing gets in or out until then */
    int64_t deaf_until_ms; /* nothing gets in */
};

struct cluster;

void machine_init(struct machine *m, uint32_t index, const struct slots *capacity);
void machine_done(struct machine *m);
void machine_start_agent(struct cluster *c, struct machine *m);
void machine_kill_agent(struct machine *m);
void machine_reboot(struct cluster *c, struct machine *m);
void machine_burn(struct cluster *c, struct machine *m);
/* A box that nobody ended disappears from disk and kernel. */
void machine_vanish(struct cluster *c, struct machine *m, uint32_t at);
void machine_beat(struct cluster *c, struct machine *m);
void machine_answer(struct cluster *c, struct machine *m, const struct letter *l);
void machine_boxes_tick(struct cluster *c, struct machine *m);
/* Its fence says that it ends, or that it may not begin any more. */
bool machine_fence_over(const struct cluster *c, const struct machine *m, const struct box *b);
/* It stands still, and would have ended by itself if it did not. */
bool machine_frozen(const struct cluster *c, const struct machine *m, const struct box *b);
bool box_alive(const struct box *b); /* uses CPU, memory, devices */

#endif
