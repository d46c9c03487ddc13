/* cli/exec.h - one command inside a container, joined to descriptors of ours. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H
#include "cli/verb.h"

struct exec_job {
    struct common common;
    const char *session;
    uint64_t member;
    struct exec_request request;
    bool interactive; /* pass `in` on */
    bool helper;      /* a reader of `out` that leaves ends the job, not this process */
    int in, out;
};
/* Until it has ended; its exit code, 128 + N for signal N, or EXIT_ROTA (said why). */
int exec_run(const struct exec_job *job);

#endif
