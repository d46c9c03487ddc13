/* programs/sim_engine.c - `rota sim engine`: what a recorded answer of an engine proves.
 *
 * The way to try an engine profile before a node trusts it: the same readers, no node.
 * docs/engines.md */
#include "programs/sim.h"

#include "cli/say.h"
#include "cli/table.h"
#include "wire/engine.h"
#include "wire/nearest.h"

static const char USAGE[] =
    "Usage: rota sim engine [--engines FILE] [NAME ANSWER...]\n\n"
    "Without NAME: the engine profiles that there are, those of FILE included.\n"
    "With NAME: what each ANSWER (a saved body of the profile's path; - is the standard\n"
    "input, .gz is unpacked) proves of an engine with this profile.  Ends with 0 when all\n"
    "that the profile asks for could be read.  docs/engines.md says what it means.\n";

struct options {
    const char *file; /* --engines, or NULL */
    const char *name; /* NULL: list */
    char **answers;
    int n_answers;
};

/* False: the command line makes no sense. */
static bool take_options(int argc, char **argv, struct options *o)
{
    int at = 1;
    if (at < argc && strcmp(argv[at], "--engines") == 0) {
        if (at + 1 >= argc) return false;
        o->file = argv[at + 1];
        at += 2;
    }
    if (at < argc) o->name = argv[at++];
    o->answers = argv + at;
    o->n_answers = argc - at;
    return !o->name || (o->name[0] != '-' && o->n_answers > 0);
}

static int load(const char *file, struct engines *e, struct err *err)
{
    AUTO_STRBUF struct strbuf text;
    struct engines more = {0};
    strbuf_init(&text, WIRE_DOC_MAX);
    engine_builtin(e);
    if (!file) return 0;
    int rc = sim_read(file, &text, err);
    if (rc) return rc;
    rc = engine_parse(strbuf_str(&text), file, &more, err);
    if (rc) return rc;
    rc = engine_merge(e, &more, err);
    engine_free(&more);
    return rc;
}

static int list(const struct engines *e)
{
    static const struct table_column columns[] = {
        {"NAME", 0}, {"FORMAT", 0}, {"PORT", COL_RIGHT}, {"PATH", 0}, {"ENGINE", COL_FLEX},
        {NULL, 0},
    };
    struct table t;
    AUTO_STRBUF struct strbuf out;
    table_init(&t, columns);
    strbuf_init(&out, 1 << 20);
    VEC_EACH(one, &e->engines) {
        table_put(&t, str_of(one->name));
        table_put(&t, str_of(wire_name_of(names_metrics_format, (int32_t)one->metrics.format)));
        if (one->port) table_putf(&t, "%u", one->port);
        else table_put(&t, STR(""));
        table_put(&t, str_of(one->path));
        table_put(&t, str_of(one->title));
    }
    table_print(&t, 0, false, false, &out);
    table_done(&t);
    say_out(strbuf_str(&out));
    return 0;
}

/* "counter  5497.5"; true when it is what the profile asks for. */
static bool put_value(struct strbuf *b, const char *what, const struct metrics_value *v)
{
    strbuf_fmt(b, "  %-8s ", what);
    if (v->state != METRICS_KNOWN) {
        strbuf_fmt(b, "%s\n", metrics_state_text(v->state));
        return v->state == METRICS_UNNAMED;
    }
    strbuf_i64(b, v->milli / 1000);
    if (v->milli % 1000) strbuf_fmt(b, ".%03lld", (long long)(v->milli % 1000));
    strbuf_putc(b, '\n');
    return true;
}

static bool put_answer(struct strbuf *b, const struct engine_profile *e, const char *path,
                       struct str text)
{
    struct metrics m = engine_read(e, text, 0);
    bool process = m.start.state == METRICS_ABSENT && e->metrics.identity != METRICS_BY_METRIC;
    strbuf_fmt(b, "%s:\n", path);
    bool fine = put_value(b, "counter", &m.counter);
    fine = put_value(b, "gauge", &m.gauge) && fine;
    if (process) strbuf_puts(b, "  process  is told by its start, as the node sees it\n");
    else fine = put_value(b, "process", &m.start) && fine;
    if (m.line) strbuf_fmt(b, "  line     %u\n", m.line);
    return fine;
}

static int try_answers(const struct engines *e, const struct options *o, struct err *err)
{
    const struct engine_profile *p = engine_find(e, str_of(o->name));
    if (!p) {
        struct nearest near = nearest_to(str_of(o->name));
        VEC_EACH(one, &e->engines) nearest_offer(&near, one->name);
        const char *best = nearest_best(&near);
        return err_set(err, ERR_NOT_FOUND, "there is no engine '%s'%s%s%s", o->name,
                       best ? ": did you mean '" : "", best ? best : "", best ? "'?" : "");
    }
    bool fine = true;
    AUTO_STRBUF struct strbuf out, text;
    strbuf_init(&out, 1 << 20);
    strbuf_init(&text, METRICS_ANSWER_MAX + 1);
    for (int i = 0; i < o->n_answers; i++) {
        strbuf_reset(&text);
        int rc = sim_read(o->answers[i], &text, err);
        if (rc) return rc;
        fine = put_answer(&out, p, o->answers[i], strbuf_str(&text)) && fine;
    }
    if (p->metrics.n_counters == 0) strbuf_puts(&out, "The bytes on its port are its work.\n");
    say_out(strbuf_str(&out));
    return fine ? 0 : EXIT_FAILED;
}

int sim_engine(int argc, char **argv)
{
    struct options o = {0};
    struct engines e;
    struct err err = {0};
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        say_out(str_of(USAGE));
        return 0;
    }
    if (!take_options(argc, argv, &o)) {
        say("an engine and its answers are needed: %s NAME ANSWER...", argv[0]);
        return EXIT_USAGE;
    }
    int rc = load(o.file, &e, &err);
    if (rc == 0) rc = o.name ? try_answers(&e, &o, &err) : list(&e);
    engine_free(&e);
    return rc < 0 ? say_err(&err, EXIT_FAILED) : rc;
}
