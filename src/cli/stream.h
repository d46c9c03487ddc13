/* cli/stream.h - the output of one member, unbroken by restarts of what carries it.
 *
 * When a manager, proxy or agent goes away the stream is opened again, and what
 * was already delivered is skipped: output comes exactly once and in order.  The
 * stream never gives up by itself; its owner does, who knows about the session. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H
#include "cli/carry.h"

struct stream;

struct stream_ops {
    void (*on_output)(void *arg, bool is_stderr, struct str data);
    void (*on_notice)(void *arg, struct str text);
    /* The member has ended and all of its output was delivered. */
    void (*on_ended)(void *arg, const struct carry_end *end);
    /* It broke and will be tried again after a pause; the owner may free it here. */
    void (*on_trouble)(void *arg, const char *code, const struct err *why);
    void (*on_drain)(void *arg); /* input may be sent again; may be NULL */
};
struct stream_spec {
    const char *session;
    uint32_t member;
    bool follow;    /* go on until the member ends */
    int64_t tail;   /* only the last lines; -1: everything */
    bool input;     /* attach: input may be sent */
};
struct stream *stream_open(struct api *a, const struct stream_spec *spec,
                           const struct stream_ops *ops, void *arg);
void stream_free(struct stream *s); /* NULL is fine; may be called from any callback */
/* A new attempt of the session: its output begins anew. */
void stream_restart(struct stream *s);
void stream_pause(struct stream *s, bool paused);
bool stream_is_open(const struct stream *s);
bool stream_send(struct stream *s, enum carry_type type, struct str payload); /* as carry_send */

#endif
