/* cli/render.c - one walk over JSON text, two ways to lay it out.
 *
 * A JSON string with its quotes is a YAML string too, so nothing is decoded. */
#include "cli/render.h"

enum { DEPTH_MAX = 32 };

struct walk {
    struct str left;
    struct strbuf *out;
    bool yaml;
};

static int value(struct walk *w, uint32_t depth, bool in_list);

static void skip_space(struct walk *w)
{
    while (w->left.n > 0 && strchr(" \t\r\n", w->left.p[0]) && w->left.p[0])
        w->left = str_n(w->left.p + 1, w->left.n - 1);
}

static char peek(struct walk *w)
{
    skip_space(w);
    return w->left.n > 0 ? w->left.p[0] : '\0';
}

static bool take(struct walk *w, char c)
{
    if (peek(w) != c || c == '\0') return false;
    w->left = str_n(w->left.p + 1, w->left.n - 1);
    return true;
}

/* A string with its quotes, or a bare word or number. */
static bool take_token(struct walk *w, struct str *ret)
{
    char first = peek(w);
    size_t n = 0;
    if (first == '"') {
        for (n = 1; n < w->left.n && w->left.p[n] != '"'; n++)
            if (w->left.p[n] == '\\') n++;
        if (n >= w->left.n) return false;
        n++;
    } else {
        while (n < w->left.n && !strchr(",:{}[]\" \t\r\n", w->left.p[n]) && w->left.p[n]) n++;
    }
    if (n == 0) return false;
    *ret = str_n(w->left.p, n);
    w->left = str_n(w->left.p + n, w->left.n - n);
    return true;
}

static void indent(struct walk *w, uint32_t depth)
{
    strbuf_fmt(w->out, "\n%*s", (int)(2 * depth), "");
}

/* A string that no YAML reader takes for anything but itself may go unquoted. */
static bool plain_in_yaml(struct str s)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off",
                                        "y",    "n",     "nan",  "inf"};
    if (s.n == 0) return false;
    bool letter = (s.p[0] | 0x20) >= 'a' && (s.p[0] | 0x20) <= 'z';
    if (!letter && s.p[0] != '/') return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool ok = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') ||
                  strchr("_-./", c);
        if (!ok || c == '\0') return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eq_nocase(s, str_of(words[i]))) return false;
    return true;
}

static void put_scalar(struct walk *w, struct str token)
{
    if (w->yaml && token.p[0] == '"') {
        struct str inner = str_n(token.p + 1, token.n - 2);
        if (plain_in_yaml(inner)) token = inner;
    }
    strbuf_put(w->out, token);
}

static int object(struct walk *w, uint32_t depth, bool in_list)
{
    if (take(w, '}')) return strbuf_puts(w->out, "{}"), 0;
    if (!w->yaml) strbuf_putc(w->out, '{');
    for (bool first = true;; first = false) {
        struct str key;
        if (peek(w) != '"' || !take_token(w, &key) || !take(w, ':')) return -1;
        if (!w->yaml) {
            if (!first) strbuf_putc(w->out, ',');
            indent(w, depth + 1);
        } else if (!(first && (in_list || w->out->n == 0))) {
            indent(w, depth);
        }
        put_scalar(w, key);
        strbuf_putc(w->out, ':');
        char next = peek(w);
        if (!w->yaml || (next != '{' && next != '[')) strbuf_putc(w->out, ' ');
        if (value(w, depth + 1, false) < 0) return -1;
        if (take(w, '}')) break;
        if (!take(w, ',')) return -1;
    }
    if (!w->yaml) indent(w, depth), strbuf_putc(w->out, '}');
    return 0;
}

static int list(struct walk *w, uint32_t depth)
{
    if (take(w, ']')) return strbuf_puts(w->out, "[]"), 0;
    if (!w->yaml) strbuf_putc(w->out, '[');
    for (bool first = true;; first = false) {
        if (!w->yaml) {
            if (!first) strbuf_putc(w->out, ',');
            indent(w, depth + 1);
        } else {
            if (!(first && w->out->n == 0)) indent(w, depth);
            strbuf_puts(w->out, "- ");
        }
        if (value(w, depth + 1, true) < 0) return -1;
        if (take(w, ']')) break;
        if (!take(w, ',')) return -1;
    }
    if (!w->yaml) indent(w, depth), strbuf_putc(w->out, ']');
    return 0;
}

/* depth is where the value's own keys or items stand. */
static int value(struct walk *w, uint32_t depth, bool in_list)
{
    if (depth > DEPTH_MAX) return -1;
    char next = peek(w);
    if (w->yaml && !in_list && (next == '{' || next == '[') && w->out->n > 0) {
        struct walk ahead = *w;
        (void)take(&ahead, next);
        char close = peek(&ahead);
        if (close == '}' || close == ']') strbuf_putc(w->out, ' ');
    }
    if (take(w, '{')) return object(w, depth, in_list);
    if (take(w, '[')) return list(w, depth);
    struct str token;
    if (!take_token(w, &token)) return -1;
    put_scalar(w, token);
    return 0;
}

static int render(struct str json, bool yaml, struct strbuf *out, struct err *err)
{
    AUTO_STRBUF struct strbuf own; /* the walk asks whether anything was written yet */
    strbuf_init(&own, out->max);
    struct walk w = {json, &own, yaml};
    if (value(&w, 0, false) < 0 || peek(&w) != '\0' || own.full)
        return err_set(err, ERR_INVALID, "the manager's answer is not JSON");
    strbuf_put(out, strbuf_str(&own));
    strbuf_putc(out, '\n');
    return 0;
}

int render_json(struct str json, struct strbuf *out, struct err *err)
{
    return render(json, false, out, err);
}

int render_yaml(struct str json, struct strbuf *out, struct err *err)
{
    return render(json, true, out, err);
}
