/* tests/unit/agent/test_gauge.c - the kernel's texts, and files that are there or not. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include "agent/gauge.h"
#include "host/proc.h"

static void keys(void **state)
{
    (void)state;
    struct str text = STR("usage_usec 1234\nuser_usec 1000\nsystem_usec 234\n");
    assert_int_equal(gauge_key(text, STR("usage_usec")), 1234);
    assert_int_equal(gauge_key(text, STR("system_usec")), 234);
    assert_int_equal(gauge_key(text, STR("usec")), METER_UNKNOWN);
    assert_int_equal(gauge_key(STR(""), STR("usage_usec")), METER_UNKNOWN);
    assert_int_equal(gauge_key(STR("usage_usec -5\n"), STR("usage_usec")), METER_UNKNOWN);
    assert_int_equal(gauge_key(STR("usage_usec 99999999999999999999\n"), STR("usage_usec")),
                     METER_UNKNOWN);
}

static void disks(void **state)
{
    (void)state;
    struct meter m = METER_NONE;
    gauge_io_v1(STR("8:0 Read 4096\n8:0 Write 1\n8:0 Sync 0\n8:16 Read 4\n8:16 Total 4\nTotal 9\n"),
                &m);
    assert_int_equal(m.io_read_bytes, 4100);
    assert_int_equal(m.io_write_bytes, 1);
    gauge_io_v1(STR("Total 0\n"), &m);
    assert_int_equal(m.io_read_bytes, 0);
    gauge_io_v1(STR("8:0 Read x\n"), &m);
    assert_int_equal(m.io_read_bytes, METER_UNKNOWN);
    gauge_io_v1(STR("8:0 Read 9223372036854775807\n8:1 Read 1\n"), &m);
    assert_int_equal(m.io_read_bytes, METER_UNKNOWN);
    gauge_io_v2(STR("8:0 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1\n"), &m);
    assert_int_equal(m.io_read_bytes, 11);
    assert_int_equal(m.io_write_bytes, 20);
    gauge_io_v2(STR(""), &m);
    assert_int_equal(m.io_read_bytes, 0);
}

static void interfaces(void **state)
{
    (void)state;
    struct meter m = METER_NONE;
    gauge_net(STR("Inter-|   Receive                        |  Transmit\n"
                  " face |bytes    packets errs drop fifo frame compressed multicast|bytes ...\n"
                  "    lo:  500       1    0    0    0     0          0     0  500  1 0 0 0 0 0\n"
                  "  eth0: 1000       2    0    0    0     0          0     0   70  1 0 0 0 0 0\n"
                  "eth1:7 2 0 0 0 0 0 0 3 1 0 0 0 0 0 0\n"), &m);
    assert_int_equal(m.net_rx_bytes, 1007); /* loopback is no network */
    assert_int_equal(m.net_tx_bytes, 73);
    gauge_net(STR("no table\n"), &m);
    assert_int_equal(m.net_rx_bytes, METER_UNKNOWN);
    gauge_net(STR("eth0: 1000\n"), &m); /* cut off */
    assert_int_equal(m.net_rx_bytes, 1000);
    assert_int_equal(m.net_tx_bytes, METER_UNKNOWN);
}

static void put(const char *dir, const char *name, const char *text)
{
    char path[256];
    text_fmt(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void files(void **state)
{
    (void)state;
    char dir[] = "/tmp/gauge.XXXXXX";
    struct gauge g;
    struct meter m = METER_NONE;
    uint64_t start = 0;
    assert_non_null(mkdtemp(dir));
    put(dir, "cpu.stat", "usage_usec 77\n");
    put(dir, "memory.current", "4096\n");
    struct cgroup_set s = {.version = CGROUP_V2, .n = 1};
    TEXT_CLIP(s.at[0].dir, str_of(dir));
    assert_int_equal(proc_start_time(getpid(), &start, NULL), 0);
    gauge_open(&g, &s, getpid(), start);
    gauge_read(&g, &m);
    gauge_read_net(&g, &m);
    assert_int_equal(m.cpu_us, 77);
    assert_int_equal(m.mem_bytes, 4096);
    assert_int_equal(m.mem_peak_bytes, METER_UNKNOWN); /* not there: not zero */
    assert_int_equal(m.io_read_bytes, METER_UNKNOWN);
    assert_true(m.net_rx_bytes >= 0);
    put(dir, "cpu.stat", "usage_usec 78\n"); /* the descriptor is kept, the text is new */
    gauge_read(&g, &m);
    assert_int_equal(m.cpu_us, 78);
    gauge_close(&g);
    gauge_open(&g, &s, getpid(), start + 1); /* another process of that number */
    gauge_read_net(&g, &m);
    assert_int_equal(m.net_rx_bytes, METER_UNKNOWN);
    gauge_close(&g);
    gauge_read(&g, &m);
    assert_int_equal(m.cpu_us, METER_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test(disks),
        cmocka_unit_test(interfaces),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
