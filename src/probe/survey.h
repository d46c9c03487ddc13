/* probe/survey.h - one look at all devices: a report while it is being filled.
 *
 * A vendor whose devices could not all be read makes the report incomplete; the
 * first reason is kept.  A number out of all reason is not known, rather than
 * refused by whoever reads the report. */
#ifndef PROBE_SURVEY_H
#define PROBE_SURVEY_H
#include "base/str.h"
#include "probe/tree.h"
#include "wire/probe.h"

void survey_begin(struct probe_report *r); /* complete, until somebody fails */
void survey_fail(struct probe_report *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A new device that knows nothing; NULL and a failure when there are too many. */
struct probe_device *survey_add(struct probe_report *r, enum probe_vendor vendor, uint32_t index);
/* At most `max`, else it stays unknown. */
void survey_put(int64_t *to, uint64_t v, uint64_t max);
/* "0000:3b:00.0" of what people and drivers write: capitals, a longer domain, no function.
 * False, untouched: it is no address. */
bool survey_pci(struct str text, char ret[20]);
/* NUMA node and processors near by, from what the kernel says of the PCI device. */
void survey_place(const struct tree *t, struct probe_device *d);
/* Adds /dev/`path` when there is such a device. */
void survey_node(const struct tree *t, struct probe_device *d, const char *path);
/* How two PCI devices reach each other, by where the kernel has put them. */
enum probe_path survey_path(const struct tree *t, const struct probe_device *a,
                            const struct probe_device *b);
/* The better path wins. */
void survey_link(struct probe_report *r, uint32_t a, uint32_t b, enum probe_path path);
/* What the reader would refuse is taken out: devices without a name or named twice.
 * The report is incomplete then. */
void survey_end(struct probe_report *r);

#endif
