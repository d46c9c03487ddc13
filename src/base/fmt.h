/* base/fmt.h - quantities as people write and read them.  Integers only. */
#ifndef BASE_FMT_H
#define BASE_FMT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"
#include "base/strbuf.h"

#define FMT_KIB INT64_C(1024)
#define FMT_MIB (1024 * FMT_KIB)
#define FMT_GIB (1024 * FMT_MIB)

/* "512M", "1.5G", "2GiB", "1.5 GiB", "4096"; K/M/G/T in either case, with
 * optional i and B, are powers of 1024; at most six digits behind the point.
 * False on anything else, negatives and overflow. */
bool fmt_parse_bytes(struct str s, int64_t *ret_bytes);
/* "2", "0.5", "1500m": milli-cores. */
bool fmt_parse_cpu(struct str s, int64_t *ret_milli);
/* "90", "90s", "10m", "2h", "1d", "1h30m", "250ms": milliseconds; bare numbers
 * are seconds; each unit at most once, the larger first. */
bool fmt_parse_duration(struct str s, int64_t *ret_ms);
/* Writing rounds down: nobody is shown more than there is. */
void fmt_bytes(struct strbuf *b, int64_t bytes); /* "512 MiB", "1.5 GiB" */
void fmt_cpu(struct strbuf *b, int64_t milli);   /* "2", "0.5" */
void fmt_duration(struct strbuf *b, int64_t ms); /* "850 ms", "12 s", "3 min 20 s", "2 h 5 min" */
void fmt_age(struct strbuf *b, int64_t ms);      /* "12s", "3m", "2h", "5d" for tables */

#endif
