/* agent/gpu/gpu.c - see gpu.h.
 *
 * Who calls back is told only when something else would be said than before: the probe
 * speaks every second, the manager is not troubled with it. */
#include "agent/gpu/gpu.h"
#include <fcntl.h>
#include <sys/stat.h>
#include "agent/capacity.h"
#include "agent/gpu/watch.h"
#include "base/check.h"
#include "host/file.h"
#include "net/log.h"

#define ARGS_MAX 16
#define DRIVER_MODULE "/sys/module/nvidia" /* made anew when the driver is loaded anew */

struct gpu {
    struct net_loop *loop;
    struct gpu_opts o;
    int dir;
    const char *argv[ARGS_MAX];
    struct inventory *inventory;
    struct watch *watch;
    const struct driver *driver; /* NULL: nobody can hold anything yet */
    const struct bodies *bodies;
    struct sync_info told;
    char links[LINK_TEXT]; /* of the devices as they are told, from the last report */
    bool first; /* a first report came, or never will */
};

/* Names this boot and this life of the driver: another one, and all devices were reset. */
static uint64_t era_now(void)
{
    char boot[40] = "";
    struct stat st;
    uint64_t h = UINT64_C(1469598103934665603);
    if (capacity_boot_id("/proc", boot, NULL) != 0) return 0; /* not known */
    for (const char *p = boot; *p; p++) h = (h ^ (uint8_t)*p) * UINT64_C(1099511628211);
    if (stat(DRIVER_MODULE, &st) == 0) h = (h ^ st.st_ino) * UINT64_C(1099511628211);
    return (h >> 2) + 1; /* small enough for JSON, never 0 */
}

static bool holds(const struct gpu *g, const struct member_report *m, uint32_t index)
{
    if (m->phase == MEMBER_EXITED || m->phase == MEMBER_FAILED) return false;
    const struct body *b = bodies_get(g->bodies, m->ref.session, m->ref.attempt);
    if (b == NULL) return false;
    VEC_EACH(d, &b->sync.devices) {
        if (d->member == m->ref.member) return d->mask >> index & 1;
    }
    return false;
}

static uint64_t holder(void *arg, uint32_t index)
{
    const struct gpu *g = arg;
    uint64_t session = 0;
    AUTO_FREE struct member_report *list = NULL;
    if (g->driver == NULL) return 0;
    uint32_t n = g->driver->ops->list(g->driver->self, &list);
    for (uint32_t i = 0; i < n && session == 0; i++) {
        if (holds(g, &list[i], index)) session = list[i].ref.session;
    }
    return session;
}

static void changed(struct gpu *g)
{
    struct sync_info now;
    wire_init(&wire_sync_info, &now);
    gpu_tell(g, &now);
    if (wire_equal(&wire_sync_info, &now, &g->told)) return;
    g->told = now;
    if (g->o.on_change) g->o.on_change(g->o.arg);
}

static void failed(const struct err *err) { log_event(LOG_ERROR, "devices.save", LOG_ERR(err)); }

static void on_report(void *arg, const struct probe_report *r)
{
    struct gpu *g = arg;
    struct err err = {0};
    g->first = true;
    if (inventory_take(g->inventory, r, era_now(), net_wall_ms(), &err) != 0) failed(&err);
    if (r->complete) { /* else what was known of links still holds */
        struct sync_info now;
        wire_init(&wire_sync_info, &now);
        inventory_tell(g->inventory, &now);
        inject_links(r, &now, g->links);
    }
    changed(g);
}

static void on_silent(void *arg, const char *why)
{
    struct gpu *g = arg;
    g->first = true;
    inventory_silent(g->inventory, why);
    changed(g);
}

static void arguments(struct gpu *g)
{
    const struct config_devices *c = &g->o.config->devices;
    const struct { const char *flag, *value; } rows[] = {
        {"--nvml", c->nvml}, {"--root-proc", c->root_proc}, {"--root-sys", c->root_sys},
        {"--root-dev", c->root_dev}};
    uint32_t n = 0;
    g->argv[n++] = "/proc/self/exe";
    g->argv[n++] = "probe";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].value[0] == '\0') continue;
        g->argv[n++] = rows[i].flag;
        g->argv[n++] = rows[i].value;
    }
    CHECK(n < ARGS_MAX);
}

static void watch_begin(struct gpu *g)
{
    arguments(g);
    g->watch = watch_new(g->loop, &(struct watch_opts){.argv = g->argv, .on_report = on_report,
                                                       .on_silent = on_silent, .arg = g});
    if (!net_loop_run_until(g->loop, &g->first, GPU_FIRST_MS))
        log_event(LOG_WARN, "probe.late", LOG_I("ms", GPU_FIRST_MS));
}

int gpu_new(struct net_loop *loop, const struct gpu_opts *o, struct gpu **ret, struct err *err)
{
    struct gpu *g = mem_alloc(sizeof(*g));
    const struct config_devices *c = &o->config->devices;
    *g = (struct gpu){.loop = loop, .o = *o};
    wire_init(&wire_sync_info, &g->told);
    TEXT_SET(g->links, str_of(c->links)); /* of pretended ones; real ones have a report */
    g->dir = file_open_dir(AT_FDCWD, o->config->dir, err);
    struct inventory_opts io = {.dir = g->dir, .expect = c->expect, .simulated = c->simulated,
                                .model = c->model, .name = o->name, .holder = holder, .arg = g};
    int rc = g->dir < 0 ? g->dir : inventory_open(&io, &g->inventory, err);
    if (rc != 0) {
        gpu_free(g);
        return rc;
    }
    g->o.on_change = NULL; /* nobody listens before this has returned */
    if (c->simulated == 0) watch_begin(g);
    changed(g);
    g->o.on_change = o->on_change;
    *ret = g;
    return 0;
}

void gpu_free(struct gpu *g)
{
    if (g == NULL) return;
    watch_free(g->watch);
    inventory_free(g->inventory);
    file_close(&g->dir);
    mem_free(g);
}

void gpu_set_holders(struct gpu *g, const struct driver *driver, const struct bodies *bodies)
{
    g->driver = driver;
    g->bodies = bodies;
}

void gpu_order(struct gpu *g, const struct sync_device_order *v, uint32_t n)
{
    struct err err = {0};
    if (inventory_order(g->inventory, v, n, net_wall_ms(), &err) != 0) failed(&err);
    changed(g);
}

void gpu_tell(const struct gpu *g, struct sync_info *ret)
{
    inventory_tell(g->inventory, ret);
    TEXT_SET(ret->links, str_of(g->links));
}

static const struct probe_device *seen(void *arg, uint32_t index)
{
    const struct gpu *g = arg;
    return inventory_device(g->inventory, index);
}

void gpu_inject(const struct gpu *g, struct inject *j)
{
    struct sync_info now;
    wire_init(&wire_sync_info, &now);
    inventory_tell(g->inventory, &now);
    inject_set_told(j, &now, seen, (void *)(uintptr_t)g);
}

uint32_t gpu_figures(const struct gpu *g, struct use_device *ret)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < NODE_DEVICES_MAX; i++) {
        const struct probe_device *d = inventory_device(g->inventory, i);
        if (d == NULL || d->lost) continue;
        ret[n++] = (struct use_device){.index = i, .sm_percent = d->sm_percent,
                                       .mem_used_bytes = d->mem_used_bytes,
                                       .power_mw = d->power_mw,
                                       .temperature_c = d->temperature_c};
    }
    return n;
}

uint32_t gpu_usable(const struct gpu *g) { return inventory_usable(g->inventory); }
void gpu_note(const struct gpu *g, char *ret, size_t cap)
{
    inventory_note(g->inventory, ret, cap);
}
