/* wire/prom.h - figures as Prometheus reads them, text format 0.0.4.
 *
 * A family is announced once, before its samples, which stand together.  A figure that
 * is not known has no sample. */
#ifndef WIRE_PROM_H
#define WIRE_PROM_H
#include <stdint.h>
#include "base/strbuf.h"

#define PROM_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* type: "counter" (its name ends with _total), "gauge" or "summary". */
void prom_family(struct strbuf *b, const char *name, const char *type, const char *help);

struct prom_label { const char *name, *value; }; /* values are escaped */
/* One sample; labels end with a NULL name, or are NULL.  Negative: not known, no sample. */
void prom_put(struct strbuf *b, const char *name, const struct prom_label *labels, int64_t v);
/* The same in millionths: microseconds as seconds. */
void prom_put_micro(struct strbuf *b, const char *name, const struct prom_label *labels,
                    int64_t v);
/* A family of one sample without labels. */
void prom_one(struct strbuf *b, const char *name, const char *type, const char *help, int64_t v);

#endif
