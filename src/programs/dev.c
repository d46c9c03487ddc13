/* programs/dev.c - `rotad dev`: options, the lock, readiness, and the wait for a signal.
 *
 * --detach forks before anything else exists; the parent waits for one line on a
 * pipe that says how the start went. */
#include "programs/dev.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "net/log.h"
#include "programs/dev_stop.h"
#include "programs/roles.h"

enum { KEY_DIR = 300, KEY_PORT, KEY_GPUS, KEY_CPUS, KEY_MEM, KEY_DRIVER, KEY_NAME, KEY_DETACH,
       KEY_PURGE, KEY_GRACE, KEY_MODEL, KEY_LABELS };

struct dev_args {
    struct dev_options o;
    bool stop, detach, purge, port_given;
    int64_t grace_ms;
};

static const struct argp_option options[] = {
    {"dir", KEY_DIR, "DIR", 0, "Where everything is kept (default " DEV_DIR ")", 1},
    {"port", KEY_PORT, "N", 0, "First of four ports on 127.0.0.1 (default 7410)", 1},
    {"simulated-gpus", KEY_GPUS, "N", 0, "Pretend this many GPUs; says so wherever they show", 1},
    {"simulated-model", KEY_MODEL, "NAME", 0, "The model that they pretend to be", 1},
    {"labels", KEY_LABELS, "KEY=VALUE,...", 0, "What sessions may ask for: disk=ssd,zone=a", 1},
    {"cpus", KEY_CPUS, "N", 0, "CPUs that sessions may use (default: what the machine has)", 1},
    {"mem", KEY_MEM, "SIZE", 0, "Memory that sessions may use (default: most of it)", 1},
    {"driver", KEY_DRIVER, "NAME", 0, "crun, or fake: containers in memory alone", 1},
    {"name", KEY_NAME, "NAME", 0, "Name of the node (default: the host's)", 1},
    {"detach", KEY_DETACH, 0, 0, "Return when it is ready, and leave it running", 1},
    {0, 0, 0, 0, "With stop:", 2},
    {"purge", KEY_PURGE, 0, 0, "Remove DIR afterwards", 2},
    {"grace", KEY_GRACE, "TIME", 0, "From SIGTERM to SIGKILL of sessions (default 10s)", 2},
    {0},
};
static const char doc[] =
    "Run every role of Rota on this machine: manager, agent, proxy.  Ctrl-C ends the roles; "
    "containers go on and are picked up by the next start.  `rotad dev stop` ends the sessions "
    "too.\v"
    "Examples:\n"
    "  rotad dev\n"
    "  rotad dev --detach --simulated-gpus 8\n"
    "  rotad dev --dir /tmp/rota --port 7500 --cpus 4\n"
    "  rotad dev stop --purge";

void dev_say(const char *fmt, ...)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 16 * 1024);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    strbuf_putc(&b, '\n');
    (void)!write(STDOUT_FILENO, b.p, b.n);
}

static void set_text(struct argp_state *state, char *dst, size_t cap, const char *name,
                     const char *value)
{
    if (!text_set(dst, cap, str_of(value)))
        argp_error(state, "--%s is too long: at most %zu characters", name, cap - 1);
}

static void set_dir(struct argp_state *state, struct dev_args *a, const char *value)
{
    char cwd[DEV_PATH_MAX] = "";
    if (value[0] != '/' && !getcwd(cwd, sizeof(cwd))) argp_error(state, "--dir: expected /...");
    int n = text_fmt(a->o.dir, sizeof(a->o.dir), "%s%s%s", cwd, cwd[0] ? "/" : "", value);
    while (n > 1 && a->o.dir[n - 1] == '/') a->o.dir[--n] = '\0';
    /* Sockets of containers are below it, and their paths are short by nature. */
    if (n > 128) argp_error(state, "--dir %s: the path is too long, at most 128 characters", value);
    if (n < 2) argp_error(state, "--dir %s: expected a folder of its own", value);
}

static void set_amount(struct argp_state *state, struct dev_args *a, int key, const char *value)
{
    int64_t n = 0;
    bool cpus = key == KEY_CPUS;
    bool ok = cpus ? fmt_parse_cpu(str_of(value), &n) : fmt_parse_bytes(str_of(value), &n);
    if (!ok || n <= 0)
        argp_error(state, "--%s %s: expected %s", cpus ? "cpus" : "mem", value,
                   cpus ? "a number of CPUs, such as 4" : "a size, such as 8G");
    set_text(state, cpus ? a->o.cpus : a->o.mem, sizeof(a->o.cpus), cpus ? "cpus" : "mem", value);
}

static error_t parse(int key, char *given, struct argp_state *state)
{
    struct dev_args *a = state->input;
    const char *arg = given ? given : "";
    uint64_t n = 0;
    switch (key) {
    case KEY_DIR: set_dir(state, a, arg); return 0;
    case KEY_PORT:
        if (!str_to_u64(str_of(arg), &n) || n == 0 || n > 65532)
            argp_error(state, "--port %s: expected a number from 1 to 65532", arg);
        a->o.port = (uint32_t)n;
        a->port_given = true;
        return 0;
    case KEY_GPUS:
        if (!str_to_u64(str_of(arg), &n) || n > 16)
            argp_error(state, "--simulated-gpus %s: expected a number from 0 to 16", arg);
        a->o.simulated_gpus = (uint32_t)n;
        return 0;
    case KEY_CPUS:
    case KEY_MEM: set_amount(state, a, key, arg); return 0;
    case KEY_DRIVER:
        if (strcmp(arg, "crun") != 0 && strcmp(arg, "fake") != 0)
            argp_error(state, "--driver %s: expected crun or fake", arg);
        set_text(state, a->o.driver, sizeof(a->o.driver), "driver", arg);
        return 0;
    case KEY_NAME: set_text(state, a->o.name, sizeof(a->o.name), "name", arg); return 0;
    case KEY_MODEL:
        set_text(state, a->o.simulated_model, sizeof(a->o.simulated_model), "simulated-model", arg);
        return 0;
    case KEY_LABELS: set_text(state, a->o.labels, sizeof(a->o.labels), "labels", arg); return 0;
    case KEY_DETACH: a->detach = true; return 0;
    case KEY_PURGE: a->purge = true; return 0;
    case KEY_GRACE:
        if (!fmt_parse_duration(str_of(arg), &a->grace_ms))
            argp_error(state, "--grace %s: expected a time, such as 10s or 0", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (strcmp(arg, "stop") == 0 && !a->stop) a->stop = true;
        else argp_error(state, "'%s': expected nothing, or stop", arg);
        return 0;
    case ARGP_KEY_END:
        if (a->purge && !a->stop) argp_error(state, "--purge belongs to `rotad dev stop`");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp dev_argp = {options, parse, "[stop]", doc, NULL, NULL, NULL};

/* ---- running ---- */

static int check_ports(const struct dev_options *o, struct err *err)
{
    static const char *const uses[] = {"manager's API", "agents' port", "proxy",
                                       "agent's data port"};
    for (uint32_t i = 0; i < ARRAY_LEN(uses); i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
        struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(o->port + i)),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
        if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open a socket");
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        int rc = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
        if (rc == 0) rc = listen(fd, 1);
        int problem = errno;
        close(fd);
        if (rc < 0)
            return err_sys(err, ERR_CONFLICT, problem, "port %u for the %s cannot be had (choose "
                           "four free ones with --port)", o->port + i, uses[i]);
    }
    return 0;
}

static void write_pid(const struct dev_options *o)
{
    char path[DEV_PATH_MAX + 64], text[24];
    dev_path(o, "run/dev.pid", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return; /* for people; the lock is what counts */
    int n = text_fmt(text, sizeof(text), "%d\n", (int)getpid());
    (void)!write(fd, text, (size_t)n);
    close(fd);
}

static void describe_node(struct roles *r, struct strbuf *b)
{
    struct node_list list;
    if (api_get(roles_api(r), "/api/v1/nodes", &wire_node_list, &list, NULL) < 0) return;
    VEC_EACH (v, &list.items) {
        if (strcmp(v->state, "ready") != 0) continue;
        strbuf_fmt(b, "  node     %s: ", v->name);
        fmt_cpu(b, v->capacity.cpu_milli);
        strbuf_puts(b, " CPU, ");
        fmt_bytes(b, v->capacity.mem_bytes);
        strbuf_fmt(b, ", %lld GPU%s%s%s\n", (long long)v->capacity.gpu,
                   v->simulated ? " (simulated)" : "", v->facts[0] ? "; " : "", v->facts);
    }
    wire_free(&wire_node_list, &list);
}

static void announce(const struct dev_options *o, struct roles *r)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 16 * 1024);
    char api[64], proxy[64];
    dev_url(o, 0, "http://", api);
    dev_url(o, 2, "http://", proxy);
    strbuf_fmt(&b, "rotad dev is ready\n  manager  %s\n  proxy    %s\n", api, proxy);
    describe_node(r, &b);
    strbuf_fmt(&b, "  state    %s (logs in %s/run)\n", o->dir, o->dir);
    bool usual = strcmp(o->dir, DEV_DIR) == 0 && o->port == DEV_PORT;
    if (!usual)
        strbuf_fmt(&b, "first    export ROTA_URL=%s ROTA_TOKEN_FILE=%s/manager/admin.token\n", api,
                   o->dir);
    strbuf_puts(&b, "then     rota run echo hello\n");
    strbuf_fmt(&b, "end      rotad dev stop%s%s", usual ? "" : " --dir ", usual ? "" : o->dir);
    dev_say("%s", b.p);
}

static void on_signal(void *arg, int signum)
{
    (void)signum;
    *(bool *)arg = true;
}

static void say_what_stays(const struct dev_options *o, struct roles *r)
{
    struct session_list list;
    struct api_request rq = {.target = "/api/v1/sessions?state=live&limit=1000",
                             .timeout_ms = 1000};
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 64 * 1024 * 1024);
    if (api_call(roles_api(r), &rq, &body, NULL, NULL) < 0 ||
        api_parse(&wire_session_list, strbuf_str(&body), &list, NULL) < 0)
        return;
    uint32_t placed = 0;
    VEC_EACH (v, &list.items) placed += v->state >= SESSION_ALLOCATED;
    bool usual = strcmp(o->dir, DEV_DIR) == 0;
    if (placed > 0)
        dev_say("%u session%s go%s on in containers: `rotad dev%s%s` picks them up again, "
                "`rotad dev stop%s%s` ends them", placed, placed == 1 ? "" : "s",
                placed == 1 ? "es" : "", usual ? "" : " --dir ", usual ? "" : o->dir,
                usual ? "" : " --dir ", usual ? "" : o->dir);
    wire_free(&wire_session_list, &list);
}

/* From now on nobody sits at a terminal. */
static void leave_terminal(const struct dev_options *o, int tell)
{
    char path[DEV_PATH_MAX + 64];
    dev_path(o, "run/dev.log", path);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (log >= 0) (void)dup2(log, STDOUT_FILENO), (void)dup2(log, STDERR_FILENO), close(log);
    if (null >= 0) (void)dup2(null, STDIN_FILENO), close(null);
    (void)!write(tell, "+", 1);
    close(tell);
}

/* tell: where a waiting parent reads how the start went, or -1. */
static int run(const struct dev_options *o, int tell)
{
    struct err err = {0};
    int64_t other = 0;
    int lock = -1;
    struct net_loop *l = net_loop_new();
    struct roles *r = NULL;
    bool ending = false;
    struct net_signal *term = net_signal_new(l, SIGTERM, on_signal, &ending);
    struct net_signal *intr = net_signal_new(l, SIGINT, on_signal, &ending);
    int rc = dev_lock(o, &lock, &other, &err);
    if (rc == 0) rc = check_ports(o, &err);
    if (rc == 0) rc = dev_save(o, &err);
    if (rc == 0) {
        write_pid(o);
        r = roles_start(l, o, &err);
    }
    if (r) {
        announce(o, r);
        if (tell >= 0) leave_terminal(o, tell);
        (void)net_loop_run_until(l, &ending, -1);
        say_what_stays(o, r);
        roles_stop(r);
    } else {
        (void)fprintf(stderr, "rotad dev: %s\n", err.text);
    }
    net_signal_free(term);
    net_signal_free(intr);
    net_loop_free(l);
    return r ? 0 : 1;
}

/* The child's words go to the terminal until it is ready, then to DIR/run/dev.log. */
static int run_detached(const struct dev_options *o)
{
    int tell[2];
    if (pipe2(tell, O_CLOEXEC) < 0) return perror("rotad dev"), 1;
    pid_t pid = fork();
    if (pid < 0) return perror("rotad dev"), 1;
    if (pid > 0) {
        char byte = 0;
        close(tell[1]);
        ssize_t n;
        while ((n = read(tell[0], &byte, 1)) < 0 && errno == EINTR) {}
        return n == 1 ? 0 : 1;
    }
    close(tell[0]);
    (void)setsid();
    return run(o, tell[1]);
}

int dev_main(int argc, char **argv)
{
    struct dev_args a = {.o = {.dir = DEV_DIR, .port = DEV_PORT, .driver = "crun"},
                         .grace_ms = 10000};
    argp_err_exit_status = 2;
    if (argp_parse(&dev_argp, argc, argv, 0, NULL, &a) != 0) return 2;
    log_setup(LOG_INFO, LOG_LOGFMT, "dev");
    (void)umask(022);
    if (a.stop) return dev_stop(a.o.dir, a.purge, a.grace_ms);
    if (strcmp(a.o.driver, "fake") != 0 && geteuid() != 0) {
        (void)fprintf(stderr, "rotad dev: containers need root: use sudo, or --driver fake to try "
                              "it without containers\n");
        return 1;
    }
    return a.detach ? run_detached(&a.o) : run(&a.o, -1);
}
