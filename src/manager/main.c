/* manager/main.c - flags, signals, life of the process. */
#include "manager/main.h"
#include <argp.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "base/check.h"
#include "manager/manager.h"
#include "net/log.h"

struct flags {
    struct settings s;
    const char *file;
};

enum { KEY_DIR = 0x100, KEY_LISTEN, KEY_AGENT_LISTEN, KEY_AGENT_URL, KEY_PROXY_URL, KEY_CERT,
       KEY_KEY, KEY_INSECURE, KEY_CONFIG, KEY_LEVEL, KEY_FORMAT };

static const struct argp_option options[] = {
    {"dir", KEY_DIR, "DIR", 0, "folder of store, keys and admin token", 0},
    {"listen", KEY_LISTEN, "ADDR", 0, "people's API (127.0.0.1:7410)", 0},
    {"agent-listen", KEY_AGENT_LISTEN, "ADDR", 0, "agents and proxies, TLS (127.0.0.1:7411)", 0},
    {"agent-url", KEY_AGENT_URL, "URL", 0, "how agents reach it, if not by that address", 0},
    {"proxy-url", KEY_PROXY_URL, "URL", 0, "where clients carry logs and exec", 0},
    {"tls-cert", KEY_CERT, "FILE", 0, "certificate of the people's API", 0},
    {"tls-key", KEY_KEY, "FILE", 0, "its key", 0},
    {"insecure", KEY_INSECURE, NULL, 0, "allow plain HTTP elsewhere than on loopback", 0},
    {"config", KEY_CONFIG, "FILE", 0, "YAML with the same names; flags win", 0},
    {"log-level", KEY_LEVEL, "LEVEL", 0, "debug, info, warn or error", 0},
    {"log-format", KEY_FORMAT, "FORMAT", 0, "logfmt or json", 0},
    {0},
};

static void set(struct argp_state *state, char *dst, size_t cap, const char *arg)
{
    if (!text_set(dst, cap, str_of(arg))) argp_error(state, "\"%s\" is too long", arg);
}
#define SET(field) set(state, f->s.field, sizeof(f->s.field), arg)

static error_t parse_flag(int key, char *arg, struct argp_state *state)
{
    struct flags *f = state->input;
    switch (key) {
    case KEY_DIR: SET(dir); break;
    case KEY_LISTEN: SET(listen); break;
    case KEY_AGENT_LISTEN: SET(agent_listen); break;
    case KEY_AGENT_URL: SET(agent_url); break;
    case KEY_PROXY_URL: SET(proxy_url); break;
    case KEY_CERT: SET(tls_cert); break;
    case KEY_KEY: SET(tls_key); break;
    case KEY_INSECURE: f->s.insecure = true; break;
    case KEY_CONFIG: f->file = arg; break;
    case KEY_LEVEL: SET(log_level); break;
    case KEY_FORMAT: SET(log_format); break;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument \"%s\"", arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {options, parse_flag, NULL,
                                 "Accepts, decides and remembers: one process a cluster.\v"
                                 "At the first start it makes the cluster's keys and writes the "
                                 "admin token to DIR/admin.token, readable by root alone.",
                                 NULL, NULL, NULL};

/* Flags, then the file, then flags again: they win. */
static int read_settings(int argc, char **argv, struct settings *ret, struct err *err)
{
    struct flags f = {0};
    settings_defaults(&f.s);
    argp_parse(&argp, argc, argv, 0, NULL, &f);
    if (f.file) {
        settings_defaults(&f.s);
        int rc = settings_read(&f.s, f.file, err);
        if (rc != 0) return rc;
        argp_parse(&argp, argc, argv, 0, NULL, &f);
    }
    int rc = settings_check(&f.s, err);
    if (rc == 0) *ret = f.s;
    return rc;
}

struct process {
    struct net_loop *loop;
    struct manager *m;
    struct net_timer *limit;
    bool stopping;
    int code;
};

static void stop_loop(void *arg)
{
    struct process *p = arg;
    net_loop_stop(p->loop);
}

static void on_signal(void *arg, int signum)
{
    struct process *p = arg;
    if (p->stopping) { /* a second one does not wait */
        net_loop_stop(p->loop);
        return;
    }
    p->stopping = true;
    log_event(LOG_INFO, "manager.stops", LOG_I("signal", signum));
    net_timer_set(p->limit, MANAGER_DRAIN_MS, 0);
    manager_stop(p->m, stop_loop, p);
}

static void on_end(void *arg, int code)
{
    struct process *p = arg;
    p->code = code;
    net_loop_stop(p->loop);
}

static int run(const struct settings *s, struct err *err)
{
    struct process p = {.loop = net_loop_new()};
    int rc = manager_open(s, p.loop, on_end, &p, &p.m, err);
    if (rc != 0) {
        net_loop_free(p.loop);
        return rc;
    }
    struct net_signal *term = net_signal_new(p.loop, SIGTERM, on_signal, &p);
    struct net_signal *intr = net_signal_new(p.loop, SIGINT, on_signal, &p);
    p.limit = net_timer_new(p.loop, stop_loop, &p);
    struct str people = http_server_addr(p.m->people), agents = http_server_addr(p.m->agents);
    log_event(LOG_INFO, "manager.listens", LOG_STR("api", people), LOG_STR("agents", agents));
    net_loop_run(p.loop);
    net_signal_free(term);
    net_signal_free(intr);
    net_timer_free(p.limit);
    manager_close(p.m);
    net_loop_free(p.loop);
    return p.code == 0 ? 0 : err_set(err, ERR_UNAVAILABLE, "the manager could not go on");
}

/* A descriptor for each connection that the servers take, not the shell's 1024. */
static void raise_nofile(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0) return;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

int manager_main(int argc, char **argv)
{
    struct settings s;
    struct err err = {0};
    int rc = read_settings(argc, argv, &s, &err);
    if (rc == 0) {
        enum log_level level = LOG_INFO;
        log_level_parse(str_of(s.log_level), &level);
        log_setup(level, strcmp(s.log_format, "json") == 0 ? LOG_JSON : LOG_LOGFMT, "manager");
        /* Two threads that allocate: one arena serves them in less memory, and what is
         * large goes back to the system when it is freed. */
        mallopt(M_ARENA_MAX, 1);
        mallopt(M_MMAP_THRESHOLD, 256 * 1024);
        mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
        raise_nofile();
        rc = run(&s, &err);
    }
    if (rc == 0) return 0;
    fprintf(stderr, "%s: %s\n", argv[0], err.text);
    return 1;
}
