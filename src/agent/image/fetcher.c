/* agent/image/fetcher.c - the agent's side of fetching.  docs/spec/node.md, "Images" */
#include "agent/image/fetcher.h"
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>
#include "agent/image/say.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/child.h"
#include "net/log.h"

#define RUNNING_MAX 8
#define STALL_MS 120000
#define FORGET_MS 600000
#define SWEEP_MS 5000
#define LINE_MAX_ 1024

enum job_state { JOB_QUEUED = 0, JOB_RUNNING, JOB_DONE };

struct job {
    struct fetcher *f;
    uint64_t session;
    uint32_t attempt;
    char image[256];
    uint32_t uid, gid;
    enum job_state state;
    struct child *child;
    struct strbuf lines;
    int64_t asked_ms;
    char how_far[160];
    int rc;                  /* of DONE */
    char digest[DIGEST_TEXT];
    char why[ERR_TEXT_MAX];
};

struct fetcher {
    struct net_loop *loop;
    struct fetcher_config c;
    char program[256], state_dir[224], authfile[256], insecure[1024];
    char arch[65];
    struct net_timer *sweep;
    uint32_t running;
    VEC(struct job *) jobs; /* the oldest first */
};

static void start_more(struct fetcher *f);

static void job_end(struct job *j, int rc, const char *text)
{
    struct fetcher *f = j->f;
    if (j->state == JOB_RUNNING) f->running--;
    j->state = JOB_DONE;
    j->rc = rc;
    if (rc == 0) TEXT_CLIP(j->digest, str_of(text));
    else TEXT_CLIP(j->why, str_of(text));
    log_event(rc == 0 ? LOG_INFO : LOG_WARN, "image.fetched", LOG_S("image", j->image),
              LOG_U("session", j->session), rc == 0 ? LOG_S("digest", text) : LOG_S("error", text));
    f->c.on_change(f->c.arg);
}

/* ---- what the child says ---- */

static void take_line(struct job *j, struct str line)
{
    struct str word, rest = line;
    int64_t code = 0;
    char text[ERR_TEXT_MAX];
    str_cut(&rest, ' ', &word);
    if (j->state != JOB_RUNNING) return;
    if (str_eq(word, STR("say"))) {
        TEXT_CLIP(j->how_far, rest);
    } else if (str_eq(word, STR("done")) && digest_is(rest)) {
        TEXT_CLIP(text, rest);
        job_end(j, 0, text);
    } else if (str_eq(word, STR("fail"))) {
        str_cut(&rest, ' ', &word);
        bool good = str_to_i64(word, &code) && code < 0 && code >= ERR_UNSUPPORTED;
        TEXT_CLIP(text, rest);
        job_end(j, good ? (int)code : ERR_IO, text);
    }
}

static void on_output(void *arg, int stream, struct str data)
{
    struct job *j = arg;
    if (stream != 1) return;
    strbuf_put(&j->lines, data);
    const char *end;
    while (j->lines.n && (end = memchr(j->lines.p, '\n', j->lines.n)) != NULL) {
        size_t n = (size_t)(end - j->lines.p);
        take_line(j, str_n(j->lines.p, n));
        strbuf_drop(&j->lines, n + 1);
    }
    if (j->lines.full) strbuf_reset(&j->lines); /* no line of ours is so long */
}

static void on_exit_(void *arg, const struct child_exit *e)
{
    struct job *j = arg;
    struct fetcher *f = j->f;
    char text[80];
    j->child = NULL;
    text_fmt(text, sizeof(text), "the fetcher of the image ended with %d", e->code);
    if (j->state == JOB_RUNNING) job_end(j, ERR_IO, text);
    start_more(f);
}

/* ---- starting ---- */

static int spawn(struct job *j, struct err *err)
{
    struct fetcher *f = j->f;
    char image[280], dir[240], arch[80], auth[280], insecure[1040], limit[40], stall[40], uid[24],
        gid[24];
    const char *argv[16] = {"rotad", "image-fetch", image, dir, arch, insecure, limit, stall, uid,
                            gid};
    static const struct child_ops ops = {.on_output = on_output, .on_exit = on_exit_};
    text_fmt(image, sizeof(image), "image=%s", j->image);
    text_fmt(dir, sizeof(dir), "dir=%s", f->state_dir);
    text_fmt(arch, sizeof(arch), "arch=%s", f->arch);
    text_fmt(insecure, sizeof(insecure), "insecure=%s", f->insecure);
    text_fmt(limit, sizeof(limit), "limit=%lld", (long long)f->c.limit_bytes);
    text_fmt(stall, sizeof(stall), "stall_ms=%lld", (long long)f->c.stall_ms);
    text_fmt(uid, sizeof(uid), "uid=%u", j->uid);
    text_fmt(gid, sizeof(gid), "gid=%u", j->gid);
    text_fmt(auth, sizeof(auth), "authfile=%s", f->authfile);
    if (f->authfile[0]) argv[10] = auth;
    struct child_spec spec = {.path = f->program, .argv = argv, .cwd = "/",
                              .parent_death_signal = SIGKILL};
    j->child = child_spawn(f->loop, &spec, &ops, j, err);
    return j->child ? 0 : ERR_IO;
}

static void start_more(struct fetcher *f)
{
    for (uint32_t i = 0; i < f->jobs.n && f->running < RUNNING_MAX; i++) {
        struct job *j = f->jobs.v[i];
        struct err err = {0};
        if (j->state != JOB_QUEUED) continue;
        j->state = JOB_RUNNING;
        f->running++;
        if (spawn(j, &err) < 0) job_end(j, ERR_IO, err.text);
    }
}

static void job_free(struct job *j)
{
    child_free(j->child, true); /* what it began ends with it */
    strbuf_done(&j->lines);
    mem_free(j);
}

/* What nobody asks for: its session is gone, or was told. */
static void on_sweep(void *arg)
{
    struct fetcher *f = arg;
    int64_t now = net_now_ms();
    for (uint32_t i = f->jobs.n; i-- > 0;) {
        struct job *j = f->jobs.v[i];
        if (now - j->asked_ms < f->c.forget_ms) continue;
        if (j->state == JOB_RUNNING) f->running--;
        job_free(j);
        VEC_REMOVE(&f->jobs, i);
    }
    start_more(f);
}

struct fetcher *fetcher_new(struct net_loop *loop, const struct fetcher_config *config)
{
    struct fetcher *f = mem_alloc(sizeof(*f));
    struct utsname u;
    f->loop = loop;
    f->c = *config;
    if (f->c.stall_ms == 0) f->c.stall_ms = STALL_MS;
    if (f->c.forget_ms == 0) f->c.forget_ms = FORGET_MS;
    TEXT_CLIP(f->program, str_of(config->program));
    TEXT_CLIP(f->state_dir, str_of(config->state_dir));
    TEXT_CLIP(f->authfile, str_of(config->authfile));
    TEXT_CLIP(f->insecure, str_of(config->insecure));
    TEXT_CLIP(f->arch, str_of(uname(&u) == 0 ? image_arch(u.machine) : "unknown"));
    f->sweep = net_timer_new(loop, on_sweep, f);
    net_timer_set(f->sweep, SWEEP_MS, SWEEP_MS);
    return f;
}

void fetcher_free(struct fetcher *f)
{
    if (!f) return;
    for (uint32_t i = 0; i < f->jobs.n; i++) job_free(f->jobs.v[i]);
    VEC_DONE(&f->jobs);
    net_timer_free(f->sweep);
    mem_free(f);
}

/* ---- asking ---- */

static struct job *find(struct fetcher *f, const struct fetcher_want *w)
{
    for (uint32_t i = 0; i < f->jobs.n; i++) {
        struct job *j = f->jobs.v[i];
        if (j->session == w->ref.session && j->attempt == w->ref.attempt &&
            strcmp(j->image, w->image) == 0)
            return j;
    }
    return NULL;
}

static int tell(struct job *j, char ret_digest[DIGEST_TEXT], struct err *err)
{
    if (j->state != JOB_DONE)
        return err_set(err, ERR_UNAVAILABLE, "fetching %.80s%s%s", j->image,
                       j->how_far[0] ? ": " : "", j->how_far);
    if (j->rc == 0) {
        text_clip(ret_digest, DIGEST_TEXT, str_of(j->digest));
        return 0;
    }
    /* Not the code that means "ask again". */
    int rc = err_set(err, j->rc == ERR_UNAVAILABLE ? ERR_IO : j->rc, "%s", j->why);
    if (!say_is_fatal(j->rc)) err_field(err, "retry");
    return rc;
}

int fetcher_ask(struct fetcher *f, const struct fetcher_want *want, char ret_digest[DIGEST_TEXT],
                struct err *err)
{
    struct job *j = find(f, want);
    if (!j) {
        j = mem_alloc(sizeof(*j));
        j->f = f;
        j->session = want->ref.session;
        j->attempt = want->ref.attempt;
        j->uid = want->uid;
        j->gid = want->gid;
        TEXT_CLIP(j->image, str_of(want->image));
        strbuf_init(&j->lines, LINE_MAX_);
        VEC_PUSH(&f->jobs, j);
        start_more(f);
    }
    j->asked_ms = net_now_ms();
    return tell(j, ret_digest, err);
}
