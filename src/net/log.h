/* net/log.h - one line an event, for people and machines alike.
 *
 *     log_event(LOG_INFO, "agent.join", LOG_S("node", name), LOG_I("devices", n));
 *     time=2026-01-02T03:04:05.678Z level=info event=agent.join node=n1 devices=8
 *
 * Event names and keys are fixed text of ours; values are quoted where they need
 * it, cut at 1 KiB, and never secrets.  A line is at most 8 KiB and leaves by one
 * write to descriptor 2, so lines of several threads do not mix.  Only shells
 * log: base, core, wire, net and store do not. */
#ifndef NET_LOG_H
#define NET_LOG_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

/* Own values: this header and <syslog.h> are not used together. */
enum log_level { LOG_DEBUG = 0, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_LOGFMT = 0, LOG_JSON };

enum log_kind { LOG_KIND_STR, LOG_KIND_I64, LOG_KIND_U64, LOG_KIND_BOOL };
struct log_field {
    const char *key;
    enum log_kind kind;
    union { struct str s; int64_t i; uint64_t u; bool b; } v;
};

#define LOG_S(k, text) ((struct log_field){(k), LOG_KIND_STR, {.s = str_of(text)}}) /* char * */
#define LOG_STR(k, slice) ((struct log_field){(k), LOG_KIND_STR, {.s = (slice)}})   /* struct str */
#define LOG_I(k, n) ((struct log_field){(k), LOG_KIND_I64, {.i = (n)}})
#define LOG_U(k, n) ((struct log_field){(k), LOG_KIND_U64, {.u = (n)}})
#define LOG_B(k, yes) ((struct log_field){(k), LOG_KIND_BOOL, {.b = (yes)}})
#define LOG_ERR(e) LOG_S("error", (e)->text) /* struct err * */

/* Arguments are not evaluated below the level. */
#define log_event(level, event, ...) \
    do { \
        if (log_on(level)) { \
            const struct log_field log_fields_[] = {__VA_ARGS__}; \
            log_write((level), (event), log_fields_, \
                      (uint32_t)(sizeof(log_fields_) / sizeof(struct log_field))); \
        } \
    } while (0)

bool log_on(enum log_level level);
void log_write(enum log_level level, const char *event, const struct log_field *f, uint32_t n);

/* Once at start.  role ("manager", "agent") becomes a field of each line; NULL: none. */
void log_setup(enum log_level level, enum log_format format, const char *role);
bool log_level_parse(struct str s, enum log_level *ret);
struct log_line { /* one line before it is text */
    int64_t wall_ms;
    enum log_level level;
    const char *event;
    const struct log_field *fields;
    uint32_t n_fields;
};
/* Makes the text without writing it; returns its length.  cap >= 200.  For tests. */
uint32_t log_format_line(char *dst, uint32_t cap, const struct log_line *line);

#endif
