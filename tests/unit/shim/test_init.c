/* tests/unit/shim/test_init.c - process 1, here as any process: the exact status,
 * signals passed on, the moment from which they are. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"
#include "host/memo.h"

static char root[64];
static int dir;

static int open_dir(void **state)
{
    (void)state;
    text_fmt(root, sizeof(root), "/tmp/test-shim-XXXXXX");
    assert_non_null(mkdtemp(root));
    dir = file_open_dir(AT_FDCWD, root, NULL);
    return dir < 0;
}

static int close_dir(void **state)
{
    (void)state;
    file_close(&dir);
    return file_remove_tree(AT_FDCWD, root, NULL);
}

struct init { pid_t pid; int ready, err; };

/* deaf: nobody will ever hear that it is ready. */
static struct init start(const char *const *argv, bool deaf)
{
    const char *args[16] = {"rota-shim", "init", "--"};
    int ready[2], err[2];
    for (size_t i = 0; argv[i]; i++) args[3 + i] = argv[i];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    int status = openat(dir, "status", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (deaf) close(ready[0]);
    struct init i = {.pid = fork(), .ready = ready[0], .err = err[0]};
    if (i.pid == 0) {
        int s = fcntl(status, F_DUPFD, 50), r = fcntl(ready[1], F_DUPFD, 50);
        dup2(err[1], 2);
        dup2(s, 3);
        dup2(r, 4);
        signal(SIGPIPE, SIG_DFL);
        for (int fd = 5; fd < 100; fd++) close(fd);
        execv(getenv("ROTA_SHIM"), (char *const *)args);
        _exit(99);
    }
    close(status);
    close(ready[1]);
    close(err[1]);
    return i;
}

/* init's own status; the job's from the file. */
static int finish(struct init *i, int *ret_job, char *said, size_t cap)
{
    int own = 0;
    bool fenced = true;
    size_t n = 0;
    ssize_t r;
    while (n + 1 < cap && (r = read(i->err, said + n, cap - 1 - n)) > 0) n += (size_t)r;
    said[n] = 0;
    assert_int_equal(waitpid(i->pid, &own, 0), i->pid);
    assert_int_equal(memo_read_status(dir, ret_job, &fenced, NULL), 0);
    assert_false(fenced);
    close(i->ready);
    close(i->err);
    return own;
}

static void statuses_are_exact(void **state)
{
    static const struct {
        const char *argv[4];
        int own, code, signal;
        const char *says;
    } cases[] = {
        {{"/bin/true"}, 0, 0, 0, ""},
        {{"true"}, 0, 0, 0, ""},
        {{"/bin/sh", "-c", "exit 137"}, 137, 137, 0, ""},
        {{"/bin/sh", "-c", "kill -9 $$"}, 137, 0, 9, ""},
        {{"/bin/sh", "-c", "kill -TERM $$"}, 143, 0, 15, ""},
        {{"/bin/sh", "-c", "kill -PIPE $$"}, 141, 0, 13, ""},
        {{"no-such-command"},
         127,
         127,
         0,
         "rota: cannot run no-such-command: there is no such command\n"},
        {{"/tmp"}, 126, 126, 0, "rota: cannot run /tmp: Permission denied\n"},
        {{"/etc/hosts/x"},
         127,
         127,
         0,
         "rota: cannot run /etc/hosts/x: there is no such command\n"},
        {{"/bin/sh", "-c", "sleep 0.01 & exit 4"}, 4, 4, 0, ""},
        {{"/bin/sh", "-c", "ls /proc/self/fd/3 /proc/self/fd/4 2>/dev/null && exit 1; exit 0"},
         0,
         0,
         0,
         ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char said[256];
        int job = 0;
        struct init in = start((const char *const *)cases[i].argv, false);
        int own = finish(&in, &job, said, sizeof(said));
        assert_true(WIFEXITED(own));
        assert_int_equal(WEXITSTATUS(own), cases[i].own);
        if (cases[i].signal) {
            assert_true(WIFSIGNALED(job));
            assert_int_equal(WTERMSIG(job), cases[i].signal);
        } else {
            assert_true(WIFEXITED(job));
            assert_int_equal(WEXITSTATUS(job), cases[i].code);
        }
        assert_string_equal(said, cases[i].says);
    }
}

static void signals_reach_the_whole_group_once_it_is_ready(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "(echo on >&2; exec sleep 60); :", NULL};
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        char said[64], byte = 0;
        int job = 0;
        struct init in = start(argv, false);
        assert_int_equal(read(in.ready, &byte, 1), 1);
        assert_int_equal(byte, 'r');
        assert_int_equal(read(in.err, said, 3), 3); /* both are there */
        assert_int_equal(kill(in.pid, signals[i]), 0);
        finish(&in, &job, said, sizeof(said)); /* stderr ends only when sleep has died too */
        assert_true(WIFSIGNALED(job));
        assert_int_equal(WTERMSIG(job), signals[i]);
    }
}

/* An agent that was started by nohup must not make jobs deaf. */
static void nothing_stays_ignored(void **state)
{
    static const char *const argv[] = {
        "/bin/sh", "-c", "sed -n 's/Sig\\(Blk\\|Ign\\):\\t/0x/p' /proc/self/status >&2", NULL};
    char said[256];
    int job = 0;
    unsigned long long blocked = 1, ignored = 1, library = 3ull << 31;
    (void)state;
    void (*before)(int) = signal(SIGHUP, SIG_IGN);
    struct init in = start(argv, false);
    finish(&in, &job, said, sizeof(said));
    signal(SIGHUP, before);
    assert_int_equal(sscanf(said, "%llx %llx", &blocked, &ignored), 2);
    assert_true(blocked == 0);
    assert_true((ignored & ~library) == 0); /* 32 and 33: nobody may set them */
}

static void a_supervisor_that_is_gone_harms_nobody(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "sleep 0.02; exit 8", NULL};
    char said[64];
    int job = 0;
    (void)state;
    struct init in = start(argv, true); /* saying "ready" raises SIGPIPE */
    in.ready = -1;
    finish(&in, &job, said, sizeof(said));
    assert_true(WIFEXITED(job));
    assert_int_equal(WEXITSTATUS(job), 8);
}

int main(void)
{
    if (!getenv("ROTA_SHIM")) {
        printf("skipped: needs ROTA_SHIM, the path of rota-shim\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_are_exact),
        cmocka_unit_test(signals_reach_the_whole_group_once_it_is_ready),
        cmocka_unit_test(nothing_stays_ignored),
        cmocka_unit_test(a_supervisor_that_is_gone_harms_nobody),
    };
    return cmocka_run_group_tests(tests, open_dir, close_dir);
}
