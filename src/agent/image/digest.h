/* agent/image/digest.h - SHA-256, the only names that images have for what they are.
 *
 * "sha256:" and 64 lower-case hex digits; the hex digits alone name files.
 * docs/spec/node.md, "Images" */
#ifndef AGENT_IMAGE_DIGEST_H
#define AGENT_IMAGE_DIGEST_H
#include <stdbool.h>
#include <stddef.h>
#include "base/str.h"

#define DIGEST_TEXT 72 /* "sha256:", the digits, an end */
#define DIGEST_HEX 65

bool digest_is(struct str text); /* exactly of that form */
/* The digits of a good digest. */
void digest_hex(const char *digest, char ret[DIGEST_HEX]);
void digest_of(struct str data, char ret[DIGEST_TEXT]);

/* Of what comes in parts. */
struct digest_sum { void *state; };
void digest_begin(struct digest_sum *d);
void digest_add(struct digest_sum *d, const void *data, size_t n);
void digest_end(struct digest_sum *d, char ret[DIGEST_TEXT]); /* frees it, too */
void digest_drop(struct digest_sum *d);

#endif
