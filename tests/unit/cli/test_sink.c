/* Sinks: every byte once and in order, never blocking, and the shared descriptor left alone. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/sink.h"

struct seen { int drains, broken; };

static void on_drain(void *arg) { ((struct seen *)arg)->drains++; }

static void on_broken(void *arg, int problem) { ((struct seen *)arg)->broken = problem; }

static const struct sink_ops ops = {on_drain, on_broken};

static void turn(struct net_loop *l)
{
    bool never = false;
    (void)net_loop_run_until(l, &never, 5);
}

static void slow_reader_gets_all(void **state)
{
    (void)state;
    enum { TOTAL = 1000 * 1000 };
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    struct seen seen = {0};
    struct net_loop *l = net_loop_new();
    struct sink *s = sink_new(l, fds[1], &ops, &seen);
    char *data = mem_alloc(TOTAL), *got = mem_alloc(TOTAL);
    for (size_t i = 0; i < TOTAL; i++) data[i] = (char)(i * 7 + i / 251);
    bool stopped = false;
    for (size_t at = 0; at < TOTAL; at += 1000) stopped |= !sink_put(s, str_n(data + at, 1000));
    assert_true(stopped);
    assert_false(sink_empty(s));
    size_t n = 0;
    while (n < TOTAL) {
        turn(l);
        ssize_t more = read(fds[0], got + n, 30000);
        assert_true(more > 0);
        n += (size_t)more;
    }
    assert_memory_equal(data, got, TOTAL);
    turn(l);
    assert_true(sink_empty(s));
    assert_true(seen.drains > 0);
    assert_int_equal(seen.broken, 0);
    assert_int_equal(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
    sink_free(s);
    net_loop_free(l);
    mem_free(data);
    mem_free(got);
    close(fds[0]);
    close(fds[1]);
}

static void gone_reader_is_told_once(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    struct seen seen = {0};
    struct net_loop *l = net_loop_new();
    struct sink *s = sink_new(l, fds[1], &ops, &seen);
    close(fds[0]);
    assert_true(sink_put(s, STR("x")));
    assert_int_equal(seen.broken, EPIPE);
    seen.broken = 0;
    assert_true(sink_put(s, STR("x")));
    assert_int_equal(seen.broken, 0);
    assert_true(sink_empty(s));
    sink_free(s);
    net_loop_free(l);
    close(fds[1]);
}

static void files_take_everything(void **state)
{
    (void)state;
    char path[] = "/tmp/rota-sink-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    struct seen seen = {0};
    struct net_loop *l = net_loop_new();
    struct sink *s = sink_new(l, fd, &ops, &seen);
    char *data = mem_alloc(3 * 1000 * 1000);
    assert_true(sink_put(s, str_n(data, 3 * 1000 * 1000)));
    assert_true(sink_empty(s));
    assert_int_equal(lseek(fd, 0, SEEK_END), 3 * 1000 * 1000);
    mem_free(data);
    sink_free(s);
    net_loop_free(l);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_reader_gets_all),
        cmocka_unit_test(gone_reader_is_told_once),
        cmocka_unit_test(files_take_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
