/* cli/say.c - sentences for a person, results for a pipe. */
#include "cli/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

bool say_write_all(int fd, struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) { /* somebody else made it non-blocking */
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            (void)poll(&p, 1, -1);
            continue;
        }
        if (n < 0) return false;
        text = str_n(text.p + n, text.n - (size_t)n);
    }
    return true;
}

void say(const char *fmt, ...)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    strbuf_puts(&b, "rota: ");
    va_list ap;
    va_start(ap, fmt);
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    strbuf_putc(&b, '\n');
    (void)say_write_all(STDERR_FILENO, strbuf_str(&b)); /* nobody left to tell */
}

int say_err(const struct err *err, int code)
{
    say("%s", err->text); /* texts name the field where it helps a person */
    return code;
}

void say_pipe_closed(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(128 + SIGPIPE);
}

void say_out(struct str text)
{
    if (say_write_all(STDOUT_FILENO, text)) return;
    if (errno == EPIPE) say_pipe_closed();
    int problem = errno;
    say("cannot write the output: %s", strerror(problem));
    exit(EXIT_FAILED);
}
