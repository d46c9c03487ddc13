/* From a body to a container: environment, identity, limits. */
#include "test.h"

#include <arpa/inet.h>

#include "agent/launch.h"
#include "base/fmt.h"

static void body_make(struct body *b, const char *spec)
{
    struct err err = {0};
    memset(b, 0, sizeof(*b));
    if (wire_parse(&wire_session_spec, str_of(spec), &b->spec, &err) != 0) fail_msg("%s", err.text);
    b->sync.session = 17;
    b->sync.attempt = 2;
    TEXT_SET(b->sync.owner, STR("alice"));
    b->sync.uid = 1001;
    b->sync.gid = 1002;
    b->sync.time_limit_ms = 60000;
    b->sync.grace_ms = 5000;
    b->sync.restarts = 1; /* attempt 2 may as well be a second try to start */
}

static void body_done(struct body *b)
{
    wire_free(&wire_session_spec, &b->spec);
    VEC_DONE(&b->sync.devices);
    VEC_DONE(&b->sync.peers);
}

static const char *env_of(const struct launch *l, const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    for (const char *const *e = l->spec.envp; *e != NULL; e++) {
        if (strncmp(*e, name, n) != 0 || (*e)[n] != '=') continue;
        if (found != NULL) fail_msg("%s is there twice", name);
        found = *e + n + 1;
    }
    return found;
}

static void expect_env(const struct launch *l, const char *name, const char *want)
{
    const char *got = env_of(l, name);
    if (got == NULL || strcmp(got, want) != 0) {
        fail_msg("%s is %s, not %s", name, got != NULL ? got : "absent", want);
    }
}

static void one_member(void **state)
{
    struct body b;
    struct launch l;
    struct err err;
    (void)state;
    body_make(&b, "{\"name\":\"my.job\",\"command\":[\"train\",\"-x\"],\"cpu_milli\":1500,"
                  "\"mem_bytes\":1073741824,\"env\":{\"A\":\"1\",\"PATH\":\"/p\","
                  "\"ROTA_RANK\":\"9\",\"NVIDIA_VISIBLE_DEVICES\":\"all\"},\"workdir\":\"/w\"}");
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 0}, "inc", &l, &err), 0);
    assert_string_equal(l.spec.argv[0], "train");
    assert_string_equal(l.spec.argv[1], "-x");
    assert_null(l.spec.argv[2]);
    assert_string_equal(l.spec.incarnation, "inc");
    assert_string_equal(l.spec.image, "host");
    assert_string_equal(l.spec.workdir, "/w");
    assert_string_equal(l.spec.hostname, "my-job");
    assert_int_equal(l.spec.uid, 1001);
    assert_int_equal(l.spec.gid, 1002);
    assert_int_equal(l.spec.cpu_milli, 1500);
    assert_int_equal(l.spec.mem_bytes, FMT_GIB);
    assert_int_equal(l.spec.shm_bytes, FMT_GIB / 2);
    assert_int_equal(l.spec.limit_ms, 60000);
    assert_int_equal(l.spec.grace_ms, 5000);
    expect_env(&l, "A", "1");
    expect_env(&l, "PATH", "/p");
    expect_env(&l, "HOME", "/tmp");
    expect_env(&l, "USER", "alice");
    expect_env(&l, "ROTA_SESSION", "s17");
    expect_env(&l, "ROTA_SESSION_NAME", "my.job");
    expect_env(&l, "ROTA_ATTEMPT", "2");
    expect_env(&l, "ROTA_RESTART_COUNT", "1");
    expect_env(&l, "ROTA_PREEMPT_DEADLINE", "/dev/rota-preempt-deadline");
    expect_env(&l, "ROTA_RANK", "0"); /* ours, whatever the session says */
    expect_env(&l, "ROTA_NODES", "1");
    expect_env(&l, "ROTA_MASTER_ADDR", "127.0.0.1");
    expect_env(&l, "ROTA_GPUS", "");
    expect_env(&l, "NVIDIA_VISIBLE_DEVICES", "void"); /* never grants a device */
    assert_null(env_of(&l, "TERM"));
    launch_done(&l);
    body_done(&b);
}

/* What devices need comes in; names that must be true stay so. */
static void what_is_granted_comes_in(void **state)
{
    struct body b;
    struct launch l;
    struct err err;
    struct grant g = {0};
    (void)state;
    body_make(&b, "{\"command\":[\"c\"],\"rdma\":true,\"image\":\"oci:/x\",\"cpu_milli\":1500,"
                  "\"env\":{\"A\":\"session\",\"LD_LIBRARY_PATH\":\"/mine\"}}");
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 0}, "inc", &l, &err), 0);
    assert_true(l.ask.rdma);
    assert_false(l.ask.gds || l.ask.imex);
    assert_string_equal(l.ask.image, "oci:/x");
    assert_int_equal(l.ask.cpu_milli, 1500);
    assert_null(l.spec.grant);
    assert_int_equal(grant_add_env(&g, "A=vendor", NULL), 0);
    assert_int_equal(grant_add_env(&g, "NEW=1", NULL), 0);
    assert_int_equal(grant_add_env(&g, "NVIDIA_VISIBLE_DEVICES=all", NULL), 0);
    assert_int_equal(grant_add_env(&g, "ROTA_SESSION=s1", NULL), 0);
    assert_int_equal(grant_add_libs(&g, "/vendor", NULL), 0);
    launch_grant(&l, &g);
    assert_ptr_equal(l.spec.grant, &g);
    expect_env(&l, "A", "vendor");
    expect_env(&l, "NEW", "1");
    expect_env(&l, "NVIDIA_VISIBLE_DEVICES", "void");
    expect_env(&l, "ROTA_SESSION", "s17");
    expect_env(&l, "LD_LIBRARY_PATH", "/mine:/vendor");
    grant_done(&g);
    launch_done(&l);
    body_done(&b);
}

/* A task of an array finds its index, and has its name. */
static void a_task_of_an_array(void **state)
{
    (void)state;
    struct body b;
    struct launch l;
    struct err err = {0};
    body_make(&b, "{\"name\":\"my.job\",\"command\":[\"c\"],\"array\":\"0-99:3\"}");
    b.sync.array = 17;
    b.sync.array_index = 42;
    b.sync.array_count = 34;
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 0}, "inc", &l, &err), 0);
    expect_env(&l, "ROTA_SESSION_NAME", "my.job-42");
    expect_env(&l, "ROTA_ARRAY", "s17");
    expect_env(&l, "ROTA_ARRAY_INDEX", "42");
    expect_env(&l, "ROTA_ARRAY_COUNT", "34");
    launch_done(&l);
    body_done(&b);
}

static void place(struct body *b, uint32_t member, const char *node, const char *addr)
{
    struct sync_peer p = {.member = member};
    TEXT_CLIP(p.node, str_of(node));
    TEXT_CLIP(p.addr, str_of(addr));
    VEC_PUSH(&b->sync.peers, p);
}

/* Everybody computes the same of everybody; on one node it needs no address. */
static void a_gang_knows_its_members(void **state)
{
    (void)state;
    struct body b;
    struct launch l, other;
    struct err err = {0};
    body_make(&b, "{\"name\":\"my.job\",\"command\":[\"c\"],\"containers\":3,\"gpu\":2,"
                  "\"env\":{\"MASTER_PORT\":\"7\",\"ROTA_RANK\":\"9\"}}");
    place(&b, 0, "n1", "10.0.0.1");
    place(&b, 1, "n1", "10.0.0.1");
    place(&b, 2, "n2", "10.0.0.2");
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 1}, "inc", &l, &err), 0);
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 2}, "inc", &other, &err), 0);
    assert_int_equal(l.wiring.members, 3);
    assert_int_equal(l.wiring.peers.n, 2);
    assert_int_equal(l.wiring.peers.v[0].node.s_addr, htonl(INADDR_LOOPBACK)); /* beside it */
    assert_int_equal(l.wiring.peers.v[1].node.s_addr, htonl(0x0A000002));
    assert_int_equal(l.wiring.peers.v[1].vni, other.wiring.vni);
    assert_int_equal(other.wiring.peers.v[1].vni, l.wiring.vni);
    assert_string_equal(l.spec.hosts,
                        "198.18.0.1 my-job-0\n198.18.0.2 my-job-1\n198.18.0.3 my-job-2\n");
    assert_string_equal(l.spec.hostfile,
                        "my-job-0 slots=2\nmy-job-1 slots=2\nmy-job-2 slots=2\n");
    expect_env(&l, "MASTER_ADDR", "my-job-0");
    expect_env(&l, "MASTER_PORT", "7");
    expect_env(&l, "ROTA_RANK", "1"); /* not the session's to set */
    expect_env(&l, "NODE_RANK", "1");
    expect_env(&l, "NCCL_SOCKET_IFNAME", "rota0");
    expect_env(&l, "HYDRA_HOST_FILE", "/run/rota/hostfile");
    launch_done(&l);
    launch_done(&other);
    b.sync.peers.v[2].addr[0] = '\0';
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 0}, "inc", &l, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "--net-addr"));
    TEXT_CLIP(b.sync.peers.v[2].addr, STR("127.0.0.1")); /* it would be ourselves */
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 0}, "inc", &l, &err), ERR_INVALID);
    b.sync.peers.v[1].addr[0] = '\0';
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 1}, "inc", &l, &err), 0);
    launch_done(&l); /* it says nothing about itself: perhaps the same machine */
    body_done(&b);
}

static void in_the_hosts_network_names_are_nodes(void **state)
{
    (void)state;
    struct body b;
    struct launch l, again;
    struct err err = {0};
    body_make(&b, "{\"name\":\"g\",\"command\":[\"c\"],\"containers\":2,\"network\":\"host\"}");
    place(&b, 0, "n1", "10.0.0.1");
    place(&b, 1, "n2", "10.0.0.2");
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 1}, "inc", &l, &err), 0);
    assert_int_equal(launch_make(&b, (struct member_ref){17, 3, 1}, "inc", &again, &err), 0);
    assert_string_equal(l.spec.hosts, "10.0.0.1 g-0\n10.0.0.2 g-1\n");
    expect_env(&l, "ROTA_MASTER_ADDR", "10.0.0.1");
    assert_null(env_of(&l, "NCCL_SOCKET_IFNAME"));
    assert_in_range(l.wiring.port, 20000, 29999);
    assert_int_not_equal(l.wiring.port, again.wiring.port); /* SES7: another attempt, another */
    launch_done(&l);
    launch_done(&again);
    body_done(&b);
}

static void gang_with_roles(void **state)
{
    struct body b;
    struct launch l;
    struct err err;
    (void)state;
    body_make(&b, "{\"command\":[\"worker\"],\"tty\":true,\"env\":{\"PET_NNODES\":\"7\"},"
                  "\"roles\":["
                  "{\"name\":\"chief\",\"count\":1,\"cpu_milli\":1000,\"mem_bytes\":1073741824,"
                  "\"gpu\":2,\"command\":[\"chief\"]},"
                  "{\"name\":\"worker\",\"count\":2,\"cpu_milli\":2000,\"mem_bytes\":2147483648,"
                  "\"gpu\":0}]}");
    VEC_PUSH(&b.sync.devices, ((struct sync_device_mask){.member = 0, .mask = 0x12}));
    for (uint32_t i = 0; i < 3; i++) place(&b, i, "n1", "");
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 0}, "i", &l, &err), 0);
    assert_string_equal(l.spec.argv[0], "chief");
    assert_string_equal(l.spec.hostname, "s17-0");
    assert_int_equal(l.spec.claim.devices, 0x12);
    expect_env(&l, "ROTA_GPUS", "1,4");
    expect_env(&l, "ROTA_NODES", "3");
    expect_env(&l, "ROTA_MASTER_ADDR", "s17-0");
    expect_env(&l, "PET_NNODES", "7"); /* the session may say otherwise here */
    expect_env(&l, "TERM", "xterm-256color");
    launch_done(&l);
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 2}, "i", &l, &err), 0);
    assert_string_equal(l.spec.argv[0], "worker");
    assert_string_equal(l.spec.hostname, "s17-2");
    assert_int_equal(l.spec.cpu_milli, 2000);
    expect_env(&l, "ROTA_RANK", "2");
    expect_env(&l, "ROTA_GPUS", "");
    launch_done(&l);
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 3}, "i", &l, &err), ERR_INVALID);
    body_done(&b);
}

static void never_as_root(void **state)
{
    struct body b;
    struct launch l;
    struct err err;
    (void)state;
    body_make(&b, "{\"command\":[\"id\"]}");
    b.sync.uid = b.sync.gid = 0;
    assert_int_equal(launch_make(&b, (struct member_ref){17, 2, 0}, "i", &l, &err), 0);
    assert_int_equal(l.spec.uid, LAUNCH_NOBODY);
    assert_int_equal(l.spec.gid, LAUNCH_NOBODY);
    assert_true(l.spec.cpu_milli > 0 && l.spec.mem_bytes > 0 && l.spec.pids_max >= 16);
    launch_done(&l);
    body_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_member),
        cmocka_unit_test(what_is_granted_comes_in),
        cmocka_unit_test(a_task_of_an_array), cmocka_unit_test(gang_with_roles),
        cmocka_unit_test(a_gang_knows_its_members),
        cmocka_unit_test(in_the_hosts_network_names_are_nodes),
        cmocka_unit_test(never_as_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
