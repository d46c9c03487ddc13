/* sim/swf.c - reading a log, and the metrics of what became of it.  docs/cli.md */
#include "sim/swf.h"

#include "base/check.h"
#include "core/model/order.h"
#include "core/model/session.h"

#define SWF_FIELDS 18
#define SWF_JOBS_MAX 1000000u
#define SWF_SECONDS_MAX (INT64_C(1) << 40)
#define SWF_RUN_MAX_S (SESSION_TIME_MAX_MS / 1000)

enum swf_field { /* columns of the format that count here, from 0 */
    SWF_SUBMIT = 1, SWF_RUN = 3, SWF_ALLOCATED = 4, SWF_ASKED = 7, SWF_ESTIMATE = 8
};

/* ---- a line */

static struct str word(struct str *line)
{
    while (line->n > 0 && (line->p[0] == ' ' || line->p[0] == '\t')) {
        *line = str_n(line->p + 1, line->n - 1);
    }
    size_t n = 0;
    while (n < line->n && line->p[n] != ' ' && line->p[n] != '\t') n++;
    struct str got = str_n(line->p, n);
    *line = str_n(line->p + n, line->n - n);
    return got;
}

/* Whole seconds; a fraction is dropped, as everybody does who reads these logs. */
static bool number(struct str text, int64_t *ret)
{
    struct str whole;
    uint64_t n;
    bool negative = text.n > 0 && text.p[0] == '-';
    if (negative) text = str_n(text.p + 1, text.n - 1);
    (void)str_cut(&text, '.', &whole);
    if (!str_to_u64(whole, &n) || n > (uint64_t)SWF_SECONDS_MAX) return false;
    *ret = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

static bool fields_of(struct str line, int64_t ret[SWF_FIELDS])
{
    for (int i = 0; i < SWF_FIELDS; i++) {
        if (!number(word(&line), &ret[i])) return false;
    }
    return true;
}

static void header(struct str line, int64_t *procs, int64_t *nodes)
{
    struct str key, text;
    if (!str_cut(&line, ':', &key)) return;
    while (key.n > 0 && (key.p[0] == ';' || key.p[0] == ' ')) key = str_n(key.p + 1, key.n - 1);
    key = str_trim(key);
    text = str_trim(line);
    text = word(&text);
    if (str_eq(key, STR("MaxProcs"))) (void)number(text, procs);
    if (str_eq(key, STR("MaxNodes"))) (void)number(text, nodes);
}

static bool job_of(const int64_t f[SWF_FIELDS], const struct swf_options *o, uint32_t most,
                   struct swf_job *ret)
{
    int64_t procs = f[SWF_ASKED] > 0 ? f[SWF_ASKED] : f[SWF_ALLOCATED];
    int64_t run = f[SWF_RUN], estimate = f[SWF_ESTIMATE] > 0 ? f[SWF_ESTIMATE] : run;
    if (run <= 0 || procs <= 0 || procs > most || f[SWF_SUBMIT] < 0) return false;
    if (run > estimate && o->overrun == SWF_KILL) run = estimate;
    if (run > estimate) estimate = run;
    *ret = (struct swf_job){.procs = (uint32_t)procs, .submit_s = f[SWF_SUBMIT], .run_s = run,
                            .estimate_s = estimate, .start_s = -1};
    return true;
}

/* ---- a log */

static int cmp_jobs(const void *a, const void *b)
{
    const struct swf_job *x = a, *y = b;
    if (x->submit_s != y->submit_s) return x->submit_s < y->submit_s ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

struct reading { const struct swf_options *o; struct swf_log *log; uint32_t records; };

static int take_line(struct reading *r, struct str line, uint32_t no, struct err *err)
{
    int64_t f[SWF_FIELDS];
    struct swf_job job;
    if (!fields_of(line, f)) {
        return err_set(err, ERR_INVALID, "line %u: expected 18 numbers", no);
    }
    if (r->log->procs == 0) {
        return err_set(err, ERR_INVALID, "line %u: the header names neither MaxProcs nor MaxNodes: "
                       "give the number of processors (--procs)", no);
    }
    if (r->log->jobs.n >= SWF_JOBS_MAX) {
        return err_set(err, ERR_LIMIT, "line %u: more than %u jobs", no, SWF_JOBS_MAX);
    }
    if (f[SWF_RUN] > SWF_RUN_MAX_S || f[SWF_ESTIMATE] > SWF_RUN_MAX_S) {
        return err_set(err, ERR_INVALID, "line %u: expected a run time and an estimate of at most "
                       "%lld s (ten years)", no, (long long)SWF_RUN_MAX_S);
    }
    uint32_t record = r->records++;
    if (!job_of(f, r->o, r->log->procs, &job)) {
        r->log->dropped++;
        return 0;
    }
    job.record = record;
    VEC_PUSH(&r->log->jobs, job);
    return 0;
}

/* The log again behind itself; what was between its last submissions comes between. */
static int repeat(struct swf_log *log, uint32_t times, struct err *err)
{
    uint32_t n = log->jobs.n;
    if (times <= 1 || n == 0) return 0;
    if ((uint64_t)n * times > SWF_JOBS_MAX) {
        return err_set(err, ERR_LIMIT, "%u times %u jobs: at most %u", times, n, SWF_JOBS_MAX);
    }
    int64_t span_s = log->jobs.v[n - 1].submit_s - log->jobs.v[0].submit_s + 1;
    for (uint32_t t = 1; t < times; t++) {
        for (uint32_t i = 0; i < n; i++) {
            struct swf_job job = log->jobs.v[i];
            job.submit_s += span_s * t;
            job.record += log->jobs.n; /* distinct; only the order counts */
            VEC_PUSH(&log->jobs, job);
        }
    }
    return 0;
}

int swf_parse(struct str text, const struct swf_options *o, struct swf_log *ret, struct err *err)
{
    struct swf_log log = {.procs = o->procs};
    struct reading r = {.o = o, .log = &log};
    int64_t procs = 0, nodes = 0;
    int rc = 0;
    for (uint32_t no = 1; text.n > 0 && rc == 0; no++) {
        struct str line;
        (void)str_cut(&text, '\n', &line);
        if (line.n > 0 && line.p[line.n - 1] == '\r') line.n--;
        line = str_trim(line);
        if (line.n == 0) continue;
        if (line.p[0] == ';') {
            header(line, &procs, &nodes);
            if (o->procs == 0 && procs > 0 && procs < UINT32_MAX) log.procs = (uint32_t)procs;
            else if (o->procs == 0 && nodes > 0 && nodes < UINT32_MAX) log.procs = (uint32_t)nodes;
        } else {
            rc = take_line(&r, line, no, err);
        }
    }
    if (rc == 0 && r.records == 0) rc = err_set(err, ERR_INVALID, "no job in it");
    if (rc == 0) {
        order_sort(log.jobs.v, log.jobs.n, sizeof(*log.jobs.v), cmp_jobs);
        rc = repeat(&log, o->repeat, err);
    }
    if (rc != 0) {
        swf_log_done(&log);
        return rc;
    }
    *ret = log;
    return 0;
}

void swf_log_done(struct swf_log *log) { VEC_DONE(&log->jobs); }
