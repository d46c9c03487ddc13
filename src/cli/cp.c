/* cli/cp.c - `rota cp`: files and folders into and out of a running container.
 *
 * One end of the stream is a thread of ours, the other a helper inside the container,
 * which Rota put there; between them runs an ordinary exec.  docs/cli.md */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/exec.h"
#include "cli/say.h"
#include "host/archive.h"
#include "host/file.h"

#define HELPER "/run/rota-init" /* agent/bundle.h */

enum { KEY_MEMBER = 300 };

struct cp {
    struct exec_job job;
    const char *args[2];
    int n;
    bool upload;
    const char *local;           /* path here */
    char session[128];
    const char *remote;          /* path there */
    char name[256];              /* of what is copied; "": its content */
    struct archive end;          /* ours */
    int result;
    struct err err;
};

static const struct argp_option options[] = {
    {"member", KEY_MEMBER, "N", 0, "In this container of a gang (default 0)", 1},
    {0},
};
static const char doc[] =
    "Copy a file or folder into a running session, or out of it, as its user.  Into a folder "
    "that is there it goes under its own name.\v"
    "Examples:\n"
    "  rota cp train.py night:/tmp\n"
    "  rota cp night:/tmp/results .";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cp *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &c->job.common; return 0;
    case KEY_MEMBER:
        if (!str_to_u64(str_of(arg), &c->job.member) || c->job.member >= SESSION_MEMBERS_MAX)
            argp_error(state, "--member %s: expected a number from 0 to 511", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (c->n == 2) argp_error(state, "%s: expected one source and one target", arg);
        else c->args[c->n++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (c->n < 2) argp_error(state, "expected a source and a target, one as SESSION:PATH");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&verb_common_argp, 0, NULL, 0}, {0}};
static const struct argp cp_argp = {options, parse, "SOURCE TARGET", doc, children, 0, 0};

/* The colon of SESSION:PATH; a slash before it makes it a file of ours. */
static const char *colon(const char *arg)
{
    const char *c = arg + strcspn(arg, ":/");
    return *c == ':' && c > arg ? c : NULL;
}

static bool split(struct cp *c)
{
    const char *from = colon(c->args[0]), *to = colon(c->args[1]);
    if (!from == !to) {
        say("expected SESSION:PATH as source or as target, not %s; ./ before a name with a colon "
            "makes it a file here", from ? "as both" : "neither");
        return false;
    }
    c->upload = to != NULL;
    const char *there = c->args[c->upload], *at = c->upload ? to : from;
    TEXT_CLIP(c->session, str_n(there, (size_t)(at - there)));
    c->remote = at[1] ? at + 1 : ".";
    c->local = c->args[!c->upload];
    const char *source = c->upload ? c->local : c->remote;
    size_t n = strlen(source);
    while (n > 0 && source[n - 1] == '/') n--;
    size_t start = n;
    while (start > 0 && source[start - 1] != '/') start--;
    struct str name = str_n(source + start, n - start);
    if (!str_eq(name, STR(".")) && !str_eq(name, STR(".."))) TEXT_CLIP(c->name, name);
    return true;
}

static void note(void *arg, const char *text)
{
    (void)arg;
    say("%s", text);
}

static void *our_end(void *arg)
{
    struct cp *c = arg;
    if (c->upload) c->result = archive_pack(&c->end, c->local, &c->err);
    else c->result = archive_unpack(&c->end, c->local, c->name, &c->err);
    file_close(&c->end.fd); /* the other end learns that we are done, or gave up */
    return NULL;
}

static int outcome(struct cp *c, int code)
{
    /* A stream that broke off has its reason at the other end, which said it. */
    if (c->result < 0 && (code == 0 || c->err.code != ERR_UNAVAILABLE)) say("%s", c->err.text);
    if (code > 128) say("signal %d ended the copying", code - 128);
    if (code == 0 && c->result == 0 && c->end.skipped == 0) return 0;
    say("%s is not copied, or not all of it", c->args[0]);
    return EXIT_FAILED;
}

static int run(struct cp *c)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) {
        say("cannot make a pipe: %s", strerror(errno));
        return EXIT_FAILED;
    }
    int ours = fds[c->upload];
    (void)fcntl(fds[!c->upload], F_SETFL, O_NONBLOCK);
    c->end = (struct archive){.fd = ours, .note = note};
    c->job.in = c->upload ? fds[0] : -1;
    c->job.out = c->upload ? STDOUT_FILENO : fds[1];
    pthread_t thread;
    int problem = pthread_create(&thread, NULL, our_end, c);
    if (problem) {
        say("cannot start a thread: %s", strerror(problem));
        close(fds[0]);
        close(fds[1]);
        return EXIT_FAILED;
    }
    int code = exec_run(&c->job);
    close(fds[!c->upload]);
    (void)pthread_join(thread, NULL);
    return outcome(c, code);
}

int verb_cp(int argc, char **argv)
{
    struct cp c = {0};
    verb_parse(&cp_argp, argc, argv, EXIT_USAGE, &c);
    if (!split(&c)) return EXIT_USAGE;
    if (c.upload && access(c.local, R_OK) < 0) { /* only to fail before anything starts */
        say("cannot read %s: %s", c.local, strerror(errno));
        return EXIT_FAILED;
    }
    const char *words[] = {HELPER, c.upload ? "unpack" : "pack", c.remote, c.name};
    c.job.session = c.session;
    c.job.interactive = c.upload;
    c.job.helper = true;
    for (size_t i = 0; i < (c.upload && c.name[0] ? 4 : 3); i++)
        wire_texts_add(&c.job.request.argv, str_of(words[i]));
    int code = EXIT_FAILED;
    if (verb_open(&c.job.common)) {
        code = run(&c);
        verb_close(&c.job.common);
    }
    wire_texts_free(&c.job.request.argv);
    return code;
}
