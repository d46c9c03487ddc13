/* proxy/main.c - puts the proxy together and runs it until it is told to end. */
#include "proxy/main.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include "base/mem.h"
#include "enrol/join.h"
#include "enrol/renew.h"
#include "net/log.h"
#include "net/notify.h"
#include "net/tls.h"
#include "proxy/config.h"
#include "proxy/front.h"

struct proxy {
    struct proxy_config c;
    struct net_loop *loop;
    struct identity id;
    struct front *front;
    struct renew *renew;
    struct tls_ctx *agents; /* how they are dialled */
};

static void on_signal(void *arg, int signum)
{
    struct proxy *p = arg;
    log_event(LOG_INFO, "proxy.stop", LOG_I("signal", signum));
    net_loop_stop(p->loop);
}

/* Two descriptors a stream: as many as we may have. */
static void raise_nofile(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0) return;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

static int open_front(struct proxy *p, struct err *err)
{
    struct front_opts o = {.listen = p->c.listen, .identity = p->id};
    int rc = identity_client_tls(p->c.dir, true, &o.agents, err);
    if (rc != 0) return rc;
    if (p->c.cert[0] != '\0') {
        o.tls = tls_server_new(&(struct tls_server_opts){.cert_file = p->c.cert,
                                                         .key_file = p->c.key,
                                                         .allow_tls12 = true}, err);
        if (o.tls == NULL) rc = ERR_INVALID;
    }
    if (rc == 0) {
        p->front = front_new(p->loop, &o, err);
        if (p->front == NULL) rc = ERR_IO;
    }
    p->agents = o.agents;
    tls_ctx_free(o.tls);
    return rc;
}

/* Streams that are there go on; new ones show the new certificate. */
static void on_renewed(void *arg)
{
    struct proxy *p = arg;
    struct err err = {0};
    if (tls_ctx_reload(p->agents, &err) != 0)
        log_event(LOG_ERROR, "certificate.reload", LOG_ERR(&err));
}

static int open_renew(struct proxy *p, struct err *err)
{
    struct renew_opts o = {.dir = p->c.dir, .manager = p->c.manager, .identity = &p->id,
                           .on_renewed = on_renewed, .arg = p};
    p->renew = renew_new(p->loop, &o, err);
    return p->renew != NULL ? 0 : ERR_INVALID;
}

static int start(struct proxy *p, struct err *err)
{
    struct join_opts join = {.dir = p->c.dir, .manager = p->c.manager, .role = "proxy",
                             .name = p->c.name,
                             .token_file = p->c.join_token_file[0] ? p->c.join_token_file : NULL};
    int rc = identity_dir(p->c.dir, err);
    if (rc == 0) rc = join_run(p->loop, &join, &p->id, err);
    if (rc == 0) rc = open_front(p, err);
    return rc == 0 ? open_renew(p, err) : rc;
}

int proxy_main(int argc, char **argv)
{
    struct proxy p = {0};
    struct err err = {0};
    struct net_signal *term = NULL, *interrupt = NULL;
    bool help = false;

    if (proxy_config_parse(argc, argv, &p.c, &help, &err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 2;
    }
    if (help) return 0;
    log_setup(LOG_INFO, LOG_LOGFMT, "proxy");
    raise_nofile();
    p.loop = net_loop_new();
    int rc = start(&p, &err);
    if (rc == 0) {
        term = net_signal_new(p.loop, SIGTERM, on_signal, &p);
        interrupt = net_signal_new(p.loop, SIGINT, on_signal, &p);
        log_event(LOG_INFO, "proxy.start", LOG_S("name", p.id.name),
                  LOG_STR("listen", front_addr(p.front)));
        struct net_notify *notify = net_notify_new(p.loop);
        net_loop_run(p.loop);
        net_notify_free(notify);
    } else {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
    }
    renew_free(p.renew);
    front_free(p.front);
    tls_ctx_free(p.agents);
    net_signal_free(term);
    net_signal_free(interrupt);
    net_loop_free(p.loop);
    return rc == 0 ? 0 : 1;
}
