/* sim/cases.h - a file of rotation cases against the core's deciders.
 *
 * The deciders are the very functions that the agent and the simulator call.  The
 * format is in docs/spec/rotation.md, "The case file". */
#ifndef SIM_CASES_H
#define SIM_CASES_H
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

struct cases_result { uint32_t passed, failed; };

/* Runs every row of the text and appends a line to `out` for each that disagrees, or
 * that cannot be read.  Fails only when the text has no header of a case file. */
int cases_run(struct str text, struct strbuf *out, struct cases_result *ret, struct err *err);

#endif
