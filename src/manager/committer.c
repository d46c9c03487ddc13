/* manager/committer.c - one thread, one queue, results in order.
 *
 * Invariant: `broken` is read and written by the store's thread alone. */
#include "manager/committer.h"
#include <pthread.h>
#include <time.h>
#include "base/check.h"
#include "base/mem.h"

struct committer {
    struct net_loop *loop;
    struct store *store;
    void (*done)(void *arg, struct commit_job *job);
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct commit_job *first, **last; /* to do */
    struct commit_job *back, **back_last; /* done, not yet seen by the loop */
    bool stop;
    bool broken;
};

static int64_t now_us(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void append(struct commit_job ***last, struct commit_job *job)
{
    job->next = NULL;
    **last = job;
    *last = &job->next;
}

/* On the loop's thread: everything that has come back so far. */
static void deliver(void *arg)
{
    struct committer *c = arg;
    pthread_mutex_lock(&c->lock);
    struct commit_job *job = c->back;
    c->back = NULL;
    c->back_last = &c->back;
    pthread_mutex_unlock(&c->lock);
    while (job) {
        struct commit_job *next = job->next;
        job->next = NULL;
        c->done(c->arg, job);
        job = next;
    }
}

static void load(struct committer *c, struct commit_job *job)
{
    struct world *w = world_new();
    job->code = store_load(c->store, w, &job->err);
    if (job->code != 0) {
        world_free(w);
        return;
    }
    job->world = w;
    c->broken = false;
}

static void work_on(struct committer *c, struct commit_job *job)
{
    int64_t start_us = now_us();
    if (job->kind == JOB_LOAD) {
        load(c, job);
    } else if (c->broken) {
        job->code = err_set(&job->err, ERR_UNAVAILABLE, "a turn before this one was not stored");
    } else {
        job->code = store_commit(c->store, job->turn, &job->err);
        if (job->code != 0) c->broken = true;
    }
    job->took_us = now_us() - start_us;
}

static void *run(void *arg)
{
    struct committer *c = arg;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->first && !c->stop) pthread_cond_wait(&c->work, &c->lock);
        struct commit_job *job = c->first;
        if (!job) break;
        c->first = job->next;
        if (!c->first) c->last = &c->first;
        pthread_mutex_unlock(&c->lock);
        work_on(c, job);
        pthread_mutex_lock(&c->lock);
        bool wake = c->back == NULL;
        append(&c->back_last, job);
        if (wake && !c->stop) net_loop_post(c->loop, deliver, c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

struct committer *committer_new(struct net_loop *loop, struct store *store,
                                void (*done)(void *arg, struct commit_job *job), void *arg)
{
    struct committer *c = mem_alloc(sizeof(*c));
    c->loop = loop;
    c->store = store;
    c->done = done;
    c->arg = arg;
    c->last = &c->first;
    c->back_last = &c->back;
    CHECK(pthread_mutex_init(&c->lock, NULL) == 0);
    CHECK(pthread_cond_init(&c->work, NULL) == 0);
    CHECK(pthread_create(&c->thread, NULL, run, c) == 0);
    return c;
}

void committer_push(struct committer *c, struct commit_job *job)
{
    CHECK((job->kind == JOB_COMMIT) == (job->turn != NULL));
    job->code = 0;
    job->world = NULL;
    pthread_mutex_lock(&c->lock);
    CHECK(!c->stop);
    append(&c->last, job);
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
}

void committer_free(struct committer *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&c->lock);
    CHECK(pthread_join(c->thread, NULL) == 0);
    net_loop_unpost(c->loop, c); /* the loop may go on without us */
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}
