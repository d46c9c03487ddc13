/* wire/engine.c - the table of engine profiles, and what must hold in one.
 *
 * Whatever was accepted can be read with: metrics_read and engine_read_json only CHECK. */
#include "wire/engine.h"

#include "base/check.h"

const struct wire_name names_metrics_format[] = {
    {METRICS_NONE, "none"}, {METRICS_PROMETHEUS, "prometheus"}, {METRICS_JSON, "json"}, {0, NULL},
};
const struct wire_name names_metrics_identity[] = {
    {METRICS_BY_PROCESS, "process"}, {METRICS_BY_METRIC, "metric"}, {METRICS_BY_EITHER, "either"},
    {0, NULL},
};

static const struct wire_field label_fields[] = {
    WIRE_F_TEXT(struct metrics_label, name, "name", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "A label of the series."),
    WIRE_F_TEXT(struct metrics_label, value, "value", .flags = WIRE_REQUIRED,
                .doc = "Its value; an absent label is an empty one."),
};
static const struct wire_table label_table =
    WIRE_TABLE("label", struct metrics_label, label_fields);

static const struct wire_field term_fields[] = {
    WIRE_F_TEXT(struct metrics_term, name, "name", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "Of the metric; in JSON a path, such as \"models[].stats.count\"."),
    WIRE_F_BOOL(struct metrics_term, optional, "optional", .flags = WIRE_OMIT,
                .doc = "The engine shows it only once it has happened."),
    WIRE_F_ARRAY(struct metrics_term, labels, n_labels, "labels", &label_table,
                 .flags = WIRE_OMIT, .doc = "Only series with all of these."),
};
static const struct wire_table term_table = WIRE_TABLE("metric", struct metrics_term, term_fields);

#define PROFILE struct engine_profile
static const struct wire_field engine_fields[] = {
    WIRE_F_TEXT(PROFILE, name, "name", .flags = WIRE_REQUIRED | WIRE_NAME, .min = 1,
                .doc = "What a pool names."),
    WIRE_F_TEXT(PROFILE, title, "title", .flags = WIRE_OMIT, .doc = "What people call it."),
    WIRE_F_ENUM(PROFILE, metrics.format, "format", names_metrics_format, .flags = WIRE_REQUIRED,
                .doc = "How it answers; none: it is not asked, its port's bytes are counted."),
    WIRE_F_TEXT(PROFILE, path, "path", .flags = WIRE_OMIT, .doc = "What is fetched."),
    WIRE_F_U32(PROFILE, port, "port", .flags = WIRE_OMIT, .min = 0, .max = 65535,
               .doc = "Where, if not on the port that serves."),
    WIRE_F_ENUM(PROFILE, metrics.identity, "identity", names_metrics_identity,
                .def = METRICS_BY_PROCESS, .doc = "What tells one process from the next."),
    WIRE_F_TEXT(PROFILE, metrics.identity_metric, "identity_metric", .flags = WIRE_OMIT,
                .def_text = "process_start_time_seconds",
                .doc = "The value that does, unless identity is process."),
    WIRE_F_U32(PROFILE, metrics.digits, "digits", .flags = WIRE_OMIT, .min = 1,
               .max = METRICS_DIGITS_MAX, .def = METRICS_DIGITS_MAX,
               .doc = "Significant digits it prints; a counter that needs more is unreadable."),
    WIRE_F_ARRAY(PROFILE, metrics.counters, metrics.n_counters, "counters", &term_table,
                 .flags = WIRE_OMIT, .doc = "Added up: the work counter."),
    WIRE_F_ARRAY(PROFILE, metrics.gauges, metrics.n_gauges, "gauges", &term_table,
                 .flags = WIRE_OMIT, .doc = "Added up: above zero is work."),
    WIRE_F_TEXT(PROFILE, needs, "needs", .flags = WIRE_OMIT,
                .doc = "What the engine must be started with."),
    WIRE_F_TEXTS(PROFILE, never, "never", 16, 2048, .flags = WIRE_OMIT,
                 .doc = "Paths that wake it or count as work."),
    WIRE_F_STRING(PROFILE, notes, "notes", 2000, .doc = "For people."),
};

static int bad(struct err *err, const char *field, const char *text)
{
    err_set(err, ERR_INVALID, "%s", text);
    err_field(err, field);
    return ERR_INVALID;
}

static bool is_metric_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return s.n > 0;
}

/* Names with dots between; "[]" may stand behind a name, or alone. */
static bool is_json_path(struct str s)
{
    for (bool more = true; more;) {
        struct str key = {0};
        more = str_cut(&s, '.', &key);
        bool each = str_ends(key, STR("[]"));
        if (each) key.n -= 2;
        if (key.n == 0 && !each) return false;
        if (key.n && memchr(key.p, '[', key.n)) return false;
    }
    return true;
}

static bool is_term_name(enum metrics_format format, const char *name)
{
    return format == METRICS_JSON ? is_json_path(str_of(name)) : is_metric_name(str_of(name));
}

static int check_terms(const struct metrics_profile *p, enum metrics_part part, struct err *err)
{
    const char *field = part == METRICS_COUNTER ? "counters" : "gauges";
    uint32_t n = metrics_terms(p, part), required = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct metrics_term *t = metrics_term(p, part, i);
        if (!t->optional) required++;
        if (!is_term_name(p->format, t->name)) {
            return bad(err, field, "a name is not one of this format");
        }
        if (t->n_labels && p->format == METRICS_JSON) {
            return bad(err, field, "a value in JSON has no labels");
        }
        for (uint32_t j = 0; j < i; j++) {
            const struct metrics_term *other = metrics_term(p, part, j);
            if (strcmp(other->name, t->name) == 0 && !(other->n_labels && t->n_labels)) {
                return bad(err, field, "the same value is added twice");
            }
        }
    }
    if (n && !required) return bad(err, field, "all are optional: one must always be there");
    return 0;
}

/* "/metrics?x" and "/metrics/x" are "/metrics" too. */
static bool is_under(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    if (strncmp(path, folder, n) != 0) return false;
    return path[n] == '\0' || path[n] == '?' || path[n] == '/';
}

static int check_path(const PROFILE *e, struct err *err)
{
    if (e->path[0] != '/') return bad(err, "path", "expected a path such as /metrics");
    for (const char *c = e->path; *c; c++) {
        if (*c <= ' ' || *c > '~') return bad(err, "path", "expected a path without blanks");
    }
    for (uint32_t i = 0; i < e->never.n; i++) {
        if (e->never.v[i][0] != '/') return bad(err, "never", "expected paths such as /slots");
        if (is_under(e->path, e->never.v[i])) return bad(err, "path", "is one of `never`");
    }
    return 0;
}

static int check_engine(const PROFILE *e, struct err *err)
{
    const struct metrics_profile *p = &e->metrics;
    if (p->format == METRICS_NONE) {
        bool asked = e->path[0] || e->port || p->n_counters || p->n_gauges ||
                     p->identity != METRICS_BY_PROCESS;
        return asked ? bad(err, "format", "is none: there is nothing to ask for") : 0;
    }
    if (p->n_counters + p->n_gauges == 0) {
        return bad(err, "counters", "expected counters or gauges");
    }
    if (p->identity != METRICS_BY_PROCESS && !is_term_name(p->format, p->identity_metric)) {
        return bad(err, "identity_metric", "is not a name of this format");
    }
    int rc = check_path(e, err);
    if (!rc) rc = check_terms(p, METRICS_COUNTER, err);
    if (!rc) rc = check_terms(p, METRICS_GAUGE, err);
    return rc;
}

static int finish_engine(void *obj, struct err *err) { return check_engine(obj, err); }

static int finish_engines(void *obj, struct err *err)
{
    const struct engines *e = obj;
    for (uint32_t i = 0; i < e->engines.n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(e->engines.v[i].name, e->engines.v[j].name) == 0) {
                return bad(err, "engines", "two engines have the same name");
            }
        }
    }
    return 0;
}

static const struct wire_table engine_table =
    WIRE_TABLE("engine", PROFILE, engine_fields, .finish = finish_engine);
static const struct wire_field engines_fields[] = {
    WIRE_F_LIST(struct engines, engines, "engines", &engine_table, ENGINES_MAX,
                .flags = WIRE_REQUIRED, .doc = "Engine profiles by name."),
};
const struct wire_table wire_engines =
    WIRE_TABLE("engines", struct engines, engines_fields, .finish = finish_engines,
               .max_bytes = 1u << 18);

int engine_parse(struct str yaml, const char *file, struct engines *ret, struct err *err)
{
    return wire_parse_yaml(&wire_engines, yaml, file, ret, err);
}

void engine_builtin(struct engines *ret)
{
    struct err err = {0};
    int rc = engine_parse(str_of(engine_builtin_text), "engines.yaml", ret, &err);
    CHECK(rc == 0); /* a test reads the same file */
}

static PROFILE *find(const struct engines *e, const char *name)
{
    VEC_EACH(one, &e->engines) {
        if (strcmp(one->name, name) == 0) return one;
    }
    return NULL;
}

const struct engine_profile *engine_find(const struct engines *e, struct str name)
{
    char text[sizeof(((PROFILE *)0)->name)];
    return TEXT_SET(text, name) ? find(e, text) : NULL;
}

int engine_merge(struct engines *to, struct engines *more, struct err *err)
{
    uint32_t added = 0;
    VEC_EACH(one, &more->engines) {
        if (!find(to, one->name)) added++;
    }
    if (to->engines.n + added > ENGINES_MAX) {
        return err_set(err, ERR_LIMIT, "expected at most %d engines", ENGINES_MAX);
    }
    VEC_EACH(one, &more->engines) {
        PROFILE *old = find(to, one->name);
        if (old) wire_free(&engine_table, old);
        else old = VEC_ADD(&to->engines);
        *old = *one;
    }
    VEC_DONE(&more->engines);
    return 0;
}

void engine_free(struct engines *e) { wire_free(&wire_engines, e); }

struct metrics engine_read(const PROFILE *e, struct str answer, int64_t start_ms)
{
    switch (e->metrics.format) {
    case METRICS_NONE: return metrics_unasked(start_ms);
    case METRICS_PROMETHEUS: return metrics_read(&e->metrics, answer, start_ms);
    case METRICS_JSON: return engine_read_json(&e->metrics, answer, start_ms);
    }
    UNREACHABLE();
}
