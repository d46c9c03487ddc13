/* Which device is which, and how it is: by UUID, across restarts of the agent. */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/gpu/inventory.h"
#include "host/file.h"

#define ERA 7
#define NOW 1000

struct rig {
    char path[64];
    int dir;
    struct inventory_opts o;
    struct inventory *v;
    struct probe_report r;
    uint64_t held_by[NODE_DEVICES_MAX];
    struct sync_info told;
};

static uint64_t holder(void *arg, uint32_t index) { return ((struct rig *)arg)->held_by[index]; }

static void reopen(struct rig *g)
{
    struct err err = {0};
    inventory_free(g->v);
    g->v = NULL;
    if (inventory_open(&g->o, &g->v, &err) != 0) fail_msg("%s", err.text);
}

static void rig_init(struct rig *g, uint32_t expect)
{
    *g = (struct rig){.path = "/tmp/rota-inventory-XXXXXX"};
    assert_non_null(mkdtemp(g->path));
    g->dir = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    g->o = (struct inventory_opts){.dir = g->dir, .expect = expect, .model = "simulated",
                                   .name = "n1", .holder = holder, .arg = g};
    wire_init(&wire_probe_report, &g->r);
    reopen(g);
}

static void rig_done(struct rig *g)
{
    inventory_free(g->v);
    close(g->dir);
    assert_int_equal(file_remove_tree(AT_FDCWD, g->path, NULL), 0);
    wire_free(&wire_probe_report, &g->r);
}

/* GPU-a, GPU-b ... in the order of the letters. */
static void see(struct rig *g, const char *letters)
{
    g->r.seq++;
    g->r.complete = true;
    g->r.mismatch = false;
    g->r.n_devices = 0;
    for (const char *p = letters; *p; p++) {
        struct probe_device *d = &g->r.devices[g->r.n_devices++];
        probe_device_init(d);
        d->vendor = PROBE_NVIDIA;
        text_fmt(d->uuid, sizeof(d->uuid), "GPU-%c", *p);
        text_fmt(d->pci, sizeof(d->pci), "0000:%c0:00.0", *p);
        TEXT_CLIP(d->model, STR("H100"));
        d->ecc_uncorrected = 0;
    }
}

static void take_in(struct rig *g, uint64_t era)
{
    struct err err = {0};
    if (inventory_take(g->v, &g->r, era, NOW, &err) != 0) fail_msg("%s", err.text);
    VEC_CLEAR(&g->r.events);
}

static void take(struct rig *g) { take_in(g, ERA); }

static void xid(struct rig *g, const char *uuid, uint32_t code)
{
    struct probe_event *e = VEC_ADD(&g->r.events);
    *e = (struct probe_event){.xid = code};
    TEXT_CLIP(e->uuid, str_of(uuid));
}

/* "a healthy, b gone": what is told. */
static void expect_told(struct rig *g, const char *expected)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 2048);
    wire_init(&wire_sync_info, &g->told);
    inventory_tell(g->v, &g->told);
    for (uint32_t i = 0; i < g->told.n_devices; i++) {
        const struct sync_device *d = &g->told.devices[i];
        assert_int_equal(d->index, i);
        strbuf_fmt(&b, "%s%s %s", i ? ", " : "", d->uuid[0] ? d->uuid + 4 : "-",
                   device_health_name(d->health));
        bool usable = inventory_usable(g->v) >> i & 1;
        assert_int_equal(usable, d->health == DEVICE_HEALTHY);
    }
    assert_string_equal(b.p ? b.p : "", expected);
}

/* AGT10: 8 -> 7 devices, in another order: every index means what it meant. */
static void an_index_is_its_device_s(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g, 0);
    expect_told(&g, "");
    see(&g, "abcdefgh");
    take(&g);
    expect_told(&g, "a healthy, b healthy, c healthy, d healthy, e healthy, f healthy, g healthy, "
                    "h healthy");
    reopen(&g); /* nobody has looked yet: known, and not given */
    expect_told(&g, "a unreadable, b unreadable, c unreadable, d unreadable, e unreadable, "
                    "f unreadable, g unreadable, h unreadable");
    see(&g, "hgfedba");
    take(&g);
    expect_told(&g, "a healthy, b healthy, c gone, d healthy, e healthy, f healthy, g healthy, "
                    "h healthy");
    see(&g, "abcdefghi"); /* c is back, for reasons nobody knows; i is new */
    take(&g);
    expect_told(&g, "a healthy, b healthy, c suspect, d healthy, e healthy, f healthy, g healthy, "
                    "h healthy, i healthy");
    rig_done(&g);
}

/* GPU10: none is something else than not knowing. */
static void zero_and_error_differ(void **state)
{
    (void)state;
    struct rig g;
    char note[96];
    rig_init(&g, 0);
    see(&g, "ab");
    take(&g);
    see(&g, "");
    g.r.complete = false;
    TEXT_CLIP(g.r.error, STR("nvmlInit: timeout"));
    take(&g);
    expect_told(&g, "a unreadable, b unreadable");
    inventory_note(g.v, note, sizeof(note));
    assert_non_null(strstr(note, "nvmlInit"));
    see(&g, "ab");
    take(&g);
    expect_told(&g, "a healthy, b healthy");
    inventory_silent(g.v, "the probe hangs");
    expect_told(&g, "a unreadable, b unreadable");
    see(&g, "");
    take(&g);
    expect_told(&g, "a gone, b gone");
    inventory_note(g.v, note, sizeof(note));
    assert_string_equal(note, "2 of 2 GPUs are missing");
    rig_done(&g);
}

static void mismatch_starts_nothing(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g, 0);
    see(&g, "ab");
    take(&g);
    see(&g, "ab");
    g.r.complete = false;
    g.r.mismatch = true;
    for (uint32_t i = 0; i < 2; i++) g.r.devices[i].uuid[0] = '\0'; /* by their place alone */
    take(&g);
    expect_told(&g, "a unreadable, b unreadable");
    assert_string_equal(g.told.devices[0].why, "driver and library differ");
    rig_done(&g);
}

/* GPU1, GPU2: what is out stays out for the next agent, until a reset is seen. */
static void faults_outlive_the_agent(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g, 0);
    see(&g, "abc");
    xid(&g, "GPU-a", 79);
    g.r.devices[1].ecc_uncorrected = 1;
    take(&g);
    expect_told(&g, "a quarantined, b quarantined, c healthy");
    assert_string_equal(g.told.devices[0].why, "Xid 79");
    assert_int_equal(g.told.devices[0].since_ms, NOW);
    reopen(&g);
    expect_told(&g, "a quarantined, b quarantined, c unreadable");
    see(&g, "abc");
    g.r.devices[1].ecc_uncorrected = 1;
    take(&g);
    expect_told(&g, "a quarantined, b quarantined, c healthy");
    take_in(&g, ERA + 1); /* a reboot; b still counts errors */
    expect_told(&g, "a healthy, b quarantined, c healthy");
    rig_done(&g);
}

static void an_error_is_charged_to_its_holder(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g, 0);
    see(&g, "ab");
    g.held_by[0] = 17;
    g.held_by[1] = 18;
    xid(&g, "GPU-a", 13);
    xid(&g, "GPU-b", 94);
    take(&g);
    expect_told(&g, "a healthy, b recovering");
    const struct sync_device *a = &g.told.devices[0], *b = &g.told.devices[1];
    assert_true(a->xid == 13 && a->xid_no == 1 && a->xid_session == 17 && !a->xid_kill);
    assert_true(b->xid == 94 && b->xid_no == 1 && b->xid_session == 18 && b->xid_kill);
    see(&g, "ab");
    xid(&g, "GPU-a", 4711); /* nobody knows it */
    take(&g);
    expect_told(&g, "a suspect, b recovering");
    assert_int_equal(g.told.devices[0].xid_no, 2);
    rig_done(&g);
}

/* GPU13: fewer than expected, now and after a restart. */
static void fewer_than_expected(void **state)
{
    (void)state;
    struct rig g;
    char note[96];
    rig_init(&g, 3);
    for (int i = 0; i < 2; i++) {
        see(&g, "ab");
        take(&g);
        expect_told(&g, "a healthy, b healthy, - gone");
        inventory_note(g.v, note, sizeof(note));
        assert_string_equal(note, "1 of 3 GPUs are missing");
        reopen(&g);
    }
    see(&g, "abz");
    take(&g);
    expect_told(&g, "a healthy, b healthy, z healthy");
    rig_done(&g);
}

static void order(struct rig *g, uint32_t no, const char *uuid, enum device_order what)
{
    struct err err = {0};
    struct sync_device_order o = {.no = no, .order = what, .why = "says who"};
    TEXT_CLIP(o.uuid, str_of(uuid));
    assert_int_equal(inventory_order(g->v, &o, 1, NOW, &err), 0);
}

static void orders_are_done_once(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g, 0);
    see(&g, "ab");
    take(&g);
    order(&g, 1, "GPU-a", DEVICE_ORDER_QUARANTINE);
    expect_told(&g, "a quarantined, b healthy");
    assert_string_equal(g.told.devices[0].why, "says who");
    assert_int_equal(g.told.orders_done, 1);
    reopen(&g);
    take_in(&g, ERA + 1); /* a reboot takes no order back */
    expect_told(&g, "a quarantined, b healthy");
    order(&g, 2, "GPU-a", DEVICE_ORDER_RETURN);
    order(&g, 1, "GPU-a", DEVICE_ORDER_QUARANTINE); /* late, and double */
    order(&g, 3, "GPU-x", DEVICE_ORDER_QUARANTINE); /* of another machine */
    expect_told(&g, "a healthy, b healthy");
    assert_int_equal(g.told.orders_done, 3);
    rig_done(&g);
}

/* A slot is somebody else's only when nobody can mean the old device by it. */
static void a_slot_is_given_again_last(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g, 0);
    see(&g, "abcdefghijklmnop");
    take(&g);
    g.held_by[0] = 5;
    see(&g, "cdefghijklmnop");
    take(&g);
    see(&g, "cdefghijklmnopyz"); /* a is held: only b's is free */
    take(&g);
    wire_init(&wire_sync_info, &g.told);
    inventory_tell(g.v, &g.told);
    assert_string_equal(g.told.devices[0].uuid, "GPU-a");
    assert_string_equal(g.told.devices[1].uuid, "GPU-y");
    assert_int_equal(g.told.n_devices, NODE_DEVICES_MAX);
    rig_done(&g);
}

static void simulated_ones_are_devices_too(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g, 0);
    g.o.simulated = 2;
    reopen(&g);
    expect_told(&g, "LATED-n1-0 healthy, LATED-n1-1 healthy");
    order(&g, 1, "SIMULATED-n1-1", DEVICE_ORDER_QUARANTINE);
    reopen(&g);
    expect_told(&g, "LATED-n1-0 healthy, LATED-n1-1 quarantined");
    assert_true(g.told.devices[0].simulated);
    g.o.simulated = 1;
    reopen(&g);
    expect_told(&g, "LATED-n1-0 healthy");
    rig_done(&g);
}

static void a_spoilt_file_is_left_alone(void **state)
{
    (void)state;
    struct rig g;
    struct err err = {0};
    struct inventory *v = NULL;
    rig_init(&g, 0);
    assert_int_equal(file_write(g.dir, "devices.json", "{}", 2, FILE_ORDERED, &err), 0);
    assert_int_not_equal(inventory_open(&g.o, &v, &err), 0);
    assert_non_null(strstr(err.text, "devices.json"));
    assert_null(v);
    rig_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_is_its_device_s),
        cmocka_unit_test(zero_and_error_differ),
        cmocka_unit_test(mismatch_starts_nothing),
        cmocka_unit_test(faults_outlive_the_agent),
        cmocka_unit_test(an_error_is_charged_to_its_holder),
        cmocka_unit_test(fewer_than_expected),
        cmocka_unit_test(orders_are_done_once),
        cmocka_unit_test(a_slot_is_given_again_last),
        cmocka_unit_test(simulated_ones_are_devices_too),
        cmocka_unit_test(a_spoilt_file_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
