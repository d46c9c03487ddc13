/* agent/frames.h - cuts what a client sends into carry frames.
 *
 * One frame at a time in one bounded buffer; a frame that a client may not send, or
 * whose length does not suit it, is an error and the end. */
#ifndef AGENT_FRAMES_H
#define AGENT_FRAMES_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "wire/carry.h"

struct frames { /* zeroed is fresh */
    uint32_t n;                                    /* bytes gathered of the present frame */
    uint8_t buf[CARRY_HEAD + CARRY_PAYLOAD_MAX];
};
struct frame { enum carry_type type; struct str payload; };

/* Takes bytes from the front of *data.  1: *ret is a whole frame, its payload valid
 * until the next call; 0: all bytes are taken and more are needed; negative: err. */
int frames_next(struct frames *f, struct str *data, struct frame *ret, struct err *err);

#endif
