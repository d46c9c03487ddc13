/* net/http_parse.c - heads and bodies; see http_parse.h.
 *
 * Every byte of a head is judged once: lines end in CRLF and hold no other
 * control byte, names are tokens, values are visible text, space and tab. */
#include "net/http_parse.h"

#include "base/check.h"

enum { DIGITS_MAX = 18, CHUNK_DIGITS_MAX = 15, CHUNK_LINE_MAX = 1024, TRAILERS_MAX = 8192 };

/* Bits of a byte's class. */
enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8 };

#define T4 (TOKEN | VALUE | TARGET)
#define H4 (TOKEN | VALUE | TARGET | HOST)
#define V2 VALUE
#define VT (VALUE | TARGET)
#define VH (VALUE | TARGET | HOST)
static const uint8_t classes[256] = {
    ['\t'] = V2, [' '] = V2,
    ['!'] = T4, ['"'] = V2, ['#'] = T4 & ~TARGET, ['$'] = T4, ['%'] = T4, ['&'] = T4,
    ['\''] = T4, ['('] = VT, [')'] = VT, ['*'] = T4, ['+'] = T4, [','] = VT, ['-'] = H4,
    ['.'] = H4, ['/'] = VT, ['0' ... '9'] = H4, [':'] = VH, [';'] = VT, ['<'] = V2,
    ['='] = VT, ['>'] = V2, ['?'] = VT, ['@'] = VT, ['A' ... 'Z'] = H4, ['['] = VH,
    ['\\'] = V2, [']'] = VH, ['^'] = T4 & ~TARGET, ['_'] = H4, ['`'] = T4 & ~TARGET,
    ['a' ... 'z'] = H4, ['{'] = VT, ['|'] = T4, ['}'] = VT, ['~'] = T4,
    [0x80 ... 0xff] = V2,
};

static bool all_of(struct str s, uint8_t class)
{
    uint8_t seen = 0xff;
    for (size_t i = 0; i < s.n; i++) seen &= classes[(uint8_t)s.p[i]];
    return (seen & class) != 0;
}

int64_t http_scan(struct http_scan *s, const char *p, size_t n)
{
    CHECK(s->seen <= n);
    size_t at = s->seen;
    while (at < n) {
        const char *lf = memchr(p + at, '\n', n - at);
        if (lf == NULL) break;
        size_t i = (size_t)(lf - p);
        if (i >= HTTP_HEAD_MAX) return ERR_LIMIT;
        if (i == 0 || p[i - 1] != '\r') return ERR_INVALID;
        if (i == 1) return 2;
        if (p[i - 2] == '\n') return (int64_t)i + 1;
        at = i + 1;
    }
    s->seen = n;
    return n >= HTTP_HEAD_MAX ? ERR_LIMIT : 0;
}

/* The next line of the head without its CRLF.  The head ends with an empty one. */
static struct str next_line(struct str *rest)
{
    const char *lf = memchr(rest->p, '\n', rest->n);
    CHECK(lf != NULL);
    size_t n = (size_t)(lf - rest->p);
    struct str line = str_n(rest->p, n > 0 ? n - 1 : 0);
    *rest = str_n(rest->p + n + 1, rest->n - n - 1);
    return line;
}

static int refuse(struct err *err, int code, const char *field, const char *text)
{
    (void)err_set(err, code, "%s", text);
    err_field(err, field);
    return code;
}

static bool token_in(struct str list, struct str token)
{
    struct str item;
    bool more = true;
    while (more) {
        more = str_cut(&list, ',', &item);
        if (str_eq_nocase(str_trim(item), token)) return true;
    }
    return false;
}

static int parse_version(struct str v, struct http_head *h, struct err *err)
{
    if (v.n != 8 || memcmp(v.p, "HTTP/", 5) != 0 || v.p[6] != '.' || v.p[5] < '0' ||
        v.p[5] > '9' || v.p[7] < '0' || v.p[7] > '9')
        return refuse(err, ERR_INVALID, "", "malformed HTTP version");
    if (v.p[5] != '1' || v.p[7] > '1')
        return refuse(err, ERR_UNSUPPORTED, "version", "only HTTP/1.0 and HTTP/1.1 are spoken");
    h->minor = (uint32_t)(v.p[7] - '0');
    return 0;
}

/* ---- headers ---- */

struct facts { /* what the headers said, before it is judged together */
    uint32_t hosts, lengths, codings;
    bool close, keep_alive, wants_upgrade;
    struct str upgrade;
};

static int take_length(struct http_head *h, struct facts *f, struct str v, struct err *err)
{
    if (f->lengths++ > 0) return refuse(err, ERR_INVALID, "", "more than one Content-Length");
    if (v.n > DIGITS_MAX || !str_to_u64(v, &h->length))
        return refuse(err, ERR_INVALID, "", "malformed Content-Length");
    return 0;
}

static int take_header(struct http_head *h, struct facts *f, struct str name, struct str v,
                       struct err *err)
{
    switch (name.n) {
    case 4:
        if (!str_eq_nocase(name, STR("host"))) break;
        if (f->hosts++ > 0) return refuse(err, ERR_INVALID, "", "more than one Host");
        if (v.n > 0 && (!all_of(v, HOST) || v.n > 300))
            return refuse(err, ERR_INVALID, "", "malformed Host");
        h->host = v;
        break;
    case 6:
        if (str_eq_nocase(name, STR("expect")) && str_eq_nocase(v, STR("100-continue")))
            h->expect_continue = true;
        break;
    case 7:
        if (str_eq_nocase(name, STR("upgrade"))) f->upgrade = v;
        break;
    case 10:
        if (!str_eq_nocase(name, STR("connection"))) break;
        f->close |= token_in(v, STR("close"));
        f->keep_alive |= token_in(v, STR("keep-alive"));
        f->wants_upgrade |= token_in(v, STR("upgrade"));
        break;
    case 14:
        if (str_eq_nocase(name, STR("content-length"))) return take_length(h, f, v, err);
        break;
    case 17:
        if (!str_eq_nocase(name, STR("transfer-encoding"))) break;
        if (f->codings++ > 0)
            return refuse(err, ERR_INVALID, "", "more than one Transfer-Encoding");
        if (!str_eq_nocase(v, STR("chunked")))
            return refuse(err, ERR_UNSUPPORTED, "", "the only transfer coding spoken is chunked");
        break;
    default:
        break;
    }
    return 0;
}

static int parse_headers(struct str rest, struct http_head *h, struct facts *f, struct err *err)
{
    for (;;) {
        struct str line = next_line(&rest), name;
        if (line.n == 0) break;
        if (line.p[0] == ' ' || line.p[0] == '\t')
            return refuse(err, ERR_INVALID, "", "folded header line");
        if (!str_cut(&line, ':', &name) || name.n == 0 || !all_of(name, TOKEN))
            return refuse(err, ERR_INVALID, "", "malformed header name");
        struct str v = str_trim(line);
        if (v.n > 0 && !all_of(v, VALUE))
            return refuse(err, ERR_INVALID, "", "control byte in a header");
        if (h->n_headers == HTTP_HEADERS_MAX)
            return refuse(err, ERR_LIMIT, "", "too many headers");
        h->headers[h->n_headers++] = (struct http_header){name, v};
        int rc = take_header(h, f, name, v, err);
        if (rc != 0) return rc;
    }
    if (f->lengths > 0 && f->codings > 0)
        return refuse(err, ERR_INVALID, "", "both Content-Length and Transfer-Encoding");
    if (f->codings > 0 && h->minor == 0)
        return refuse(err, ERR_INVALID, "", "Transfer-Encoding in HTTP/1.0");
    h->keep_alive = !f->close && (h->minor == 1 || f->keep_alive);
    if (f->wants_upgrade && h->minor == 1) h->upgrade = f->upgrade;
    return 0;
}

static void head_reset(struct http_head *h)
{
    memset(h, 0, offsetof(struct http_head, headers));
}

/* The two things that follow a start line: a CRLF-terminated rest, checked here
 * so that next_line may rely on it. */
static bool head_ends(struct str head)
{
    return head.n >= 4 && memcmp(head.p + head.n - 4, "\r\n\r\n", 4) == 0;
}

static bool target_ok(enum http_method m, struct str t)
{
    if (t.n == 0 || !all_of(t, TARGET)) return false;
    if (m == HTTP_CONNECT) return all_of(t, HOST);
    if (t.p[0] == '/') return true;
    if (m == HTTP_OPTIONS && str_eq(t, STR("*"))) return true;
    return str_starts(t, STR("http://")) || str_starts(t, STR("https://"));
}

int http_parse_request(struct str head, struct http_head *h, struct err *err)
{
    head_reset(h);
    if (!head_ends(head)) return refuse(err, ERR_INVALID, "", "incomplete head");
    struct str rest = head, line = next_line(&rest), method, target;
    if (!str_cut(&line, ' ', &method) || !str_cut(&line, ' ', &target) || method.n == 0 ||
        method.n > 32 || !all_of(method, TOKEN))
        return refuse(err, ERR_INVALID, "", "malformed request line");
    int rc = parse_version(line, h, err);
    if (rc != 0) return rc;
    h->method_text = method;
    h->method = http_method_of(method);
    if (target.n > HTTP_TARGET_MAX)
        return refuse(err, ERR_LIMIT, "target", "the target is too long");
    if (!target_ok(h->method, target)) return refuse(err, ERR_INVALID, "", "malformed target");
    h->target = target;
    struct facts f = {0};
    rc = parse_headers(rest, h, &f, err);
    if (rc != 0) return rc;
    if (h->minor == 1 && f.hosts != 1) return refuse(err, ERR_INVALID, "", "no Host");
    if (f.codings > 0)
        h->body = HTTP_BODY_CHUNKED;
    else if (h->length > 0)
        h->body = HTTP_BODY_LENGTH;
    return 0;
}

int http_parse_response(struct str head, enum http_method to, struct http_head *h, struct err *err)
{
    head_reset(h);
    if (!head_ends(head)) return refuse(err, ERR_INVALID, "", "incomplete head");
    struct str rest = head, line = next_line(&rest), version, code;
    if (!str_cut(&line, ' ', &version))
        return refuse(err, ERR_INVALID, "", "malformed status line");
    int rc = parse_version(version, h, err);
    if (rc != 0) return rc;
    (void)str_cut(&line, ' ', &code);
    uint64_t status;
    if (code.n != 3 || !str_to_u64(code, &status) || status < 100 ||
        (line.n > 0 && !all_of(line, VALUE)))
        return refuse(err, ERR_INVALID, "", "malformed status line");
    h->status = (int)status;
    h->reason = line;
    struct facts f = {0};
    rc = parse_headers(rest, h, &f, err);
    if (rc != 0) return rc;
    if (to == HTTP_HEAD || h->status < 200 || h->status == 204 || h->status == 304 ||
        (to == HTTP_CONNECT && h->status < 300)) {
        h->body = HTTP_BODY_NONE;
    } else if (f.codings > 0) {
        h->body = HTTP_BODY_CHUNKED;
    } else if (f.lengths > 0) {
        h->body = h->length > 0 ? HTTP_BODY_LENGTH : HTTP_BODY_NONE;
    } else {
        h->body = HTTP_BODY_UNTIL_CLOSE;
        h->keep_alive = false;
    }
    return 0;
}

int http_parse_status(const struct err *err)
{
    if (err->code == ERR_LIMIT) return strcmp(err->field, "target") == 0 ? 414 : 431;
    if (err->code == ERR_UNSUPPORTED) return strcmp(err->field, "version") == 0 ? 505 : 501;
    return 400;
}

struct str http_head_get(const struct http_head *h, struct str name)
{
    for (uint32_t i = 0; i < h->n_headers; i++) {
        const struct http_header *x = &h->headers[i];
        if (x->name.n == name.n && str_eq_nocase(x->name, name))
            return x->value.p != NULL ? x->value : STR("");
    }
    return (struct str){NULL, 0};
}

bool http_head_has_token(const struct http_head *h, struct str name, struct str token)
{
    for (uint32_t i = 0; i < h->n_headers; i++)
        if (str_eq_nocase(h->headers[i].name, name) && token_in(h->headers[i].value, token))
            return true;
    return false;
}

/* ---- bodies ---- */

enum chunk_state {
    CHUNK_SIZE, CHUNK_EXT, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_DATA_CR, CHUNK_DATA_LF,
    TRAILER_START, TRAILER_LINE, TRAILER_LF, CHUNK_END_LF,
};

void http_body_init(struct http_body *b, const struct http_head *h)
{
    *b = (struct http_body){.kind = h->body, .left = h->length, .state = CHUNK_SIZE};
    if (b->kind == HTTP_BODY_CHUNKED) b->left = 0;
    b->done = b->kind == HTTP_BODY_NONE || (b->kind == HTTP_BODY_LENGTH && b->left == 0);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The line "SIZE[;ext]CRLF".  line counts its bytes, so 0 means: no digit yet. */
static int chunk_size(struct http_body *b, char c, struct err *err)
{
    if (++b->line > CHUNK_LINE_MAX) return refuse(err, ERR_LIMIT, "", "chunk line too long");
    if (b->state == CHUNK_EXT) {
        if (c == '\r') b->state = CHUNK_SIZE_LF;
        else if (!(classes[(uint8_t)c] & VALUE))
            return refuse(err, ERR_INVALID, "", "control byte in a chunk line");
        return 0;
    }
    int d = hex_digit(c);
    if (d >= 0) {
        if (b->line > CHUNK_DIGITS_MAX) return refuse(err, ERR_LIMIT, "", "chunk size too large");
        b->left = b->left * 16 + (uint64_t)d;
        return 0;
    }
    if (b->line == 1) return refuse(err, ERR_INVALID, "", "malformed chunk size");
    if (c == '\r') b->state = CHUNK_SIZE_LF;
    else if (c == ';') b->state = CHUNK_EXT;
    else return refuse(err, ERR_INVALID, "", "malformed chunk size");
    return 0;
}

/* Trailers are read over: bounded, visible text in CRLF lines. */
static int trailer(struct http_body *b, char c, struct err *err)
{
    if (++b->line > TRAILERS_MAX) return refuse(err, ERR_LIMIT, "", "trailers too long");
    if (c == '\r') {
        b->state = b->state == TRAILER_START ? CHUNK_END_LF : TRAILER_LF;
        return 0;
    }
    uint8_t need = b->state == TRAILER_START ? TOKEN : VALUE;
    if (!(classes[(uint8_t)c] & need)) return refuse(err, ERR_INVALID, "", "malformed trailer");
    b->state = TRAILER_LINE;
    return 0;
}

static int expect_byte(struct http_body *b, char got, char want, enum chunk_state next,
                       struct err *err)
{
    if (got != want) return refuse(err, ERR_INVALID, "", "malformed chunk end");
    b->state = (int)next;
    return 0;
}

/* One byte between the data of chunks. */
static int chunk_byte(struct http_body *b, char c, struct err *err)
{
    switch ((enum chunk_state)b->state) {
    case CHUNK_SIZE:
    case CHUNK_EXT:
        return chunk_size(b, c, err);
    case CHUNK_SIZE_LF:
        b->line = 0;
        return expect_byte(b, c, '\n', b->left > 0 ? CHUNK_DATA : TRAILER_START, err);
    case CHUNK_DATA_CR:
        return expect_byte(b, c, '\r', CHUNK_DATA_LF, err);
    case CHUNK_DATA_LF:
        return expect_byte(b, c, '\n', CHUNK_SIZE, err);
    case TRAILER_START:
    case TRAILER_LINE:
        return trailer(b, c, err);
    case TRAILER_LF:
        return expect_byte(b, c, '\n', TRAILER_START, err);
    case CHUNK_END_LF:
        b->done = c == '\n';
        return b->done ? 0 : refuse(err, ERR_INVALID, "", "malformed chunk end");
    case CHUNK_DATA:
        break;
    }
    UNREACHABLE();
}

static struct str take(struct http_body *b, struct str *in)
{
    size_t n = b->left < in->n ? (size_t)b->left : in->n;
    struct str data = str_n(in->p, n);
    *in = str_n(in->p + n, in->n - n);
    b->left -= n;
    return data;
}

int http_body_feed(struct http_body *b, struct str *in, struct str *ret_data, struct err *err)
{
    *ret_data = (struct str){NULL, 0};
    if (b->done) return 0;
    switch (b->kind) {
    case HTTP_BODY_NONE:
        b->done = true;
        return 0;
    case HTTP_BODY_UNTIL_CLOSE:
        *ret_data = *in;
        *in = (struct str){NULL, 0};
        return 0;
    case HTTP_BODY_LENGTH:
        *ret_data = take(b, in);
        b->done = b->left == 0;
        return 0;
    case HTTP_BODY_CHUNKED:
        break;
    }
    while (in->n > 0 && !b->done) {
        if (b->state == CHUNK_DATA) {
            *ret_data = take(b, in);
            if (b->left == 0) b->state = CHUNK_DATA_CR;
            return 0;
        }
        char c = in->p[0];
        *in = str_n(in->p + 1, in->n - 1);
        int rc = chunk_byte(b, c, err);
        if (rc != 0) return rc;
    }
    return 0;
}
