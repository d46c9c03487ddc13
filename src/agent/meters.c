/* agent/meters.c - see meters.h.
 *
 * Invariants: `rows` is sorted by ref; each has its gauge open; the timer is armed
 * exactly while there are rows, or a change of the driver's list is to be looked at. */
#include "agent/meters.h"
#include "agent/gauge.h"
#include "base/check.h"
#include "base/mem.h"
#include "net/loop.h"

struct row {
    struct member_ref ref;
    struct gauge gauge;
    struct meter now;
    struct meter_ring ring;
    struct use_row told;
    bool is_told;
    struct meter_point points[METERS_KEPT];
};

struct meters {
    struct net_loop *loop;
    struct driver driver;
    struct meters_opts o;
    struct net_timer *timer;
    VEC(struct row *) rows;
    bool look;          /* the driver's list may be another */
    bool told_any;      /* the last summary had rows: the one after the last end has none */
    int64_t told_ms, sampled_ms, net_ms;
    VEC(struct use_row) out;
    VEC(struct use_device) out_devices;
};

static void row_free(struct row *r)
{
    gauge_close(&r->gauge);
    mem_free(r);
}

static struct row *row_new(struct meters *m, struct member_ref ref)
{
    struct driver_place place;
    if (m->driver.ops->place == NULL || !m->driver.ops->place(m->driver.self, ref, &place))
        return NULL;
    struct row *r = mem_alloc(sizeof(*r));
    r->ref = ref;
    r->now = METER_NONE;
    r->ring = (struct meter_ring){.v = r->points, .cap = METERS_KEPT};
    gauge_open(&r->gauge, &place.groups, place.pid, place.start);
    gauge_read_net(&r->gauge, &r->now);
    return r;
}

/* Both sorted: what is there stays, what is new comes, what is gone goes. */
static void look(struct meters *m)
{
    AUTO_FREE struct member_report *list = NULL;
    uint32_t n = m->driver.ops->list(m->driver.self, &list), at = 0;
    VEC(struct row *) next = {0};
    m->look = false;
    for (uint32_t i = 0; i < n; i++) {
        bool runs = list[i].phase == MEMBER_RUNNING || list[i].phase == MEMBER_STOPPING;
        while (at < m->rows.n && member_ref_cmp(m->rows.v[at]->ref, list[i].ref) < 0)
            row_free(m->rows.v[at++]);
        bool have = at < m->rows.n && member_ref_cmp(m->rows.v[at]->ref, list[i].ref) == 0;
        struct row *r = have ? m->rows.v[at++] : NULL;
        if (r && !runs) {
            row_free(r);
            r = NULL;
        } else if (!r && runs) {
            r = row_new(m, list[i].ref);
        }
        if (r) VEC_PUSH(&next, r);
    }
    while (at < m->rows.n) row_free(m->rows.v[at++]);
    VEC_DONE(&m->rows);
    m->rows.v = next.v;
    m->rows.n = next.n;
    m->rows.cap = next.cap;
}

static void sample(struct meters *m)
{
    int64_t now = net_now_ms();
    bool net = now - m->net_ms >= m->o.tell_ms;
    if (net) m->net_ms = now;
    m->sampled_ms = now;
    VEC_EACH(at, &m->rows) {
        struct row *r = *at;
        gauge_read(&r->gauge, &r->now);
        if (net) gauge_read_net(&r->gauge, &r->now);
        meter_put(&r->ring, (struct meter_point){now, r->now.cpu_us, r->now.mem_bytes});
    }
}

static void on_timer(void *arg)
{
    struct meters *m = arg;
    if (m->look) look(m);
    if (m->rows.n > 0) sample(m);
    else net_timer_stop(m->timer);
}

struct meters *meters_new(struct net_loop *loop, const struct driver *driver,
                          const struct meters_opts *o)
{
    struct meters *m = mem_alloc(sizeof(*m));
    m->loop = loop;
    m->driver = *driver;
    m->o = *o;
    if (m->o.period_ms <= 0) m->o.period_ms = METERS_PERIOD_MS;
    if (m->o.tell_ms <= 0) m->o.tell_ms = METERS_TELL_MS;
    m->timer = net_timer_new(loop, on_timer, m);
    meters_changed(m);
    return m;
}

void meters_free(struct meters *m)
{
    if (m == NULL) return;
    VEC_EACH(r, &m->rows) row_free(*r);
    VEC_DONE(&m->rows);
    VEC_DONE(&m->out);
    VEC_DONE(&m->out_devices);
    net_timer_free(m->timer);
    mem_free(m);
}

/* Looked at with the next reading: a list is as long as all that runs here. */
void meters_changed(struct meters *m)
{
    m->look = true;
    if (!net_timer_armed(m->timer)) net_timer_set(m->timer, 0, m->o.period_ms);
}

void meters_again(struct meters *m)
{
    VEC_EACH(r, &m->rows)(*r)->is_told = false;
}

static bool same_use(const struct use_row *a, const struct use_row *b)
{
    const struct meter *x = &a->m, *y = &b->m;
    return x->cpu_us == y->cpu_us && x->mem_bytes == y->mem_bytes &&
           x->mem_peak_bytes == y->mem_peak_bytes && x->pids == y->pids &&
           x->io_read_bytes == y->io_read_bytes && x->io_write_bytes == y->io_write_bytes &&
           x->net_rx_bytes == y->net_rx_bytes && x->net_tx_bytes == y->net_tx_bytes &&
           a->cpu_peak_milli == b->cpu_peak_milli;
}

static void fill_rows(struct meters *m)
{
    struct meter_window w = {m->sampled_ms, m->o.tell_ms, 2 * m->o.period_ms};
    VEC_CLEAR(&m->out);
    VEC_EACH(at, &m->rows) {
        struct row *r = *at;
        struct reading peak = meter_cpu_peak_milli(&r->ring, w);
        struct use_row u = {r->ref, r->now, peak.known ? peak.v : METER_UNKNOWN};
        if (r->is_told && same_use(&r->told, &u)) continue;
        r->told = u;
        r->is_told = true;
        VEC_PUSH(&m->out, u);
    }
}

void meters_fill(struct meters *m, struct sync_request *rq)
{
    int64_t now = net_now_ms();
    struct use_device devices[NODE_DEVICES_MAX];
    if (m->rows.n == 0 && !m->told_any) return;
    if (m->told_ms > 0 && now - m->told_ms < m->o.tell_ms) return;
    if (m->rows.n > 0 && m->sampled_ms <= m->told_ms) return; /* nothing was read since */
    fill_rows(m);
    VEC_CLEAR(&m->out_devices);
    uint32_t n = m->o.devices && m->rows.n > 0 ? m->o.devices(m->o.arg, devices) : 0;
    CHECK(n <= NODE_DEVICES_MAX);
    for (uint32_t i = 0; i < n; i++) VEC_PUSH(&m->out_devices, devices[i]);
    m->told_any = m->rows.n > 0;
    m->told_ms = now;
    rq->used_ms = m->rows.n > 0 ? m->sampled_ms : now;
    rq->used.v = m->out.v;
    rq->used.n = rq->used.cap = m->out.n;
    rq->used_devices.v = m->out_devices.v;
    rq->used_devices.n = rq->used_devices.cap = m->out_devices.n;
}

uint32_t meters_list(const struct meters *m, struct meters_now **ret)
{
    struct meters_now *v = mem_array(m->rows.n ? m->rows.n : 1, sizeof(*v));
    for (uint32_t i = 0; i < m->rows.n; i++)
        v[i] = (struct meters_now){m->rows.v[i]->ref, m->rows.v[i]->now};
    *ret = v;
    return m->rows.n;
}

const struct meter_ring *meters_ring(const struct meters *m, struct member_ref ref)
{
    VEC_EACH(r, &m->rows)
        if (member_ref_cmp((*r)->ref, ref) == 0) return &(*r)->ring;
    return NULL;
}
