/* core/rotate/metrics.h - what one answer of an engine proves about its work.
 *
 * An engine's answer becomes three values: the work counter, the gauge and the start of the
 * process.  Each is either exact or it is not known, with the reason: what the answer lacks is
 * never zero, what was rounded is never equal, and what is negative is never small.  Integers in
 * thousandths; no floats.  How an engine is read is data (struct metrics_profile), filled from
 * share/engines.yaml.  docs/engines.md */
#ifndef CORE_ROTATE_METRICS_H
#define CORE_ROTATE_METRICS_H
#include <stdbool.h>
#include <stdint.h>
#include "base/fact.h"
#include "base/str.h"
#include "core/rotate/clocks.h"

#define METRICS_ANSWER_MAX ((size_t)8 << 20) /* bytes; a longer answer is not read */
#define METRICS_TERMS_MAX 8
#define METRICS_LABELS_MAX 4
#define METRICS_EXACT_MAX (INT64_C(1) << 53) /* beyond it a double swallows an increment of one */
#define METRICS_DIGITS_MAX 16u                /* significant digits that a double always keeps */

enum metrics_format {
    METRICS_NONE = 0, /* the engine is not asked: its port's bytes are its work */
    METRICS_PROMETHEUS,
    METRICS_JSON,
};

enum metrics_identity { /* what tells one process of the engine from the next */
    METRICS_BY_PROCESS = 0, /* its start, as the node sees it */
    METRICS_BY_METRIC,      /* a value in the answer */
    METRICS_BY_EITHER,      /* that value, and where the answer has none the node's view */
};

struct metrics_label { char name[64], value[128]; };

/* One addend: every series of this name whose labels have these values. */
struct metrics_term {
    char name[128]; /* METRICS_JSON: a path, "model_stats[].inference_stats.success.count" */
    bool optional;  /* the engine shows it only once it has happened */
    uint32_t n_labels;
    struct metrics_label labels[METRICS_LABELS_MAX];
};

struct metrics_profile {
    enum metrics_format format;
    enum metrics_identity identity;
    char identity_metric[128];
    uint32_t digits; /* that the engine prints of a counter: one with more is rounded */
    uint32_t n_counters, n_gauges;
    struct metrics_term counters[METRICS_TERMS_MAX], gauges[METRICS_TERMS_MAX];
};

enum metrics_state {
    METRICS_UNREAD = 0, /* {0}: nothing was read */
    METRICS_KNOWN,
    METRICS_UNNAMED,    /* the profile names no such value */
    METRICS_ABSENT,     /* the answer lacks it */
    METRICS_NEGATIVE,
    METRICS_NAN,        /* not a number, or infinite */
    METRICS_ROUNDED,    /* its last digits are not there */
    METRICS_TOO_BIG,
    METRICS_MALFORMED,  /* the answer as a whole is not what the profile says */
    METRICS_CUT,        /* it ends in the middle of a line */
    METRICS_TOO_LONG,
    METRICS_STATES,
};

struct metrics_value {
    enum metrics_state state;
    int64_t milli; /* 0 unless METRICS_KNOWN, never negative */
};

struct metrics { /* {0} knows nothing */
    struct metrics_value counter; /* sum of the work counters: equal sums prove no work */
    struct metrics_value gauge;   /* sum of the gauges; above zero is work */
    struct metrics_value start;   /* equal values prove the same process */
    uint32_t line;                /* METRICS_MALFORMED, METRICS_CUT: where in the text, or 0 */
};

/* Reads the text exposition format.  start_ms: when the node saw the process start, 0 when it
 * does not know.  Anything from outside may stand in text. */
struct metrics metrics_read(const struct metrics_profile *p, struct str text, int64_t start_ms);

/* What the quiet clock may expect of an engine that is read this way: an engine that counts no
 * work itself is counted by the bytes on its port, if the node counts those. */
struct quiet_profile metrics_promises(const struct metrics_profile *p, bool port_counted);
/* What it takes of an answer: a value that is not known, for whatever reason, is unknown there.
 * port_bytes: cumulative, our own probes left out; looked at only for want of a work counter. */
struct quiet_sample metrics_sample(const struct metrics *m, struct reading port_bytes,
                                   int64_t at_ms);

/* One sentence for a person, without the value's name. */
const char *metrics_state_text(enum metrics_state s);
/* Is a gauge above zero?  Gauges that cannot be read are UNKNOWN; without any, NO. */
enum fact metrics_busy(const struct metrics *m);

/* ---- for readers of other formats: begin, one see per value, end ---- */
struct metrics_number {
    enum metrics_state state; /* METRICS_KNOWN, or why it is none */
    bool negative;            /* never of zero */
    bool rounded;             /* digits behind the thousandths were cut; milli is then rounded
                                 away from zero, so that what is above zero stays there */
    int64_t milli;            /* without its sign */
};
enum metrics_part { METRICS_COUNTER = 0, METRICS_GAUGE, METRICS_START };

struct metrics_reading {
    const struct metrics_profile *p;
    struct metrics_value part[3];
    uint32_t seen[3]; /* bits of the terms that had a value */
};

/* Decimal or exponent, as Prometheus writes it.  METRICS_MALFORMED: no number at all. */
struct metrics_number metrics_number(struct str s);
void metrics_begin(struct metrics_reading *r, const struct metrics_profile *p);
void metrics_see(struct metrics_reading *r, enum metrics_part part, uint32_t term,
                 struct metrics_number n);
struct metrics metrics_end(const struct metrics_reading *r, int64_t start_ms);
/* Nothing of this answer counts. */
struct metrics metrics_refuse(enum metrics_state why, uint32_t line);
/* METRICS_NONE: nobody was asked. */
struct metrics metrics_unasked(int64_t start_ms);

/* The terms of a part; that of METRICS_START is identity_metric alone, which is no
 * struct metrics_term: NULL. */
uint32_t metrics_terms(const struct metrics_profile *p, enum metrics_part part);
const struct metrics_term *metrics_term(const struct metrics_profile *p, enum metrics_part part,
                                        uint32_t at);
struct str metrics_term_name(const struct metrics_profile *p, enum metrics_part part, uint32_t at);

#endif
