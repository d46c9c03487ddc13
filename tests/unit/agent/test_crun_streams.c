/* tests/unit/agent/test_crun_streams.c - commands run inside a container, input of
 * a running one, terminals. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "crun_rig.h"
#include "net/conn.h"
#include "net/loop.h"
#include "wire/carry.h"
#include "wire/objects.h"
#include "wire/table.h"

/* ---- a client of exec ---- */

struct client {
    int fd;
    struct strbuf out, err, in; /* in: not yet whole frames */
    bool ended, closed;
    struct carry_end end;
};

static void client_start(struct client *c, struct member_ref ref, const char *const *argv, bool tty)
{
    static const struct net_conn_ops none = {0};
    struct err err = {0};
    int pair[2];
    *c = (struct client){0};
    strbuf_init(&c->out, 16 << 20);
    strbuf_init(&c->err, 1 << 20);
    strbuf_init(&c->in, 1 << 20);
    strbuf_puts(&c->out, "");
    strbuf_puts(&c->err, "");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    c->fd = pair[0];
    struct net_conn *conn =
        net_conn_adopt_fd(rig.loop, pair[1], true, &(struct net_conn_opts){0}, &none, NULL);
    if (rig.driver.ops->exec(rig.driver.self, ref, argv, tty, conn, &err) < 0)
        fail_msg("%s", err.text);
}

static void client_take(struct client *c)
{
    enum carry_type type;
    uint32_t n;
    while (c->in.n >= CARRY_HEAD) {
        struct err err = {0};
        if (carry_head_get((const uint8_t *)c->in.p, CARRY_FROM_AGENT, &type, &n, &err) < 0)
            fail_msg("%s", err.text);
        if (c->in.n < CARRY_HEAD + n) return;
        struct str payload = str_n(c->in.p + CARRY_HEAD, n);
        if (type == CARRY_STDOUT) strbuf_put(&c->out, payload);
        if (type == CARRY_STDERR) strbuf_put(&c->err, payload);
        if (type == CARRY_END) {
            assert_int_equal(wire_parse(&wire_carry_end, payload, &c->end, &err), 0);
            c->ended = true;
        }
        strbuf_drop(&c->in, CARRY_HEAD + n);
    }
}

static void client_read(struct client *c)
{
    char buf[65536];
    ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
    if (n > 0) strbuf_put(&c->in, str_n(buf, (size_t)n));
    if (n == 0) c->closed = true;
    client_take(c);
}

static void client_send(struct client *c, enum carry_type type, const void *data, size_t n)
{
    uint8_t head[CARRY_HEAD];
    carry_head_put(head, type, (uint32_t)n);
    struct { const void *p; size_t n; } part[] = {{head, sizeof(head)}, {data, n}};
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < part[i].n;) {
            ssize_t w = send(c->fd, (const char *)part[i].p + at, part[i].n - at, MSG_NOSIGNAL);
            if (w > 0) at += (size_t)w;
            else if (errno != EAGAIN) fail_msg("the client's connection broke");
            /* Who only talks may wait for ever for one who only talks, too. */
            if (w < 0) client_read(c);
            if (w < 0) rig_turn(&rig, 1);
        }
}

static void client_until_said(struct client *c, const char *text)
{
    for (int64_t until = net_now_ms() + rig_ms(10000); !strstr(c->out.p, text); rig_turn(&rig, 1)) {
        if (net_now_ms() > until) fail_msg("the command never said '%s' but '%s'", text, c->out.p);
        client_read(c);
    }
}

static void client_until_end(struct client *c)
{
    for (int64_t until = net_now_ms() + rig_ms(10000); !c->ended || !c->closed; rig_turn(&rig, 1)) {
        if (net_now_ms() > until) fail_msg("the command does not end; it said '%.200s'", c->out.p);
        client_read(c);
    }
}

static void client_done(struct client *c)
{
    close(c->fd);
    strbuf_done(&c->out);
    strbuf_done(&c->err);
    strbuf_done(&c->in);
}

static struct container_spec start(const char *script, bool stdin_open, bool tty)
{
    struct container_spec s = rig_shell(&rig, script);
    s.stdin_open = stdin_open;
    s.tty = tty;
    s.grace_ms = 0;
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    return s;
}

/* ---- exec ---- */

static void commands_run_inside(void **state)
{
    static const struct {
        const char *argv[4];
        int32_t code, signal;
        const char *out, *err;
    } cases[] = {
        {{"/bin/sh", "-c", "exit 42"}, 42, 0, "", ""},
        {{"true"}, 0, 0, "", ""},
        {{"/bin/sh", "-c", "echo out; echo err >&2"}, 0, 0, "out\n", "err\n"},
        {{"/bin/sh", "-c", "id -u; hostname; pwd; echo $HOME"},
         0,
         0,
         "31337\nbox\n/tmp\n/home/me\n",
         ""},
        {{"/bin/sh", "-c",
          "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'"},
         0,
         0,
         "CapEff:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n",
         ""},
        {{"/bin/sh", "-c", "kill -TERM $$"}, 143, 15, "", ""},
        {{"/no/such"}, 127, 0, "", NULL},
    };
    (void)state;
    struct container_spec s = rig_shell(&rig, "sleep 60");
    s.workdir = "/tmp";
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct client c;
        client_start(&c, s.ref, (const char *const *)cases[i].argv, false);
        client_send(&c, CARRY_STDIN_END, "", 0);
        client_until_end(&c);
        if (c.end.exit_code != cases[i].code || c.end.signal != cases[i].signal)
            fail_msg("%s: code %d, signal %d: %s", cases[i].argv[0], c.end.exit_code, c.end.signal,
                     c.end.detail);
        assert_string_equal(c.out.p, cases[i].out);
        if (cases[i].err) assert_string_equal(c.err.p, cases[i].err);
        client_done(&c);
    }
    rig_clean(&rig, s.ref);
}

static void a_command_counts_in_the_containers_limits(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "head -c 300m /dev/zero | tail; exit $?",
                                       NULL};
    (void)state;
    struct container_spec s = start("sleep 60", false, false);
    struct client c;
    client_start(&c, s.ref, argv, false);
    client_until_end(&c);
    assert_int_equal(c.end.exit_code, 137);
    client_done(&c);
    rig_clean(&rig, s.ref);
}

static void input_and_output_pass_whole_both_ways(void **state)
{
    enum { N = 3000000 };
    static const char *const argv[] = {"cat", NULL};
    (void)state;
    struct container_spec s = start("sleep 60", false, false);
    struct client c;
    char *data = mem_alloc(N);
    for (size_t i = 0; i < N; i++) data[i] = (char)(i * 7 % 251);
    client_start(&c, s.ref, argv, false);
    for (size_t at = 0; at < N; at += 60000) {
        client_send(&c, CARRY_STDIN, data + at, N - at < 60000 ? N - at : 60000);
        client_read(&c);
    }
    client_send(&c, CARRY_STDIN_END, "", 0);
    client_until_end(&c);
    assert_int_equal(c.out.n, N);
    assert_memory_equal(c.out.p, data, N);
    assert_int_equal(c.end.exit_code, 0);
    mem_free(data);
    client_done(&c);
    rig_clean(&rig, s.ref);
}

static void until_taken(struct client *c)
{
    int left = 1;
    for (int64_t until = net_now_ms() + rig_ms(10000); left > 0; rig_turn(&rig, 1)) {
        assert_int_equal(ioctl(c->fd, SIOCOUTQ, &left), 0);
        if (net_now_ms() > until) fail_msg("%d bytes of input are not taken", left);
    }
}

/* Wherever the largest frame is torn on its way, its rest is waited for. */
static void a_frame_may_come_in_pieces(void **state)
{
    static const size_t cuts[] = {1, 7, 8, CARRY_PAYLOAD_MAX, CARRY_PAYLOAD_MAX + 1,
                                  CARRY_PAYLOAD_MAX + 7};
    static const char *const argv[] = {"cat", NULL};
    static uint8_t frame[CARRY_HEAD + CARRY_PAYLOAD_MAX];
    (void)state;
    struct container_spec s = start("sleep 60", false, false);
    carry_head_put(frame, CARRY_STDIN, CARRY_PAYLOAD_MAX);
    for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
        struct client c;
        client_start(&c, s.ref, argv, false);
        assert_int_equal(send(c.fd, frame, cuts[i], MSG_NOSIGNAL), cuts[i]);
        until_taken(&c);
        size_t rest = sizeof(frame) - cuts[i];
        assert_int_equal(send(c.fd, frame + cuts[i], rest, MSG_NOSIGNAL), rest);
        client_send(&c, CARRY_STDIN_END, "", 0);
        client_until_end(&c);
        assert_int_equal(c.out.n, CARRY_PAYLOAD_MAX);
        client_done(&c);
    }
    rig_clean(&rig, s.ref);
}

/* Of one of these sizes the command can write the last into its pipe and end while
 * everything between it and a client that rests is full. */
static void what_a_command_said_last_waits_for_a_slow_client(void **state)
{
    (void)state;
    struct container_spec s = start("sleep 60", false, false);
    for (int kib = 416; kib <= 640; kib += 32) {
        char size[16];
        struct client c;
        const char *const argv[] = {"head", "-c", size, "/dev/zero", NULL};
        text_fmt(size, sizeof(size), "%d", kib * 1024);
        client_start(&c, s.ref, argv, false);
        for (int64_t until = net_now_ms() + 300; net_now_ms() < until;) rig_turn(&rig, 10);
        client_until_end(&c);
        assert_int_equal(c.out.n, kib * 1024);
        client_done(&c);
    }
    rig_clean(&rig, s.ref);
}

static void a_terminal_has_size_and_keys(void **state)
{
    static const char *const argv[] = {"/bin/sh", NULL};
    uint8_t size[4];
    (void)state;
    struct container_spec s = start("sleep 60", false, false);
    struct client c;
    client_start(&c, s.ref, argv, true);
    carry_resize_put(size, 33, 101);
    client_send(&c, CARRY_RESIZE, size, sizeof(size));
    client_send(&c, CARRY_STDIN, "stty size; tty\n", 15);
    client_until_said(&c, "33 101");
    client_until_said(&c, "/dev/pts/");
    /* Who says it is in the foreground by then. */
    static const char command[] = "sh -c 'echo run\"\"ning; exec sleep 60'\n";
    client_send(&c, CARRY_STDIN, command, sizeof(command) - 1);
    client_until_said(&c, "running");
    client_send(&c, CARRY_STDIN, "\003", 1); /* ^C reaches what runs, not the shell */
    client_until_said(&c, "^C");
    client_send(&c, CARRY_STDIN, "exit 3\n", 7);
    client_until_end(&c);
    assert_int_equal(c.end.exit_code, 3);
    client_done(&c);
    rig_clean(&rig, s.ref);
}

static void a_client_that_leaves_takes_its_command_along(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c",
                                       "echo $$ > /tmp/pid; echo on; exec sleep 60", NULL};
    (void)state;
    struct container_spec s = start(
        "while ! [ -s /tmp/pid ]; do sleep 0.01; done; p=$(cat /tmp/pid); "
        "while kill -0 $p 2>/dev/null; do sleep 0.01; done; echo gone",
        false, false);
    struct client c;
    client_start(&c, s.ref, argv, false);
    client_until_said(&c, "on");
    client_done(&c);
    rig_until(&rig, s.ref, MEMBER_EXITED);
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n);
    assert_string_equal(out, "gone\n");
    mem_free(out);
    rig_clean(&rig, s.ref);
}

static void the_end_of_the_container_ends_its_commands(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "echo on; sleep 60", NULL};
    (void)state;
    struct container_spec s = start("sleep 60", false, false);
    struct client c;
    client_start(&c, s.ref, argv, false);
    client_until_said(&c, "on");
    rig.driver.ops->stop(rig.driver.self, s.ref, 1000, false);
    client_until_end(&c);
    assert_int_equal(c.end.exit_code, 137);
    client_done(&c);
    rig_until(&rig, s.ref, MEMBER_EXITED);
    rig_clean(&rig, s.ref);
}

static void what_does_not_run_takes_no_command(void **state)
{
    static const char *const argv[] = {"true", NULL};
    struct err err = {0};
    (void)state;
    struct member_ref nobody = {4711, 1, 0};
    assert_int_equal(rig.driver.ops->exec(rig.driver.self, nobody, argv, false, NULL, &err),
                     ERR_NOT_FOUND);
    struct container_spec s = rig_shell(&rig, "true");
    rig_create(&rig, &s);
    rig_until(&rig, s.ref, MEMBER_READY);
    assert_int_equal(rig.driver.ops->exec(rig.driver.self, s.ref, argv, false, NULL, &err),
                     ERR_CONFLICT);
    rig_clean(&rig, s.ref);
}

/* ---- input of the container itself ---- */

static void put_input(struct member_ref ref, enum carry_type type, const void *data, uint32_t n)
{
    struct err err = {0};
    int rc;
    for (int64_t until = net_now_ms() + rig_ms(10000);; rig_turn(&rig, 1)) {
        rc = rig.driver.ops->attach_input(rig.driver.self, ref, (uint8_t)type, data, n, &err);
        if (rc != ERR_UNAVAILABLE) break;
        assert_true(net_now_ms() < until);
    }
    if (rc < 0) fail_msg("%s", err.text);
}

static void an_open_input_reaches_the_job(void **state)
{
    (void)state;
    struct container_spec s = start("cat; echo end", true, false);
    put_input(s.ref, CARRY_STDIN, "hello\nworld\n", 12);
    rig_until_said(&rig, s.ref, "world");
    put_input(s.ref, CARRY_STDIN_END, "", 0);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.exit_code, 0);
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n);
    assert_string_equal(out, "hello\nworld\nend\n");
    mem_free(out);
    rig_clean(&rig, s.ref);
}

static void much_input_waits_for_a_slow_job_and_a_stop_does_not(void **state)
{
    static char block[16384];
    struct err err = {0};
    int sent = 0, rc = 0;
    (void)state;
    struct container_spec s = start("sleep 60", true, false);
    memset(block, 'x', sizeof(block));
    while (rc == 0 && sent++ < 10000)
        rc = rig.driver.ops->attach_input(rig.driver.self, s.ref, CARRY_STDIN, block, sizeof(block),
                                          &err);
    assert_int_equal(rc, ERR_UNAVAILABLE); /* bounded, not swallowed */
    rig.driver.ops->stop(rig.driver.self, s.ref, 10000, false);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.signal, SIGTERM);
    rig_clean(&rig, s.ref);
}

static void a_job_on_a_terminal(void **state)
{
    uint8_t size[4];
    (void)state;
    struct container_spec s = start(
        "stty -echo; echo go; read x; stty size; tty; echo \"$x\"; exit 4", false, true);
    rig_until_said(&rig, s.ref, "go");
    carry_resize_put(size, 44, 99);
    put_input(s.ref, CARRY_RESIZE, size, sizeof(size));
    put_input(s.ref, CARRY_STDIN, "typed\n", 6);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.exit_code, 4);
    size_t n;
    char *out = rig_output(&rig, s.ref, 'o', &n);
    assert_string_equal(out, "go\r\n44 99\r\n/dev/pts/0\r\ntyped\r\n");
    mem_free(out);
    rig_clean(&rig, s.ref);
}

static void a_closed_input_says_so(void **state)
{
    struct err err = {0};
    (void)state;
    struct container_spec s = start("sleep 60", false, false);
    assert_int_equal(
        rig.driver.ops->attach_input(rig.driver.self, s.ref, CARRY_STDIN, "x", 1, &err),
        ERR_CONFLICT);
    uint8_t term = SIGTERM; /* a person's signal needs no input */
    put_input(s.ref, CARRY_SIGNAL, &term, 1);
    assert_int_equal(rig_until(&rig, s.ref, MEMBER_EXITED).end.signal, SIGTERM);
    rig_clean(&rig, s.ref);
}

int main(void)
{
    if (!rig_possible()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_run_inside),
        cmocka_unit_test(a_command_counts_in_the_containers_limits),
        cmocka_unit_test(input_and_output_pass_whole_both_ways),
        cmocka_unit_test(a_frame_may_come_in_pieces),
        cmocka_unit_test(what_a_command_said_last_waits_for_a_slow_client),
        cmocka_unit_test(a_terminal_has_size_and_keys),
        cmocka_unit_test(a_client_that_leaves_takes_its_command_along),
        cmocka_unit_test(the_end_of_the_container_ends_its_commands),
        cmocka_unit_test(what_does_not_run_takes_no_command),
        cmocka_unit_test(an_open_input_reaches_the_job),
        cmocka_unit_test(much_input_waits_for_a_slow_job_and_a_stop_does_not),
        cmocka_unit_test(a_job_on_a_terminal),
        cmocka_unit_test(a_closed_input_says_so),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
