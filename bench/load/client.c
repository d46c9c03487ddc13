/* load/client.c - see client.h.  An answer has a Content-Length and comes whole
 * before the next request leaves; anything else ends the program: a figure with
 * errors in it is none. */
#include "load/client.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/check.h"
#include "base/mem.h"

#define WAIT_MS 30000

int64_t client_now_us(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) give_up("connect");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0) give_up("socket");
    return fd;
}

void client_open(struct client *c, uint16_t port, uint32_t conns)
{
    CHECK(conns > 0 && conns <= CLIENT_CONNS_MAX);
    *c = (struct client){.epoll = epoll_create1(EPOLL_CLOEXEC), .n_conns = conns};
    if (c->epoll < 0) give_up("epoll");
    c->conns = mem_array(conns, sizeof(*c->conns));
    for (uint32_t i = 0; i < conns; i++) {
        struct client_conn *conn = &c->conns[i];
        conn->fd = dial(port);
        conn->in = mem_alloc(CLIENT_ANSWER_MAX);
        struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
        if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, conn->fd, &ev) != 0) give_up("epoll");
    }
}

void client_close(struct client *c)
{
    for (uint32_t i = 0; i < c->n_conns; i++) {
        close(c->conns[i].fd);
        mem_free(c->conns[i].in);
    }
    mem_free(c->conns);
    close(c->epoll);
}

void client_send(struct client *c, struct client_conn *conn, struct str request)
{
    CHECK(!conn->busy);
    conn->busy = true;
    conn->in_n = 0;
    c->busy++;
    conn->sent_us = client_now_us();
    /* Small enough to fit the empty buffer of its socket. */
    if (write(conn->fd, request.p, request.n) != (ssize_t)request.n) give_up("send");
}

/* True: the whole answer is there. */
static bool parse(const struct client_conn *conn, struct client_answer *ret)
{
    static const char length[] = "\r\ncontent-length: ";
    const char *end = memmem(conn->in, conn->in_n, "\r\n\r\n", 4);
    if (!end) return false;
    size_t head = (size_t)(end - conn->in) + 2;
    const char *found = NULL;
    for (const char *p = conn->in; !found && p + sizeof(length) < end; p++)
        if (*p == '\r' && strncasecmp(p, length, sizeof(length) - 1) == 0) found = p;
    if (conn->in_n < 12 || !found) {
        errno = EPROTO;
        give_up("an answer without a length");
    }
    size_t body = strtoul(found + sizeof(length) - 1, NULL, 10);
    if (conn->in_n < head + 2 + body) return false;
    ret->status = (int)strtol(conn->in + 9, NULL, 10);
    ret->body = str_n(conn->in + head + 2, body);
    return true;
}

static bool receive(struct client_conn *conn, struct client_answer *ret)
{
    ssize_t n = read(conn->fd, conn->in + conn->in_n, CLIENT_ANSWER_MAX - conn->in_n);
    if (n <= 0) {
        if (n == 0) errno = ECONNRESET;
        give_up("read");
    }
    conn->in_n += (uint32_t)n;
    if (parse(conn, ret)) return true;
    if (conn->in_n == CLIENT_ANSWER_MAX) {
        errno = EMSGSIZE;
        give_up("read");
    }
    return false;
}

bool client_wait(struct client *c,
                 void (*fn)(void *arg, struct client_conn *conn, const struct client_answer *a),
                 void *arg)
{
    struct epoll_event events[64];
    int n = epoll_wait(c->epoll, events, (int)ARRAY_LEN(events), WAIT_MS);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    for (int i = 0; i < n; i++) {
        struct client_conn *conn = &c->conns[events[i].data.u32];
        struct client_answer answer;
        if (!receive(conn, &answer)) continue;
        CHECK(conn->busy);
        conn->busy = false;
        c->busy--;
        answer.took_us = client_now_us() - conn->sent_us;
        fn(arg, conn, &answer);
    }
    return true;
}
