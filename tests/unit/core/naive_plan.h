/* The plan without any structure: every instant, every node, every hold. */
#ifndef TESTS_CORE_NAIVE_PLAN_H
#define TESTS_CORE_NAIVE_PLAN_H
#include "core/sched/plan.h"

bool naive_earliest(const struct world *w, const struct session *s, struct promise *ret,
                    uint64_t *ret_blocker);
void naive_window(const struct world *w, uint32_t node, const struct session *s, int64_t until_ms,
                  struct room *ret);

#endif
