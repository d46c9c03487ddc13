/* manager/manager.c - putting the parts together, and what happens between them.
 *
 * Order of life: store and its lock, keys, reader, turns (which begin to load),
 * listeners.  Listening begins before the world is there; requests that need it
 * are told to ask again. */
#include "manager/manager.h"
#include <errno.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/check.h"
#include "manager/route.h"
#include "manager/fencer.h"
#include "net/addr.h"
#include "net/notify.h"
#include "net/tls.h"

/* ---- between turns and the rest ---- */

static void on_closing(void *arg, struct turn_batch *b) { beat_closing(arg, b); }

/* What a burst needed is given back when it is over, so that a quiet manager is small. */
static void on_calm(void *arg)
{
    struct manager *m = arg;
    if (turns_durable(m->turns) != m->calm_turn) {
        m->calm_turn = turns_durable(m->turns);
        net_timer_set(m->calm, MANAGER_CALM_MS, 0);
        return;
    }
    turns_trim(m->turns);
    malloc_trim(0);
}

static void on_durable(void *arg, struct turn_batch *b)
{
    struct manager *m = arg;
    if (!net_timer_armed(m->calm)) net_timer_set(m->calm, MANAGER_CALM_MS, 0);
    VEC_EACH(op, &b->turn.ops)
        if (op->kind == STORE_PUT_IDEM) idem_durable(&m->idem, &op->u.idem);
    if (!turns_world(m->turns)) return;
    event_durable(m, b);
    watch_durable(m, b);
}

static void give_up(struct manager *m, const struct err *why)
{
    log_event(LOG_ERROR, "manager.gives_up", LOG_ERR(why));
    if (m->on_end) m->on_end(m->on_end_arg, 1);
}

static void on_lost(void *arg, const struct err *why)
{
    struct manager *m = arg;
    log_event(LOG_ERROR, "turn.lost", LOG_ERR(why));
    if (why->code == ERR_CORRUPT || why->code == ERR_UNSUPPORTED)
        give_up(m, why); /* loading again would read the same */
    idem_clear(&m->idem);
    doc_cache_clear(&m->docs);
    beat_lost(m);
    watch_lost(m);
    event_lost(m);
}

/* The one time that a token is shown: in a file that only root reads.  The file
 * comes first; should we end before the turn is durable, the next start makes
 * another and writes over it. */
static int first_token(struct manager *m, const struct world *w, struct err *err)
{
    const struct user *admin = NULL;
    VEC_EACH(u, &w->users)
        if (!admin && u->role == ROLE_ADMIN && !u->disabled) admin = u;
    if (!admin) return err_set(err, ERR_CORRUPT, "the store has no administrator");
    char text[AUTH_TOKEN_TEXT + 1], path[SETTINGS_PATH_MAX + 32];
    struct store_token token;
    auth_new_api(admin->id, STR("first admin token"), net_wall_ms(), &token, text);
    size_t n = strlen(text);
    text[n] = '\n';
    text_fmt(path, sizeof(path), "%s/admin.token", m->cfg.dir);
    int rc = pki_file_write(path, str_n(text, n + 1), 0600, err);
    if (rc == 0 && isatty(STDOUT_FILENO)) {
        static const char hint[] = "admin token, shown once, kept in the manager's directory:\n";
        if (write(STDOUT_FILENO, hint, sizeof(hint) - 1) < 0 ||
            write(STDOUT_FILENO, text, n + 1) < 0)
            log_event(LOG_WARN, "token.not_shown", LOG_S("file", path));
    }
    mem_zero_secret(text, sizeof(text));
    if (rc != 0) return rc;
    store_turn_op(turns_open(m->turns), STORE_PUT_TOKEN)->u.token = token;
    auth_add(&m->auth, &token);
    log_event(LOG_INFO, "token.made", LOG_S("user", admin->name), LOG_S("file", path));
    return 0;
}

/* Whether anybody holds what an administrator needs. */
static bool has_admin_token(const struct manager *m, const struct world *w)
{
    int64_t wall_ms = net_wall_ms();
    VEC_EACH(t, &m->auth.tokens) {
        const struct user *u = world_user(w, t->user);
        if (t->kind != STORE_TOKEN_API || !u || u->role != ROLE_ADMIN || u->disabled) continue;
        if (!auth_expired(t, wall_ms)) return true;
    }
    return false;
}

static void on_loaded(void *arg, struct world *w)
{
    struct manager *m = arg;
    struct err err = {0};
    w->fence_command = m->cfg.n_fence > 0;
    int rc = auth_load(&m->auth, m->reader, &err);
    if (rc == 0 && !has_admin_token(m, w)) rc = first_token(m, w, &err);
    if (rc != 0) {
        give_up(m, &err);
        return;
    }
    log_event(LOG_INFO, "manager.ready", LOG_U("turn", w->turn), LOG_S("cluster", m->cluster),
              LOG_S("incarnation", m->incarnation));
    m->notify = net_notify_new(m->loop);
}

static void on_deposed(void *arg, const struct err *why)
{
    struct manager *m = arg;
    m->deposed = true;
    give_up(m, why);
}

/* ---- opening ---- */

static int make_dir(const char *dir, struct err *err)
{
    char path[SETTINGS_PATH_MAX];
    text_clip(path, sizeof(path), str_of(dir));
    for (char *p = path + 1; *p; p++) { /* missing parents too */
        if (*p != '/') continue;
        *p = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return err_sys(err, ERR_IO, errno, "cannot make directory %s", path);
        *p = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_sys(err, ERR_IO, errno, "cannot make directory %s", path);
    return 0;
}

static int open_store(struct manager *m, struct err *err)
{
    char path[SETTINGS_PATH_MAX + 32];
    text_fmt(path, sizeof(path), "%s/store.db", m->cfg.dir);
    struct store_options o = {.path = path,
                              .wall_ms = net_wall_ms(),
                              .admin_uid = m->cfg.admin_uid,
                              .admin_gid = m->cfg.admin_gid};
    int rc = store_open(&o, &m->store, err);
    if (rc == 0) rc = store_reader_open(path, &m->reader, err);
    if (rc != 0) return rc;
    bool fits = TEXT_SET(m->cluster, str_of(store_cluster(m->store))) &&
                TEXT_SET(m->incarnation, str_of(store_incarnation(m->store)));
    CHECK(fits);
    return 0;
}

static int open_people(struct manager *m, struct err *err)
{
    struct http_server_opts o = {.body_limit = route_people_limit};
    if (m->cfg.tls_cert[0]) {
        struct tls_server_opts t = {.cert_file = m->cfg.tls_cert, .key_file = m->cfg.tls_key};
        o.tls = tls_server_new(&t, err);
        if (!o.tls) return err_prefix(err, "certificate of the API");
    }
    m->people = http_server_listen(m->loop, str_of(m->cfg.listen), &o, route_people, m, err);
    tls_ctx_free(o.tls);
    return m->people ? 0 : err_prefix(err, "listen");
}

static bool is_any_host(const char *host)
{
    struct str h = str_of(host);
    return str_eq(h, STR("*")) || str_eq(h, STR("0.0.0.0")) || str_eq(h, STR("::")) || h.n == 0;
}

/* Where nothing else is said: the address that is listened on, by name if it is all of them. */
static void set_agent_url(struct manager *m)
{
    struct net_addr a;
    char host[256] = "";
    if (net_addr_parse(str_of(m->cfg.agent_listen), 0, &a, NULL) == 0 && is_any_host(a.host) &&
        gethostname(host, sizeof(host) - 1) == 0) {
        text_fmt(m->agent_url, sizeof(m->agent_url), "https://%s:%u", host,
                 http_server_port(m->agents));
        return;
    }
    struct str addr = http_server_addr(m->agents);
    text_fmt(m->agent_url, sizeof(m->agent_url), "https://%.*s", (int)addr.n, addr.p);
}

static int open_agents(struct manager *m, struct err *err)
{
    struct tls_server_opts t = {.cert_pem = str_of(m->authority.server.cert),
                                .key_pem = str_of(m->authority.server.key),
                                .client_ca_pem = str_of(m->authority.ca.cert)};
    struct http_server_opts o = {.body_max = BEAT_REQUEST_MAX, .body_limit = route_agents_limit};
    o.tls = tls_server_new(&t, err);
    if (!o.tls) return err_prefix(err, "certificate for agents");
    m->agents = http_server_listen(m->loop, str_of(m->cfg.agent_listen), &o, route_agents, m, err);
    tls_ctx_free(o.tls);
    if (!m->agents) return err_prefix(err, "agent_listen");
    if (m->cfg.agent_url[0]) {
        text_clip(m->agent_url, sizeof(m->agent_url), str_of(m->cfg.agent_url));
        return 0;
    }
    set_agent_url(m);
    return 0;
}

/* Host names and addresses that agents may know us by. */
static int open_authority(struct manager *m, struct err *err)
{
    struct net_addr a;
    int rc = net_addr_parse(str_of(m->cfg.agent_listen), 0, &a, err);
    if (rc != 0) return err_prefix(err, "agent_listen");
    bool named = a.kind != NET_ADDR_UNIX && !is_any_host(a.host);
    return authority_open(m->cfg.dir, named ? a.host : "", &m->authority, err);
}

static void leader_name(char ret[33])
{
    char host[256] = "";
    if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
    text_fmt(ret, 33, "%d.%lld.%s", (int)getpid(), (long long)(net_wall_ms() / 1000), host);
}

int manager_open(const struct settings *cfg, struct net_loop *loop,
                 void (*on_end)(void *arg, int code), void *arg, struct manager **ret,
                 struct err *err)
{
    static const struct turns_ops ops = {on_closing, on_durable, on_lost, on_loaded, on_deposed};
    struct manager *m = mem_alloc(sizeof(*m));
    m->cfg = *cfg;
    m->loop = loop;
    m->on_end = on_end;
    m->on_end_arg = arg;
    m->calm = net_timer_new(loop, on_calm, m);
    m->fencer = fencer_new(m);
    doc_cache_init(&m->docs, MANAGER_DOCS_BYTES);
    int rc = make_dir(m->cfg.dir, err);
    if (rc == 0) rc = open_store(m, err);
    if (rc == 0) rc = open_authority(m, err);
    if (rc == 0) {
        char leader[33];
        leader_name(leader);
        m->turns = turns_new(loop, m->store, leader, &ops, m);
        rc = open_people(m, err);
    }
    if (rc == 0) rc = open_agents(m, err);
    if (rc != 0) {
        manager_close(m);
        return rc;
    }
    *ret = m;
    return 0;
}

/* ---- ending ---- */

void manager_stop(struct manager *m, void (*done)(void *arg), void *arg)
{
    CHECK(!m->closing);
    m->closing = true;
    net_notify_free(STEAL(m->notify));
    turns_drain(m->turns, done, arg);
}

void manager_close(struct manager *m)
{
    if (!m) return;
    /* What waits for a turn is answered while its connection is still there. */
    turns_free(m->turns);
    net_notify_free(m->notify);
    net_timer_free(m->calm);
    fencer_free(m->fencer);
    http_server_free(m->people);
    http_server_free(m->agents);
    beat_done(m);
    orphans_done(m);
    events_done(m);
    watch_lost(m);
    store_reader_close(m->reader);
    store_close(m->store);
    authority_done(&m->authority);
    auth_done(&m->auth);
    idem_done(&m->idem);
    doc_cache_done(&m->docs);
    mem_free(m);
}
