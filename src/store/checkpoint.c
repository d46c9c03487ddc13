/* store/checkpoint.c - the thread that keeps the write-ahead log short.
 *
 * A passive checkpoint never makes the writer wait, but under constant writing
 * the log is never quite copied and so never starts anew.  From CHECKPOINT_PRESS
 * pages on, the writer is therefore held for the moment that the rest takes. */
#include "store/checkpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "base/check.h"
#include "base/mem.h"
#include "store/sql.h"

#define CHECKPOINT_PAGES 4000  /* 16 MiB of new log: worth two syncs beside the writer's */
#define CHECKPOINT_PRESS 16384 /* 64 MiB: the writer may wait */
#define CHECKPOINT_WAIT_MS 200
#define CHECKPOINT_STACK (512u * 1024)

struct checkpoint {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char *path;
    uint32_t pages; /* of the log, as last told; 0: nothing to do */
    uint32_t told;  /* the writer's: length of the log when it last woke the thread */
    bool stop;
};

/* A connection that has not read yet does not know that there is a log, and its
 * checkpoints do nothing. */
static bool ready(struct sql *q, const char *path)
{
    int64_t ignored = 0;
    if (q->db) return true;
    if (sql_open(q, path, SQLITE_OPEN_READWRITE, NULL) != 0) return false;
    sqlite3_busy_timeout(q->db, CHECKPOINT_WAIT_MS);
    if (sql_number(q, "SELECT count(*) FROM sqlite_schema", &ignored, NULL) == 0) return true;
    sql_close(q);
    return false;
}

static void work(struct sql *q, uint32_t pages)
{
    bool press = pages >= CHECKPOINT_PRESS;
    int mode = press ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
    (void)sqlite3_wal_checkpoint_v2(q->db, NULL, mode, NULL, NULL);
}

static void *run(void *arg)
{
    struct checkpoint *c = arg;
    struct sql q = {0};
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        if (c->pages == 0) {
            pthread_cond_wait(&c->wake, &c->lock);
            continue;
        }
        uint32_t pages = c->pages;
        c->pages = 0;
        pthread_mutex_unlock(&c->lock);
        if (ready(&q, c->path)) work(&q, pages);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    sql_close(&q);
    return NULL;
}

/* Signals are for the loop's thread. */
static bool start_thread(struct checkpoint *c)
{
    sigset_t all, before;
    pthread_attr_t attr;
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0) return false;
    bool ok = pthread_attr_setstacksize(&attr, CHECKPOINT_STACK) == 0;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ok = ok && pthread_create(&c->thread, &attr, run, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

struct checkpoint *checkpoint_start(const char *path)
{
    struct checkpoint *c = mem_alloc(sizeof(*c));
    c->path = mem_strndup(path, strlen(path));
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    if (start_thread(c)) return c;
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    mem_free(c->path);
    mem_free(c);
    return NULL;
}

void checkpoint_wake(struct checkpoint *c, uint32_t log_pages)
{
    if (!c) return;
    if (log_pages < c->told) c->told = 0; /* the log began anew */
    if (log_pages < c->told + CHECKPOINT_PAGES) return;
    c->told = log_pages;
    pthread_mutex_lock(&c->lock);
    c->pages = log_pages;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

void checkpoint_stop(struct checkpoint *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    int rc = pthread_join(c->thread, NULL);
    CHECK(rc == 0);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    mem_free(c->path);
    mem_free(c);
}
