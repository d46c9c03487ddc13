/* tests/unit/agent/netns/test_wiring.c - what is kept reads back, and nothing else does. */
#include "../test.h"
#include "agent/netns/netns.h"
#include "agent/netns/wiring.h"
#include "host/file.h"
#include <arpa/inet.h>
#include <sys/socket.h>

static int dir_of(char path[64])
{
    test_dir_new(path);
    int dir = file_open_dir(AT_FDCWD, path, NULL);
    assert_true(dir >= 0);
    return dir;
}

static void a_plan_reads_back(void **state)
{
    (void)state;
    char path[64];
    int dir = dir_of(path);
    struct wiring p = {.mode = NETWORK_HOST, .member = 1, .members = WIRING_MEMBERS_MAX,
                           .vni = 0xFFFFFF, .port = 65535};
    p.addr.s_addr = htonl(0xFFFFFFFF);
    for (uint32_t i = 0; i < WIRING_MEMBERS_MAX; i++) { /* the longest there can be */
        struct wiring_peer e = {i, {htonl(0xFFFFFFFF)}, 0xFFFFFF};
        VEC_PUSH(&p.peers, e);
    }
    assert_int_equal(wiring_write(dir, &p, NULL), 0);
    struct wiring back = {0};
    assert_int_equal(wiring_read(dir, &back, NULL), 0);
    assert_int_equal(back.mode, p.mode);
    assert_int_equal(back.member, p.member);
    assert_int_equal(back.members, p.members);
    assert_int_equal(back.vni, p.vni);
    assert_int_equal(back.port, p.port);
    assert_int_equal(back.addr.s_addr, p.addr.s_addr);
    assert_int_equal(back.peers.n, p.peers.n);
    for (uint32_t i = 0; i < p.peers.n; i++)
        assert_memory_equal(&back.peers.v[i], &p.peers.v[i], sizeof(struct wiring_peer));
    wiring_done(&p);
    wiring_done(&back);
    close(dir);
    test_dir_free(path);
}

static void what_is_not_a_plan_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "\n", "1 0.0.0.0 0 1 0 0", "1 0.0.0.0 0 1 0\n", "1 0.0.0.0 0 1 0 0 0\n",
        "4 0.0.0.0 0 1 0 0\n", "1 0.0.0 0 1 0 0\n", "1 0.0.0.0 512 1 0 0\n",
        "1 0.0.0.0 0 513 0 0\n", "1 0.0.0.0 0 1 16777216 0\n", "1 0.0.0.0 0 1 0 65536\n",
        "1 0.0.0.0 0 2 5 0\n1 10.0.0.1\n", "1 0.0.0.0 0 2 5 0\n512 10.0.0.1 7\n",
        "1 0.0.0.0 0 2 5 0\n1 10.0.0.1 7", "1 0.0.0.0 0 2 5 0\n\n", "-1 0.0.0.0 0 2 5 0\n",
    };
    char path[64];
    int dir = dir_of(path);
    struct wiring p = {.vni = 77};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        test_file(path, "net", bad[i]);
        assert_int_equal(wiring_read(dir, &p, NULL), ERR_CORRUPT);
        assert_int_equal(p.vni, 77);
    }
    unlinkat(dir, "net", 0);
    assert_int_equal(wiring_read(dir, &p, NULL), ERR_NOT_FOUND);
    close(dir);
    test_dir_free(path);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void numbers_of_members_differ(void **state)
{
    (void)state;
    enum { N = 4 * 4 * 64 };
    static uint32_t v[N];
    uint32_t n = 0;
    for (uint64_t session = 1; session <= 4; session++)
        for (uint32_t attempt = 1; attempt <= 4; attempt++)
            for (uint32_t member = 0; member < 64; member++)
                v[n++] = wiring_vni("0123456789abcdef0123456789abcdef", session, attempt, member);
    qsort(v, n, sizeof(v[0]), compare);
    uint32_t same = 0;
    for (uint32_t i = 0; i < n; i++) {
        assert_in_range(v[i], 1, 0xFFFFFE);
        same += i > 0 && v[i] == v[i - 1];
    }
    assert_in_range(same, 0, 1); /* by chance one pair in 32 such sets */
    /* Another cluster on the same machine, another attempt after a collision. */
    assert_int_not_equal(wiring_vni("a", 1, 1, 0), wiring_vni("b", 1, 1, 0));
    assert_int_not_equal(wiring_vni("a", 1, 1, 0), wiring_vni("a", 1, 2, 0));
}

static void addresses_of_members_differ(void **state)
{
    (void)state;
    uint8_t first[6], last[6];
    assert_int_equal(ntohl(wiring_gang_addr(0).s_addr), 0xC6120001);
    assert_int_equal(ntohl(wiring_gang_addr(WIRING_MEMBERS_MAX - 1).s_addr), 0xC6120200);
    wiring_mac(1, wiring_gang_addr(0), first);
    wiring_mac(1, wiring_gang_addr(255), last);
    assert_memory_not_equal(first, last, 6);
    assert_int_equal(first[0] & 3, 2); /* local, of one device */
}

/* A port of this machine that somebody holds by hand; *ret: its number. */
static int hold_port(uint16_t *ret)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *ret = ntohs(a.sin_port);
    return fd;
}

/* SES7: the start says which port it is; the next attempt has another and begins; and
 * once the first is free it is as good as any. */
static void ses7_a_port_that_is_taken(void **state)
{
    (void)state;
    char path[64], told[64];
    int dir = dir_of(path);
    struct netns_node node = {.on = true};
    struct wiring plan = {.mode = NETWORK_HOST, .members = 2};
    struct err err = {0};
    uint16_t port = 0, other = 0;
    int fd = hold_port(&port), other_fd = hold_port(&other);
    plan.port = port;
    assert_int_equal(wiring_write(dir, &plan, NULL), 0);
    assert_int_equal(netns_attach(&node, dir, path, -1, &err), ERR_CONFLICT);
    text_fmt(told, sizeof(told), "port %u of this node cannot be had", port);
    assert_non_null(strstr(err.text, told));
    close(other_fd);
    plan.port = other;
    assert_int_equal(wiring_write(dir, &plan, NULL), 0);
    assert_int_equal(netns_attach(&node, dir, path, -1, &err), 0);
    close(fd);
    plan.port = port;
    assert_int_equal(wiring_write(dir, &plan, NULL), 0);
    assert_int_equal(netns_attach(&node, dir, path, -1, &err), 0);
    close(dir);
    test_dir_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_reads_back),
        cmocka_unit_test(what_is_not_a_plan_is_refused),
        cmocka_unit_test(numbers_of_members_differ),
        cmocka_unit_test(addresses_of_members_differ),
        cmocka_unit_test(ses7_a_port_that_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
