/* base/check.h - a broken invariant ends the process.
 *
 * CHECK stays in release builds.  It states one condition about our own code,
 * without side effects; input from network, file, database or driver is never
 * CHECKed but answered with a struct err. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

_Noreturn void check_fail(const char *file, int line, const char *what);

#define CHECK(cond) \
    do { \
        if (__builtin_expect(!(cond), 0)) check_fail(__FILE__, __LINE__, #cond); \
    } while (0)

/* For switch statements over enums in which every case returns. */
#define UNREACHABLE() check_fail(__FILE__, __LINE__, "unreachable")

#endif
