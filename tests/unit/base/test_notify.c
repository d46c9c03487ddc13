/* tests/unit/base/test_notify.c - what a service manager hears, at a path or an abstract name. */
#include "test.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/notify.h"

static int hear(const char *name, size_t n)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    assert_true(n <= sizeof(a.sun_path));
    memcpy(a.sun_path, name, n);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)), 0);
    return fd;
}

static void check_heard(int fd, const char *text)
{
    char buf[64];
    ssize_t n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);
    assert_true(n >= 0);
    buf[n] = 0;
    assert_string_equal(buf, text);
    close(fd);
}

static void a_path_hears(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof(path), "/tmp/rota-notify.%d", getpid());
    int fd = hear(path, strlen(path));
    setenv("NOTIFY_SOCKET", path, 1);
    assert_int_equal(notify_say("READY=1", NULL), 0);
    check_heard(fd, "READY=1");
    unlink(path);
}

static void an_abstract_name_hears(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof(name), "@rota-notify.%d", getpid());
    setenv("NOTIFY_SOCKET", name, 1);
    name[0] = 0;
    int fd = hear(name, 1 + strlen(name + 1));
    assert_int_equal(notify_say("STOPPING=1\nSTATUS=x", NULL), 0);
    check_heard(fd, "STOPPING=1\nSTATUS=x");
}

static void nobody_asked_is_no_error(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(notify_say("READY=1", NULL), 0);
    setenv("NOTIFY_SOCKET", "", 1);
    assert_int_equal(notify_say("READY=1", NULL), 0);
}

static void what_cannot_be_said_is_an_error(void **state)
{
    (void)state;
    char longer[256];
    struct err err = {0};
    memset(longer, 'x', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = 0;
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    assert_int_equal(notify_say("READY=1", &err), ERR_IO);
    const char *bad[] = {"relative", longer};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        setenv("NOTIFY_SOCKET", bad[i], 1);
        assert_int_equal(notify_say("READY=1", &err), ERR_INVALID);
    }
    unsetenv("NOTIFY_SOCKET");
}

static void watchdog(const char *usec, const char *pid, int64_t ms)
{
    if (usec) setenv("WATCHDOG_USEC", usec, 1);
    else unsetenv("WATCHDOG_USEC");
    if (pid) setenv("WATCHDOG_PID", pid, 1);
    else unsetenv("WATCHDOG_PID");
    assert_int_equal(notify_watchdog_ms(), ms);
}

static void the_watchdog_is_asked_for_us(void **state)
{
    (void)state;
    char own[16];
    snprintf(own, sizeof(own), "%d", getpid());
    watchdog(NULL, NULL, 0);
    watchdog("30000000", NULL, 15000);
    watchdog("30000000", own, 15000);
    watchdog("30000000", "1", 0); /* our parent's, inherited */
    watchdog("30000000", "x", 0);
    watchdog("soon", NULL, 0);
    watchdog("1", NULL, 1);
    watchdog("0", NULL, 0);
    watchdog("18446744073709551615", NULL, 0);
    watchdog(NULL, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_hears),
        cmocka_unit_test(an_abstract_name_hears),
        cmocka_unit_test(nobody_asked_is_no_error),
        cmocka_unit_test(what_cannot_be_said_is_an_error),
        cmocka_unit_test(the_watchdog_is_asked_for_us),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
