/* probe/intel.h - Intel's discrete GPUs by sysfs, of the drivers xe and i915.
 *
 * Those that are part of a processor are on the first bus, and not listed.  There is
 * no number that stays with a card, so it is named after its place. */
#ifndef PROBE_INTEL_H
#define PROBE_INTEL_H
#include "probe/survey.h"

void intel_read(const struct tree *t, struct probe_report *r);

#endif
