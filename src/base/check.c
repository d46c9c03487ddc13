/* base/check.c - the last words of a process that found itself wrong.
 *
 * Only write() and abort(): this may run with a broken heap, in a forked child
 * or in a signal handler, so nothing is allocated and stdio is not touched. */
#include "base/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t add(char *line, size_t cap, size_t n, const char *part)
{
    size_t len = strlen(part);
    if (len > cap - n) len = cap - n;
    memcpy(line + n, part, len);
    return n + len;
}

void check_fail(const char *file, int line, const char *what)
{
    char digits[16];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    unsigned number = line > 0 ? (unsigned)line : 0;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);

    char text[512];
    size_t cap = sizeof(text) - 1, n = 0; /* one byte kept for the newline */
    n = add(text, cap, n, file);
    n = add(text, cap, n, ":");
    n = add(text, cap, n, digits + at);
    n = add(text, cap, n, ": check failed: ");
    n = add(text, cap, n, what);
    text[n++] = '\n';
    ssize_t written = write(STDERR_FILENO, text, n);
    (void)written; /* there is nowhere left to report to */
    abort();
}
