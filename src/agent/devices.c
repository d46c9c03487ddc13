/* agent/devices.c - which devices a version 2 control group may open.
 *
 * The program's argument r1 points to struct bpf_cgroup_dev_ctx: access_type
 * (low half the kind of device, high half the access asked for), major, minor.
 * Its answer r0 is 1 to allow.  docs/spec/node.md */
#include "agent/devices.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/check.h"
#include "base/str.h"
#include "host/file.h"

struct rule { int32_t type, major, minor, access; }; /* minor -1: any */

static bool rule_parse(const char *text, struct rule *ret)
{
    struct str s = str_of(text), type, major, minor;
    uint64_t maj, min = 0;
    if (!str_cut(&s, ' ', &type) || !str_cut(&s, ':', &major) || !str_cut(&s, ' ', &minor))
        return false;
    bool any = str_eq(minor, STR("*"));
    if (!str_to_u64(major, &maj) || (!any && !str_to_u64(minor, &min))) return false;
    if (maj > INT32_MAX || min > INT32_MAX || s.n == 0) return false;
    struct rule r = {.major = (int32_t)maj, .minor = any ? -1 : (int32_t)min};
    if (str_eq(type, STR("c"))) r.type = BPF_DEVCG_DEV_CHAR;
    else if (str_eq(type, STR("b"))) r.type = BPF_DEVCG_DEV_BLOCK;
    else return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == 'r') r.access |= BPF_DEVCG_ACC_READ;
        else if (s.p[i] == 'w') r.access |= BPF_DEVCG_ACC_WRITE;
        else if (s.p[i] == 'm') r.access |= BPF_DEVCG_ACC_MKNOD;
        else return false;
    }
    *ret = r;
    return true;
}

/* Jumps over the rest of a rule, to the next.  (Macros: the registers are fields
 * of four bits, which take constants alone without complaint.) */
#define UNLESS_EQUAL(reg, v, over) \
    ((struct bpf_insn){.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = (reg), .off = (over), \
                       .imm = (v)})
#define LOAD(dst, field) \
    ((struct bpf_insn){.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (dst), .src_reg = 1, \
                       .off = (int16_t)offsetof(struct bpf_cgroup_dev_ctx, field)})

static uint32_t put_rule(struct bpf_insn *p, const struct rule *r)
{
    uint32_t n = 0;
    bool any = r->minor < 0;
    int16_t left = any ? 6 : 7; /* instructions of this rule */
#define OVER ((int16_t)(left - (int16_t)n - 1))
    p[n] = UNLESS_EQUAL(2, r->type, OVER), n++;
    p[n] = UNLESS_EQUAL(4, r->major, OVER), n++;
    if (!any) p[n] = UNLESS_EQUAL(5, r->minor, OVER), n++;
    /* r1 = asked & ~allowed: anything left is too much */
    p[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 3};
    p[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 1,
                               .imm = ~r->access & 7};
    p[n] = UNLESS_EQUAL(1, 0, OVER), n++;
    /* falls to an exit that answers 1, which is in r0 */
    p[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
#undef OVER
    CHECK(n == (uint32_t)left);
    return n;
}

int devices_program(const char *const *rules, uint32_t n, struct bpf_insn *ret, uint32_t *ret_n,
                    struct err *err)
{
    if (n > DEVICES_RULES)
        return err_set(err, ERR_LIMIT, "more than %d device rules", DEVICES_RULES);
    uint32_t at = 0;
    struct bpf_insn p[DEVICES_INSNS];
    p[at++] = LOAD(2, access_type);
    p[at++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 2};
    p[at++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 2, .imm = 0xffff};
    p[at++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = 3, .imm = 16};
    p[at++] = LOAD(4, major);
    p[at++] = LOAD(5, minor);
    p[at++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1};
    for (uint32_t i = 0; i < n; i++) {
        struct rule r;
        if (!rule_parse(rules[i], &r))
            return err_set(err, ERR_INVALID, "bad device rule '%s'", rules[i]);
        at += put_rule(p + at, &r);
    }
    p[at++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 0};
    p[at++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
    memcpy(ret, p, at * sizeof(*p));
    *ret_n = at;
    return 0;
}

static int bpf_call(int cmd, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

int devices_attach(const char *cgroup_dir, const char *const *rules, uint32_t n, struct err *err)
{
    struct bpf_insn p[DEVICES_INSNS];
    uint32_t len = 0;
    int rc = devices_program(rules, n, p, &len, err);
    if (rc < 0) return rc;
    union bpf_attr load_attr = {.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE, .insn_cnt = len,
                                .insns = (uint64_t)(uintptr_t)p,
                                .license = (uint64_t)(uintptr_t)"Apache-2.0"};
    AUTO_FD int prog = bpf_call(BPF_PROG_LOAD, &load_attr);
    if (prog < 0) return err_sys(err, ERR_IO, errno, "cannot load the device rules");
    AUTO_FD int dir = open(cgroup_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return err_sys(err, ERR_IO, errno, "cannot open %s", cgroup_dir);
    union bpf_attr attach = {.target_fd = (uint32_t)dir, .attach_bpf_fd = (uint32_t)prog,
                             .attach_type = BPF_CGROUP_DEVICE, .attach_flags = BPF_F_ALLOW_MULTI};
    if (bpf_call(BPF_PROG_ATTACH, &attach) < 0)
        return err_sys(err, ERR_IO, errno, "cannot attach the device rules");
    return 0;
}
