/* tests/unit/agent/test_crun_devices.c - devices that a container is granted open in it, and
 * no others, whatever nodes there are.  /dev/fuse and /dev/net/tun stand for the devices of
 * a vendor: the kernel judges both by number alone. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/cgroup.h"
#include "agent/gpu/grant.h"
#include "base/mem.h"
#include "crun_rig.h"
#include "host/file.h"

enum { FUSE = 229, TUN = 200, MISC = 10 };

static void give(struct grant *g, const char *path, uint32_t minor)
{
    struct grant_node n = {.major = MISC, .minor = minor, .access = "rw", .mode = 0666};
    struct err err = {0};
    TEXT_SET(n.path, str_of(path));
    TEXT_SET(n.host, str_of(path));
    if (grant_add_node(g, &n, &err) < 0) fail_msg("%s", err.text);
}

/* "open FILE WORD": refused by the rules, absent, or else yes: that there is no driver behind
 * the number is found out after it was allowed. */
#define OPEN_SH \
    "open() { if out=$( { : <\"$1\"; } 2>&1 ); then echo \"$2 yes\"; else case $out in " \
    "*permitted*) echo \"$2 refused\";; *[Nn]o\\ such\\ file*) echo \"$2 absent\";; " \
    "*[Nn]o\\ such\\ device*) echo \"$2 yes\";; *) echo \"$2 $out\";; esac; fi; }; "

static void expect_output(struct member_ref ref, const char *want)
{
    size_t n;
    char *out = rig_output(&rig, ref, 'o', &n);
    assert_string_equal(out, want);
    mem_free(out);
}

/* From outside, as root of this machine: as if somebody had smuggled a node in. */
static void smuggle(struct member_ref ref, const char *path, unsigned minor)
{
    char full[128];
    int64_t pid = rig_memo(&rig, ref, "life", "pid");
    text_fmt(full, sizeof(full), "/proc/%lld/root%s", (long long)pid, path);
    if (mknod(full, S_IFCHR | 0666, makedev(MISC, minor)) < 0 || chmod(full, 0666) < 0)
        fail_msg("cannot make %s", full);
}

static void what_is_granted_opens_and_nothing_else(void **state)
{
    struct grant g = {0};
    (void)state;
    struct container_spec s = rig_shell(
        &rig, OPEN_SH "until [ -e /dev/nvidia1 ]; do sleep 0.02; done; open /dev/nvidia0 granted; "
                      "open /dev/nvidia1 smuggled; open /dev/fuse host; "
                      "mknod /tmp/x c 10 200 2>/dev/null || echo no mknod");
    give(&g, "/dev/nvidia0", FUSE);
    s.grant = &g;
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    smuggle(s.ref, "/dev/nvidia1", TUN);
    rig_until(&rig, s.ref, MEMBER_EXITED);
    expect_output(s.ref, "granted yes\nsmuggled refused\nhost absent\nno mknod\n");
    rig_clean(&rig, s.ref);
    grant_done(&g);
}

/* Two members of one session, at once, on one node: each its own. */
static void frc13_members_do_not_share_devices(void **state)
{
    static const char script[] = OPEN_SH
        "until [ -e /dev/other ]; do sleep 0.02; done; open /dev/mine mine; open /dev/other other";
    static const unsigned minors[] = {FUSE, TUN};
    struct grant g[2] = {{.nodes = {0}}};
    struct container_spec s[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        s[i] = rig_shell(&rig, script);
        give(&g[i], "/dev/mine", minors[i]);
        s[i].grant = &g[i];
        if (i > 0) s[i].ref = (struct member_ref){s[0].ref.session, 1, 1};
        rig_create(&rig, &s[i]);
        rig.driver.ops->go(rig.driver.self, s[i].ref);
    }
    for (int i = 0; i < 2; i++) rig_until(&rig, s[i].ref, MEMBER_RUNNING);
    for (int i = 0; i < 2; i++) smuggle(s[i].ref, "/dev/other", minors[1 - i]);
    for (int i = 0; i < 2; i++) {
        rig_until(&rig, s[i].ref, MEMBER_EXITED);
        expect_output(s[i].ref, "mine yes\nother refused\n");
        rig_clean(&rig, s[i].ref);
        grant_done(&g[i]);
    }
}

/* What a manager of services does to the groups that it knows when it reloads: it denies all
 * and says again what its units may use.  Ours are below, with rules of their own; while it
 * has groups below, the kernel does not let it deny all. */
static void reload(const char *group)
{
    static const char *const words[][2] = {
        {"devices.deny", "a"}, {"devices.allow", "c 10:200 rwm"}, {"devices.allow", "c *:* rwm"}};
    char path[CGROUP_PATH + 32];
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        text_fmt(path, sizeof(path), "%s/%s", group, words[i][0]);
        file_put(AT_FDCWD, path, words[i][1], NULL);
    }
}

static void gpu5_rules_survive_a_reload(void **state)
{
    static const char script[] = OPEN_SH
        "open /dev/nvidia0 before; until [ -e /dev/other ]; do sleep 0.02; done; "
        "open /dev/nvidia0 after; open /dev/other other";
    struct grant g = {0};
    struct cgroup_host h;
    struct err err = {0};
    (void)state;
    struct container_spec s = rig_shell(&rig, script);
    give(&g, "/dev/nvidia0", FUSE);
    s.grant = &g;
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "before yes");
    if (!rig_v2(&rig)) {
        assert_int_equal(cgroup_host_open(rig.state_dir, "", &h, &err), 0);
        char up[CGROUP_PATH + 8];
        reload(cgroup_dir(&h.parent, "devices"));
        text_fmt(up, sizeof(up), "%s/..", cgroup_dir(&h.parent, "devices"));
        reload(up);
    }
    smuggle(s.ref, "/dev/other", TUN);
    rig_until(&rig, s.ref, MEMBER_EXITED);
    expect_output(s.ref, "before yes\nafter yes\nother refused\n");
    rig_clean(&rig, s.ref);
    grant_done(&g);
}

/* The agent is gone and back: its containers keep what they have. */
static void devices_outlive_the_agent(void **state)
{
    struct grant g = {0};
    (void)state;
    struct container_spec s = rig_shell(&rig, OPEN_SH "echo up; until [ -e /dev/other ]; do "
                                                      "sleep 0.02; done; open /dev/nvidia0 mine");
    give(&g, "/dev/nvidia0", FUSE);
    s.grant = &g;
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "up");
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    rig_until(&rig, s.ref, MEMBER_RUNNING);
    smuggle(s.ref, "/dev/other", TUN);
    rig_until(&rig, s.ref, MEMBER_EXITED);
    expect_output(s.ref, "up\nmine yes\n");
    rig_clean(&rig, s.ref);
    grant_done(&g);
}

static void processors_are_those_near_it(void **state)
{
    struct grant near = {.cpus = "0", .mems = "0"}, nowhere = {.cpus = "4000-4001", .mems = "900"};
    (void)state;
    struct container_spec s = rig_shell(&rig, "grep -E '^(Cpus|Mems)_allowed_list' "
                                              "/proc/self/status | tr -d '\\t '");
    struct member_ref pinned = s.ref;
    s.grant = &near;
    rig_run(&rig, &s);
    expect_output(pinned, "Cpus_allowed_list:0\nMems_allowed_list:0\n");
    rig_clean(&rig, pinned);
    struct container_spec t = rig_shell(&rig, "echo runs"); /* never a reason not to start */
    t.grant = &nowhere;
    rig_run(&rig, &t);
    expect_output(t.ref, "runs\n");
    rig_clean(&rig, t.ref);
}

static void files_groups_and_locked_memory(void **state)
{
    char lib[128], hook[128], mark[128], text[400];
    struct grant g = {.memlock = true};
    struct err err = {0};
    struct rlimit have;
    (void)state;
    text_fmt(lib, sizeof(lib), "%s/libx.so", rig.state_dir);
    text_fmt(hook, sizeof(hook), "%s/hook", rig.state_dir);
    text_fmt(mark, sizeof(mark), "%s/mark", rig.state_dir);
    text_fmt(text, sizeof(text), "#!/bin/sh\ncat >/dev/null\necho \"$1 $VAR\" >%s\n", mark);
    assert_int_equal(file_write(AT_FDCWD, lib, "vendor\n", 7, FILE_ORDERED, &err), 0);
    assert_int_equal(file_write(AT_FDCWD, hook, text, strlen(text), FILE_ORDERED, &err), 0);
    assert_int_equal(chmod(lib, 0644) | chmod(hook, 0755), 0);
    struct grant_mount m = {.to = "/usr/lib/vendor/libx.so"};
    TEXT_SET(m.from, str_of(lib));
    assert_int_equal(grant_add_mount(&g, &m, &err), 0);
    assert_int_equal(grant_add_gid(&g, 4242, &err), 0);
    struct grant_hook *k = VEC_ADD(&g.hooks);
    *k = (struct grant_hook){.stage = "createRuntime", .timeout_s = 10};
    TEXT_SET(k->path, str_of(hook));
    wire_texts_add(&k->args, STR("hook"));
    wire_texts_add(&k->args, STR("asked"));
    wire_texts_add(&k->env, STR("VAR=kept"));
    struct container_spec s = rig_shell(
        &rig, "cat /usr/lib/vendor/libx.so; (echo x >/usr/lib/vendor/libx.so) 2>/dev/null || "
              "echo read only; id -G; ulimit -l");
    s.grant = &g;
    rig_run(&rig, &s);
    getrlimit(RLIMIT_MEMLOCK, &have);
    if (have.rlim_max == RLIM_INFINITY) text_fmt(lib, sizeof(lib), "unlimited");
    else text_fmt(lib, sizeof(lib), "%llu", (unsigned long long)have.rlim_max / 1024);
    text_fmt(text, sizeof(text), "vendor\nread only\n31337 4242\n%s\n", lib);
    expect_output(s.ref, text);
    size_t n = 0;
    assert_int_equal(file_read(AT_FDCWD, mark, text, sizeof(text), &n, &err), 0);
    assert_string_equal(text, "asked kept\n");
    rig_clean(&rig, s.ref);
    grant_done(&g);
    unlink(mark);
    unlink(hook);
    text_fmt(lib, sizeof(lib), "%s/libx.so", rig.state_dir);
    unlink(lib);
}

int main(void)
{
    if (!rig_possible()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_granted_opens_and_nothing_else),
        cmocka_unit_test(frc13_members_do_not_share_devices),
        cmocka_unit_test(gpu5_rules_survive_a_reload),
        cmocka_unit_test(devices_outlive_the_agent),
        cmocka_unit_test(processors_are_those_near_it),
        cmocka_unit_test(files_groups_and_locked_memory),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
