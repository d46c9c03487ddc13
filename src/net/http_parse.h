/* net/http_parse.h - strict HTTP/1.1 heads and bodies, without allocation.
 *
 * Two steps: http_scan finds the end of a head in a buffer that grows (it goes
 * on where it stopped), then http_parse_request or http_parse_response cuts the
 * head into slices of that buffer.  Bodies are decoded in place, slice by slice.
 *
 * Strictness is what keeps two readers of one stream from seeing two different
 * messages: only CRLF ends a line, no folded headers, no space around a name, no
 * control bytes, never both lengths, one Content-Length of digits alone, only
 * "chunked" as a transfer coding, exactly one Host in a request of 1.1.
 * RFC 9110, RFC 9112. */
#ifndef NET_HTTP_PARSE_H
#define NET_HTTP_PARSE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

#define HTTP_HEAD_MAX (64 * 1024) /* start line and headers together */
#define HTTP_HEADERS_MAX 100
#define HTTP_TARGET_MAX (16 * 1024)

enum http_method {
    HTTP_OTHER = 0, HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE,
    HTTP_OPTIONS, HTTP_CONNECT,
};

enum http_body_kind {
    HTTP_BODY_NONE = 0,
    HTTP_BODY_LENGTH,
    HTTP_BODY_CHUNKED,
    HTTP_BODY_UNTIL_CLOSE, /* responses only */
};

struct http_header { struct str name, value; };

struct http_head { /* slices point into the parsed buffer */
    /* request */
    enum http_method method;
    struct str method_text, target; /* target as sent: origin-form, absolute or "*" */
    /* response */
    int status;
    struct str reason;
    /* both */
    uint32_t minor; /* HTTP/1.<minor>: 0 or 1 */
    uint32_t n_headers;
    enum http_body_kind body;
    uint64_t length;       /* HTTP_BODY_LENGTH */
    bool keep_alive;
    bool expect_continue;
    struct str host;       /* request */
    struct str upgrade;    /* value of Upgrade, only if Connection names it too */
    struct http_header headers[HTTP_HEADERS_MAX];
};

/* Zeroed is a fresh scan. */
struct http_scan { size_t seen; };
/* Looks for the end of the head in the n bytes at p (the same bytes as before
 * and perhaps more).  > 0: length of the head with its empty line (2: an empty line
 * alone, which a server skips once before a request); 0: not yet; ERR_LIMIT: longer
 * than HTTP_HEAD_MAX; ERR_INVALID: a line that ends in a bare LF. */
int64_t http_scan(struct http_scan *s, const char *p, size_t n);

/* `head` is what http_scan measured.  0, or ERR_INVALID, ERR_LIMIT (too many
 * headers, too long a target), ERR_UNSUPPORTED (not HTTP/1.x, unknown transfer
 * coding).  err->text says what was wrong.  *h is written in any case. */
int http_parse_request(struct str head, struct http_head *h, struct err *err);
/* to: the method it answers; decides whether a body follows. */
int http_parse_response(struct str head, enum http_method to, struct http_head *h,
                        struct err *err);
/* The HTTP status that tells a client about a failed parse: 400, 414, 431, 501, 505. */
int http_parse_status(const struct err *err);

/* First header of that name (case does not count), else p == NULL. */
struct str http_head_get(const struct http_head *h, struct str name);
/* Is `token` in the comma-separated list of any header of that name? */
bool http_head_has_token(const struct http_head *h, struct str name, struct str token);
enum http_method http_method_of(struct str text);
const char *http_method_name(enum http_method m);
const char *http_status_text(int status); /* "Not Found"; "" if unknown */

/* ---- bodies ---- */
struct http_body {
    enum http_body_kind kind;
    uint64_t left;   /* of the body, or of this chunk */
    int state;       /* of the chunk reader */
    uint32_t line;   /* bytes of a chunk line or of all trailers so far */
    bool done;
};
void http_body_init(struct http_body *b, const struct http_head *h);
/* Reads from *in (advanced) and yields the next slice of content, which may be
 * empty.  Call until *in is empty or b->done; what is left in *in then belongs to
 * the next message.  0, ERR_INVALID (bad chunk) or ERR_LIMIT. */
int http_body_feed(struct http_body *b, struct str *in, struct str *ret_data, struct err *err);

/* ---- targets ---- */
/* Decodes %XX of a path into dst; refuses bad escapes, NUL, and "." and ".."
 * segments, also encoded ones, and an encoded slash.  ERR_INVALID, ERR_LIMIT. */
int http_path_decode(struct str raw, char *dst, size_t cap, struct str *ret, struct err *err);
/* Value of `name` in a query string, decoded ('+' is a space) into dst.  False if
 * absent, malformed or too long. */
bool http_query_get(struct str query, struct str name, char *dst, size_t cap, struct str *ret);
/* Can that value of a query be decoded, as http_query_get would? */
bool http_query_is_sound(struct str value);
/* Appends with everything but unreserved characters (and '/' if keep_slash) escaped. */
struct strbuf;
void http_escape(struct strbuf *b, struct str s, bool keep_slash);

#endif
