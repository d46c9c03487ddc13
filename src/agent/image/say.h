/* agent/image/say.h - what a fetcher's words mean for those who wait.
 *
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_SAY_H
#define AGENT_IMAGE_SAY_H
#include <stdbool.h>
#include "base/err.h"
#include "base/str.h"

/* skopeo's output when it failed: a code and one sentence.  ERR_NOT_FOUND, ERR_DENIED and
 * ERR_UNSUPPORTED cannot become better by trying again; others may. */
int say_why(struct str output, const char *image, struct err *err);
/* Trying again cannot help. */
bool say_is_fatal(int code);

#endif
