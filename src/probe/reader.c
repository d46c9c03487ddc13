/* probe/reader.c - see reader.h.
 *
 * The thread is never joined: a call into a driver cannot be taken back.  The process
 * ends under it. */
#include "probe/reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/proc.h"
#include "probe/amd.h"
#include "probe/intel.h"
#include "probe/nvidia.h"
#include "probe/nvml.h"
#include "probe/survey.h"

enum { WAIT_MS = 200, EVENTS = PROBE_EVENTS_MAX };

struct reader {
    struct reader_spec spec;
    struct nvidia *nvidia;      /* the thread's alone */
    int wake;
    atomic_bool hurry;
    _Atomic int64_t step_ms;    /* when the step under way began */
    _Atomic uint64_t begun;     /* readings */
    pthread_mutex_t lock;       /* of what follows */
    uint64_t number;            /* of the report */
    bool has_report;
    struct probe_report report;
    struct probe_event events[EVENTS];
    uint32_t n_events;
};

static void tell(struct reader *r)
{
    uint64_t one = 1;
    (void)!write(r->wake, &one, sizeof(one));
}

static void step(struct reader *r) { atomic_store(&r->step_ms, proc_boot_ms()); }

static void read_all(struct reader *r)
{
    struct probe_report fresh;
    uint64_t number = atomic_fetch_add(&r->begun, 1) + 1;
    survey_begin(&fresh);
    nvidia_read(r->nvidia, &fresh);
    amd_read(&r->spec.tree, &fresh);
    intel_read(&r->spec.tree, &fresh);
    survey_end(&fresh);
    (void)pthread_mutex_lock(&r->lock);
    if (r->has_report) wire_free(&wire_probe_report, &r->report);
    r->report = fresh;
    r->number = number;
    r->has_report = true;
    (void)pthread_mutex_unlock(&r->lock);
    tell(r);
}

static void keep_event(struct reader *r, const struct probe_event *e)
{
    (void)pthread_mutex_lock(&r->lock);
    if (r->n_events == EVENTS) {
        /* Nobody takes them: the newest say more than the oldest. */
        memmove(&r->events[0], &r->events[1], (EVENTS - 1) * sizeof(r->events[0]));
        r->n_events--;
    }
    r->events[r->n_events++] = *e;
    (void)pthread_mutex_unlock(&r->lock);
    tell(r);
}

static void wait_until(struct reader *r, int64_t until_ms)
{
    for (;;) {
        struct probe_event e;
        int64_t left = until_ms - proc_boot_ms();
        step(r);
        if (left <= 0 || atomic_load(&r->hurry)) return;
        if (!nvidia_wait(r->nvidia, (uint32_t)(left < WAIT_MS ? left : WAIT_MS), &e)) continue;
        keep_event(r, &e);
        atomic_store(&r->hurry, true); /* what became of the device? */
    }
}

static void *run(void *arg)
{
    struct reader *r = arg;
    for (;;) {
        step(r);
        int64_t next = proc_boot_ms() + r->spec.interval_ms;
        atomic_store(&r->hurry, false);
        read_all(r);
        wait_until(r, next);
    }
    return NULL;
}

struct reader *reader_start(const struct reader_spec *spec, struct err *err)
{
    struct reader *r = mem_alloc(sizeof(*r));
    pthread_t thread;
    sigset_t all, before;
    r->spec = *spec;
    (void)pthread_mutex_init(&r->lock, NULL);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->nvidia = nvidia_new(spec->nvml, &r->spec.tree);
    step(r);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the main thread's */
    int rc = r->wake < 0 ? errno : pthread_create(&thread, NULL, run, r);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) {
        (void)pthread_detach(thread);
        return r;
    }
    err_sys(err, ERR_IO, rc, "cannot start a thread");
    nvidia_free(r->nvidia);
    if (r->wake >= 0) close(r->wake);
    mem_free(r);
    return NULL;
}

int reader_fd(const struct reader *r) { return r->wake; }

uint64_t reader_begun(const struct reader *r) { return atomic_load(&r->begun); }

bool reader_report(struct reader *r, struct probe_report *ret, uint64_t *ret_number)
{
    uint64_t count;
    (void)!read(r->wake, &count, sizeof(count));
    (void)pthread_mutex_lock(&r->lock);
    bool has = r->has_report;
    if (has) *ret = r->report;
    *ret_number = r->number;
    r->has_report = false;
    (void)pthread_mutex_unlock(&r->lock);
    return has;
}

bool reader_event(struct reader *r, struct probe_event *ret)
{
    (void)pthread_mutex_lock(&r->lock);
    bool has = r->n_events > 0;
    if (has) {
        *ret = r->events[0];
        memmove(&r->events[0], &r->events[1], --r->n_events * sizeof(r->events[0]));
    }
    (void)pthread_mutex_unlock(&r->lock);
    return has;
}

void reader_hurry(struct reader *r) { atomic_store(&r->hurry, true); }

int64_t reader_stuck_ms(struct reader *r, const char **ret_call)
{
    const char *name = atomic_load(&nvml_calling);
    *ret_call = name ? nvml_symbol(name) : "";
    return proc_boot_ms() - atomic_load(&r->step_ms);
}
