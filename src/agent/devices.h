/* agent/devices.h - which devices a version 2 control group may open.
 *
 * There the kernel asks a small program instead of keeping a list.  The program
 * is written here, instruction by instruction, from the same rules that version
 * 1 takes as text.  docs/spec/node.md */
#ifndef AGENT_DEVICES_H
#define AGENT_DEVICES_H
#include <linux/bpf.h>
#include <stdint.h>
#include "base/err.h"

#define DEVICES_RULES 160
#define DEVICES_INSNS (9 + 7 * DEVICES_RULES)

/* Rules "c 136:* rwm": type c or b, major, minor or *, what is allowed.  All
 * else is refused. */
int devices_program(const char *const *rules, uint32_t n, struct bpf_insn *ret, uint32_t *ret_n,
                    struct err *err);
int devices_attach(const char *cgroup_dir, const char *const *rules, uint32_t n,
                   struct err *err);

#endif
