/* tests/unit/agent/test_devices.c - the device program, run by hand and, where the
 * machine has a version 2 hierarchy, by the kernel. */
#include "test.h"
#include <errno.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include "agent/devices.h"
#include "host/cgroup.h"

/* The few instructions that the program is made of. */
static bool interpret(const struct bpf_insn *p, uint32_t n, uint32_t type, uint32_t access,
                      uint32_t major, uint32_t minor)
{
    uint64_t r[11] = {0};
    struct bpf_cgroup_dev_ctx ctx = {
        .access_type = (access << 16) + type, .major = major, .minor = minor};
    uint32_t steps = 0;
    for (uint32_t pc = 0; pc < n && steps++ < 10000; pc++) {
        const struct bpf_insn *i = &p[pc];
        uint32_t word;
        switch (i->code) {
        case BPF_LDX | BPF_MEM | BPF_W:
            assert_int_equal(i->src_reg, 1);
            assert_int_equal(r[1], 0); /* the context pointer was not overwritten */
            memcpy(&word, (const char *)&ctx + i->off, sizeof(word));
            r[i->dst_reg] = word;
            break;
        case BPF_ALU64 | BPF_MOV | BPF_X: r[i->dst_reg] = r[i->src_reg]; break;
        case BPF_ALU64 | BPF_MOV | BPF_K: r[i->dst_reg] = (uint64_t)(int64_t)i->imm; break;
        case BPF_ALU64 | BPF_AND | BPF_K: r[i->dst_reg] &= (uint64_t)(int64_t)i->imm; break;
        case BPF_ALU64 | BPF_RSH | BPF_K: r[i->dst_reg] >>= i->imm; break;
        case BPF_JMP | BPF_JNE | BPF_K:
            if (r[i->dst_reg] != (uint64_t)(int64_t)i->imm) pc += (uint16_t)i->off;
            break;
        case BPF_JMP | BPF_EXIT: return r[0] == 1;
        default: fail_msg("unknown instruction %#x", i->code);
        }
    }
    fail_msg("the program does not end");
    return false;
}

static const char *const rules[] = {"c 1:3 rwm", "c 136:* rw", "b 8:1 r"};

static void rules_mean_what_they_say(void **state)
{
    enum { C = BPF_DEVCG_DEV_CHAR, B = BPF_DEVCG_DEV_BLOCK, R = BPF_DEVCG_ACC_READ,
           W = BPF_DEVCG_ACC_WRITE, M = BPF_DEVCG_ACC_MKNOD };
    static const struct { uint32_t type, access, major, minor; bool allowed; } cases[] = {
        {C, R, 1, 3, true},      {C, R | W | M, 1, 3, true}, {B, R, 1, 3, false},
        {C, R, 1, 4, false},     {C, R, 2, 3, false},        {C, R | W, 136, 0, true},
        {C, R, 136, 9999, true}, {C, M, 136, 1, false},      {C, R | M, 136, 1, false},
        {B, R, 8, 1, true},      {B, W, 8, 1, false},        {B, R | W, 8, 1, false},
        {C, R, 8, 1, false},     {C, R, 10, 229, false},
    };
    struct bpf_insn p[DEVICES_INSNS];
    uint32_t n = 0;
    (void)state;
    assert_int_equal(devices_program(rules, ARRAY_LEN(rules), p, &n, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (interpret(p, n, cases[i].type, cases[i].access, cases[i].major, cases[i].minor) !=
            cases[i].allowed)
            fail_msg("case %zu is judged wrongly", i);
    assert_int_equal(devices_program(NULL, 0, p, &n, NULL), 0); /* no rule: nothing */
    assert_false(interpret(p, n, C, R, 1, 3));
}

static void bad_rules_are_refused(void **state)
{
    static const char *const bad[] = {"", "c", "c 1:3", "c 1:3 ", "x 1:3 r", "c 1:3 rx", "c a:3 r",
                                      "c 1:99999999999 r", "c *:3 r", "c 1:3  r"};
    struct bpf_insn p[DEVICES_INSNS];
    uint32_t n = 77;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(devices_program(&bad[i], 1, p, &n, NULL), ERR_INVALID);
    const char *many[DEVICES_RULES + 1];
    for (size_t i = 0; i < ARRAY_LEN(many); i++) many[i] = "c 1:3 r";
    assert_int_equal(devices_program(many, DEVICES_RULES + 1, p, &n, NULL), ERR_LIMIT);
    assert_int_equal(n, 77);
    assert_int_equal(devices_program(many, DEVICES_RULES, p, &n, NULL), 0);
    assert_int_equal(n, DEVICES_INSNS);
}

/* A child born inside the group opens what is allowed and nothing else. */
static void the_kernel_agrees(void **state)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    struct cgroup_set s = {.version = CGROUP_V2, .n = 1};
    struct err err = {0};
    char path[CGROUP_PATH];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mounts) && !s.at[0].dir[0]; i++) {
        text_fmt(path, sizeof(path), "%s/cgroup.procs", mounts[i]);
        if (access(path, W_OK) == 0)
            text_fmt(s.at[0].dir, CGROUP_PATH, "%s/rota-test-%d", mounts[i], (int)getpid());
    }
    if (geteuid() != 0 || !s.at[0].dir[0]) skip();
    assert_int_equal(mkdir(s.at[0].dir, 0755), 0);
    int rc = devices_attach(s.at[0].dir, rules, ARRAY_LEN(rules), &err);
    pid_t pid = rc == 0 ? cgroup_fork(&s, &err) : -1;
    if (pid == 0) {
        int good = open("/dev/null", O_RDWR), bad = open("/dev/zero", O_RDONLY);
        _exit(good >= 0 && bad < 0 && errno == EPERM ? 0 : 1);
    }
    int status = -1;
    if (pid > 0) waitpid(pid, &status, 0);
    pid_t stuck = rc == 0 ? cgroup_fork(&s, &err) : -1;
    if (stuck == 0) for (;;) pause();
    int living = (int)cgroup_living(&s), killed = cgroup_kill(&s, 5000, &err);
    if (stuck > 0) waitpid(stuck, NULL, 0);
    int empty = (int)cgroup_living(&s), removed = cgroup_remove(&s, NULL);
    if (rc < 0 || pid < 0) fail_msg("%s", err.text);
    assert_int_equal(status, 0);
    assert_int_equal(living, CGROUP_LIVING);
    assert_int_equal(killed, 0);
    assert_int_equal(empty, CGROUP_EMPTY);
    assert_int_equal(removed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_mean_what_they_say),
        cmocka_unit_test(bad_rules_are_refused),
        cmocka_unit_test(the_kernel_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
