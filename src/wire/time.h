/* wire/time.h - instants as people's interfaces write them: RFC 3339, UTC, milliseconds. */
#ifndef WIRE_TIME_H
#define WIRE_TIME_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

#define WIRE_TIME_TEXT 32
/* "2026-12-01T08:46:54.123Z"; "" for 0 and for what is outside the years 1970 to 9999. */
void wire_time_format(int64_t wall_ms, char ret[WIRE_TIME_TEXT]);
/* The same form, fraction optional, Z or a numeric offset; false on anything else. */
bool wire_time_parse(struct str s, int64_t *ret_wall_ms);

#endif
