/* wire/engine_json.c - values out of an engine's JSON answer.
 *
 * A path is names with dots; "[]" behind one (or alone) stands for each item of a list.  Whole
 * numbers are exact; a fraction counts when it is what a decimal of three digits is read as;
 * true is one, false is nothing.  Everything else is no number, and never zero. */
#include <jansson.h>

#include "base/check.h"
#include "wire/engine.h"

#define SHARP 9007199254740992.0 /* 2^53: whole numbers below are exact */

static struct metrics_number whole(int64_t v)
{
    if (v == INT64_MIN || v > INT64_MAX / 1000 || v < -(INT64_MAX / 1000)) {
        return (struct metrics_number){.state = METRICS_TOO_BIG};
    }
    return (struct metrics_number){METRICS_KNOWN, v < 0, false, (v < 0 ? -v : v) * 1000};
}

/* The text is gone: what is left is the double that it was read as. */
static struct metrics_number fraction(double v)
{
    bool negative = v < 0;
    double size = negative ? -v : v;
    if (size >= SHARP) return (struct metrics_number){.state = METRICS_TOO_BIG};
    int64_t milli = (int64_t)(size * 1000 + 0.5);
    bool same = (double)milli / 1000 == size;
    if (!same && (double)milli / 1000 < size) milli++; /* above zero stays there */
    return (struct metrics_number){METRICS_KNOWN, negative && milli > 0, !same, milli};
}

static struct metrics_number number_of(const json_t *v)
{
    if (json_is_integer(v)) return whole((int64_t)json_integer_value(v));
    if (json_is_real(v)) return fraction(json_real_value(v));
    if (json_is_boolean(v)) return whole(json_is_true(v) ? 1 : 0);
    return (struct metrics_number){.state = METRICS_NAN};
}

/* Where one walk puts what it finds. */
struct walk {
    struct metrics_reading *r;
    enum metrics_part part;
    uint32_t term;
    bool optional;
};

static void see(const struct walk *w, struct metrics_number n)
{
    metrics_see(w->r, w->part, w->term, n);
}

/* An item of a list that lacks what the others have is no item without work. */
static void lacks(const struct walk *w, bool in_list)
{
    if (in_list && !w->optional) see(w, (struct metrics_number){.state = METRICS_ABSENT});
}

/* Recursion goes one level for each part of the path, which is short. */
static void descend(const struct walk *w, const json_t *v, struct str path, bool in_list)
{
    struct str key = {0};
    if (path.n == 0) {
        see(w, number_of(v));
        return;
    }
    str_cut(&path, '.', &key);
    bool each = str_ends(key, STR("[]"));
    if (each) key.n -= 2;
    if (key.n) v = json_is_object(v) ? json_object_getn(v, key.p, key.n) : NULL;
    if (!v) {
        lacks(w, in_list);
    } else if (!each) {
        descend(w, v, path, in_list);
    } else if (json_is_array(v)) {
        for (size_t i = 0; i < json_array_size(v); i++) {
            descend(w, json_array_get(v, i), path, true);
        }
    } else {
        see(w, (struct metrics_number){.state = METRICS_NAN});
    }
}

struct metrics engine_read_json(const struct metrics_profile *p, struct str answer,
                                int64_t start_ms)
{
    CHECK(p->format == METRICS_JSON);
    if (answer.n > ENGINE_JSON_MAX) return metrics_refuse(METRICS_TOO_LONG, 0);
    json_error_t why;
    json_t *root = json_loadb(answer.n ? answer.p : "", answer.n, JSON_REJECT_DUPLICATES, &why);
    if (!root) return metrics_refuse(METRICS_MALFORMED, why.line > 0 ? (uint32_t)why.line : 0);
    struct metrics_reading r;
    metrics_begin(&r, p);
    for (enum metrics_part part = METRICS_COUNTER; part <= METRICS_START; part++) {
        for (uint32_t i = 0; i < metrics_terms(p, part); i++) {
            const struct metrics_term *t = metrics_term(p, part, i);
            struct walk w = {&r, part, i, t && t->optional};
            descend(&w, root, metrics_term_name(p, part, i), false);
        }
    }
    json_decref(root);
    return metrics_end(&r, start_ms);
}
