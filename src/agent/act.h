/* agent/act.h - brings what runs here closer to what the manager wants.
 *
 * Keeps the last full list of wishes, asks plan_node what is missing, and calls
 * the driver.  Until a first list has come nothing is touched: a manager that is
 * away ends no container.  What the driver refuses at once is reported from here
 * as a start that failed.  docs/spec/node.md, "Plan and act" */
#ifndef AGENT_ACT_H
#define AGENT_ACT_H
#include "agent/bodies.h"
#include "agent/driver.h"

struct act;
struct inject; /* agent/gpu/inject.h */
struct hooks;  /* agent/hooks.h */

struct act *act_new(const struct driver *driver, struct bodies *bodies, const char *incarnation);
/* Where what devices need comes from; without it a container is only told of them. */
void act_set_inject(struct act *a, const struct inject *inject);
/* What runs before and after each container; without it nothing does. */
void act_set_hooks(struct act *a, struct hooks *hooks);
void act_free(struct act *a); /* NULL is fine; the driver and the bodies stay the caller's */

/* Another store gives the orders from now on: its first list has to come. */
void act_set_incarnation(struct act *a, const char *incarnation);
/* What was sent at that instant (CLOCK_BOOTTIME) has been answered. */
void act_answered(struct act *a, int64_t sent_boot_ms);
/* Somebody decided: these orphans are ended and removed.  What is none is left alone. */
void act_end_orphans(struct act *a, const struct member_ref *refs, uint32_t n);
/* The newest full list; moves its parts out of the answer. */
void act_apply(struct act *a, struct sync_answer *answer);
/* The same list once more, and perhaps bodies; CHECKs that there was one. */
void act_apply_same(struct act *a, const struct sync_answer *answer);
/* Plans and acts again on the list known; call when the driver's list changed. */
void act_run(struct act *a);

/* What to report: the driver's members and those refused here, sorted by ref.  The
 * caller frees the array. */
uint32_t act_list(struct act *a, struct member_report **ret);
/* Sessions whose bodies are missing, as of the last act_run. */
const struct sync_need *act_needs(const struct act *a, uint32_t *ret_n);

/* What became of a member, also for a while after it was cleaned.  False: unknown. */
bool act_find(struct act *a, struct member_ref ref, struct member_report *ret);
/* The same from a list that act_list gave, for whoever asks about many. */
bool act_find_in(const struct act *a, const struct member_report *list, uint32_t n,
                 struct member_ref ref, struct member_report *ret);
/* Is it wished for at the moment?  Also true as long as no list has come. */
bool act_wanted(const struct act *a, struct member_ref ref);

#endif
