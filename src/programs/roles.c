/* programs/roles.c - three children, their order, their tokens and their logs. */
#include "programs/roles.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/context.h"
#include "net/child.h"
#include "net/log.h"

enum { MANAGER = 0, AGENT, PROXY, ROLES };
enum {
    PAUSE_FIRST_MS = 50, PAUSE_MAX_MS = 5000,
    STEADY_MS = 10000,      /* having run this long, a child gets the short pause again */
    START_MS = 30000,       /* for each part to become ready */
    EARLY_ENDS_MAX = 3,     /* of one child before it was ever ready: give up */
    STOP_MS = 8000,
    LOG_MAX = 16 * 1024 * 1024,
    ARGS_MAX = 32,
};

struct part {
    struct roles *all;
    const char *name;
    struct child *child;
    struct net_timer *again;
    struct api_pending *asking; /* for a join token */
    int64_t started_ms, pause_ms;
    uint32_t early_ends;
};

struct roles {
    struct net_loop *loop;
    struct dev_options options;
    struct api *api;
    struct part part[ROLES];
    char program[512], shim[512];
    bool ready, stopping, all_gone;
};

static const char *const names[ROLES] = {"manager", "agent", "proxy"};

/* ---- where things are ---- */

static int find_binaries(struct roles *r, struct err *err)
{
    static const char *const places[] = {"rota-shim", "../shim/rota-shim",
                                         "../lib/rota/rota-shim", "../libexec/rota/rota-shim"};
    ssize_t n = readlink("/proc/self/exe", r->program, sizeof(r->program) - 1);
    if (n <= 0) return err_sys(err, ERR_IO, errno, "cannot find this program's own file");
    r->program[n] = '\0';
    const char *slash = strrchr(r->program, '/');
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        text_fmt(r->shim, sizeof(r->shim), "%.*s/%s", (int)(slash - r->program), r->program,
                 places[i]);
        if (access(r->shim, X_OK) == 0) return 0;
    }
    text_fmt(r->shim, sizeof(r->shim), "/usr/lib/rota/rota-shim");
    if (access(r->shim, X_OK) == 0 || strcmp(r->options.driver, "fake") == 0) return 0;
    return err_set(err, ERR_NOT_FOUND, "rota-shim is not beside %.150s: build or install it too",
                   r->program);
}

static int open_log(const struct part *part)
{
    char file[64], path[DEV_PATH_MAX + 64], old[DEV_PATH_MAX + 64];
    text_fmt(file, sizeof(file), "run/%s.log", part->name);
    dev_path(&part->all->options, file, path);
    text_fmt(file, sizeof(file), "run/%s.log.1", part->name);
    dev_path(&part->all->options, file, old);
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > LOG_MAX) (void)rename(path, old);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void token_path(const struct part *part, char ret[DEV_PATH_MAX + 64])
{
    char file[64];
    text_fmt(file, sizeof(file), "run/%s.token", part->name);
    dev_path(&part->all->options, file, ret);
}

static bool has_joined(const struct part *part)
{
    char file[64], path[DEV_PATH_MAX + 64];
    text_fmt(file, sizeof(file), "%s/identity.json", part->name);
    dev_path(&part->all->options, file, path);
    return access(path, F_OK) == 0;
}

/* ---- the command lines ---- */

struct command {
    const char *argv[ARGS_MAX];
    char text[ARGS_MAX][DEV_PATH_MAX + 64];
    uint32_t n;
};

static char *arg(struct command *c)
{
    CHECK(c->n < ARGS_MAX - 1);
    char *text = c->text[c->n];
    c->argv[c->n++] = text;
    return text;
}

static void flag(struct command *c, const char *name, const char *value)
{
    if (!value[0]) return;
    text_fmt(arg(c), DEV_PATH_MAX + 64, "%s", name);
    text_fmt(arg(c), DEV_PATH_MAX + 64, "%s", value);
}

static void flag_url(struct command *c, const char *name, const struct dev_options *o,
                     uint32_t offset, const char *scheme)
{
    char url[64];
    dev_url(o, offset, scheme, url);
    flag(c, name, url);
}

static void make_command(const struct part *part, struct command *c)
{
    const struct dev_options *o = &part->all->options;
    char path[DEV_PATH_MAX + 64], count[16] = "";
    *c = (struct command){0};
    text_fmt(arg(c), DEV_PATH_MAX + 64, "rotad");
    text_fmt(arg(c), DEV_PATH_MAX + 64, "%s", part->name);
    dev_path(o, part->name, path);
    flag(c, "--dir", path);
    if (part->name == names[MANAGER]) {
        flag_url(c, "--listen", o, 0, "");
        flag_url(c, "--agent-listen", o, 1, "");
        flag_url(c, "--proxy-url", o, 2, "http://");
        return;
    }
    flag_url(c, "--manager", o, 1, "https://");
    token_path(part, path);
    flag(c, "--join-token-file", path);
    if (part->name == names[PROXY]) {
        flag_url(c, "--listen", o, 2, "");
        return;
    }
    flag_url(c, "--data-listen", o, 3, "");
    flag(c, "--driver", o->driver);
    flag(c, "--shim", part->all->shim);
    flag(c, "--name", o->name);
    flag(c, "--cpus", o->cpus);
    flag(c, "--mem", o->mem);
    if (o->simulated_gpus > 0) text_fmt(count, sizeof(count), "%u", o->simulated_gpus);
    flag(c, "--simulated-gpus", count);
    flag(c, "--simulated-model", o->simulated_model);
    flag(c, "--labels", o->labels);
}

/* ---- life of one role ---- */

static void start_role(struct part *part);

static void check_gone(struct roles *r)
{
    bool gone = true;
    for (int i = 0; i < ROLES; i++) gone &= r->part[i].child == NULL;
    r->all_gone = gone;
}

static void start_later(struct part *part)
{
    net_timer_set(part->again, part->pause_ms, 0);
    part->pause_ms = part->pause_ms * 2 < PAUSE_MAX_MS ? part->pause_ms * 2 : PAUSE_MAX_MS;
}

static void on_exit_of(void *arg_, const struct child_exit *e)
{
    struct part *part = arg_;
    part->child = NULL;
    check_gone(part->all);
    if (part->all->stopping) return;
    log_event(LOG_WARN, "dev.ended", LOG_S("role", part->name), LOG_I("code", e->code));
    if (net_now_ms() - part->started_ms > STEADY_MS) part->pause_ms = PAUSE_FIRST_MS;
    if (!part->all->ready) part->early_ends++;
    start_later(part);
}

static const struct child_ops child_callbacks = {NULL, on_exit_of};

static void spawn(struct part *part)
{
    struct command c;
    make_command(part, &c);
    int log = open_log(part);
    struct child_spec spec = {
        .path = part->all->program,
        .argv = c.argv,
        .fds = {{log, 1}, {log, 2}},
        .n_fds = log >= 0 ? 2 : 0,
        .parent_death_signal = SIGTERM, /* nobody would restart it, and nobody would stop it */
        .new_session = true,            /* a terminal's Ctrl-C is ours to translate */
    };
    struct err err = {0};
    part->started_ms = net_now_ms();
    part->child = child_spawn(part->all->loop, &spec, &child_callbacks, part, &err);
    if (log >= 0) close(log);
    if (part->child) return;
    log_event(LOG_ERROR, "dev.spawn", LOG_S("role", part->name), LOG_ERR(&err));
    start_later(part);
}

static bool write_token(const struct part *part, const char *token)
{
    char path[DEV_PATH_MAX + 64];
    token_path(part, path);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return false;
    bool ok = write(fd, token, strlen(token)) == (ssize_t)strlen(token) && write(fd, "\n", 1) == 1;
    return close(fd) == 0 && ok;
}

static void on_token(void *arg_, const struct api_result *res, struct str body,
                     const struct err *err)
{
    struct part *part = arg_;
    part->asking = NULL;
    struct err why = *err;
    struct join_token_answer t;
    bool ok = res->status >= 200 && res->status < 300 &&
              api_parse(&wire_join_token_answer, body, &t, &why) == 0;
    if (!ok) {
        log_event(LOG_WARN, "dev.token", LOG_S("role", part->name), LOG_ERR(&why));
        start_later(part);
        return;
    }
    if (write_token(part, t.token)) spawn(part);
    else start_later(part);
    wire_free(&wire_join_token_answer, &t);
}

static void start_role(struct part *part)
{
    char path[DEV_PATH_MAX + 64];
    if (part->name == names[MANAGER] || has_joined(part)) {
        token_path(part, path);
        (void)unlink(path); /* spent */
        spawn(part);
        return;
    }
    struct api_request rq = {.method = "POST", .target = "/api/v1/tokens/join",
                             .body = STR("{}"), .timeout_ms = 5000};
    part->asking = api_send(part->all->api, &rq, on_token, part);
}

static void on_again(void *arg_) { start_role(arg_); }

/* ---- becoming ready ---- */

static void last_words(const struct part *part, char *ret, size_t cap)
{
    char file[64], path[DEV_PATH_MAX + 64], buf[2048];
    text_fmt(file, sizeof(file), "run/%s.log", part->name);
    dev_path(&part->all->options, file, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) return;
    off_t from = st.st_size > (off_t)sizeof(buf) ? st.st_size - (off_t)sizeof(buf) : 0;
    ssize_t n = pread(fd, buf, sizeof(buf), from);
    close(fd);
    while (n > 0 && buf[n - 1] == '\n') n--;
    ssize_t at = n;
    while (at > 0 && buf[at - 1] != '\n') at--;
    if (n > at) text_clip(ret, cap, str_n(buf + at, (size_t)(n - at)));
}

static int judge_start(const struct part *part, int64_t until, struct err *err)
{
    char words[160] = "";
    if (part->early_ends < EARLY_ENDS_MAX && net_now_ms() < until) return 0;
    last_words(part, words, sizeof(words));
    return err_set(err, ERR_UNAVAILABLE, "the %s does not start; last line of %.60s/run/%s.log: %s",
                   part->name, part->all->options.dir, part->name, words);
}

static void pause_ms(struct roles *r, int64_t ms)
{
    bool never = false;
    (void)net_loop_run_until(r->loop, &never, ms);
}

struct api *roles_connect(struct net_loop *l, const struct dev_options *o, struct err *err)
{
    char path[DEV_PATH_MAX + 64], token[CONTEXT_TOKEN_MAX], url[64];
    dev_path(o, "manager/admin.token", path);
    if (context_read_token(path, token, err) < 0) return NULL;
    dev_url(o, 0, "http://", url);
    struct api *a = api_open_at(l, url, token, "", err);
    mem_zero_secret(token, sizeof(token));
    return a;
}

static int wait_manager(struct roles *r, struct err *err)
{
    int64_t until = net_now_ms() + START_MS;
    for (int64_t step = 2;; step = step < 50 ? step * 2 : 50) {
        /* The child must be there: another manager might own the port. */
        if (r->part[MANAGER].child && !r->api) r->api = roles_connect(r->loop, &r->options, NULL);
        struct api_request rq = {.target = "/readyz", .timeout_ms = 2000};
        if (r->api && r->part[MANAGER].child && api_call(r->api, &rq, NULL, NULL, NULL) == 0)
            return 0;
        int rc = judge_start(&r->part[MANAGER], until, err);
        if (rc < 0) return rc;
        pause_ms(r, step);
    }
}

static bool node_ready(struct roles *r)
{
    struct node_list list;
    if (api_get(r->api, "/api/v1/nodes", &wire_node_list, &list, NULL) < 0) return false;
    bool ready = false;
    VEC_EACH (v, &list.items) ready |= strcmp(v->state, "ready") == 0;
    wire_free(&wire_node_list, &list);
    return ready;
}

static bool proxy_ready(struct roles *r, struct api *proxy)
{
    (void)r;
    struct api_request rq = {.target = "/healthz", .timeout_ms = 2000};
    return api_call(proxy, &rq, NULL, NULL, NULL) == 0;
}

static int wait_rest(struct roles *r, struct err *err)
{
    char url[64];
    dev_url(&r->options, 2, "http://", url);
    struct api *proxy = api_open_at(r->loop, url, "", "", err);
    if (!proxy) return ERR_INVALID;
    int64_t until = net_now_ms() + START_MS;
    bool agent_there = false, proxy_there = false;
    int rc = 0;
    for (int64_t step = 2; rc == 0; step = step < 50 ? step * 2 : 50) {
        agent_there = agent_there || node_ready(r);
        proxy_there = proxy_there || proxy_ready(r, proxy);
        if (agent_there && proxy_there) break;
        if (!agent_there) rc = judge_start(&r->part[AGENT], until, err);
        if (rc == 0 && !proxy_there) rc = judge_start(&r->part[PROXY], until, err);
        if (rc == 0) pause_ms(r, step);
    }
    api_close(proxy);
    return rc;
}

struct roles *roles_start(struct net_loop *l, const struct dev_options *o, struct err *err)
{
    struct roles *r = mem_alloc(sizeof(*r));
    *r = (struct roles){.loop = l, .options = *o};
    for (int i = 0; i < ROLES; i++)
        r->part[i] = (struct part){
            .all = r, .name = names[i], .pause_ms = PAUSE_FIRST_MS,
            .again = net_timer_new(l, on_again, &r->part[i]),
        };
    int rc = find_binaries(r, err);
    if (rc == 0) {
        start_role(&r->part[MANAGER]);
        rc = wait_manager(r, err);
    }
    if (rc == 0) {
        start_role(&r->part[AGENT]);
        start_role(&r->part[PROXY]);
        rc = wait_rest(r, err);
    }
    r->ready = true;
    if (rc == 0) return r;
    roles_stop(r);
    return NULL;
}

void roles_stop(struct roles *r)
{
    r->stopping = true;
    for (int i = 0; i < ROLES; i++) {
        net_timer_free(r->part[i].again);
        api_cancel(r->part[i].asking);
        if (r->part[i].child) child_signal(r->part[i].child, SIGTERM);
    }
    check_gone(r);
    if (!net_loop_run_until(r->loop, &r->all_gone, STOP_MS)) {
        for (int i = 0; i < ROLES; i++)
            if (r->part[i].child) child_signal(r->part[i].child, SIGKILL);
        (void)net_loop_run_until(r->loop, &r->all_gone, STOP_MS);
    }
    api_close(r->api);
    mem_free(r);
}

struct api *roles_api(struct roles *r) { return r->api; }
