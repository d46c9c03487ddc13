/* sim/swf.h - a batch log in the Standard Workload Format, run through the product.
 *
 * P identical processors are one node of P slots; every job is a session, its estimate
 * the session's time limit.  The scheduler is step(): its queue, pass, plan and placement.
 * At one instant come all ends, then all submissions, then one pass.  Integer seconds.
 * docs/cli.md, "rota sim swf" */
#ifndef SIM_SWF_H
#define SIM_SWF_H
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/model/group.h"

enum swf_backfill { SWF_NONE = 0, SWF_EASY, SWF_CONSERVATIVE };
enum swf_overrun { SWF_EXTEND = 0, SWF_KILL }; /* what a run beyond its estimate does */

struct swf_options {
    uint32_t procs; /* 0: the header's MaxProcs, else its MaxNodes */
    enum queue_order order;
    enum swf_backfill backfill;
    bool shortest;  /* those behind a blocked head are tried shortest first */
    enum swf_overrun overrun;
    uint32_t repeat; /* the log so often, one after the other; 0: once */
};

struct swf_job {
    uint32_t record; /* index among all lines that are no comments, from 0 */
    uint32_t procs;
    int64_t submit_s, run_s, estimate_s;
    int64_t start_s; /* filled by swf_run; -1: never started */
};
struct swf_log {
    VEC(struct swf_job) jobs; /* by submission, then record */
    uint32_t dropped;         /* run or processors <= 0, too wide, submitted before 0 */
    uint32_t procs;
};
struct swf_result {
    uint64_t jobs, dropped;
    int64_t wait_s, makespan_s; /* sum; last end minus first submission */
    int64_t work;               /* processor seconds */
    uint32_t procs;
    double bsld_sum;            /* of max(1, (wait + run) / max(run, 10)) */
};

/* ERR_INVALID names the line that does not read, or says that P is not known. */
int swf_parse(struct str text, const struct swf_options *o, struct swf_log *ret, struct err *err);
void swf_log_done(struct swf_log *log);
/* ERR_UNSUPPORTED: a job was left over (the scheduler never started it). */
int swf_run(struct swf_log *log, const struct swf_options *o, struct swf_result *ret,
            struct err *err);

#endif
