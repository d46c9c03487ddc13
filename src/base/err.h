/* base/err.h - the world failed, and how to say so.
 *
 * The struct is the caller's.  It is filled once, where the failure happens,
 * and prefixed on the way up.  Functions return 0 or a negative code and leave
 * their outputs untouched on failure.  `err` may be NULL: the code alone counts. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code { /* returned as they stand: negative */
    ERR_INVALID = -1,     /* malformed or out of range; text names what was expected */
    ERR_NOT_FOUND = -2,
    ERR_CONFLICT = -3,    /* exists already, or another writer won */
    ERR_LIMIT = -4,       /* a bound of ours was reached */
    ERR_DENIED = -5,
    ERR_IO = -6,          /* a system call or library failed: nothing happened */
    ERR_UNKNOWN = -7,     /* it may or may not have happened */
    ERR_UNAVAILABLE = -8, /* try again later */
    ERR_TIMEOUT = -9,
    ERR_CORRUPT = -10,    /* what we stored does not read back */
    ERR_UNSUPPORTED = -11,
};

#define ERR_TEXT_MAX 256

struct err {
    int code;                /* 0 or enum err_code */
    char field[64];          /* the offending field of an input, or "" */
    char text[ERR_TEXT_MAX]; /* one sentence for a person, always terminated */
};

/* Fills err (when not NULL) and returns code, for `return err_set(...)`. */
int err_set(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* As err_set, with ": <strerror(errno_value)>" appended. */
int err_sys(struct err *err, int code, int errno_value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Puts "<prefix>: " before the text; returns err->code (or ERR_IO if err is NULL). */
int err_prefix(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Names the field at fault, "outer.inner" when called on the way up. */
void err_field(struct err *err, const char *field);
const char *err_code_name(int code); /* "invalid", "not_found", ... */

#endif
