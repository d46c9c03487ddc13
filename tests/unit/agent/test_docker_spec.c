/* tests/unit/agent/test_docker_spec.c - what an engine is asked for, and whose groups are
 * whose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "agent/docker/helper.h"
#include "agent/docker/spec.h"
#include "agent/gpu/grant.h"
#include "base/mem.h"
#include "host/cgroup.h"
#include "wire/table.h"

static void images_are_of_two_kinds(void **state)
{
    static const struct { const char *image; int rc; enum docker_source from; const char *ref; }
    cases[] = {
        {"docker://busybox", 0, DOCKER_FROM_REGISTRY, "busybox"},
        {"docker://127.0.0.1:5000/a/b:1", 0, DOCKER_FROM_REGISTRY, "127.0.0.1:5000/a/b:1"},
        {"oci:/images/x:1", 0, DOCKER_FROM_LAYOUT, "/images/x:1"},
        {"oci:images/x", ERR_INVALID, 0, NULL},
        {"host", ERR_UNSUPPORTED, 0, NULL},
        {"probe", ERR_NOT_FOUND, 0, NULL},
        {"docker://", ERR_NOT_FOUND, 0, NULL},
        {"docker://a b", ERR_NOT_FOUND, 0, NULL},
        {"docker://a\nb", ERR_NOT_FOUND, 0, NULL},
        {"", ERR_NOT_FOUND, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum docker_source from = DOCKER_FROM_NOTHING;
        const char *ref = NULL;
        struct err err = {0};
        assert_int_equal(docker_source_of(cases[i].image, &from, &ref, &err), cases[i].rc);
        assert_int_equal(from, cases[i].from);
        if (cases[i].ref) assert_string_equal(ref, cases[i].ref);
    }
}

struct limit { char name[16]; int64_t soft, hard; };
static const struct wire_field limit_fields[] = {WIRE_F_TEXT(struct limit, name, "Name"),
                                                 WIRE_F_I64(struct limit, soft, "Soft"),
                                                 WIRE_F_I64(struct limit, hard, "Hard")};
static const struct wire_table limit_table = WIRE_TABLE("limit", struct limit, limit_fields);
struct mount { char type[16], source[128], target[64]; bool ro; };
static const struct wire_field mount_fields[] = {WIRE_F_TEXT(struct mount, type, "Type"),
                                                 WIRE_F_TEXT(struct mount, source, "Source"),
                                                 WIRE_F_TEXT(struct mount, target, "Target"),
                                                 WIRE_F_BOOL(struct mount, ro, "ReadOnly")};
static const struct wire_table mount_table = WIRE_TABLE("mount", struct mount, mount_fields);
struct device { char host[64], path[64], access[8]; };
static const struct wire_field device_fields[] = {
    WIRE_F_TEXT(struct device, host, "PathOnHost"),
    WIRE_F_TEXT(struct device, path, "PathInContainer"),
    WIRE_F_TEXT(struct device, access, "CgroupPermissions")};
static const struct wire_table device_table = WIRE_TABLE("device", struct device, device_fields);
struct host {
    VEC(struct device) devices;
    struct wire_texts groups;
    char network[16], cpuset[32];
    int64_t memory, swap, cpus, pids, shm;
    struct wire_texts drop, security;
    bool privileged;
    VEC(struct limit) limits;
    VEC(struct mount) mounts;
};
static const struct wire_field host_fields[] = {
    WIRE_F_LIST(struct host, devices, "Devices", &device_table, 8),
    WIRE_F_TEXTS(struct host, groups, "GroupAdd", 8, 64),
    WIRE_F_TEXT(struct host, cpuset, "CpusetCpus"),
    WIRE_F_TEXT(struct host, network, "NetworkMode"), WIRE_F_I64(struct host, memory, "Memory"),
    WIRE_F_I64(struct host, swap, "MemorySwap"),      WIRE_F_I64(struct host, cpus, "NanoCpus"),
    WIRE_F_I64(struct host, pids, "PidsLimit"),       WIRE_F_I64(struct host, shm, "ShmSize"),
    WIRE_F_TEXTS(struct host, drop, "CapDrop", 4, 64),
    WIRE_F_TEXTS(struct host, security, "SecurityOpt", 4, 4096),
    WIRE_F_BOOL(struct host, privileged, "Privileged", .def = true),
    WIRE_F_LIST(struct host, limits, "Ulimits", &limit_table, 8),
    WIRE_F_LIST(struct host, mounts, "Mounts", &mount_table, 8)};
static const struct wire_table host_table =
    WIRE_TABLE("host", struct host, host_fields, .lenient = true);
struct asked {
    char image[128], user[32], dir[64];
    struct wire_texts entry, cmd, env;
    struct wire_map labels;
    struct host host;
};
static const struct wire_field asked_fields[] = {
    WIRE_F_TEXT(struct asked, image, "Image"),
    WIRE_F_TEXT(struct asked, user, "User"),
    WIRE_F_TEXT(struct asked, dir, "WorkingDir"),
    WIRE_F_TEXTS(struct asked, entry, "Entrypoint", 8, 4096),
    WIRE_F_TEXTS(struct asked, cmd, "Cmd", 8, 4096),
    WIRE_F_TEXTS(struct asked, env, "Env", 8, 4096),
    WIRE_F_MAP(struct asked, labels, "Labels", 16, 4096),
    WIRE_F_OBJECT(struct asked, host, "HostConfig", &host_table)};
static const struct wire_table asked_table =
    WIRE_TABLE("asked", struct asked, asked_fields, .lenient = true);

static const char *const argv[] = {"sh", "-c", "echo \"x\"", NULL};
static const char *const envp[] = {"A=1", NULL};
static const struct container_spec spec = {
    .ref = {17, 2, 1}, .incarnation = "inc", .argv = argv, .envp = envp, .hostname = "box",
    .workdir = "/w", .uid = 1001, .gid = 1002, .cpu_milli = 1500, .mem_bytes = 64 << 20,
    .pids_max = 99, .fence_ms = 7000, .shm_bytes = 1 << 20};

static void walls_and_limits_are_asked_for(void **state)
{
    struct docker_frame frame = {.kind = DOCKER_DOCKER, .shim_path = "/shim",
                                 .filter_json = "{\"f\":1}", .filter_path = "/f.json",
                                 .nofile = 100, .nproc = 200, .agent = "/state"};
    struct err err = {0};
    (void)state;
    for (int podman = 0; podman < 2; podman++) {
        struct strbuf b, whole;
        struct asked a = {0};
        strbuf_init(&b, 65536);
        strbuf_init(&whole, 65536);
        frame.kind = podman ? DOCKER_PODMAN : DOCKER_DOCKER;
        assert_int_equal(docker_spec(&frame, &spec, "/state/c/17.2.1/ctl", &b, &err), 0);
        docker_spec_with_image(strbuf_str(&b), "sha256:1", &whole);
        if (wire_parse(&asked_table, strbuf_str(&whole), &a, &err) < 0) fail_msg("%s", err.text);
        assert_string_equal(a.image, "sha256:1");
        assert_string_equal(a.user, "1001:1002");
        assert_int_equal(a.entry.n, 4);
        assert_string_equal(a.entry.v[2], "/w");
        assert_string_equal(a.entry.v[3], "7000");
        assert_string_equal(a.cmd.v[2], "echo \"x\"");
        assert_string_equal(wire_map_get(&a.labels, STR(DOCKER_LABEL_AGENT)), "/state");
        assert_string_equal(wire_map_get(&a.labels, STR("rota.session")), "s17");
        assert_string_equal(a.host.network, "none");
        assert_false(a.host.privileged);
        assert_int_equal(a.host.memory, 64 << 20);
        assert_int_equal(a.host.swap, 64 << 20);
        assert_int_equal(a.host.cpus, 1500000000);
        assert_int_equal(a.host.pids, 99);
        assert_int_equal(a.host.shm, 1 << 20);
        assert_string_equal(a.host.drop.v[0], "ALL");
        assert_string_equal(a.host.security.v[0], "no-new-privileges");
        assert_string_equal(a.host.security.v[1], podman ? "seccomp=/f.json" : "seccomp={\"f\":1}");
        assert_int_equal(a.host.limits.n, 3);
        assert_int_equal(a.host.limits.v[0].hard, 100);
        assert_int_equal(a.host.mounts.n, 2);
        for (uint32_t i = 0; i < 2; i++) assert_true(a.host.mounts.v[i].ro);
        assert_string_equal(a.host.mounts.v[1].source, "/state/c/17.2.1/ctl");
        wire_free(&asked_table, &a);
        strbuf_done(&b);
        strbuf_done(&whole);
    }
}

static void what_is_granted_is_asked_for(void **state)
{
    (void)state;
    const struct docker_frame frame = {.kind = DOCKER_DOCKER, .shim_path = "/shim",
                                       .filter_json = "{}", .agent = "/state"};
    struct grant g = {.memlock = true, .cpus = "0-3"};
    const struct grant_node node = {.path = "/dev/nvidia0", .host = "/dev/nvidia3", .major = 195,
                                    .minor = 3, .access = "rw"};
    const struct grant_mount mount = {.from = "/usr/lib/x.so", .to = "/usr/lib/x.so.1"};
    struct container_spec s = spec;
    struct strbuf b, whole;
    struct asked a = {0};
    struct err err = {0};
    strbuf_init(&b, 65536);
    strbuf_init(&whole, 65536);
    assert_int_equal(grant_add_node(&g, &node, &err), 0);
    assert_int_equal(grant_add_mount(&g, &mount, &err), 0);
    assert_int_equal(grant_add_gid(&g, 44, &err), 0);
    s.grant = &g;
    assert_int_equal(docker_spec(&frame, &s, "/ctl", &b, &err), 0);
    docker_spec_with_image(strbuf_str(&b), "x", &whole);
    if (wire_parse(&asked_table, strbuf_str(&whole), &a, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(a.host.devices.n, 1);
    assert_string_equal(a.host.devices.v[0].host, "/dev/nvidia3");
    assert_string_equal(a.host.devices.v[0].path, "/dev/nvidia0");
    assert_string_equal(a.host.devices.v[0].access, "rw");
    assert_int_equal(a.host.mounts.n, 3);
    assert_true(a.host.mounts.v[2].ro);
    assert_string_equal(a.host.groups.v[0], "44");
    assert_string_equal(a.host.cpuset, "0-3");
    assert_string_equal(a.host.limits.v[3].name, "memlock");
    assert_int_equal(a.host.limits.v[3].hard, -1);
    wire_free(&asked_table, &a);
    strbuf_done(&b);
    strbuf_done(&whole);
    grant_done(&g);
}

static void names_are_of_one_agent(void **state)
{
    char name[MEMO_NAME];
    (void)state;
    docker_name((struct member_ref){UINT64_MAX, UINT32_MAX, UINT32_MAX}, "0123abcd", name);
    assert_string_equal(name, "rota-s18446744073709551615.4294967295.4294967295.0123abcd");
}

#define V1 "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
           "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" \
           "32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" \
           "33 25 0:29 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
#define V2 "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

/* What is killed and read is this container's alone, whatever the engine has made. */
static void groups_without_the_id_are_left_alone(void **state)
{
    static const struct { const char *mounts, *own; uint32_t n; const char *first; } cases[] = {
        {V1, "5:memory:/docker/abc123\n4:cpu,cpuacct:/docker/abc123\n3:pids:/\n0::/\n", 2,
         "/sys/fs/cgroup/memory/docker/abc123"},
        {V1, "5:memory:/docker/abc124\n4:cpu,cpuacct:/\n0::/docker/abc123\n", 0, NULL},
        {V1, "5:memory:/docker/abc123/../../x\n", 0, NULL},
        {V1, "9:blkio:/docker/abc123\n", 0, NULL}, /* not mounted here */
        {V2, "0::/system.slice/docker-abc123.scope\n", 1,
         "/sys/fs/cgroup/system.slice/docker-abc123.scope"},
        {V2, "0::/system.slice\n", 0, NULL},
        {V2, "", 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cgroup_set s = {0};
        struct err err = {0};
        int rc = helper_groups(cases[i].mounts, cases[i].own, "abc123", &s, &err);
        assert_int_equal(rc, cases[i].n ? 0 : ERR_UNSUPPORTED);
        assert_int_equal(s.n, cases[i].n);
        if (cases[i].first) assert_string_equal(s.at[0].dir, cases[i].first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_of_two_kinds),
        cmocka_unit_test(walls_and_limits_are_asked_for),
        cmocka_unit_test(what_is_granted_is_asked_for),
        cmocka_unit_test(names_are_of_one_agent),
        cmocka_unit_test(groups_without_the_id_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
