/* agent/launch.h - from what the manager said to what a driver is asked for.
 *
 * Pure: a body and a member number give a container_spec with its environment.
 * docs/spec/node.md, "Environment" */
#ifndef AGENT_LAUNCH_H
#define AGENT_LAUNCH_H
#include "agent/bodies.h"
#include "agent/driver.h"
#include "agent/gpu/inject.h"
#include "agent/netns/wiring.h"
#include "base/strbuf.h"

#define LAUNCH_NOBODY 65534u

struct launch {
    struct container_spec spec; /* points into the body and into this struct: not to be moved */
    struct wire_texts env;
    char hostname[64];
    struct inject_ask ask;      /* what of the devices goes in: agent/gpu/inject.h */
    struct wiring wiring;
    struct strbuf hosts, hostfile;
};

/* ERR_INVALID: the body has no such member, or no command for it. */
int launch_make(const struct body *b, struct member_ref ref, const char *incarnation,
               struct launch *ret, struct err *err);
/* Adds what is granted, which must live as long: its variables to the environment, where they
 * win over the session's; ROTA_* and NVIDIA_VISIBLE_DEVICES stay as they are. */
void launch_grant(struct launch *o, const struct grant *grant);
void launch_done(struct launch *o);

#endif
