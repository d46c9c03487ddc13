/* agent/launch_gang.h - how the members of a session find each other.  For launch.c.
 * docs/spec/node.md, "Network" */
#ifndef AGENT_LAUNCH_GANG_H
#define AGENT_LAUNCH_GANG_H
#include "agent/launch.h"

/* Fills wiring, hosts and hostfile.  ERR_INVALID: a node has told no address. */
int launch_gang_wire(const struct body *b, struct member_ref ref, const char *incarnation,
                     struct launch *ret, struct err *err);
/* Adds the variables; the wiring is known. */
void launch_gang_env(const struct body *b, uint32_t member, struct launch *o);

/* launch.c */
void launch_host_name(const struct body *b, uint32_t member, char ret[64]);
uint32_t launch_members(const struct session_spec *s);
const struct role_spec *launch_role(const struct session_spec *s, uint32_t member);
void launch_env(struct wire_texts *env, const char *name, const char *value);
/* Unless the session sets the name itself. */
void launch_offer(struct wire_texts *env, const struct body *b, const char *name,
                  const char *value);

#endif
