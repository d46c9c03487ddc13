/* Any bytes, cut anywhere, sent to a server whose handler answers at once, later,
 * by a stream or by an upgrade.
 *
 * Input: one byte for the size of the pieces, then what the client sends.  Each
 * ends with the client leaving; afterwards nothing may be left of it. */
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/http_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct net_loop *loop;
static struct http_server *server;
static char addr[64];
static struct http_req *later[64];
static uint32_t n_later;
static bool gone;

static void answer_later(void *arg)
{
    (void)arg;
    uint32_t n = n_later;
    n_later = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct http_req *r = later[i];
        CHECK(r->path.p[0] == '/'); /* still readable, whoever has left */
        if (str_ends(r->path, STR("s"))) {
            http_stream_start(r, 200, "text/plain");
            (void)http_stream_write(r, r->body);
            http_stream_end(r);
        } else {
            http_reply(r, 200, "text/plain", r->path);
        }
    }
}

static void handler(void *arg, struct http_req *r)
{
    (void)arg;
    struct str v;
    (void)http_query(r, "a", &v);
    CHECK(r->path.n > 0);
    if (http_wants_upgrade(r, "x")) {
        struct net_conn *c = http_upgrade(r, "x");
        if (c != NULL) net_conn_finish(c);
        return;
    }
    if (str_starts(r->path, STR("/l")) && n_later < 64) {
        if (n_later == 0) net_loop_defer(loop, answer_later, NULL);
        later[n_later++] = r;
        return;
    }
    http_reply(r, 200, NULL, r->body);
}

static void on_close(struct net_conn *c, const struct err *why, void *arg)
{
    (void)c;
    (void)why;
    (void)arg;
    gone = true;
}

static void on_data(struct net_conn *c, struct str data, void *arg)
{
    (void)c;
    (void)data;
    (void)arg;
}

static void turns(int n)
{
    const bool never = false;
    for (int i = 0; i < n; i++) (void)net_loop_run_until(loop, &never, 0);
}

static void stop(void)
{
    http_server_free(server); /* removes the socket's path */
    net_loop_free(loop);
}

static void start(void)
{
    static const struct http_server_opts opts = {.body_max = 4096};
    struct err err = {0};
    text_fmt(addr, sizeof(addr), "unix:/tmp/rota-fuzz-%d", (int)getpid());
    loop = net_loop_new();
    server = http_server_listen(loop, str_of(addr), &opts, handler, NULL, &err);
    CHECK(server != NULL);
    CHECK(atexit(stop) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct net_conn_ops ops = {.on_data = on_data, .on_close = on_close};
    if (size < 2) return 0;
    if (loop == NULL) start();
    size_t piece = data[0] == 0 ? size : data[0];
    gone = false;
    struct net_conn *c = net_dial(loop, str_of(addr), NULL, &ops, NULL, NULL);
    CHECK(c != NULL);
    turns(2);
    for (size_t at = 1; at < size && !gone; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        (void)net_conn_write(c, str_n((const char *)data + at, n));
        turns(2);
    }
    turns(4);
    if (!gone) net_conn_close(c);
    for (int i = 0; i < 1000 && http_server_conns(server) > 0; i++) turns(1);
    CHECK(http_server_conns(server) == 0);
    CHECK(n_later == 0);
    return 0;
}
