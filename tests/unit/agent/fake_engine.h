/* tests/unit/agent/fake_engine.h - a container engine that answers by a script: one answer a
 * connection, byte for byte, or silence. */
#ifndef FAKE_ENGINE_H
#define FAKE_ENGINE_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct fake_answer {
    const char *bytes;
    size_t n;       /* 0: strlen(bytes) */
    bool hang;      /* ... and then silence instead of the end */
    size_t repeat;  /* bytes so many times more */
};

struct fake_engine {
    char dir[32], path[64];
    int listener;
    const struct fake_answer *answers;
    size_t n, at;     /* the last one again, when there are no more */
    char asked[8192]; /* the first lines of all requests, one a line */
    pthread_t thread;
};

void fake_engine_start(struct fake_engine *f, const struct fake_answer *answers, size_t n);
void fake_engine_stop(struct fake_engine *f);

#endif
