/* manager/view.h - what people read, made from the world and the store.
 *
 * A live session is shown from the world, an ended one from its stored row: no
 * view mixes two moments but for documents, which never change. */
#ifndef MANAGER_VIEW_H
#define MANAGER_VIEW_H
#include "core/explain.h"
#include "manager/manager.h"
#include "wire/accounts.h"
#include "wire/objects.h"

/* Views own parts: wire_free with their table.  `ret` is overwritten. */
void view_live(const struct manager *m, const struct session *s, struct session_view *ret);
/* From its row; the nodes are read from the store. */
int view_stored(struct manager *m, const struct session_row *row, struct session_view *ret,
                struct err *err);
/* Adds the submission document, from memory or the store; absent when neither has it. */
void view_add_spec(struct manager *m, uint64_t session, struct session_view *v);
/* `user` reads it: sessions that it may not read have no name there. */
void view_node(const struct manager *m, uint32_t user, const struct node *n,
               struct node_view *ret);
/* Adds how its devices reach each other: for one node, not for a list of them. */
void view_node_links(const struct node *n, struct node_view *ret);
/* `user` reads it: projects that it may not read are left out. */
void view_group(const struct manager *m, uint32_t user, const struct group *g,
                struct group_view *ret);
void view_event(struct manager *m, uint64_t turn, uint32_t index, const struct history *h,
                const char *session_name, struct event_view *ret);
/* `user` reads it: a blocker that it may not read has no name. */
void view_why(const struct manager *m, uint32_t user, const struct session *s,
              struct why_view *ret);
/* From a reason that was computed already. */
void view_reason(const struct manager *m, const struct session *s, const struct why *why,
                 struct why_view *ret);
void view_why_ended(const struct session_row *row, struct why_view *ret);
/* Whether `user` may read the session. */
bool view_may_read(const struct world *w, uint32_t user, const struct session *s);
/* Whether `user` may read the domain and its projects. */
bool view_may_read_in(const struct world *w, uint32_t user, uint32_t domain);
void view_usage(const struct usage *u, struct usage_view *ret);
void view_domain(const struct world *w, const struct domain *d, struct domain_view *ret);
void view_project(const struct world *w, const struct project *p, struct project_view *ret);
void view_user(const struct world *w, const struct user *u, struct user_view *ret);
void view_slots(const struct slots *s, struct slots_view *ret);
/* How it ended, in words: "failed, exit code 3 (...)". */
void view_end_text(const struct session_row *row, char *dst, size_t cap);

#endif
