/* probe/amd.h - AMD's GPUs by sysfs and KFD, without a library.
 *
 * A GPU without a unique id is part of a processor, or so old that it cannot be told
 * from the one beside it: it is not listed. */
#ifndef PROBE_AMD_H
#define PROBE_AMD_H
#include "probe/survey.h"

void amd_read(const struct tree *t, struct probe_report *r);
/* Uncorrected errors in a file of counts ("ue: 0\nce: 3"); false: it has none. */
bool amd_uncorrected(struct str text, int64_t *ret);

#endif
