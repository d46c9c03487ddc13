/* What the tests of the command line include: cmocka with the headers it forgets. */
#ifndef TEST_CLI_TEST_H
#define TEST_CLI_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"

/* Names the row of a table that failed. */
#define ROW_TRUE(name, cond) \
    do { \
        if (!(cond)) fail_msg("row \"%s\": %s", (name), #cond); \
    } while (0)

#endif
