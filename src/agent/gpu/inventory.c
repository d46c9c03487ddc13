/* agent/gpu/inventory.c - see inventory.h.
 *
 * Slots are indexes.  A slot is given to another device only when its own is gone, without
 * a holder, and no other slot is left; an operator's `return` empties it sooner.  Every
 * change is durable before anybody can ask for it. */
#include "agent/gpu/inventory.h"
#include "base/check.h"
#include "host/file.h"
#include "net/log.h"

#define FILE_NAME "devices.json"
#define FILE_CAP 65536

struct slot { /* uuid "": empty */
    char uuid[48], model[32], pci[16];
    int64_t mem_bytes;
    struct health health;
    uint32_t xid, xid_no; /* the last one, and how many there were */
    uint64_t xid_session; /* that held the device then */
    bool xid_kill;
    bool simulated;
};

struct kept { /* the file */
    uint32_t orders_done;
    uint32_t n;
    struct slot slots[NODE_DEVICES_MAX];
};

struct inventory {
    struct inventory_opts o;
    struct kept k;
    struct health_facts facts[NODE_DEVICES_MAX];
    struct probe_device seen[NODE_DEVICES_MAX]; /* look is LOOK_SEEN; its list is not kept */
    struct xid_rules rules;
    bool heard;
    char why[96]; /* the last look was not complete */
};

/* ---- the file ---- */

static const struct wire_name names_fault[] = {
    {DEVICE_UNREADABLE, "none"}, {DEVICE_SUSPECT, "suspect"}, {DEVICE_RECOVERING, "recovering"},
    {DEVICE_QUARANTINED, "quarantined"}, {0, NULL},
};
#define OMIT .flags = WIRE_OMIT
static const struct wire_field slot_fields[] = {
    WIRE_F_TEXT(struct slot, uuid, "uuid", OMIT),
    WIRE_F_TEXT(struct slot, model, "model", OMIT),
    WIRE_F_TEXT(struct slot, pci, "pci", OMIT),
    WIRE_F_I64(struct slot, mem_bytes, "mem_bytes", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_ENUM(struct slot, health.fault, "fault", names_fault, OMIT),
    WIRE_F_TEXT(struct slot, health.why, "why", OMIT),
    WIRE_F_I64(struct slot, health.since_ms, "since_ms", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_U64(struct slot, health.era, "era", OMIT),
    WIRE_F_BOOL(struct slot, health.was_absent, "was_absent", OMIT),
    WIRE_F_BOOL(struct slot, health.ordered, "ordered", OMIT),
    WIRE_F_U32(struct slot, health.shown_by, "shown_by", OMIT, .min = 0, .max = HEALTH_COUNTS),
    WIRE_F_U32(struct slot, xid, "xid", OMIT),
    WIRE_F_U32(struct slot, xid_no, "xid_no", OMIT),
    WIRE_F_U64(struct slot, xid_session, "xid_session", OMIT),
    WIRE_F_BOOL(struct slot, xid_kill, "xid_kill", OMIT),
    WIRE_F_BOOL(struct slot, simulated, "simulated", OMIT),
};
static const struct wire_table slot_table = WIRE_TABLE("device", struct slot, slot_fields);
static const struct wire_field kept_fields[] = {
    WIRE_F_U32(struct kept, orders_done, "orders_done", OMIT),
    WIRE_F_ARRAY(struct kept, slots, n, "devices", &slot_table, .flags = WIRE_REQUIRED),
};
static const struct wire_table kept_table =
    WIRE_TABLE("devices of this node", struct kept, kept_fields, .version = 1);

static int save(struct inventory *v, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, FILE_CAP - 1);
    wire_print(&kept_table, &v->k, &b);
    CHECK(!b.full);
    return file_write(v->o.dir, FILE_NAME, b.p, b.n, FILE_DURABLE, err);
}

static int load(struct inventory *v, struct err *err)
{
    AUTO_FREE char *text = mem_alloc(FILE_CAP);
    size_t n;
    if (!file_exists(v->o.dir, FILE_NAME)) return 0; /* the first start */
    int rc = file_read(v->o.dir, FILE_NAME, text, FILE_CAP, &n, err);
    if (rc == 0) rc = wire_parse(&kept_table, str_n(text, n), &v->k, err);
    return rc == 0 ? 0 : err_prefix(err, FILE_NAME);
}

/* ---- slots ---- */

static int slot_of(const struct inventory *v, const char *uuid, const char *pci)
{
    for (uint32_t i = 0; i < v->k.n; i++) {
        const struct slot *s = &v->k.slots[i];
        if (s->uuid[0] == '\0') continue;
        if (uuid[0] ? strcmp(s->uuid, uuid) == 0 : pci[0] && strcmp(s->pci, pci) == 0)
            return (int)i;
    }
    return -1;
}

static bool held(const struct inventory *v, uint32_t i)
{
    return v->o.holder != NULL && v->o.holder(v->o.arg, i) != 0;
}

/* An empty slot, a new one, or that of a device that is gone and nobody's; -1: none. */
static int free_slot(struct inventory *v)
{
    for (uint32_t i = 0; i < v->k.n; i++) {
        if (v->k.slots[i].uuid[0] == '\0' && !held(v, i)) return (int)i;
    }
    if (v->k.n < NODE_DEVICES_MAX) {
        v->k.slots[v->k.n] = (struct slot){0};
        return (int)v->k.n++;
    }
    for (uint32_t i = 0; i < v->k.n; i++) {
        bool gone = v->facts[i].look == LOOK_ABSENT;
        if (gone && v->k.slots[i].health.fault == DEVICE_UNREADABLE && !held(v, i)) return (int)i;
    }
    return -1;
}

static void simulate(struct inventory *v)
{
    /* What an earlier configuration, or name, pretended is gone. */
    while (v->k.n > v->o.simulated && v->k.slots[v->k.n - 1].simulated) v->k.n--;
    for (uint32_t i = 0; i < v->k.n; i++) {
        if (v->k.slots[i].simulated) v->facts[i].look = LOOK_ABSENT;
    }
    for (uint32_t d = 0; d < v->o.simulated; d++) {
        char uuid[48];
        text_fmt(uuid, sizeof(uuid), "SIMULATED-%.24s-%u", v->o.name, d);
        int i = slot_of(v, uuid, "");
        if (i < 0) i = free_slot(v);
        if (i < 0) return;
        struct slot *s = &v->k.slots[i];
        if (strcmp(s->uuid, uuid) != 0) *s = (struct slot){.simulated = true};
        TEXT_CLIP(s->uuid, str_of(uuid));
        TEXT_CLIP(s->model, str_of(v->o.model));
        s->mem_bytes = 16 * (INT64_C(1) << 30);
        v->facts[i] = (struct health_facts){.look = LOOK_SEEN};
    }
}

static int open_kept(struct inventory *v, struct err *err)
{
    int rc = load(v, err);
    if (rc != 0) return rc;
    uint32_t n = v->k.n;
    simulate(v);
    while (v->k.n < v->o.expect && v->k.n < NODE_DEVICES_MAX) {
        v->k.slots[v->k.n++] = (struct slot){0};
    }
    return v->o.simulated > 0 || n != v->k.n ? save(v, err) : 0;
}

int inventory_open(const struct inventory_opts *o, struct inventory **ret, struct err *err)
{
    struct inventory *v = mem_alloc(sizeof(*v));
    *v = (struct inventory){.o = *o};
    wire_init(&kept_table, &v->k);
    TEXT_CLIP(v->why, STR("the probe has not spoken yet"));
    int rc = open_kept(v, err);
    if (rc != 0) {
        mem_free(v);
        return rc;
    }
    xid_builtin(&v->rules);
    *ret = v;
    return 0;
}

void inventory_free(struct inventory *v)
{
    if (v == NULL) return;
    xid_free(&v->rules);
    mem_free(v);
}

/* ---- what the probe says ---- */

static void facts_of(const struct probe_report *r, const struct probe_device *d, uint64_t era,
                     struct health_facts *ret)
{
    enum health_look look = r->complete ? LOOK_SEEN : r->mismatch ? LOOK_MISMATCH : LOOK_NONE;
    *ret = (struct health_facts){
        .look = look, .lost = d->lost, .shared = d->mig, .era = era,
        .counts = {[COUNT_ECC] = d->ecc_uncorrected, [COUNT_RETIRED] = d->retired_pending,
                   [COUNT_REMAP] = d->remap_pending, [COUNT_REMAP_FAILED] = d->remap_failed,
                   [COUNT_RECOVERY] = d->recovery_action}};
}

/* Who it is; true when that is news. */
static bool identify(struct slot *s, const struct probe_device *d)
{
    struct slot was = *s;
    if (strcmp(s->uuid, d->uuid) != 0) *s = (struct slot){0};
    TEXT_CLIP(s->uuid, str_of(d->uuid));
    TEXT_CLIP(s->model, str_of(d->model));
    TEXT_CLIP(s->pci, str_of(d->pci));
    if (d->mem_bytes > 0) s->mem_bytes = d->mem_bytes;
    return memcmp(&was, s, sizeof(was)) != 0;
}

static bool take_devices(struct inventory *v, const struct probe_report *r, uint64_t era,
                         bool named[NODE_DEVICES_MAX])
{
    bool changed = false;
    for (uint32_t k = 0; k < r->n_devices; k++) {
        const struct probe_device *d = &r->devices[k];
        int i = slot_of(v, d->uuid, d->pci);
        if (i < 0 && d->uuid[0] == '\0') continue; /* who it is shows later */
        if (i < 0) i = free_slot(v);
        if (i < 0) {
            log_event(LOG_ERROR, "device.no_index", LOG_S("uuid", d->uuid));
            continue;
        }
        if (d->uuid[0]) changed |= identify(&v->k.slots[i], d);
        facts_of(r, d, era, &v->facts[i]);
        v->seen[i] = *d;
        memset(&v->seen[i].processes, 0, sizeof(v->seen[i].processes));
        named[i] = true;
    }
    return changed;
}

static bool take_event(struct inventory *v, const struct probe_event *e, int64_t now_ms)
{
    int i = slot_of(v, e->uuid, e->pci);
    if (i < 0 && e->uuid[0]) i = slot_of(v, "", e->pci);
    if (i < 0) {
        log_event(LOG_WARN, "device.xid_of_none", LOG_U("xid", e->xid), LOG_S("uuid", e->uuid),
                  LOG_S("pci", e->pci));
        return false;
    }
    struct slot *s = &v->k.slots[i];
    const struct xid_rule *rule = xid_find(&v->rules, e->xid);
    enum xid_act act = rule ? rule->act : XID_UNKNOWN;
    health_xid(&s->health, e->xid, act, now_ms);
    s->xid = e->xid;
    s->xid_no++;
    s->xid_kill = health_kills(act);
    s->xid_session = v->o.holder ? v->o.holder(v->o.arg, (uint32_t)i) : 0;
    log_event(LOG_WARN, "device.xid", LOG_U("xid", e->xid), LOG_S("uuid", s->uuid),
              LOG_S("what", rule ? rule->what : "unknown"), LOG_U("session", s->xid_session));
    return true;
}

int inventory_take(struct inventory *v, const struct probe_report *r, uint64_t era,
                   int64_t now_ms, struct err *err)
{
    bool named[NODE_DEVICES_MAX] = {false}, changed = take_devices(v, r, era, named);
    for (uint32_t i = 0; i < v->k.n; i++) {
        if (v->k.slots[i].simulated) continue;
        bool gone = r->complete && !named[i];
        if (!named[i]) v->facts[i] = (struct health_facts){.look = gone ? LOOK_ABSENT : LOOK_NONE};
        if (v->k.slots[i].uuid[0] == '\0') continue;
        changed |= health_look(&v->k.slots[i].health, &v->facts[i], now_ms);
    }
    for (uint32_t i = 0; i < r->events.n; i++) changed |= take_event(v, &r->events.v[i], now_ms);
    v->heard = true;
    TEXT_CLIP(v->why, str_of(r->complete ? "" : r->error));
    if (r->mismatch)
        text_fmt(v->why, sizeof(v->why), "driver %.20s, library %.20s", r->driver, r->library);
    return changed ? save(v, err) : 0;
}

void inventory_silent(struct inventory *v, const char *why)
{
    for (uint32_t i = 0; i < v->k.n; i++) {
        if (!v->k.slots[i].simulated) v->facts[i] = (struct health_facts){.look = LOOK_NONE};
    }
    TEXT_CLIP(v->why, str_of(why));
}

static void order_one(struct inventory *v, const struct sync_device_order *o, int64_t now_ms)
{
    int i = slot_of(v, o->uuid, "");
    log_event(LOG_INFO, "device.order", LOG_S("order", device_order_name(o->order)),
              LOG_S("uuid", o->uuid), LOG_S("known", i < 0 ? "no" : "yes"));
    if (i < 0) return;
    struct slot *s = &v->k.slots[i];
    bool gone = v->facts[i].look == LOOK_ABSENT;
    health_order(&s->health, o->order, o->why, now_ms);
    if (gone && o->order == DEVICE_ORDER_RETURN && !held(v, (uint32_t)i)) *s = (struct slot){0};
}

int inventory_order(struct inventory *v, const struct sync_device_order *orders, uint32_t n,
                    int64_t now_ms, struct err *err)
{
    uint32_t done = v->k.orders_done;
    for (uint32_t i = 0; i < n; i++) {
        if (orders[i].no <= v->k.orders_done) continue;
        order_one(v, &orders[i], now_ms);
        if (orders[i].no > done) done = orders[i].no;
    }
    if (done == v->k.orders_done) return 0;
    v->k.orders_done = done;
    return save(v, err);
}

/* ---- what is told ---- */

static void state_of(const struct inventory *v, uint32_t i, struct health_state *ret)
{
    const struct slot *s = &v->k.slots[i];
    if (s->uuid[0]) {
        health_state(&s->health, &v->facts[i], ret);
        return;
    }
    *ret = (struct health_state){.health = DEVICE_GONE};
    TEXT_CLIP(ret->why, str_of(i < v->o.expect ? "expected, but never seen" : "no device"));
}

void inventory_tell(const struct inventory *v, struct sync_info *ret)
{
    ret->n_devices = v->k.n;
    ret->orders_done = v->k.orders_done;
    for (uint32_t i = 0; i < v->k.n; i++) {
        const struct slot *s = &v->k.slots[i];
        struct sync_device *d = &ret->devices[i];
        struct health_state state;
        state_of(v, i, &state);
        *d = (struct sync_device){.index = i, .mem_bytes = s->mem_bytes, .health = state.health,
                                  .since_ms = state.since_ms, .simulated = s->simulated,
                                  .xid = s->xid, .xid_no = s->xid_no, .xid_kill = s->xid_kill,
                                  .xid_session = s->xid_session};
        TEXT_CLIP(d->uuid, str_of(s->uuid));
        TEXT_CLIP(d->model, str_of(s->model));
        TEXT_CLIP(d->pci, str_of(s->pci));
        TEXT_CLIP(d->why, str_of(state.why));
        bool near = v->facts[i].look == LOOK_SEEN && !s->simulated && v->seen[i].numa_node >= 0 &&
                    v->seen[i].numa_node < NODE_NUMA_MAX;
        if (near) d->numa = (uint32_t)v->seen[i].numa_node + 1;
    }
}

uint32_t inventory_usable(const struct inventory *v)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < v->k.n; i++) {
        struct health_state state;
        state_of(v, i, &state);
        if (state.health == DEVICE_HEALTHY) mask |= UINT32_C(1) << i;
    }
    return mask;
}

void inventory_note(const struct inventory *v, char *ret, size_t cap)
{
    uint32_t gone = 0, real = 0;
    for (uint32_t i = 0; i < v->k.n; i++) {
        struct health_state state;
        state_of(v, i, &state);
        bool counts = !v->k.slots[i].simulated && (v->k.slots[i].uuid[0] || i < v->o.expect);
        real += counts;
        gone += counts && state.health == DEVICE_GONE;
    }
    ret[0] = '\0';
    if (real > 0 && v->why[0]) text_fmt(ret, cap, "GPUs cannot be read: %s", v->why);
    else if (gone > 0) text_fmt(ret, cap, "%u of %u GPUs are missing", gone, real);
}

bool inventory_heard(const struct inventory *v) { return v->heard; }

const struct probe_device *inventory_device(const struct inventory *v, uint32_t index)
{
    bool here = index < v->k.n && v->facts[index].look == LOOK_SEEN && !v->k.slots[index].simulated;
    return here ? &v->seen[index] : NULL;
}
