/* core/model/group.h - nodes with one policy.  docs/spec/scheduling.md */
#ifndef CORE_MODEL_GROUP_H
#define CORE_MODEL_GROUP_H
#include <stdint.h>
#include "core/model/session.h"

enum on_blocked { /* what a blocked head does to those behind it */
    BLOCKED_STOP = 1, /* strict order: they are skipped, naming it */
    BLOCKED_SKIP,     /* best effort: they are tried; the head can starve */
    BLOCKED_KINDS
};
const char *on_blocked_name(enum on_blocked b);

struct group {
    uint32_t id; /* from 1 */
    char name[64];
    enum on_blocked on_blocked;
    int64_t time_limit_ms[SESSION_KINDS]; /* default by kind; 0: none */
};

#endif
