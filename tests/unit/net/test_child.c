/* Children: what they get, what they leave, and that nobody is left behind. */
#include "net/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "test.h"

struct world {
    int fds; /* open before the case */
    struct net_loop *loop;
    struct strbuf out, errs;
    struct child_exit exit;
    int exits;
};

static void on_output(void *arg, int stream, struct str data)
{
    struct world *w = arg;
    strbuf_put(stream == 1 ? &w->out : &w->errs, data);
}

static void on_exit_(void *arg, const struct child_exit *e)
{
    struct world *w = arg;
    w->exit = *e;
    w->exits++;
}

static const struct child_ops ops = {on_output, on_exit_};

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->fds = test_fds();
    w->loop = net_loop_new();
    strbuf_init(&w->out, 1 << 24);
    strbuf_init(&w->errs, 1 << 24);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, nor a zombie */
    assert_int_equal(errno, ECHILD);
    net_loop_free(w->loop);
    assert_int_equal(test_fds(), w->fds);
    strbuf_done(&w->out);
    strbuf_done(&w->errs);
    mem_free(w);
    return 0;
}

static struct child *sh(struct world *w, const char *script, struct child_spec spec)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct err err = {0};
    if (spec.argv == NULL) spec.argv = argv;
    struct child *c = child_spawn(w->loop, &spec, &ops, w, &err);
    if (c == NULL) fail_msg("%s", err.text);
    return c;
}

static void codes(void **state)
{
    struct world *w = *state;
    static const struct { const char *script; int code, signum; } rows[] = {
        {"exit 0", 0, 0}, {"exit 7", 7, 0}, {"exit 255", 255, 0}, {"kill -TERM $$", 143, SIGTERM},
        {"kill -KILL $$", 137, SIGKILL}, {"kill -SEGV $$", 139, SIGSEGV},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)sh(w, rows[i].script, (struct child_spec){0});
        WAIT(w->loop, w->exits == (int)i + 1);
        if (w->exit.code != rows[i].code || w->exit.signum != rows[i].signum)
            fail_msg("%s: code %d, signal %d", rows[i].script, w->exit.code, w->exit.signum);
    }
}

static void output(void **state)
{
    struct world *w = *state;
    (void)sh(w, "echo out; echo err >&2; exit 3", (struct child_spec){0});
    WAIT(w->loop, w->exits == 1);
    assert_string_equal(w->out.p, "out\n");
    assert_string_equal(w->errs.p, "err\n");
    assert_int_equal(w->exit.code, 3);
    strbuf_reset(&w->out);
    (void)sh(w, "head -c 3000000 /dev/zero", (struct child_spec){0}); /* more than a pipe holds */
    WAIT(w->loop, w->exits == 2);
    assert_int_equal(w->out.n, 3000000);
}

static void stdin_is_empty_or_given(void **state)
{
    struct world *w = *state;
    (void)sh(w, "cat; echo end", (struct child_spec){0});
    WAIT(w->loop, w->exits == 1);
    assert_string_equal(w->out.p, "end\n");
    size_t n = 500000;
    char *p = mem_array(n, 1);
    memset(p, 'i', n);
    strbuf_reset(&w->out);
    (void)sh(w, "cat", (struct child_spec){.input = {p, n}});
    mem_free(p);
    WAIT(w->loop, w->exits == 2);
    assert_int_equal(w->out.n, n);
}

/* Exactly the named descriptors, at the named numbers, however they cross. */
static void descriptors(void **state)
{
    struct world *w = *state;
    int a = open("/dev/null", O_RDONLY), b = open("/dev/zero", O_RDONLY);
    int leak = open("/dev/null", O_RDONLY); /* not CLOEXEC: must not leak all the same */
    int high = fcntl(leak, F_DUPFD, 50);
    struct child_spec spec = {.n_fds = 3};
    spec.fds[0] = (struct child_fd){a, b}; /* crossed */
    spec.fds[1] = (struct child_fd){b, a};
    spec.fds[2] = (struct child_fd){b, 29};
    char script[200];
    text_fmt(script, sizeof(script),
             "readlink /proc/self/fd/%d /proc/self/fd/%d /proc/self/fd/29; ls /proc/$$/fd", a, b);
    (void)sh(w, script, spec);
    WAIT(w->loop, w->exits == 1);
    assert_true(str_starts(strbuf_str(&w->out), STR("/dev/zero\n/dev/null\n/dev/zero\n")));
    const int want[] = {0, 1, 2, 29, a, b};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        char line[16];
        text_fmt(line, sizeof(line), "\n%d\n", want[i]);
        if (!has(&w->out, line)) fail_msg("no %d in: %s", want[i], w->out.p);
    }
    assert_int_equal(text_count(&w->out, "\n"), 9);
    close(a);
    close(b);
    close(leak);
    close(high);
}

static void environment(void **state)
{
    struct world *w = *state;
    const char *const envp[] = {"A=b", "PATH=/usr/bin:/bin", NULL};
    (void)sh(w, "echo $A $HOME; pwd; ps -o sid= -p $$ | tr -d ' '; echo $$",
             (struct child_spec){.envp = envp, .cwd = "/usr", .new_session = true});
    WAIT(w->loop, w->exits == 1);
    assert_true(str_starts(strbuf_str(&w->out), STR("b\n/usr\n")));
    char *sid = strchr(w->out.p + 2, '\n') + 1, *pid = strchr(sid, '\n') + 1;
    assert_int_equal(strtol(sid, NULL, 10), strtol(pid, NULL, 10));
}

static void signals_are_reset(void **state)
{
    struct world *w = *state;
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    (void)sh(w, "sed -n 's/Sig\\(Blk\\|Ign\\):\\t/0x/p' /proc/self/status",
             (struct child_spec){0});
    WAIT(w->loop, w->exits == 1);
    sigprocmask(SIG_SETMASK, &old, NULL);
    /* 32 and 33 are the C library's own: nobody may set them, and some inherit them ignored. */
    unsigned long long blocked = 1, ignored = 1, library = 3ull << 31;
    assert_int_equal(sscanf(w->out.p, "%llx %llx", &blocked, &ignored), 2);
    assert_true(blocked == 0);
    assert_true((ignored & ~library) == 0);
}

/* A child tied to us ends when we do. */
static void dies_with_parent(void **state)
{
    (void)state;
    int p[2];
    char byte;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* starts a child that holds the pipe, and is gone */
        const char *const argv[] = {"sleep", "1000", NULL};
        struct child_spec spec = {.argv = argv, .parent_death_signal = SIGKILL, .n_fds = 1,
                                  .fds = {{p[1], 3}}, .inherit_stdio = true};
        static const struct child_ops quiet = {NULL, NULL};
        struct net_loop *l = net_loop_new();
        _exit(child_spawn(l, &spec, &quiet, NULL, NULL) != NULL ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(p[1]);
    assert_int_equal(read(p[0], &byte, 1), 0); /* until the grandchild is dead */
    close(p[0]);
}

static void failures(void **state)
{
    struct world *w = *state;
    static const char *const none[] = {"/nonexistent/program", NULL};
    static const char *const missing[] = {"no-such-program-here", NULL};
    static const char *const directory[] = {"/tmp", NULL};
    static const char *const fine[] = {"true", NULL};
    const struct { struct child_spec spec; int code; const char *step; } rows[] = {
        {{.path = none[0], .argv = none}, ERR_NOT_FOUND, "exec"},
        {{.argv = missing}, ERR_NOT_FOUND, "exec"},
        {{.path = directory[0], .argv = directory}, ERR_DENIED, "exec"},
        {{.argv = fine, .cwd = "/nonexistent"}, ERR_NOT_FOUND, "chdir"},
        {{.argv = fine, .n_fds = 1, .fds = {{9999, 5}}}, ERR_IO, "descriptors"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        assert_null(child_spawn(w->loop, &rows[i].spec, &ops, w, &err));
        if (err.code != rows[i].code || strstr(err.text, rows[i].step) == NULL)
            fail_msg("%zu: %d %s", i, err.code, err.text);
    }
    test_turns(w->loop, 5);
    assert_int_equal(w->exits, 0);
}

static int refuse(void *arg)
{
    return *(const int *)arg;
}

static void prepares(void **state)
{
    struct world *w = *state;
    static const char *const fine[] = {"true", NULL};
    int rc = EXDEV;
    struct err err = {0};
    struct child_spec spec = {.argv = fine, .before_exec = refuse, .before_exec_arg = &rc};
    assert_null(child_spawn(w->loop, &spec, &ops, w, &err));
    assert_true(strstr(err.text, "prepare") != NULL);
    rc = 0;
    assert_non_null(child_spawn(w->loop, &spec, &ops, w, &err));
    WAIT(w->loop, w->exits == 1);
}

static void signalled(void **state)
{
    struct world *w = *state;
    static const char script[] = "trap 'echo got; exit 5' TERM; echo ready;"
                                 "while :; do sleep 0.01; done";
    struct child *c = sh(w, script, (struct child_spec){0});
    WAIT(w->loop, has(&w->out, "ready"));
    assert_true(child_signal(c, SIGTERM));
    WAIT(w->loop, w->exits == 1);
    assert_int_equal(w->exit.code, 5);
    assert_true(has(&w->out, "got"));
}

static void given_up(void **state)
{
    struct world *w = *state;
    struct child *c = sh(w, "exec sleep 1000", (struct child_spec){0});
    pid_t pid = child_pid(c);
    child_free(c, true);
    WAIT(w->loop, kill(pid, 0) != 0 && errno == ESRCH); /* killed and reaped */
    assert_int_equal(w->exits, 0);
    child_free(NULL, true);
}

/* A loop that ends first keeps no memory of the child; we still reap it. */
static void outlives_the_loop(void **state)
{
    struct world *w = *state;
    struct child *c = sh(w, "exec sleep 1000", (struct child_spec){0});
    pid_t pid = child_pid(c);
    child_free(c, false);
    net_loop_free(w->loop);
    w->loop = net_loop_new();
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A grandchild that keeps stdout open delays the end a little, not for ever. */
static void grandchild(void **state)
{
    struct world *w = *state;
    int64_t begin = net_now_ms();
    (void)sh(w, "sleep 1000 & echo $!; exit 4", (struct child_spec){0});
    WAIT(w->loop, w->exits == 1);
    assert_int_equal(w->exit.code, 4);
    assert_true(net_now_ms() < begin + 5000);
    assert_int_equal(kill((pid_t)strtol(w->out.p, NULL, 10), SIGKILL), 0);
}

static void waited_for(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "echo hello; echo err >&2; exit 6", NULL};
    struct child_spec spec = {.argv = argv};
    struct child_exit e = {0};
    struct strbuf out;
    struct err err = {0};
    strbuf_init(&out, 8);
    assert_int_equal(child_run(&spec, 5000, &out, &e, &err), 0);
    assert_int_equal(e.code, 6);
    assert_int_equal(out.n, 8); /* clipped */
    strbuf_done(&out);
    assert_int_equal(child_run(&spec, 5000, NULL, &e, &err), 0);
    const char *const slow[] = {"sleep", "1000", NULL};
    spec.argv = slow;
    assert_int_equal(child_run(&spec, 20, NULL, &e, &err), ERR_TIMEOUT);
    const char *const none[] = {"no-such-program-here", NULL};
    spec.argv = none;
    assert_int_equal(child_run(&spec, 20, NULL, &e, &err), ERR_NOT_FOUND);
}

static void many(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 50; i++) (void)sh(w, "echo x", (struct child_spec){0});
    WAIT(w->loop, w->exits == 50);
    assert_int_equal(w->out.n, 100);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(codes), CASE(output), CASE(stdin_is_empty_or_given), CASE(descriptors),
        CASE(environment), CASE(signals_are_reset), CASE(dies_with_parent), CASE(failures),
        CASE(prepares),
        CASE(signalled), CASE(given_up), CASE(outlives_the_loop), CASE(grandchild),
        CASE(waited_for), CASE(many),
    };
    return RUN(tests);
}
