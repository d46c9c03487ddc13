/* agent/docker/http.h - one call to a container engine over its unix socket.
 *
 * Blocking, for workers and for the helper, with a deadline on everything: an engine that
 * hangs costs its caller time and nobody else anything.  One connection a call.
 * docs/spec/node.md, "Engines" */
#ifndef AGENT_DOCKER_HTTP_H
#define AGENT_DOCKER_HTTP_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "net/http_parse.h"

#define DOCKER_IN_MAX (HTTP_HEAD_MAX + 4096)

struct docker_stream { /* an answer under way */
    int fd;
    int status;
    char server[64];       /* as it calls itself: "Docker/20.10.24 (linux)" */
    bool raw;              /* the connection was taken over: bytes as they come */
    struct http_body body;
    size_t at, n;          /* of what is read and not yet given */
    char in[DOCKER_IN_MAX];
};

struct docker_call {
    const char *socket;    /* path */
    const char *method;
    const char *target;    /* with its query, escaped */
    struct str body;       /* JSON; p NULL: none */
    bool upgrade;          /* asks for the connection itself */
    int64_t timeout_ms;    /* until the head of the answer has come */
    /* A body that is made as it goes, instead of `body`: calls docker_send. */
    int (*write_body)(struct docker_stream *s, void *arg, struct err *err);
    void *arg;
};

/* ERR_UNAVAILABLE: it does not answer (absent, refused, hung, broken off): then nothing is
 * known of what it did.  Whatever status it answers is no error here. */
int docker_open(const struct docker_call *c, struct docker_stream *s, struct err *err);
/* The next slice of the answer, in s; empty at its end.  idle_ms: the longest silence. */
int docker_read(struct docker_stream *s, int64_t idle_ms, struct str *ret, struct err *err);
int docker_send(struct docker_stream *s, struct str data, struct err *err);
void docker_close(struct docker_stream *s);

/* The whole answer; ERR_LIMIT when it is longer than `ret_body` takes. */
int docker_call(const struct docker_call *c, int *ret_status, struct strbuf *ret_body,
                struct err *err);

#endif
