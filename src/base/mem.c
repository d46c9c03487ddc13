/* base/mem.c - allocation that cannot fail.
 *
 * Every request is for at least one byte, so that NULL never means "empty".  A
 * product that overflows is a bug of the caller: sizes from outside are
 * bounded before they come here. */
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static void *must(void *p)
{
    if (__builtin_expect(p == NULL, 0)) check_fail(__FILE__, __LINE__, "out of memory");
    return p;
}

static size_t product(size_t count, size_t bytes)
{
    size_t total = 0;
    bool overflow = __builtin_mul_overflow(count, bytes, &total);
    CHECK(!overflow);
    CHECK(total <= PTRDIFF_MAX);
    return total > 0 ? total : 1;
}

void *mem_alloc(size_t bytes) { return must(calloc(1, product(1, bytes))); }

void *mem_array(size_t count, size_t bytes) { return must(calloc(1, product(count, bytes))); }

void *mem_resize(void *p, size_t count, size_t bytes)
{
    return must(realloc(p, product(count, bytes)));
}

char *mem_strndup(const char *p, size_t n)
{
    CHECK(n < PTRDIFF_MAX);
    char *copy = must(malloc(n + 1));
    if (n > 0) memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

void mem_free(void *p) { free(p); }

void mem_zero_secret(void *p, size_t n)
{
    if (n > 0) explicit_bzero(p, n);
}
