/* agent/hooks.c - see hooks.h.
 *
 * Invariants: entries are sorted by ref; each has a record in DIR/hooks but the REFUSED,
 * whose epilog is over.  `script` is set while a program runs, and then `lock` is ours. */
#include "agent/hooks.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "agent/claim.h"
#include "agent/script.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/model/session.h"
#include "host/file.h"
#include "host/memo.h"
#include "net/log.h"

#define RETRY_MS 60000
#define LOCK_RETRY_MS 500
#define UUIDS (NODE_DEVICES_MAX * 49)

enum hook_state {
    HOOK_PROLOG = 1, /* runs, or is about to */
    HOOK_PASSED,     /* the container may be made, or is there */
    HOOK_EPILOG,     /* runs, or is about to */
    HOOK_REFUSED,    /* the prolog failed, all is over; kept until somebody has been told */
};

struct hook_record { /* what a restarted agent has to know */
    char user[HOOKS_USER];
    char gpus[UUIDS];
    int64_t devices;
};

struct hook {
    struct hooks *hooks;
    struct member_ref ref;
    struct hook_record r;
    enum hook_state state;
    struct script *script;
    int lock;
    bool made;       /* the driver has, or had it */
    bool adopted;    /* of an earlier agent: its prolog may not have come to an end */
    bool failed;     /* its epilog did: the devices are free, the node is marked */
    char why[SCRIPT_WHY]; /* its prolog or epilog failed */
    int64_t due_ms;  /* begins then */
    int64_t give_up_ms; /* a lock that is still held by then is no longer waited for */
};

struct hooks {
    struct net_loop *loop;
    struct net_timer *timer, *tell;
    int dir;
    char prolog[256], epilog[256];
    int64_t timeout_ms, retry_ms;
    void (*on_change)(void *arg);
    void *arg;
    char uuids[NODE_DEVICES_MAX][48];
    char mark[128];
    VEC(struct hook *) all;
};

static const struct memo_field fields[] = {
    {"user", MEMO_TEXT, offsetof(struct hook_record, user), HOOKS_USER},
    {"gpus", MEMO_TEXT, offsetof(struct hook_record, gpus), UUIDS},
    {"devices", MEMO_INT, offsetof(struct hook_record, devices), 0},
};

static void begin(struct hook *k);

/* ---- entries and their records ---- */

static struct hook *find(const struct hooks *h, struct member_ref ref, uint32_t *ret_at)
{
    uint32_t lo = 0, hi = h->all.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (member_ref_cmp(h->all.v[mid]->ref, ref) < 0) lo = mid + 1;
        else hi = mid;
    }
    if (ret_at != NULL) *ret_at = lo;
    bool there = lo < h->all.n && member_ref_cmp(h->all.v[lo]->ref, ref) == 0;
    return there ? h->all.v[lo] : NULL;
}

static struct hook *add(struct hooks *h, struct member_ref ref)
{
    uint32_t at;
    CHECK(find(h, ref, &at) == NULL);
    struct hook *k = mem_alloc(sizeof(*k));
    k->hooks = h;
    k->ref = ref;
    k->lock = -1;
    VEC_INSERT(&h->all, at, k);
    return k;
}

static void drop(struct hook *k)
{
    uint32_t at;
    struct hooks *h = k->hooks;
    CHECK(find(h, k->ref, &at) == k);
    script_free(k->script);
    file_close(&k->lock);
    VEC_REMOVE(&h->all, at);
    mem_free(k);
}

static int record(struct hook *k, struct err *err)
{
    char name[MEMO_NAME];
    claim_name(k->ref, name);
    const struct memo_table t = {name, fields, ARRAY_LEN(fields)};
    return memo_write(k->hooks->dir, &t, &k->r, FILE_DURABLE, err);
}

static void lock_name(const struct hook *k, char ret[MEMO_NAME + 8])
{
    char name[MEMO_NAME];
    claim_name(k->ref, name);
    text_fmt(ret, MEMO_NAME + 8, "%s.lock", name);
}

/* A crash before it is gone costs an epilog that runs once more. */
static void forget(const struct hook *k)
{
    char name[MEMO_NAME + 8];
    claim_name(k->ref, name);
    unlinkat(k->hooks->dir, name, 0);
    lock_name(k, name);
    unlinkat(k->hooks->dir, name, 0);
}

/* ---- telling ---- */

static void on_tell(void *arg)
{
    const struct hooks *h = arg;
    if (h->on_change != NULL) h->on_change(h->arg);
}

static void changed(struct hooks *h)
{
    h->mark[0] = '\0';
    VEC_EACH(k, &h->all) {
        char id[24];
        if (!(*k)->failed) continue;
        session_id_format((*k)->ref.session, id);
        text_fmt(h->mark, sizeof(h->mark), "epilog of %s: %.90s", id, (*k)->why);
        break;
    }
    net_timer_set(h->tell, 0, 0);
}

static void arm(struct hooks *h)
{
    int64_t next = INT64_MAX, now = net_now_ms();
    VEC_EACH(k, &h->all)
        if ((*k)->due_ms != 0 && (*k)->due_ms < next) next = (*k)->due_ms;
    if (next == INT64_MAX) net_timer_stop(h->timer);
    else net_timer_set(h->timer, next > now ? next - now : 0, 0);
}

static void later(struct hook *k, int64_t ms)
{
    k->due_ms = net_now_ms() + ms;
    arm(k->hooks);
}

static void on_timer(void *arg)
{
    struct hooks *h = arg;
    int64_t now = net_now_ms();
    for (uint32_t i = h->all.n; i-- > 0;) { /* one may go meanwhile, those before it stay */
        struct hook *k = h->all.v[i];
        if (k->due_ms == 0 || k->due_ms > now) continue;
        k->due_ms = 0;
        begin(k);
    }
    arm(h);
}

/* ---- running ---- */

static void epilog(struct hook *k)
{
    k->state = HOOK_EPILOG;
    k->give_up_ms = net_now_ms() + k->hooks->timeout_ms;
    begin(k);
}

static void end_epilog(struct hook *k, const char *why)
{
    struct hooks *h = k->hooks;
    if (why[0] != '\0') {
        k->failed = true;
        TEXT_CLIP(k->why, str_of(why));
        log_event(LOG_ERROR, "epilog.failed", LOG_U("session", k->ref.session),
                  LOG_U("attempt", k->ref.attempt), LOG_U("member", k->ref.member),
                  LOG_S("error", why));
        later(k, h->retry_ms);
    } else {
        forget(k);
        if (!k->failed && !k->made && k->why[0] != '\0') k->state = HOOK_REFUSED;
        else drop(k);
    }
    changed(h);
}

static void end_prolog(struct hook *k, const char *why)
{
    if (why[0] == '\0') {
        k->state = HOOK_PASSED;
    } else {
        log_event(LOG_WARN, "prolog.failed", LOG_U("session", k->ref.session),
                  LOG_U("attempt", k->ref.attempt), LOG_U("member", k->ref.member),
                  LOG_S("error", why));
        text_fmt(k->why, sizeof(k->why), "%.120s", why);
        epilog(k); /* what it has begun is cleaned up, too */
    }
}

static void on_end(void *arg, const char *why)
{
    struct hook *k = arg;
    struct hooks *h = k->hooks;
    k->script = NULL;
    (void)flock(k->lock, LOCK_UN); /* also for what it left running behind it */
    file_close(&k->lock);
    if (k->state == HOOK_PROLOG) end_prolog(k, why);
    else end_epilog(k, why);
    changed(h);
}

/* ERR_UNAVAILABLE: a program of an earlier agent's still runs for this member. */
static int take_lock(struct hook *k, struct err *err)
{
    char name[MEMO_NAME + 8];
    lock_name(k, name);
    int fd = openat(k->hooks->dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open hooks/%s", name);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return err_set(err, ERR_UNAVAILABLE, "an earlier run of it does not end");
    }
    k->lock = fd;
    return 0;
}

static int start(struct hook *k, const char *what, const char *path, struct err *err)
{
    struct hooks *h = k->hooks;
    char id[24], session[48], attempt[32], member[32], user[HOOKS_USER + 16], hook[24];
    char gpus[UUIDS + 16];
    session_id_format(k->ref.session, id);
    text_fmt(session, sizeof(session), "ROTA_SESSION=%s", id);
    text_fmt(attempt, sizeof(attempt), "ROTA_ATTEMPT=%u", k->ref.attempt);
    text_fmt(member, sizeof(member), "ROTA_MEMBER=%u", k->ref.member);
    text_fmt(user, sizeof(user), "ROTA_USER=%s", k->r.user);
    text_fmt(gpus, sizeof(gpus), "ROTA_GPUS=%s", k->r.gpus);
    text_fmt(hook, sizeof(hook), "ROTA_HOOK=%s", what);
    const char *const envp[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                "LANG=C.UTF-8", session, attempt, member, user, gpus, hook, NULL};
    k->script = script_start(h->loop,
                             &(struct script_opts){.what = what, .path = path, .envp = envp,
                                                   .timeout_ms = h->timeout_ms, .hold = k->lock,
                                                   .on_end = on_end, .arg = k}, err);
    return k->script != NULL ? 0 : err->code;
}

/* What of the two is this one's turn. */
static void begin(struct hook *k)
{
    struct hooks *h = k->hooks;
    struct err err = {0};
    bool prolog = k->state == HOOK_PROLOG;
    const char *path = prolog ? h->prolog : h->epilog;
    CHECK(k->script == NULL);
    if (path[0] == '\0') {
        if (prolog) end_prolog(k, "");
        else end_epilog(k, "");
        return;
    }
    int rc = take_lock(k, &err);
    if (rc == ERR_UNAVAILABLE && !prolog && net_now_ms() < k->give_up_ms) {
        later(k, LOCK_RETRY_MS);
        return;
    }
    if (rc == 0) rc = start(k, prolog ? "prolog" : "epilog", path, &err);
    if (rc == 0) return;
    file_close(&k->lock);
    if (prolog) end_prolog(k, err.text);
    else end_epilog(k, err.text);
}

/* ---- life ---- */

static int adopt(struct hooks *h, struct err *err)
{
    int own = fcntl(h->dir, F_DUPFD_CLOEXEC, 3);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    const struct dirent *e;
    if (d == NULL) {
        int saved = errno;
        file_close(&own);
        return err_sys(err, ERR_IO, saved, "cannot list the directory hooks");
    }
    while ((e = readdir(d)) != NULL) {
        struct member_ref ref;
        struct hook_record r = {.user = ""};
        struct err why = {0};
        if (!claim_parse_name(str_of(e->d_name), &ref)) continue;
        const struct memo_table t = {e->d_name, fields, ARRAY_LEN(fields)};
        if (memo_read(h->dir, &t, &r, &why) != 0) /* who it was for is still in its name */
            log_event(LOG_ERROR, "hooks.record", LOG_ERR(&why));
        struct hook *k = add(h, ref);
        k->r = r;
        k->state = HOOK_PASSED;
        k->adopted = true;
    }
    closedir(d);
    return 0;
}

int hooks_open(struct net_loop *loop, const struct hooks_opts *o, struct hooks **ret,
               struct err *err)
{
    struct hooks *h = mem_alloc(sizeof(*h));
    h->loop = loop;
    h->dir = -1;
    TEXT_CLIP(h->prolog, str_of(o->prolog));
    TEXT_CLIP(h->epilog, str_of(o->epilog));
    h->timeout_ms = o->timeout_ms;
    h->retry_ms = o->retry_ms > 0 ? o->retry_ms : RETRY_MS;
    h->on_change = o->on_change;
    h->arg = o->arg;
    h->timer = net_timer_new(loop, on_timer, h);
    h->tell = net_timer_new(loop, on_tell, h);
    AUTO_FD int state = file_open_dir(AT_FDCWD, o->dir, err);
    int rc = state < 0 ? state : file_mkdir(state, "hooks", 0700, err);
    if (rc == 0) rc = h->dir = file_open_dir(state, "hooks", err);
    if (rc >= 0) rc = adopt(h, err);
    if (rc < 0) {
        hooks_free(h);
        return rc;
    }
    changed(h);
    *ret = h;
    return 0;
}

void hooks_free(struct hooks *h)
{
    if (h == NULL) return;
    while (h->all.n > 0) drop(h->all.v[h->all.n - 1]);
    VEC_DONE(&h->all);
    net_timer_free(h->timer);
    net_timer_free(h->tell);
    file_close(&h->dir);
    mem_free(h);
}

void hooks_set_uuid(struct hooks *h, uint32_t index, const char *uuid)
{
    CHECK(index < NODE_DEVICES_MAX);
    TEXT_CLIP(h->uuids[index], str_of(uuid));
}

/* ---- what the agent asks ---- */

/* Devices that another's hooks still have to do with. */
static int beside(const struct hooks *h, const struct hooks_ask *ask, struct err *err)
{
    VEC_EACH(at, &h->all) {
        const struct hook *k = *at;
        char id[24];
        if (member_ref_cmp(k->ref, ask->ref) == 0 || k->state == HOOK_REFUSED) continue;
        if (((uint32_t)k->r.devices & ask->devices) == 0) continue;
        session_id_format(k->ref.session, id);
        if (k->failed)
            return err_set(err, ERR_IO, "the epilog of %s failed here: %.90s", id, k->why);
        return err_set(err, ERR_UNAVAILABLE, "a device of %s is not free yet", id);
    }
    return 0;
}

static void fill(struct hook *k, const struct hooks_ask *ask)
{
    const struct hooks *h = k->hooks;
    size_t n = 0;
    TEXT_CLIP(k->r.user, str_of(ask->user));
    k->r.devices = ask->devices;
    for (uint32_t i = 0; i < NODE_DEVICES_MAX; i++) {
        if ((ask->devices & UINT32_C(1) << i) == 0) continue;
        n += (size_t)text_fmt(k->r.gpus + n, sizeof(k->r.gpus) - n, "%s%s", n > 0 ? "," : "",
                              h->uuids[i]);
    }
}

int hooks_ready(struct hooks *h, const struct hooks_ask *ask, struct err *err)
{
    struct hook *k = find(h, ask->ref, NULL);
    if (h->prolog[0] == '\0' && h->epilog[0] == '\0' && k == NULL) return 0;
    if (k == NULL) {
        int rc = beside(h, ask, err);
        if (rc != 0) return rc;
        k = add(h, ask->ref);
        fill(k, ask);
        k->state = HOOK_PROLOG;
        rc = record(k, err);
        if (rc != 0) {
            drop(k);
            return rc;
        }
        if (h->prolog[0] == '\0') k->state = HOOK_PASSED;
        else later(k, 0);
    }
    if (k->state == HOOK_PASSED && !k->adopted) return 0;
    if (k->state == HOOK_REFUSED) {
        int rc = err_set(err, ERR_IO, "prolog: %s", k->why);
        drop(k);
        return rc;
    }
    if (k->failed) return err_set(err, ERR_IO, "its epilog failed here: %.90s", k->why);
    return err_set(err, ERR_UNAVAILABLE, k->state == HOOK_PROLOG ? "its prolog runs"
                                                                 : "its epilog runs");
}

void hooks_made(struct hooks *h, struct member_ref ref)
{
    struct hook *k = find(h, ref, NULL);
    if (k != NULL) k->made = true;
}

static const struct member_report *listed(const struct member_report *v, uint32_t n,
                                          struct member_ref ref)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (member_ref_cmp(v[mid].ref, ref) < 0) lo = mid + 1;
        else hi = mid;
    }
    return lo < n && member_ref_cmp(v[lo].ref, ref) == 0 ? &v[lo] : NULL;
}

static void settle_one(struct hook *k, const struct member_report *there, bool wanted)
{
    bool gone = there == NULL ? k->made || k->adopted || !wanted : there->phase >= MEMBER_EXITED;
    switch (k->state) {
    case HOOK_PASSED:
        if (there != NULL) k->made = true;
        if (gone) epilog(k);
        break;
    case HOOK_PROLOG:
        if (wanted) break;
        script_free(STEAL(k->script));
        file_close(&k->lock);
        k->due_ms = 0;
        epilog(k);
        break;
    case HOOK_REFUSED:
        if (!wanted) drop(k);
        break;
    case HOOK_EPILOG:
        break;
    }
}

void hooks_settle(struct hooks *h, const struct member_report *v, uint32_t n,
                  bool (*wanted)(const void *arg, struct member_ref ref), const void *arg)
{
    for (uint32_t i = h->all.n; i-- > 0;) {
        struct hook *k = h->all.v[i];
        settle_one(k, listed(v, n, k->ref), wanted(arg, k->ref));
    }
}

static bool holds(const struct hook *k) { return k->state != HOOK_REFUSED && !k->failed; }

bool hooks_holds(const struct hooks *h, struct member_ref ref)
{
    const struct hook *k = find(h, ref, NULL);
    return k != NULL && holds(k);
}

uint32_t hooks_list(const struct hooks *h, struct member_report **ret)
{
    struct member_report *v = mem_array(h->all.n > 0 ? h->all.n : 1, sizeof(*v));
    uint32_t n = 0;
    VEC_EACH(k, &h->all) {
        if (!holds(*k)) continue;
        struct member_report *r = &v[n++];
        bool early = (*k)->state == HOOK_PROLOG || ((*k)->state == HOOK_PASSED && !(*k)->adopted);
        *r = (struct member_report){.ref = (*k)->ref, .end.exit_code = -1,
                                    .phase = early ? MEMBER_PREPARING : MEMBER_STOPPING};
        TEXT_CLIP(r->end.detail, str_of(early ? "its prolog" : "its epilog"));
    }
    *ret = v;
    return n;
}

const char *hooks_mark(const struct hooks *h) { return h->mark; }
