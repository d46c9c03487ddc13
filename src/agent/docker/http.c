/* agent/docker/http.c - one call to a container engine over its unix socket.
 * docs/spec/node.md, "Engines" */
#include "agent/docker/http.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/mem.h"
#include "host/file.h"
#include "host/proc.h"

#define CONNECT_MS 5000
#define SEND_MS 60000 /* without the engine taking a byte */

static int64_t now_ms(void) { return proc_mono_us() / 1000; }

static int silent(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "the container engine does not answer");
}

static bool wait_for(int fd, short events, int64_t until_ms)
{
    for (;;) {
        int64_t left = until_ms - now_ms();
        struct pollfd p = {.fd = fd, .events = events};
        int rc = poll(&p, 1, left > 0 ? (int)(left < 3600000 ? left : 3600000) : 0);
        if (rc > 0) return true;
        if (rc == 0 && left <= 0) return false;
        if (rc < 0 && errno != EINTR) return false;
    }
}

static int dial(const char *path, struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (!TEXT_SET(a.sun_path, str_of(path)))
        return err_set(err, ERR_INVALID, "the engine's socket has too long a path: '%.80s'", path);
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot make a socket");
    int64_t until = now_ms() + CONNECT_MS;
    /* EAGAIN: its queue is full, which a unix socket does not let us wait for. */
    while (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
        if (errno != EAGAIN && errno != EINTR)
            return err_sys(err, ERR_UNAVAILABLE, errno, "no container engine at %s", path);
        if (now_ms() >= until) return silent(err);
        poll(NULL, 0, 20);
    }
    int ret = fd;
    fd = -1;
    return ret;
}

static int send_bytes(int fd, struct str data, struct err *err)
{
    int64_t until = now_ms() + SEND_MS;
    while (data.n > 0) {
        ssize_t w = send(fd, data.p, data.n, MSG_NOSIGNAL);
        if (w < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(err, ERR_UNAVAILABLE, errno, "the container engine hung up");
        if (w > 0) {
            data = str_n(data.p + w, data.n - (size_t)w);
            until = now_ms() + SEND_MS;
        } else if (!wait_for(fd, POLLOUT, until)) {
            return silent(err);
        }
    }
    return 0;
}

int docker_send(struct docker_stream *s, struct str data, struct err *err)
{
    char head[24];
    if (s->raw) return send_bytes(s->fd, data, err);
    if (data.n == 0) return 0; /* an empty chunk is the last one */
    int n = text_fmt(head, sizeof(head), "%zx\r\n", data.n);
    int rc = send_bytes(s->fd, str_n(head, (size_t)n), err);
    if (rc == 0) rc = send_bytes(s->fd, data, err);
    return rc < 0 ? rc : send_bytes(s->fd, STR("\r\n"), err);
}

static int send_request(const struct docker_call *c, struct docker_stream *s, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, HTTP_HEAD_MAX);
    strbuf_fmt(&b, "%s %s HTTP/1.1\r\nHost: docker\r\nUser-Agent: rota\r\n", c->method, c->target);
    if (c->upgrade) strbuf_puts(&b, "Connection: Upgrade\r\nUpgrade: tcp\r\n");
    else strbuf_puts(&b, "Connection: close\r\n");
    if (c->write_body)
        strbuf_puts(&b, "Content-Type: application/x-tar\r\nTransfer-Encoding: chunked\r\n");
    else if (c->body.p)
        strbuf_fmt(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n", c->body.n);
    else if (strcmp(c->method, "POST") == 0)
        strbuf_puts(&b, "Content-Length: 0\r\n");
    strbuf_puts(&b, "\r\n");
    if (b.full) return err_set(err, ERR_LIMIT, "the request is too long");
    int rc = send_bytes(s->fd, strbuf_str(&b), err);
    if (rc == 0 && c->write_body) {
        rc = c->write_body(s, c->arg, err);
        return rc < 0 ? rc : send_bytes(s->fd, STR("0\r\n\r\n"), err);
    }
    return rc < 0 ? rc : send_bytes(s->fd, c->body, err);
}

/* More bytes behind what is there; 0: the other end has closed. */
static ssize_t fill(struct docker_stream *s, int64_t until, struct err *err)
{
    for (;;) {
        if (!wait_for(s->fd, POLLIN, until)) return silent(err);
        ssize_t n = recv(s->fd, s->in + s->n, sizeof(s->in) - s->n, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (n < 0) return err_sys(err, ERR_UNAVAILABLE, errno, "the container engine hung up");
        s->n += (size_t)n;
        return n;
    }
}

static int read_head(const struct docker_call *c, struct docker_stream *s, struct err *err)
{
    struct http_scan scan = {0};
    AUTO_FREE struct http_head *h = mem_alloc(sizeof(*h));
    int64_t until = now_ms() + c->timeout_ms;
    for (;;) {
        int64_t n = http_scan(&scan, s->in, s->n);
        if (n == 0) {
            ssize_t got = fill(s, until, err);
            if (got < 0) return (int)got;
            if (got == 0)
                return err_set(err, ERR_UNAVAILABLE, "the container engine broke its answer off");
            continue;
        }
        int rc = n < 0 ? (int)n : http_parse_response(str_n(s->in, (size_t)n),
                                                      http_method_of(str_of(c->method)), h, err);
        if (rc < 0) {
            if (n < 0) err_set(err, ERR_UNAVAILABLE, "its head is no HTTP");
            err_prefix(err, "the container engine's answer is unreadable");
            return ERR_UNAVAILABLE;
        }
        s->at = (size_t)n;
        s->status = h->status;
        TEXT_CLIP(s->server, http_head_get(h, STR("Server")));
        if (h->status >= 100 && h->status < 200 && h->status != 101) { /* more follows */
            memmove(s->in, s->in + s->at, s->n - s->at);
            s->n -= s->at;
            s->at = 0;
            scan = (struct http_scan){0};
            continue;
        }
        s->raw = c->upgrade && (h->status == 101 || h->status == 200);
        http_body_init(&s->body, h);
        return 0;
    }
}

int docker_open(const struct docker_call *c, struct docker_stream *s, struct err *err)
{
    s->status = 0;
    s->raw = false;
    s->at = s->n = 0;
    s->fd = dial(c->socket, err);
    if (s->fd < 0) return s->fd;
    int rc = send_request(c, s, err);
    /* An engine that refuses a long body may answer before it has read it. */
    if (rc == 0 || (rc == ERR_UNAVAILABLE && c->write_body)) {
        struct err why = {0};
        int head = read_head(c, s, &why);
        if (head < 0 && rc == 0 && err) *err = why;
        rc = head == 0 ? 0 : rc < 0 ? rc : head;
    }
    if (rc < 0) docker_close(s);
    return rc;
}

int docker_read(struct docker_stream *s, int64_t idle_ms, struct str *ret, struct err *err)
{
    for (;;) {
        struct str in = str_n(s->in + s->at, s->n - s->at), out = {0};
        if (!s->raw && s->body.done) {
            *ret = (struct str){0};
            return 0;
        }
        if (in.n > 0 && s->raw) {
            s->at = s->n;
            *ret = in;
            return 0;
        }
        if (in.n > 0) {
            int rc = http_body_feed(&s->body, &in, &out, err);
            if (rc < 0) return err_prefix(err, "the container engine's answer is unreadable"), rc;
            s->at = s->n - in.n;
            if (out.n == 0) continue;
            *ret = out;
            return 0;
        }
        s->at = s->n = 0;
        ssize_t got = fill(s, now_ms() + idle_ms, err);
        if (got < 0) return (int)got;
        if (got > 0) continue;
        if (!s->raw && s->body.kind != HTTP_BODY_UNTIL_CLOSE && !s->body.done)
            return err_set(err, ERR_UNAVAILABLE, "the container engine broke its answer off");
        *ret = (struct str){0};
        return 0;
    }
}

void docker_close(struct docker_stream *s) { file_close(&s->fd); }

int docker_call(const struct docker_call *c, int *ret_status, struct strbuf *ret_body,
                struct err *err)
{
    AUTO_FREE struct docker_stream *s = mem_alloc(sizeof(*s));
    int rc = docker_open(c, s, err);
    if (rc < 0) return rc;
    struct str part = {0};
    strbuf_reset(ret_body);
    do {
        rc = docker_read(s, c->timeout_ms, &part, err);
        strbuf_put(ret_body, part);
    } while (rc == 0 && part.n > 0 && !ret_body->full);
    docker_close(s);
    if (rc < 0) return rc;
    if (ret_body->full) return err_set(err, ERR_LIMIT, "the container engine's answer is too long");
    *ret_status = s->status;
    return 0;
}
