/* What the tests of the simulator's parts include: cmocka with the headers it forgets. */
#ifndef TEST_SIM_TEST_H
#define TEST_SIM_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"

#define ARRAY_N(a) (sizeof(a) / sizeof(*(a)))

#endif
