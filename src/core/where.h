/* core/where.h - what a request says about where it may run: judged, and put in words. */
#ifndef CORE_WHERE_H
#define CORE_WHERE_H
#include "core/draft.h"
#include "core/sched/place.h"

/* Refuses what makes no sense, or names a node that is not in its group; sorts labels. */
bool where_sane(struct draft *d, struct session *s);
/* Refuses a session that the group's nodes could never hold: `failed` is a search for ever. */
void where_refuse(struct draft *d, const struct session *s, const struct place *failed);
/* What nodes are that the filter removes: "without GPU model h100". */
void where_words(const struct world *w, const struct session *s, enum filter f,
                 struct strbuf *out);

#endif
