/* probe/reader.h - the thread that calls drivers, so that another one can say so.
 *
 * It reads all devices at each interval and waits for Xids in between.  Only it may
 * hang; what it has finished is taken from it under a lock. */
#ifndef PROBE_READER_H
#define PROBE_READER_H
#include <stdbool.h>
#include <stdint.h>
#include "probe/tree.h"
#include "wire/probe.h"

struct reader;

struct reader_spec {
    struct tree tree;    /* borrowed for ever */
    const char *nvml;    /* the library, or NULL */
    int64_t interval_ms;
};

/* NULL: no thread, or no descriptor to be had. */
struct reader *reader_start(const struct reader_spec *spec, struct err *err);
int reader_fd(const struct reader *r); /* readable when there is something to take */
/* The newest report that was finished since the last call, and which reading it is of, from
 * 1; the caller frees it. */
bool reader_report(struct reader *r, struct probe_report *ret, uint64_t *ret_number);
/* How many readings have begun.  What happens now shows in those with a higher number. */
uint64_t reader_begun(const struct reader *r);
bool reader_event(struct reader *r, struct probe_event *ret);
/* Reads again at once. */
void reader_hurry(struct reader *r);
/* How long the step under way has taken, and the call that holds it, or "". */
int64_t reader_stuck_ms(struct reader *r, const char **ret_call);

#endif
