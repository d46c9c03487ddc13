/* agent/claim.c - what the agent promises itself, durably, before it acts.
 * docs/spec/node.md */
#include "agent/claim.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/gpu/grant.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "host/file.h"

#define ENV_MAX (2 * 1024 * 1024)

#define TEXT(f) \
    { \
#f, MEMO_TEXT, offsetof(struct container_claim, f), \
            sizeof(((struct container_claim *)0)->f) \
    }
#define INT(f) {#f, MEMO_INT, offsetof(struct container_claim, f), 0}
#define BOOL(f) {#f, MEMO_BOOL, offsetof(struct container_claim, f), 0}
static const struct memo_field fields[] = {
    TEXT(incarnation), TEXT(boot_id), INT(uid), INT(gid), TEXT(workdir), TEXT(image), BOOL(tty),
    TEXT(gids), BOOL(memlock), BOOL(stdin_open), INT(cpu_milli), INT(mem_bytes), INT(devices),
};
static const struct memo_table table = {"claim", fields, ARRAY_LEN(fields)};

_Static_assert(GRANT_GIDS_MAX * 11 < sizeof(((struct container_claim *)0)->gids), "all groups");

void claim_take_grant(struct container_claim *c, const struct grant *g)
{
    size_t n = 0;
    c->memlock = g->memlock;
    for (uint32_t i = 0; i < g->gids.n; i++)
        n += (size_t)text_fmt(c->gids + n, sizeof(c->gids) - n, "%s%u", i ? " " : "",
                              g->gids.v[i]);
}

void claim_give_grant(const struct container_claim *c, struct grant *ret)
{
    struct str rest = str_of(c->gids), word;
    uint64_t gid;
    *ret = (struct grant){.memlock = c->memlock};
    for (bool more = rest.n > 0; more;) {
        more = str_cut(&rest, ' ', &word);
        if (str_to_u64(word, &gid) && gid > 0 && gid < UINT32_MAX)
            grant_add_gid(ret, (uint32_t)gid, NULL);
    }
}

void claim_name(struct member_ref ref, char ret[MEMO_NAME])
{
    text_fmt(ret, MEMO_NAME, "%llu.%u.%u", (unsigned long long)ref.session, ref.attempt,
             ref.member);
}

bool claim_parse_name(struct str name, struct member_ref *ret)
{
    struct str session, attempt;
    uint64_t s, a, m;
    char again[MEMO_NAME];
    struct str whole = name;
    if (!str_cut(&name, '.', &session) || !str_cut(&name, '.', &attempt)) return false;
    if (!str_to_u64(session, &s) || !str_to_u64(attempt, &a) || !str_to_u64(name, &m)) return false;
    if (a > UINT32_MAX || m > UINT32_MAX) return false;
    struct member_ref r = {s, (uint32_t)a, (uint32_t)m};
    claim_name(r, again); /* one spelling each: no leading zeros */
    if (!str_eq(whole, str_of(again))) return false;
    *ret = r;
    return true;
}

int claim_make(int containers, const char *name, const struct container_claim *c, struct err *err)
{
    if (mkdirat(containers, name, 0700) < 0)
        return err_sys(err, errno == EEXIST ? ERR_CONFLICT : ERR_IO, errno, "cannot claim %s",
                       name);
    AUTO_FD int dir = file_open_dir(containers, name, err);
    int rc = dir < 0 ? dir : memo_write(dir, &table, c, FILE_DURABLE_NEW, err);
    if (rc == 0 && fsync(containers) < 0)
        rc = err_sys(err, ERR_IO, errno, "cannot sync the directory of containers");
    if (rc < 0) {
        file_remove_tree(containers, name, NULL);
        return rc;
    }
    int ret = dir;
    dir = -1;
    return ret;
}

int claim_read(int dir, struct container_claim *ret, struct err *err)
{
    struct container_claim c = {0};
    int rc = memo_read(dir, &table, &c, err);
    if (rc < 0) return rc;
    if (!c.boot_id[0]) return err_set(err, ERR_CORRUPT, "claim: cut off");
    *ret = c;
    return 0;
}

int claim_write_env(int dir, const char *const *envp, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, ENV_MAX);
    for (size_t i = 0; envp[i]; i++) strbuf_put(&b, str_n(envp[i], strlen(envp[i]) + 1));
    if (b.full) return err_set(err, ERR_LIMIT, "the environment is too long");
    return file_write(dir, "env", b.p, b.n, FILE_ORDERED, err);
}

int claim_read_env(int dir, const char ***ret, struct err *err)
{
    char *buf = mem_alloc(ENV_MAX + 2);
    size_t n = 0, count = 0;
    int rc = file_read(dir, "env", buf, ENV_MAX + 1, &n, err);
    if (rc == 0 && n > 0 && buf[n - 1] != 0) rc = err_set(err, ERR_CORRUPT, "env: cut off");
    if (rc < 0) {
        mem_free(buf);
        return rc;
    }
    for (size_t i = 0; i < n; i++) count += buf[i] == 0;
    /* The block itself stands before the pointers that look into it. */
    const char **envp = mem_array(count + 2, sizeof(*envp));
    envp[0] = buf;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        envp[i + 1] = buf + at;
        at += strlen(buf + at) + 1;
    }
    *ret = envp + 1;
    return 0;
}

void claim_free_env(const char **envp)
{
    if (!envp) return;
    mem_free((void *)(uintptr_t)envp[-1]);
    mem_free((void *)(envp - 1));
}
