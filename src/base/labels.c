/* base/labels.c - comparing lists of words.
 *
 * Invariant: a sorted list has each key once, so one walk along both lists decides.
 * docs/spec/scheduling.md, "Placement" */
#include "base/labels.h"

#include "base/check.h"

#define WORD_MAX 63u
#define MODEL_MAX 31u
#define LABELS_MAX 64u

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool word_sane(struct str s)
{
    if (s.n == 0 || s.n > WORD_MAX) return false;
    for (size_t i = 0; i < s.n; i++) {
        bool mark = s.p[i] == '.' || s.p[i] == '_' || s.p[i] == '-' || s.p[i] == '/';
        if (!letter(s.p[i]) && !mark) return false;
    }
    return true;
}

static struct str key_of(struct str pair)
{
    struct str key;
    (void)str_cut(&pair, '=', &key);
    return key;
}

bool labels_sort(char *text)
{
    struct str rest = str_of(text), pairs[LABELS_MAX];
    uint32_t n = 0;
    struct strbuf sorted;
    while (rest.n > 0) {
        struct str pair, key, value;
        bool more = str_cut(&rest, ',', &pair);
        if (n == LABELS_MAX || (more && rest.n == 0)) return false;
        value = pair;
        if (!str_cut(&value, '=', &key) || !word_sane(key) || !word_sane(value)) return false;
        uint32_t at = n++;
        for (; at > 0 && str_cmp(key_of(pairs[at - 1]), key) > 0; at--) pairs[at] = pairs[at - 1];
        if (at > 0 && str_eq(key_of(pairs[at - 1]), key)) return false;
        pairs[at] = pair;
    }
    size_t length = str_of(text).n;
    strbuf_init(&sorted, length + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) strbuf_putc(&sorted, ',');
        strbuf_put(&sorted, pairs[i]);
    }
    CHECK(sorted.n == length);
    if (length > 0) memcpy(text, sorted.p, length);
    strbuf_done(&sorted);
    return true;
}

struct str labels_lacking(const char *asked, const char *has)
{
    struct str want = str_of(asked), have = str_of(has), got = {0};
    while (want.n > 0) {
        struct str pair;
        (void)str_cut(&want, ',', &pair);
        while (have.n > 0 && str_cmp(key_of(got), key_of(pair)) < 0)
            (void)str_cut(&have, ',', &got);
        if (!str_eq(got, pair)) return pair;
    }
    return (struct str){0};
}

bool labels_hold(const char *asked, const char *has)
{
    return asked[0] == '\0' || labels_lacking(asked, has).n == 0;
}

bool labels_models_sane(const char *asked)
{
    struct str rest = str_of(asked);
    if (rest.n == 0 || rest.p[rest.n - 1] == '|') return false;
    while (rest.n > 0) {
        struct str one;
        (void)str_cut(&rest, '|', &one);
        if (one.n == 0 || one.n > MODEL_MAX || one.p[0] == ' ' || one.p[one.n - 1] == ' ') {
            return false;
        }
        for (size_t i = 0; i < one.n; i++) {
            if (one.p[i] < ' ' || one.p[i] > '~' || one.p[i] == ',' || one.p[i] == '"')
                return false;
        }
    }
    return true;
}

/* As whole words: no letter or digit touches either end. */
static bool found_in(struct str word, struct str text)
{
    for (size_t at = 0; at + word.n <= text.n; at++) {
        if (at > 0 && letter(text.p[at - 1]) && letter(word.p[0])) continue;
        bool ends = at + word.n == text.n || !letter(text.p[at + word.n]) ||
                    !letter(word.p[word.n - 1]);
        if (ends && str_eq_nocase(word, str_n(text.p + at, word.n))) return true;
    }
    return false;
}

bool labels_name_model(const char *asked, const char *model)
{
    struct str rest = str_of(asked);
    if (rest.n == 0) return true;
    while (rest.n > 0) {
        struct str one;
        (void)str_cut(&rest, '|', &one);
        if (one.n > 0 && found_in(one, str_of(model))) return true;
    }
    return false;
}
