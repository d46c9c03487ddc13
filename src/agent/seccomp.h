/* agent/seccomp.h - which system calls a container may make.
 *
 * An allow-list: what an ordinary program, interpreter, trainer or server needs.
 * Known calls that manage the machine are refused with EPERM; whatever the list
 * does not know answers ENOSYS, so that C libraries fall back to older calls.
 * Containers have no capabilities anyway: this narrows what a flaw in the kernel
 * could be reached by.  docs/spec/node.md */
#ifndef AGENT_SECCOMP_H
#define AGENT_SECCOMP_H
#include "base/err.h"
#include "base/strbuf.h"

/* The filter as the kernel takes it, in base64: compiled once, used for every
 * container, where the runtime would compile it for each. */
int seccomp_filter_base64(struct strbuf *out, struct err *err);
/* The same list as the "seccomp" object of a runtime's configuration. */
void seccomp_filter_json(struct strbuf *out);

#endif
