/* net/http_text.c - methods, statuses, targets and queries; see http_parse.h. */
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http_parse.h"

static const struct str methods[] = {
    [HTTP_GET] = {"GET", 3},         [HTTP_HEAD] = {"HEAD", 4},
    [HTTP_POST] = {"POST", 4},       [HTTP_PUT] = {"PUT", 3},
    [HTTP_PATCH] = {"PATCH", 5},     [HTTP_DELETE] = {"DELETE", 6},
    [HTTP_OPTIONS] = {"OPTIONS", 7}, [HTTP_CONNECT] = {"CONNECT", 7},
};
_Static_assert(ARRAY_LEN(methods) == HTTP_CONNECT + 1, "one text for each method");

enum http_method http_method_of(struct str text)
{
    for (uint32_t i = HTTP_GET; i < ARRAY_LEN(methods); i++)
        if (str_eq(text, methods[i])) return (enum http_method)i;
    return HTTP_OTHER;
}

const char *http_method_name(enum http_method m)
{
    return m == HTTP_OTHER ? "" : methods[m].p;
}

static const struct {
    int status;
    const char *text;
} statuses[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

const char *http_status_text(int status)
{
    for (uint32_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].status == status) return statuses[i].text;
    return "";
}

/* ---- escapes ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte of "%XX" at p[0..2], or -1. */
static int escape_at(struct str s, size_t i)
{
    if (s.n - i < 3) return -1;
    int high = hex(s.p[i + 1]), low = hex(s.p[i + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static bool has_dot_segment(struct str path)
{
    struct str segment, rest = str_n(path.p + 1, path.n - 1);
    bool more = true;
    while (more) {
        more = str_cut(&rest, '/', &segment);
        if (str_eq(segment, STR(".")) || str_eq(segment, STR(".."))) return true;
    }
    return false;
}

int http_path_decode(struct str raw, char *dst, size_t cap, struct str *ret, struct err *err)
{
    if (raw.n == 0 || raw.p[0] != '/')
        return err_set(err, ERR_INVALID, "the path begins with no /");
    if (raw.n >= cap) return err_set(err, ERR_LIMIT, "the path is too long");
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        if (raw.p[i] != '%') {
            dst[n++] = raw.p[i];
            continue;
        }
        int c = escape_at(raw, i);
        if (c <= 0 || c == '/')
            return err_set(err, ERR_INVALID, "an escape in the path is refused");
        dst[n++] = (char)c;
        i += 2;
    }
    dst[n] = '\0';
    if (!str_is_utf8(str_n(dst, n))) return err_set(err, ERR_INVALID, "the path is not UTF-8");
    if (has_dot_segment(str_n(dst, n)))
        return err_set(err, ERR_INVALID, "the path has a . or .. segment");
    *ret = str_n(dst, n);
    return 0;
}

static bool decode_value(struct str raw, char *dst, size_t cap, struct str *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        int c = (uint8_t)raw.p[i];
        if (c == '+') c = ' ';
        if (c == '%') {
            c = escape_at(raw, i);
            i += 2;
        }
        if (c <= 0 || n + 1 >= cap) return false;
        dst[n++] = (char)c;
    }
    dst[n] = '\0';
    *ret = str_n(dst, n);
    return true;
}

bool http_query_is_sound(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] == '\0' || (value.p[i] == '%' && escape_at(value, i) <= 0)) return false;
    return true;
}

bool http_query_get(struct str query, struct str name, char *dst, size_t cap, struct str *ret)
{
    struct str item, key;
    bool more = true;
    while (more) {
        more = str_cut(&query, '&', &item);
        struct str value = item;
        if (!str_cut(&value, '=', &key)) value = (struct str){NULL, 0};
        if (str_eq(key, name)) return cap > 0 && decode_value(value, dst, cap, ret);
    }
    return false;
}

void http_escape(struct strbuf *b, struct str s, bool keep_slash)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = (uint8_t)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slash);
        if (plain) {
            strbuf_putc(b, (char)c);
            continue;
        }
        strbuf_putc(b, '%');
        strbuf_putc(b, digits[c >> 4]);
        strbuf_putc(b, digits[c & 15]);
    }
}
