/* tests/unit/agent/fake_engine.c - a container engine that answers by a script. */
#include "fake_engine.h"
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/str.h"

/* The head; a body is not waited for: what comes of it is left unread. */
static void read_request(struct fake_engine *f, int fd)
{
    char buf[65536];
    size_t n = 0;
    while (n < sizeof(buf) - 1) {
        ssize_t got = read(fd, buf + n, sizeof(buf) - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
        buf[n] = 0;
        if (strstr(buf, "\r\n\r\n")) break;
    }
    buf[n] = 0;
    size_t at = strlen(f->asked);
    text_fmt(f->asked + at, sizeof(f->asked) - at, "%.*s\n", (int)strcspn(buf, "\r"), buf);
}

static void drain(int fd, int timeout_ms)
{
    char buf[65536];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, timeout_ms) > 0 && read(fd, buf, sizeof(buf)) > 0) continue;
}

static void *serve(void *arg)
{
    struct fake_engine *f = arg;
    for (;;) {
        int fd = accept(f->listener, NULL, NULL);
        if (fd < 0) return NULL;
        const struct fake_answer *a = &f->answers[f->at < f->n ? f->at : f->n - 1];
        f->at++;
        read_request(f, fd);
        size_t n = a->n ? a->n : strlen(a->bytes);
        for (size_t i = 0; i <= a->repeat; i++)
            if (send(fd, a->bytes, n, MSG_NOSIGNAL) < 0) break;
        if (a->hang) drain(fd, 10000); /* until the other end has had enough */
        else drain(fd, 20);
        close(fd);
    }
}

void fake_engine_start(struct fake_engine *f, const struct fake_answer *answers, size_t n)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    *f = (struct fake_engine){.answers = answers, .n = n};
    text_fmt(f->dir, sizeof(f->dir), "/tmp/rota-fake-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    text_fmt(f->path, sizeof(f->path), "%s/sock", f->dir);
    TEXT_SET(a.sun_path, str_of(f->path));
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(f->listener, 16), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

void fake_engine_stop(struct fake_engine *f)
{
    shutdown(f->listener, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->listener);
    unlink(f->path);
    rmdir(f->dir);
}
