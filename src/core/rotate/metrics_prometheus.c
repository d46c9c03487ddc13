/* core/rotate/metrics_prometheus.c - reads the text exposition format of Prometheus.
 *
 * An answer counts as a whole or not at all: a line that Prometheus itself would refuse, or a
 * last line without its end, may hide the very series that moved.  Every series is looked at
 * once; nothing is stored.  docs/engines.md */
#include "base/check.h"
#include "core/rotate/metrics.h"

/* One sample line taken apart; labels is what stands between the braces. */
struct sample { struct str name, labels, value; };

static void skip(struct str *s, size_t n)
{
    CHECK(n <= s->n);
    *s = str_n(s->p + n, s->n - n);
}

static void skip_blanks(struct str *s)
{
    while (s->n && (s->p[0] == ' ' || s->p[0] == '\t')) skip(s, 1);
}

static bool is_name_char(char c, bool first, bool colon)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return true;
    if (c == ':') return colon;
    return !first && c >= '0' && c <= '9';
}

static struct str take_name(struct str *s, bool colon)
{
    size_t n = 0;
    while (n < s->n && is_name_char(s->p[n], n == 0, colon)) n++;
    struct str name = str_n(s->p, n);
    skip(s, n);
    return name;
}

/* The text between two quotes, escapes and all.  False: it has no end, or an escape is none. */
static bool take_quoted(struct str *s, struct str *ret)
{
    if (!s->n || s->p[0] != '"') return false;
    skip(s, 1);
    size_t n = 0;
    for (; n < s->n && s->p[n] != '"'; n++) {
        if (s->p[n] != '\\') continue;
        if (++n == s->n) return false;
        if (s->p[n] != '\\' && s->p[n] != '"' && s->p[n] != 'n') return false;
    }
    if (n == s->n) return false;
    *ret = str_n(s->p, n);
    skip(s, n + 1);
    return true;
}

struct label { struct str name, value; };

/* The next label of a list, with the comma behind it.  False: none is left, or it is no label. */
static bool take_label(struct str *s, struct label *ret)
{
    skip_blanks(s);
    struct label l = {.name = take_name(s, false)};
    if (l.name.n == 0) return false;
    skip_blanks(s);
    if (!s->n || s->p[0] != '=') return false;
    skip(s, 1);
    skip_blanks(s);
    if (!take_quoted(s, &l.value)) return false;
    skip_blanks(s);
    if (s->n && s->p[0] == ',') skip(s, 1);
    else if (s->n && s->p[0] != '}') return false;
    *ret = l;
    return true;
}

/* {a="b",...}; none at all is fine. */
static bool take_labels(struct str *s, struct str *ret)
{
    *ret = STR("");
    if (!s->n || s->p[0] != '{') return true;
    skip(s, 1);
    struct str all = *s;
    struct label l;
    for (skip_blanks(s); s->n && s->p[0] != '}'; skip_blanks(s)) {
        if (!take_label(s, &l)) return false;
    }
    if (!s->n) return false;
    *ret = str_n(all.p, all.n - s->n);
    skip(s, 1);
    return true;
}

static struct str take_word(struct str *s)
{
    size_t n = 0;
    while (n < s->n && s->p[n] != ' ' && s->p[n] != '\t') n++;
    struct str word = str_n(s->p, n);
    skip(s, n);
    skip_blanks(s);
    return word;
}

/* name{labels} value [time] [# exemplar] */
static bool take_sample(struct str line, struct sample *ret)
{
    struct sample t = {.name = take_name(&line, true)};
    if (t.name.n == 0) return false;
    size_t before = line.n;
    skip_blanks(&line);
    bool apart = line.n < before;
    if (line.n && line.p[0] == '{') apart = true;
    if (!apart || !take_labels(&line, &t.labels)) return false;
    skip_blanks(&line);
    t.value = take_word(&line);
    if (line.n && line.p[0] != '#') {
        struct str time = take_word(&line);
        if (metrics_number(time).state == METRICS_MALFORMED) return false;
    }
    if (line.n && line.p[0] != '#') return false;
    *ret = t;
    return true;
}

/* Does the quoted text mean this one? */
static bool means(struct str quoted, struct str wanted)
{
    size_t at = 0;
    for (size_t i = 0; i < quoted.n; i++, at++) {
        char c = quoted.p[i];
        if (c == '\\') {
            CHECK(i + 1 < quoted.n); /* take_quoted saw to it */
            c = quoted.p[++i] == 'n' ? '\n' : quoted.p[i];
        }
        if (at == wanted.n || wanted.p[at] != c) return false;
    }
    return at == wanted.n;
}

static bool has_label(struct str labels, const struct metrics_label *wanted)
{
    struct label l;
    while (take_label(&labels, &l)) {
        if (str_eq(l.name, str_of(wanted->name))) return means(l.value, str_of(wanted->value));
    }
    return wanted->value[0] == '\0'; /* as in Prometheus: an absent label is an empty one */
}

static bool has_labels(const struct metrics_term *t, struct str labels)
{
    CHECK(t->n_labels <= METRICS_LABELS_MAX);
    for (uint32_t i = 0; i < t->n_labels; i++) {
        if (!has_label(labels, &t->labels[i])) return false;
    }
    return true;
}

static void offer(struct metrics_reading *r, const struct sample *t, struct metrics_number n)
{
    for (enum metrics_part part = METRICS_COUNTER; part <= METRICS_START; part++) {
        uint32_t terms = metrics_terms(r->p, part);
        for (uint32_t i = 0; i < terms; i++) {
            if (!str_eq(metrics_term_name(r->p, part, i), t->name)) continue;
            const struct metrics_term *term = metrics_term(r->p, part, i);
            if (!term || has_labels(term, t->labels)) metrics_see(r, part, i, n);
        }
    }
}

static bool take_line(struct metrics_reading *r, struct str line)
{
    if (line.n && line.p[line.n - 1] == '\r') line.n--;
    skip_blanks(&line);
    if (line.n == 0 || line.p[0] == '#') return true;
    struct sample t;
    if (!take_sample(line, &t)) return false;
    struct metrics_number n = metrics_number(t.value);
    if (n.state == METRICS_MALFORMED) return false;
    offer(r, &t, n);
    return true;
}

struct metrics metrics_read(const struct metrics_profile *p, struct str text, int64_t start_ms)
{
    CHECK(p->format == METRICS_PROMETHEUS);
    if (text.n > METRICS_ANSWER_MAX) return metrics_refuse(METRICS_TOO_LONG, 0);
    struct metrics_reading r;
    metrics_begin(&r, p);
    for (uint32_t line = 1; text.n; line++) {
        const char *end = memchr(text.p, '\n', text.n);
        if (!end) return metrics_refuse(METRICS_CUT, line);
        struct str one = str_n(text.p, (size_t)(end - text.p));
        if (!take_line(&r, one)) return metrics_refuse(METRICS_MALFORMED, line);
        skip(&text, one.n + 1);
    }
    return metrics_end(&r, start_ms);
}
