/* What tests of net share: cmocka, a loop that is waited on with a limit, and a
 * peer that sends and gathers raw bytes on that same loop. */
#ifndef TEST_NET_TEST_H
#define TEST_NET_TEST_H
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "net/conn.h"
#include "net/loop.h"

#define RUN(tests) cmocka_run_group_tests((tests), NULL, NULL)
#define LIMIT_MS 10000 /* a test that hangs fails; none waits that long on purpose */

/* Runs the loop until the condition holds. */
#define WAIT(loop, cond) \
    do { \
        const bool never_ = false; \
        int64_t end_ = net_now_ms() + LIMIT_MS; \
        while (!(cond) && net_now_ms() < end_) (void)net_loop_run_until((loop), &never_, 1); \
        if (!(cond)) fail_msg("waited in vain for: %s", #cond); \
    } while (0)

/* Open descriptors of this process: the same before and after each case. */
static inline int test_fds(void)
{
    static bool warm;
    if (!warm) net_loop_free(net_loop_new()); /* opens what the library keeps for ever */
    warm = true;
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

/* Lets what is under way happen, without waiting for anything. */
static inline void test_turns(struct net_loop *l, int n)
{
    const bool never = false;
    for (int i = 0; i < n; i++) (void)net_loop_run_until(l, &never, 0);
}

struct raw {
    struct net_conn *conn;
    struct strbuf got;
    bool open, eof, closed;
    struct err why;
    uint32_t drained;
};

static inline void raw_on_open(struct net_conn *c, void *arg)
{
    (void)c;
    ((struct raw *)arg)->open = true;
}

static inline void raw_on_data(struct net_conn *c, struct str data, void *arg)
{
    (void)c;
    strbuf_put(&((struct raw *)arg)->got, data);
}

static inline void raw_on_eof(struct net_conn *c, void *arg)
{
    (void)c;
    ((struct raw *)arg)->eof = true;
}

static inline void raw_on_drain(struct net_conn *c, void *arg)
{
    (void)c;
    ((struct raw *)arg)->drained++;
}

static inline void raw_on_close(struct net_conn *c, const struct err *why, void *arg)
{
    struct raw *r = arg;
    (void)c;
    r->conn = NULL;
    r->closed = true;
    if (why != NULL) r->why = *why;
}

static const struct net_conn_ops raw_ops = {
    .on_open = raw_on_open, .on_data = raw_on_data, .on_eof = raw_on_eof,
    .on_drain = raw_on_drain, .on_close = raw_on_close,
};

static inline void raw_init(struct raw *r)
{
    *r = (struct raw){0};
    strbuf_init(&r->got, 64 * 1024 * 1024);
}

static inline void raw_dial(struct net_loop *l, struct raw *r, struct str addr,
                            const struct net_conn_opts *opts)
{
    struct err err = {0};
    raw_init(r);
    r->conn = net_dial(l, addr, opts, &raw_ops, r, &err);
    if (r->conn == NULL) fail_msg("dial: %s", err.text);
}

static inline void raw_send(struct raw *r, const char *text)
{
    assert_non_null(r->conn);
    (void)net_conn_write(r->conn, str_of(text));
}

static inline void raw_done(struct raw *r)
{
    net_conn_close(r->conn);
    r->conn = NULL;
    strbuf_done(&r->got);
}

static inline int text_count(const struct strbuf *b, const char *needle)
{
    int n = 0;
    size_t len = strlen(needle);
    for (size_t i = 0; i + len <= b->n; i++)
        if (memcmp(b->p + i, needle, len) == 0) n++;
    return n;
}

static inline bool has(const struct strbuf *b, const char *needle)
{
    return text_count(b, needle) > 0;
}

#endif
