/* programs/sim_swf.c - `rota sim swf`: a published log through the product's own scheduler. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/strbuf.h"
#include "cli/say.h"
#include "programs/sim.h"
#include "sim/swf.h"

enum { KEY_PROCS = 300, KEY_ORDER, KEY_BACKFILL, KEY_BACKFILL_ORDER, KEY_OVERRUN, KEY_STARTS,
       KEY_REPEAT, PROCS_MAX = 1000000 };

struct swf_args {
    struct swf_options o;
    const char *file, *starts;
    bool json;
};

static const struct argp_option options[] = {
    {"procs", KEY_PROCS, "N", 0, "Processors (default: the log's MaxProcs, else MaxNodes)", 1},
    {"order", KEY_ORDER, "ORDER", 0,
     "fcfs (default), sjf, ljf: by estimate; saf: by estimate x processors", 1},
    {"backfill", KEY_BACKFILL, "KIND", 0,
     "none, easy (default: the first blocked job gets a promise), conservative (all do)", 1},
    {"backfill-order", KEY_BACKFILL_ORDER, "ORDER", 0,
     "queue (default), or sjf: those behind a blocked job are tried shortest first", 1},
    {"overrun", KEY_OVERRUN, "WHAT", 0,
     "A run beyond its estimate: extend (default: the estimate was the run time) or kill", 1},
    {"repeat", KEY_REPEAT, "N", 0, "The log N times, one after the other", 1},
    {"starts", KEY_STARTS, "FILE", 0, "Write \"record submit start\" of each job", 2},
    {"output", 'o', "json", 0, "Print JSON", 2},
    {0},
};

static const char doc[] =
    "Run a batch log in the Standard Workload Format through the scheduler: its queue, its "
    "pass, its plan.  P processors are one node of P slots; a job's estimate is its time "
    "limit.\v"
    "Examples:\n"
    "  rota sim swf KTH-SP2-1996-2.1-cln.swf.gz\n"
    "  rota sim swf log.swf --backfill none --order sjf -o json\n\n"
    "At one instant come all ends, then all submissions, then one pass.  A job is dropped when "
    "its run time or processors are not positive, or it asks for more than there is.  Bounded "
    "slowdown: max(1, (wait + run) / max(run, 10 s)).";

struct choice_row { const char *word; int value; };

static int choose(struct argp_state *state, const char *flag, const char *arg,
                  const struct choice_row *rows)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 512);
    for (const struct choice_row *r = rows; r->word; r++) {
        if (strcmp(r->word, arg) == 0) return r->value;
        strbuf_fmt(&b, "%s%s", r > rows ? ", " : "", r->word);
    }
    argp_error(state, "--%s %s: expected one of %s", flag, arg, b.p);
    return 0;
}

static uint32_t count(struct argp_state *state, const char *flag, const char *arg, uint64_t most)
{
    uint64_t n = 0;
    if (!str_to_u64(str_of(arg), &n) || n < 1 || n > most)
        argp_error(state, "--%s %s: expected a number from 1 to %llu", flag, arg,
                   (unsigned long long)most);
    return (uint32_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const struct choice_row orders[] = {{"fcfs", ORDER_FIFO}, {"sjf", ORDER_SHORTEST},
                                               {"saf", ORDER_SMALLEST}, {"ljf", ORDER_LONGEST},
                                               {NULL, 0}};
    static const struct choice_row backfills[] = {{"none", SWF_NONE}, {"easy", SWF_EASY},
                                                  {"conservative", SWF_CONSERVATIVE}, {NULL, 0}};
    static const struct choice_row behind[] = {{"queue", false}, {"sjf", true}, {NULL, 0}};
    static const struct choice_row overruns[] = {{"extend", SWF_EXTEND}, {"kill", SWF_KILL},
                                                 {NULL, 0}};
    static const struct choice_row outputs[] = {{"json", 1}, {"text", 0}, {NULL, 0}};
    struct swf_args *a = state->input;
    struct swf_options *o = &a->o;
    switch (key) {
    case KEY_PROCS: o->procs = count(state, "procs", arg, PROCS_MAX); return 0;
    case KEY_REPEAT: o->repeat = count(state, "repeat", arg, 1000); return 0;
    case KEY_ORDER:
        o->order = (enum queue_order)choose(state, "order", arg, orders);
        return 0;
    case KEY_BACKFILL:
        o->backfill = (enum swf_backfill)choose(state, "backfill", arg, backfills);
        return 0;
    case KEY_BACKFILL_ORDER: o->shortest = choose(state, "backfill-order", arg, behind); return 0;
    case KEY_OVERRUN:
        o->overrun = (enum swf_overrun)choose(state, "overrun", arg, overruns);
        return 0;
    case KEY_STARTS: a->starts = arg; return 0;
    case 'o': a->json = choose(state, "output", arg, outputs); return 0;
    case ARGP_KEY_ARG:
        if (a->file) argp_error(state, "'%s' is one too many: one log at a time", arg);
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file) argp_error(state, "which log? give its file");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp swf_argp = {options, parse, "FILE", doc, NULL, NULL, NULL};

static int write_starts(const char *path, const struct swf_log *log, struct err *err)
{
    FILE *f = fopen(path, "we");
    if (!f) return err_sys(err, ERR_IO, errno, "cannot write %s", path);
    VEC_EACH(job, &log->jobs) {
        fprintf(f, "%u %lld %lld\n", job->record, (long long)job->submit_s,
                (long long)job->start_s);
    }
    bool failed = ferror(f) != 0;
    failed |= fclose(f) != 0;
    return failed ? err_set(err, ERR_IO, "cannot write %s", path) : 0;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print(const struct swf_args *a, const struct swf_result *m, double wall_s)
{
    double jobs = m->jobs > 0 ? (double)m->jobs : 1;
    double wait = (double)m->wait_s / jobs, bsld = m->bsld_sum / jobs;
    double room = (double)m->procs * (double)m->makespan_s;
    double used = room > 0 ? (double)m->work / room : 0;
    if (a->json) {
        printf("{\"jobs\":%llu,\"dropped\":%llu,\"wait_mean_s\":%.3f,\"bsld_mean\":%.4f,"
               "\"utilisation\":%.6f,\"makespan_s\":%lld,\"wall_s\":%.3f}\n",
               (unsigned long long)m->jobs, (unsigned long long)m->dropped, wait, bsld, used,
               (long long)m->makespan_s, wall_s);
        return;
    }
    printf("jobs                   %llu (%llu dropped) on %u processors\n",
           (unsigned long long)m->jobs, (unsigned long long)m->dropped, m->procs);
    printf("mean wait              %.0f s\n", wait);
    printf("mean bounded slowdown  %.2f\n", bsld);
    printf("utilisation            %.2f %%\n", used * 100);
    printf("makespan               %lld s\n", (long long)m->makespan_s);
    printf("computed in            %.3f s\n", wall_s);
}

int sim_swf(int argc, char **argv)
{
    struct swf_args a = {.o = {.order = ORDER_FIFO, .backfill = SWF_EASY}};
    struct swf_log log = {.procs = 0};
    struct swf_result result = {0};
    struct err err = {0};
    AUTO_STRBUF struct strbuf text;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&swf_argp, argc, argv, 0, NULL, &a) != 0) return EXIT_USAGE;
    strbuf_init(&text, SIM_FILE_MAX);
    int rc = sim_read(a.file, &text, &err);
    if (rc == 0) rc = swf_parse(strbuf_str(&text), &a.o, &log, &err);
    if (rc != 0) {
        err_prefix(&err, "%s", a.file);
        return say_err(&err, EXIT_FAILED);
    }
    double begun = seconds();
    rc = swf_run(&log, &a.o, &result, &err);
    double wall_s = seconds() - begun;
    if (rc == 0 && a.starts) rc = write_starts(a.starts, &log, &err);
    if (rc == 0) print(&a, &result, wall_s);
    swf_log_done(&log);
    return rc == 0 ? 0 : say_err(&err, EXIT_FAILED);
}
