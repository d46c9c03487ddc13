/* agent/crun_job.c - what is done for a member on the workers, and what follows.
 * docs/spec/node.md */
#include <string.h>
#include "agent/clean.h"
#include "agent/crun_impl.h"
#include "agent/docker/watch.h"
#include "base/check.h"
#include "base/mem.h"
#include "host/file.h"

#define RETRY_MS 1000
#define BUSY_MS 50 /* all workers are taken */

struct crun_job {
    struct crun *driver;
    struct member_ref ref;
    enum crun_job_kind kind;
    char name[MEMO_NAME], why[128];
    int dir;
    struct prepare *prepare; /* PREPARE: the member's, lent; RESUME: own */
    int rc;
    struct err err;
};

/* Phases only rise. */
static void set_phase(struct crun_member *m, enum member_phase phase)
{
    if (m->report.phase >= phase) return;
    m->report.phase = phase;
    crun_changed(m->driver);
}

static int wire(const struct crun_node *n, struct crun_job *j)
{
    struct memo_life l;
    char path[MEMO_PATH * 2];
    int rc = memo_read_life(j->dir, &l, &j->err);
    if (rc < 0) return rc;
    AUTO_FD int pidfd = proc_open(l.pid, (uint64_t)l.start, &j->err);
    if (pidfd < 0) return pidfd;
    text_fmt(path, sizeof(path), "%s/containers/%s", n->state_dir, j->name);
    return netns_attach(n->net, j->dir, path, pidfd, &j->err);
}

static void job_work(void *arg)
{
    struct crun_job *j = arg;
    const struct crun_node *n = &j->driver->node;
    switch (j->kind) {
    case CRUN_PREPARE:
        j->rc = prepare_run(j->prepare, j->dir, &j->err);
        break;
    case CRUN_RESUME:
        j->rc = prepare_resume(j->prepare, n, j->dir, &j->err);
        break;
    case CRUN_WIRE:
        j->rc = wire(n, j);
        break;
    case CRUN_BURY:
        j->rc = clean_bury(n, j->name, j->why, &j->err);
        break;
    case CRUN_CLEAN:
        j->rc = clean_all(n, j->name, &j->err);
        break;
    }
}

static void take_prepared(struct crun_member *m, struct crun_job *j)
{
    struct prepare *p = j->prepare;
    if (j->rc == 0) {
        crun_watch_child(m->driver, p->pidfd, p->pid);
        m->silent_ms = 0; /* another supervisor than the one that was waited for */
        crun_link(m, p->sock);
        p->sock = p->pidfd = -1;
    } else if (j->kind == CRUN_PREPARE) {
        /* Undone; burying proves it, and its record outlives a crash. */
        TEXT_CLIP(m->why, str_of(j->err.text));
        m->job = CRUN_BURY;
    } else {
        crun_retry_at(m, RETRY_MS);
    }
    m->prepare = NULL;
    prepare_done(p);
    mem_free(p);
}

static void take_wired(struct crun_member *m, const struct crun_job *j)
{
    if (j->rc == 0) {
        m->wired = true;
        if (m->report.phase == MEMBER_PREPARING) set_phase(m, MEMBER_READY);
        return;
    }
    /* Without its network it does not begin. */
    crun_unlink(m);
    TEXT_CLIP(m->why, str_of(j->err.text));
    m->job = CRUN_BURY;
}

static void job_done(void *arg)
{
    struct crun_job *j = arg;
    struct crun *c = j->driver;
    struct crun_member *m = crun_find(c, j->ref);
    c->jobs--;
    CHECK(m && m->busy);
    m->busy = false;
    switch (j->kind) {
    case CRUN_PREPARE:
    case CRUN_RESUME:
        take_prepared(m, j);
        break;
    case CRUN_WIRE:
        take_wired(m, j);
        break;
    case CRUN_BURY:
        if (j->rc == ERR_UNAVAILABLE) { /* not proved gone: hold on, and try again */
            m->job = CRUN_BURY;
            crun_retry_at(m, RETRY_MS);
        } else {
            crun_take_exit(m);
            /* Its supervisor saw it killed; we know what for. */
            if (m->report.phase == MEMBER_FAILED && m->why[0])
                TEXT_CLIP(m->report.end.detail, str_of(m->why));
            docker_watch_soon(c->watch);
        }
        break;
    case CRUN_CLEAN:
        if (j->rc < 0 && file_exists(c->node.containers, m->name)) {
            crun_retry_at(m, RETRY_MS);
        } else {
            crun_remove(m);
            m = NULL;
        }
        break;
    }
    mem_free(j);
    if (m) crun_next(m);
}

void crun_start_job(struct crun_member *m, enum crun_job_kind kind)
{
    struct crun *c = m->driver;
    m->job = kind;
    if (m->busy || c->closing) return;
    struct crun_job *j = mem_alloc(sizeof(*j));
    j->driver = c;
    j->ref = m->ref;
    j->kind = kind;
    j->dir = m->dir;
    TEXT_CLIP(j->name, str_of(m->name));
    TEXT_CLIP(j->why, str_of(m->why));
    if (kind == CRUN_RESUME && !m->prepare) {
        m->prepare = mem_alloc(sizeof(*m->prepare));
        m->prepare->sock = m->prepare->pidfd = -1;
        strbuf_init(&m->prepare->config, 16);
    }
    j->prepare = m->prepare;
    if (!net_work(c->loop, job_work, job_done, j)) {
        mem_free(j);
        crun_retry_at(m, BUSY_MS);
        return;
    }
    m->busy = true;
    m->job = 0;
    c->jobs++;
}

/* The wish to clean goes before all; a member that waits to be looked at again
 * is settled anew. */
void crun_next(struct crun_member *m)
{
    if (m->busy || m->driver->closing) return;
    if (m->clean && m->retry_ms == 0) {
        crun_unlink(m);
        set_phase(m, MEMBER_STOPPING);
        crun_start_job(m, CRUN_CLEAN);
        return;
    }
    if (m->retry_ms) return;
    if (m->job) {
        crun_start_job(m, m->job);
        return;
    }
    if (m->report.phase >= MEMBER_EXITED) return;
    if (m->sock < 0) {
        crun_settle(m);
        return;
    }
    if (m->stop && !m->stop_sent) {
        struct shim_stop s = {.grace_ms = m->stop_grace_ms, .preempted = m->stop_preempted};
        m->stop_sent = crun_send(m, SHIM_STOP, &s, sizeof(s));
        crun_stop_said(m);
        set_phase(m, MEMBER_STOPPING);
        return;
    }
    if (m->created && !m->wired && !m->stop) {
        crun_start_job(m, CRUN_WIRE);
        return;
    }
    if (m->go && !m->go_sent && m->created && !m->stop) {
        m->go_sent = crun_send(m, SHIM_GO, NULL, 0);
        set_phase(m, MEMBER_STARTING);
    }
}
