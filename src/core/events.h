/* core/events.h - what each event does; private to the step.
 *
 * Each on_* function judges its event whole before it changes anything: a
 * refusal leaves the world as it was. */
#ifndef CORE_EVENTS_H
#define CORE_EVENTS_H
#include "core/draft.h"

#define EVENT_TIME_MAX_MS (INT64_C(3653) * 24 * 60 * 60 * 1000) /* ten years */

void on_submit(struct draft *d);
void on_stop(struct draft *d);
void on_signal(struct draft *d);
void on_join(struct draft *d);
void on_report(struct draft *d);
void on_cordon(struct draft *d);
void on_forget(struct draft *d);
void on_group_put(struct draft *d);
void on_domain_put(struct draft *d);
void on_project_put(struct draft *d);
void on_user_put(struct draft *d);
void on_reserve(struct draft *d);
void on_unreserve(struct draft *d);
void on_update(struct draft *d);
void on_requeue(struct draft *d);
void on_device_order(struct draft *d);
/* The node's devices are described anew; `was` is the node before. */
void on_devices(struct draft *d, struct node *n, const struct node *was);
/* Its agent has carried out the wishes up to this number. */
void on_device_order_done(struct node *n, uint32_t done);
/* What ended in this step is told to those that depend on it. */
void on_ended(struct draft *d);
/* The first event of a manager: all nodes are as good as heard now. */
void on_start(struct draft *d);
/* Sessions that wait for others to leave: they start, or keep what they are promised. */
void on_reserved(struct draft *d);
/* Those that are over go. */
void on_reservations_due(struct draft *d);
/* Fires what is due. */
void on_time(struct draft *d);

/* Who is still there at its date has to go. */
void on_drain_due(struct draft *d, struct node *n);
/* Its timer: not after its date. */
void on_drain_arm(struct draft *d, struct node *n, int64_t at_ms);
/* It has not spoken for a while: told, and released what has ended by itself. */
void on_silence(struct draft *d, struct node *n);
void on_silence_accept(struct draft *d);
void on_fenced(struct draft *d);
/* The node spoke. */
void on_node_heard(struct draft *d, struct node *n);
/* Nobody will prove its containers gone any more: its sessions end as lost. */
void on_node_lost(struct draft *d, struct node *n, const char *text);
/* Nothing of it is left anywhere: if that is what it waited for, it waits no more. */
void settle_proved(struct draft *d, struct session *s);
/* Draws the consequences of what the rows of a session say. */
void settle_session(struct draft *d, struct session *s);

#endif
