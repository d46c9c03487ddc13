/* base/err.c - filling struct err.
 *
 * Each text is made beside the struct and copied in when it is complete: the
 * arguments may well point into the struct that is being filled. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"

static void vformat(char *dst, size_t cap, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static void vformat(char *dst, size_t cap, const char *fmt, va_list ap)
{
    if (vsnprintf(dst, cap, fmt, ap) < 0) dst[0] = '\0';
}

static void fill(struct err *err, int code, const char *text)
{
    err->code = code;
    err->field[0] = '\0';
    TEXT_CLIP(err->text, str_of(text));
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    CHECK(code < 0);
    if (!err) return code;
    char text[ERR_TEXT_MAX * 2]; /* longer, so that clipping sees what is cut */
    va_list ap;
    va_start(ap, fmt);
    vformat(text, sizeof(text), fmt, ap);
    va_end(ap);
    fill(err, code, text);
    return code;
}

int err_sys(struct err *err, int code, int errno_value, const char *fmt, ...)
{
    CHECK(code < 0);
    if (!err) return code;
    char doing[ERR_TEXT_MAX], text[ERR_TEXT_MAX * 2], cause[128];
    va_list ap;
    va_start(ap, fmt);
    vformat(doing, sizeof(doing), fmt, ap);
    va_end(ap);
    const char *words = strerror_r(errno_value, cause, sizeof(cause));
    text_fmt(text, sizeof(text), "%s: %s", doing, words);
    fill(err, code, text);
    return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    if (!err) return ERR_IO;
    char prefix[ERR_TEXT_MAX], text[ERR_TEXT_MAX * 2];
    va_list ap;
    va_start(ap, fmt);
    vformat(prefix, sizeof(prefix), fmt, ap);
    va_end(ap);
    text_fmt(text, sizeof(text), "%s: %s", prefix, err->text);
    TEXT_CLIP(err->text, str_of(text));
    if (err->code == 0) err->code = ERR_IO; /* a failure must never look like success */
    return err->code;
}

void err_field(struct err *err, const char *field)
{
    if (!err) return;
    char whole[2 * sizeof(err->field)];
    text_fmt(whole, sizeof(whole), "%s%s%s", field, err->field[0] ? "." : "", err->field);
    TEXT_CLIP(err->field, str_of(whole));
}

const char *err_code_name(int code)
{
    static const char *const names[] = {
        [0] = "ok",
        [-ERR_INVALID] = "invalid",
        [-ERR_NOT_FOUND] = "not_found",
        [-ERR_CONFLICT] = "conflict",
        [-ERR_LIMIT] = "limit",
        [-ERR_DENIED] = "denied",
        [-ERR_IO] = "io",
        [-ERR_UNKNOWN] = "unknown",
        [-ERR_UNAVAILABLE] = "unavailable",
        [-ERR_TIMEOUT] = "timeout",
        [-ERR_CORRUPT] = "corrupt",
        [-ERR_UNSUPPORTED] = "unsupported",
    };
    _Static_assert(sizeof(names) / sizeof(names[0]) == -ERR_UNSUPPORTED + 1,
                   "every code has a name");
    bool known = code <= 0 && code >= ERR_UNSUPPORTED;
    return known ? names[-code] : "unrecognised";
}
