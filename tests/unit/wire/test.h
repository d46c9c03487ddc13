/* What the tests of wire share. */
#ifndef TEST_WIRE_TEST_H
#define TEST_WIRE_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "wire/accounts.h"
#include "wire/objects.h"
#include "wire/rows.h"
#include "wire/sync.h"

#define RUN(tests) cmocka_run_group_tests((tests), NULL, NULL)

/* Fills obj (any table of ours) with values that its table allows: texts with quotes, control
 * characters and other alphabets, numbers at the ends of their ranges, lists of 0 to 3. */
void arbitrary(const struct wire_table *t, struct rng *rng, void *obj);
extern const struct wire_table *const all_tables[]; /* ends with NULL */

#endif
