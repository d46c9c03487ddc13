/* agent/main.c - puts the agent together and runs it until it is told to end.
 *
 * Order: directory and lock, identity (joining once), driver (adopts what an earlier
 * agent left), data port, and only then the first word to the manager.  Ending
 * touches no container.  docs/spec/node.md */
#include "agent/main.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "agent/act.h"
#include "agent/capacity.h"
#include "agent/checkup.h"
#include "agent/epoch.h"
#include "agent/gpu/fresh.h"
#include "agent/gpu/gpu.h"
#include "agent/hooks.h"
#include "agent/port.h"
#include "agent/link.h"
#include "agent/netns/netns.h"
#include "net/addr.h"
#include "agent/meters.h"
#include "agent/metrics.h"
#include "base/check.h"
#include "enrol/join.h"
#include "enrol/renew.h"
#include "net/log.h"
#include "net/notify.h"
#include "net/tls.h"

struct agent {
    struct agent_config c;
    struct net_loop *loop;
    struct net_signal *on_term, *on_int;
    struct identity id;
    uint64_t epoch;
    int lock;
    struct gpu *gpu;
    struct driver driver;
    struct bodies *bodies;
    struct act *act;
    struct fresh *fresh;
    struct meters *meters;
    struct metrics *metrics;
    struct port *port;
    struct link *link;
    struct hooks *hooks;
    struct checkup *checkup;
    struct renew *renew;
    struct tls_ctx *tls_port, *tls_link; /* made from the certificate */
};

static void on_signal(void *arg, int signum)
{
    struct agent *a = arg;
    log_event(LOG_INFO, "agent.stop", LOG_I("signal", signum));
    net_loop_stop(a->loop);
}

static void on_driver_change(void *arg)
{
    struct agent *a = arg;
    if (a->meters != NULL) meters_changed(a->meters);
    if (a->link != NULL) link_changed(a->link);
    if (a->port != NULL) port_changed(a->port);
}

static void on_incarnation(void *arg, const struct identity *id)
{
    struct agent *a = arg;
    struct err err = {0};
    a->id = *id;
    if (identity_save(a->c.dir, id, &err) == 0) return;
    log_event(LOG_ERROR, "identity.save", LOG_ERR(&err));
}

/* Descriptors for many containers and streams; containers inherit the limit. */
static void raise_nofile(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0) return;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

/* What sessions may have of this machine. */
static int measure(const struct agent *a, struct claim *ret, struct err *err)
{
    struct capacity have, offer;
    int rc = capacity_measure("/proc", "/sys/fs/cgroup", capacity_cpus(), &have, err);
    if (rc == 0) rc = capacity_offer(&have, &a->c, &offer, err);
    if (rc != 0) return rc;
    *ret = (struct claim){offer.cpu_milli, offer.mem_bytes, gpu_usable(a->gpu)};
    return 0;
}

/* Where gangs' packets of other nodes arrive: as configured, or where the data port is. */
static void own_addr(const struct agent *a, char ret[48])
{
    struct net_addr at;
    const char *data = a->c.data_addr[0] ? a->c.data_addr : a->c.data_listen;
    ret[0] = '\0';
    if (a->c.net_addr[0]) text_clip(ret, 48, str_of(a->c.net_addr));
    else if (net_addr_parse(str_of(data), 0, &at, NULL) == 0 && at.kind == NET_ADDR_IP)
        text_clip(ret, 48, str_of(at.host));
}

static int open_driver(struct agent *a, struct err *err)
{
    struct netns_config net = {.on = true};
    struct driver_config config = {.state_dir = a->c.dir, .shim_path = a->c.shim,
                                   .cgroup_parent = a->c.cgroup_parent,
                                   .log_keep_bytes = a->c.log_keep_bytes,
                                   .image_cache_bytes = a->c.image_cache_bytes,
                                   .disk_bytes = a->c.disk_bytes,
                                   .registries_insecure = a->c.registries_insecure,
                                   .registry_auth = a->c.registry_auth[0] ? a->c.registry_auth
                                                                          : NULL,
                                   .on_change = on_driver_change, .arg = a};
    bool fake = strcmp(a->c.driver, "fake") == 0;
    own_addr(a, net.net_addr);
    config.net = &net;
    int rc = measure(a, &config.capacity, err);
    if (rc != 0) return rc;
    if (fake) return fake_driver_new(a->loop, &config, &a->driver, err);
    if (geteuid() != 0) {
        return err_set(err, ERR_DENIED, "containers need root; try --driver fake without it");
    }
    if (access(a->c.shim, X_OK) != 0) {
        return err_sys(err, ERR_NOT_FOUND, errno,
                       "--shim %s: install rota-shim there or name its place", a->c.shim);
    }
    if (strcmp(a->c.driver, "docker") != 0)
        return crun_driver_new(a->loop, &config, &a->driver, err);
    /* Its helper is a role of this program, found again by supervisors of later days. */
    char self[CONFIG_PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    config.docker_socket = a->c.docker_socket;
    config.helper_path = n > 0 ? self : NULL;
    return docker_driver_new(a->loop, &config, &a->driver, err);
}

static int open_port(struct agent *a, struct err *err)
{
    struct tls_ctx *tls = NULL;
    int rc = identity_server_tls(a->c.dir, &tls, err);
    if (rc != 0) return rc;
    CHECK(tls != NULL); /* never served in the clear */
    a->port = port_new(a->loop, &(struct port_opts){.listen = a->c.data_listen, .tls = tls,
                                                    .driver = &a->driver, .act = a->act,
                                                    .identity = a->id}, err);
    a->tls_port = tls;
    return a->port == NULL ? ERR_IO : 0;
}

/* What this node is, as the manager and people see it. */
static int describe(struct agent *a, struct sync_info *ret, struct err *err)
{
    struct claim offer;
    struct driver_facts facts = {0};
    struct sync_info *i = ret;
    int rc = measure(a, &offer, err);
    if (rc != 0) return rc;
    a->driver.ops->facts(a->driver.self, &facts);
    TEXT_CLIP(i->version, str_of(ROTA_VERSION));
    TEXT_CLIP(i->group, str_of(a->c.group));
    TEXT_CLIP(i->labels, str_of(a->c.labels));
    struct utsname u;
    if (uname(&u) == 0) TEXT_CLIP(i->arch, str_of(u.machine));
    if (a->c.data_addr[0] != '\0') TEXT_CLIP(i->data_addr, str_of(a->c.data_addr));
    else TEXT_CLIP(i->data_addr, port_addr(a->port));
    TEXT_CLIP(i->net_addr, str_of(a->c.net_addr));
    char note[96];
    gpu_note(a->gpu, note, sizeof(note));
    text_fmt(i->facts, sizeof(i->facts), "%s%s%s%s%s", facts.note,
             a->c.devices.simulated > 0 ? "; GPUs are simulated" : "",
             facts.proved || facts.simulated ? "" : "; isolation not proved",
             note[0] ? "; " : "", note);
    const char *why = checkup_why(a->checkup), *mark = hooks_mark(a->hooks);
    if (why[0] != '\0') text_fmt(i->unhealthy, sizeof(i->unhealthy), "health: %.110s", why);
    else TEXT_CLIP(i->unhealthy, str_of(mark));
    i->cpu_milli = offer.cpu_milli;
    i->mem_bytes = offer.mem_bytes;
    gpu_tell(a->gpu, i);
    return 0;
}

static void on_orders(void *arg, const struct sync_device_order *v, uint32_t n)
{
    struct agent *a = arg;
    gpu_order(a->gpu, v, n);
}

/* The node as it is now, which hooks tell their programs of, too. */
static int look(struct agent *a, struct sync_info *ret, struct err *err)
{
    int rc = describe(a, ret, err);
    for (uint32_t i = 0; rc == 0 && i < ret->n_devices; i++)
        hooks_set_uuid(a->hooks, i, ret->devices[i].uuid);
    return rc;
}

static uint32_t on_figures(void *arg, struct use_device *ret)
{
    return gpu_figures(arg, ret);
}

/* Devices came, went, or are otherwise than before. */
static void on_devices(void *arg)
{
    struct agent *a = arg;
    struct sync_info info;
    struct err err = {0};
    if (a->fresh != NULL) gpu_inject(a->gpu, fresh_inject(a->fresh));
    if (a->link == NULL) return; /* the first word tells it */
    if (a->driver.ops->set_devices)
        a->driver.ops->set_devices(a->driver.self, gpu_usable(a->gpu));
    wire_init(&wire_sync_info, &info);
    if (look(a, &info, &err) == 0) link_set_info(a->link, &info);
    else log_event(LOG_ERROR, "agent.describe", LOG_ERR(&err));
}

/* A program of the administrator's has ended: somebody may go on, and the node may be
 * otherwise than it was. */
static void on_script(void *arg)
{
    struct agent *a = arg;
    struct sync_info info;
    struct err err = {0};
    if (a->link == NULL) return; /* the first word tells it */
    link_changed(a->link);
    wire_init(&wire_sync_info, &info);
    if (look(a, &info, &err) == 0) link_set_info(a->link, &info);
    else log_event(LOG_ERROR, "agent.describe", LOG_ERR(&err));
}

static int open_scripts(struct agent *a, struct err *err)
{
    const struct agent_config *c = &a->c;
    struct hooks_opts hooks = {.dir = c->dir, .prolog = c->prolog, .epilog = c->epilog,
                               .timeout_ms = c->hook_timeout_ms, .on_change = on_script, .arg = a};
    struct checkup_opts health = {.path = c->health.command, .every_ms = c->health.every_ms,
                                  .timeout_ms = c->health.timeout_ms, .on_change = on_script,
                                  .arg = a};
    int rc = hooks_open(a->loop, &hooks, &a->hooks, err);
    if (rc != 0) return rc;
    act_set_hooks(a->act, a->hooks);
    if (health.path[0] != '\0') a->checkup = checkup_new(a->loop, &health);
    return 0;
}

static int open_link(struct agent *a, struct err *err)
{
    struct link_opts o = {.manager = a->c.manager, .identity = a->id, .epoch = a->epoch,
                          .act = a->act, .meters = a->meters,
                          .on_incarnation = on_incarnation,
                          .on_orders = on_orders, .arg = a};
    struct tls_ctx *tls = NULL;
    int rc = open_scripts(a, err);
    if (rc == 0) rc = look(a, &o.info, err);
    if (rc == 0) rc = capacity_boot_id("/proc", o.boot_id, err);
    if (rc == 0) rc = identity_client_tls(a->c.dir, false, &tls, err);
    if (rc != 0) return rc;
    o.tls = tls;
    a->link = link_new(a->loop, &o, err);
    a->tls_link = tls;
    return a->link == NULL ? ERR_INVALID : 0;
}

/* Connections that are there go on; new ones show the new certificate. */
static void on_renewed(void *arg)
{
    struct agent *a = arg;
    struct err err = {0};
    if (tls_ctx_reload(a->tls_port, &err) != 0 || tls_ctx_reload(a->tls_link, &err) != 0)
        log_event(LOG_ERROR, "certificate.reload", LOG_ERR(&err));
}

static int open_renew(struct agent *a, struct err *err)
{
    struct renew_opts o = {.dir = a->c.dir, .manager = a->c.manager, .identity = &a->id,
                           .on_renewed = on_renewed, .arg = a};
    a->renew = renew_new(a->loop, &o, err);
    return a->renew != NULL ? 0 : ERR_INVALID;
}

static int start(struct agent *a, struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    bool fake = strcmp(a->c.driver, "fake") == 0;
    int rc = identity_dir(a->c.dir, err);
    if (rc == 0) rc = epoch_begin(a->c.dir, &a->epoch, &a->lock, err);
    if (rc != 0) return rc;
    struct join_opts join = {.dir = a->c.dir, .manager = a->c.manager, .role = "agent",
                             .name = a->c.name,
                             .token_file = a->c.join_token_file[0] ? a->c.join_token_file : NULL};
    rc = join_run(a->loop, &join, &a->id, err);
    if (rc == 0) rc = epoch_after(a->c.dir, a->id.epoch, &a->epoch, err);
    struct gpu_opts gpu = {.config = &a->c, .name = a->id.name, .on_change = on_devices, .arg = a};
    if (rc == 0) rc = gpu_new(a->loop, &gpu, &a->gpu, err);
    if (rc == 0) rc = open_driver(a, err);
    if (rc == 0) rc = identity_path(a->c.dir, "bodies", path, err);
    if (rc == 0) rc = bodies_open(fake ? NULL : path, &a->bodies, err);
    if (rc != 0) return rc;
    gpu_set_holders(a->gpu, &a->driver, a->bodies);
    a->act = act_new(&a->driver, a->bodies, a->id.incarnation);
    rc = fresh_new(a->loop, a->c.devices.cdi_hooks, &a->fresh, err);
    if (rc != 0) return rc;
    gpu_inject(a->gpu, fresh_inject(a->fresh));
    /* Containers that exist in memory alone have no /dev to put a device into. */
    if (!fake) act_set_inject(a->act, fresh_inject(a->fresh));
    a->meters = meters_new(a->loop, &a->driver,
                           &(struct meters_opts){.devices = on_figures, .arg = a->gpu});
    if (a->c.metrics_listen[0] != '\0')
        rc = metrics_open(a->loop, a->c.metrics_listen, a->meters, &a->link, &a->metrics, err);
    if (rc == 0) rc = open_port(a, err);
    if (rc == 0) rc = open_link(a, err);
    return rc == 0 ? open_renew(a, err) : rc;
}

static void finish(struct agent *a)
{
    renew_free(a->renew);
    link_free(a->link);
    checkup_free(a->checkup);
    hooks_free(a->hooks);
    metrics_close(a->metrics);
    port_free(a->port);
    tls_ctx_free(a->tls_port);
    tls_ctx_free(a->tls_link);
    meters_free(a->meters);
    gpu_free(a->gpu);
    act_free(a->act);
    fresh_free(a->fresh);
    bodies_free(a->bodies);
    if (a->driver.ops != NULL) a->driver.ops->free(a->driver.self);
    net_signal_free(a->on_term);
    net_signal_free(a->on_int);
    net_loop_free(a->loop);
}

int agent_main(int argc, char **argv)
{
    struct agent a = {.lock = -1};
    struct err err = {0};
    bool help = false;

    if (agent_config_parse(argc, argv, &a.c, &help, &err) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 2;
    }
    if (help) return 0;
    enum log_level level = LOG_INFO;
    log_level_parse(str_of(a.c.log_level), &level);
    log_setup(level, LOG_LOGFMT, "agent");
    raise_nofile();
    umask(022); /* what is private says so itself; containers need the rest readable */
    a.loop = net_loop_new();
    int rc = start(&a, &err);
    if (rc == 0) {
        a.on_term = net_signal_new(a.loop, SIGTERM, on_signal, &a);
        a.on_int = net_signal_new(a.loop, SIGINT, on_signal, &a);
        log_event(LOG_INFO, "agent.start", LOG_S("node", a.id.name), LOG_U("epoch", a.epoch),
                  LOG_S("driver", a.driver.ops->name), LOG_STR("data", port_addr(a.port)));
        struct net_notify *notify = net_notify_new(a.loop);
        net_loop_run(a.loop);
        net_notify_free(notify);
    } else {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
    }
    finish(&a);
    return rc == 0 ? 0 : 1;
}
