/* tests/unit/agent/crun_rig.h - real containers under test: a driver on a state
 * directory of its own, waiting for what should become true, and a look at what
 * is left behind. */
#ifndef CRUN_RIG_H
#define CRUN_RIG_H
#include <stdbool.h>
#include <stdint.h>
#include "agent/driver.h"
#include "base/str.h"

struct rig {
    struct net_loop *loop;
    struct driver driver;
    char state_dir[64];
    uint64_t next;
};

/* The engine under test (docker_engine.py runs the same tests against it), or NULL: crun. */
const char *rig_engine(void);
bool rig_possible(void); /* root and crun; says why not */
/* So long on a usual machine; longer by ROTA_TEST_PATIENCE, a factor, on a slow one. */
int64_t rig_ms(int64_t ms);
bool rig_slow(void); /* it says so */
void rig_open(struct rig *r);
void rig_close(struct rig *r); /* checks that nothing at all is left */
/* The one rig of a test program, for its group of tests. */
extern struct rig rig;
int rig_setup(void **state);
int rig_teardown(void **state);
/* The agent ends; its containers do not. */
void rig_stop_agent(struct rig *r);
void rig_start_agent(struct rig *r);
void rig_until_proved(struct rig *r);

struct container_spec rig_spec(struct rig *r, const char *const *argv);
/* As rig_spec with "/bin/sh -c SCRIPT"; the array lives until the next call. */
struct container_spec rig_shell(struct rig *r, const char *script);
void rig_create(struct rig *r, const struct container_spec *spec);

bool rig_report(struct rig *r, struct member_ref ref, struct member_report *ret);
/* Runs the loop until the member has this phase (or a later one) and returns its
 * report; fails the test after ten seconds (rig_ms). */
struct member_report rig_until(struct rig *r, struct member_ref ref, enum member_phase phase);
void rig_until_gone(struct rig *r, struct member_ref ref);
/* Until the text appears in what the member printed. */
void rig_until_said(struct rig *r, struct member_ref ref, const char *text);
void rig_turn(struct rig *r, int64_t ms);

/* Create, go, end: its report.  rig_clean removes it. */
struct member_report rig_run(struct rig *r, const struct container_spec *spec);
void rig_clean(struct rig *r, struct member_ref ref);
/* What it printed on one stream ('o' or 'e'), byte for byte; at most 8 MiB. */
char *rig_output(struct rig *r, struct member_ref ref, char stream, size_t *ret_n);
/* A number out of a small file of its directory: "life" "shim_pid". */
int64_t rig_memo(struct rig *r, struct member_ref ref, const char *file, const char *key);
/* SIGKILL to its supervisor; waits until it is gone. */
void rig_kill_shim(struct rig *r, struct member_ref ref);
/* Fails the test if any group, mount, runtime state or directory is left. */
void rig_check_nothing_left(struct rig *r);
bool rig_v2(const struct rig *r); /* this machine has control groups version 2 alone */

#endif
