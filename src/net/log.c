/* net/log.c - see log.h.
 *
 * The line is made on the stack and leaves by one write; a reader that is away
 * costs us the line, never a wait or a signal. */
#include "net/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/loop.h"

enum { LINE_MAX_BYTES = 8192, VALUE_MAX = 1024 };

static struct {
    enum log_level level;
    enum log_format format;
    char role[32];
} setup = {.level = LOG_INFO};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

bool log_on(enum log_level level)
{
    return level >= setup.level;
}

void log_setup(enum log_level level, enum log_format format, const char *role)
{
    setup.level = level;
    setup.format = format;
    text_clip(setup.role, sizeof(setup.role), str_of(role));
}

bool log_level_parse(struct str s, enum log_level *ret)
{
    for (uint32_t i = 0; i < ARRAY_LEN(level_names); i++)
        if (str_eq(s, str_of(level_names[i]))) {
            *ret = (enum log_level)i;
            return true;
        }
    return false;
}

struct line { /* room for the end ("}\n") is kept back */
    char *p;
    uint32_t n, cap;
};

static void put(struct line *l, const char *p, size_t n)
{
    if (n > l->cap - l->n) n = l->cap - l->n;
    memcpy(l->p + l->n, p, n);
    l->n += (uint32_t)n;
}

static void puts_line(struct line *l, const char *s)
{
    put(l, s, strlen(s));
}

/* Backslash escapes; bytes of UTF-8 pass, controls become \u00XX. */
static void put_quoted(struct line *l, struct str s)
{
    puts_line(l, "\"");
    for (size_t i = 0; i < s.n && l->cap - l->n > 8; i++) {
        unsigned char c = (unsigned char)s.p[i];
        char esc[8];
        if (c == '"' || c == '\\') {
            put(l, (const char[]){'\\', (char)c}, 2);
        } else if (c == '\n') {
            put(l, "\\n", 2);
        } else if (c < 0x20 || c == 0x7f) {
            put(l, esc, (size_t)text_fmt(esc, sizeof(esc), "\\u%04x", c));
        } else {
            put(l, (const char *)&s.p[i], 1);
        }
    }
    puts_line(l, "\"");
}

static bool is_bare(struct str s)
{
    if (s.n == 0) return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\') return false;
    }
    return true;
}

static void put_text(struct line *l, struct str s)
{
    char clipped[VALUE_MAX + 1];
    text_clip(clipped, sizeof(clipped), s);
    s = str_of(clipped);
    if (setup.format == LOG_JSON || !is_bare(s)) put_quoted(l, s);
    else put(l, s.p, s.n);
}

static void put_key(struct line *l, const char *key)
{
    bool json = setup.format == LOG_JSON;
    if (l->n > 0 && l->p[l->n - 1] != '{') puts_line(l, json ? "," : " ");
    if (json) puts_line(l, "\"");
    puts_line(l, key);
    puts_line(l, json ? "\":" : "=");
}

static void put_field(struct line *l, const struct log_field *f)
{
    char number[24];
    put_key(l, f->key);
    switch (f->kind) {
    case LOG_KIND_STR:
        put_text(l, f->v.s);
        break;
    case LOG_KIND_I64:
        put(l, number, (size_t)text_fmt(number, sizeof(number), "%lld", (long long)f->v.i));
        break;
    case LOG_KIND_U64:
        put(l, number,
            (size_t)text_fmt(number, sizeof(number), "%llu", (unsigned long long)f->v.u));
        break;
    case LOG_KIND_BOOL:
        puts_line(l, f->v.b ? "true" : "false");
        break;
    }
}

static void put_time(struct line *l, int64_t wall_ms)
{
    struct tm tm = {0};
    time_t s = (time_t)(wall_ms / 1000);
    char text[40];
    gmtime_r(&s, &tm);
    int n = text_fmt(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                     (int)(wall_ms % 1000));
    put_key(l, "time");
    if (setup.format == LOG_JSON) put_quoted(l, str_n(text, (size_t)n));
    else put(l, text, (size_t)n);
}

uint32_t log_format_line(char *dst, uint32_t cap, const struct log_line *line)
{
    bool json = setup.format == LOG_JSON;
    CHECK(cap >= 200);
    struct line l = {dst, 0, cap - 3};
    if (json) puts_line(&l, "{");
    put_time(&l, line->wall_ms);
    put_field(&l, &LOG_S("level", level_names[line->level]));
    put_field(&l, &LOG_S("event", line->event));
    if (setup.role[0] != '\0') put_field(&l, &LOG_S("role", setup.role));
    for (uint32_t i = 0; i < line->n_fields; i++) {
        uint32_t before = l.n;
        put_field(&l, &line->fields[i]);
        if (l.n == l.cap) { /* a cut field would not parse: leave it out */
            l.n = before;
            break;
        }
    }
    l.cap = cap;
    puts_line(&l, json ? "}\n" : "\n");
    return l.n;
}

void log_write(enum log_level level, const char *event, const struct log_field *f, uint32_t n)
{
    char buf[LINE_MAX_BYTES];
    const struct log_line line = {net_wall_ms(), level, event, f, n};
    uint32_t len = log_format_line(buf, sizeof(buf), &line);
    ssize_t rc;
    do rc = write(STDERR_FILENO, buf, len);
    while (rc < 0 && errno == EINTR);
}
