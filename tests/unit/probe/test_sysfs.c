/* AMD and Intel: trees as their drivers make them, and trees that nobody should make. */
#include "test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/amd.h"
#include "probe/survey.h"

#define PCI_ROOT "sys/devices/pci0000:c0/0000:c0:01.1/"

/* A card as the kernel shows it: class/drm/cardN leads to the device, bus/pci/devices too. */
static void put_card(const struct place *p, int card, const char *bridges, const char *pci,
                     const char *vendor)
{
    char name[256], to[256];
    text_fmt(name, sizeof(name), "sys/devices/%s/%s/drm/card%d/dev", bridges, pci, card);
    place_write(p, name, "226:0\n");
    text_fmt(name, sizeof(name), "sys/devices/%s/%s/drm/renderD%d/dev", bridges, pci, 128 + card);
    place_write(p, name, "226:128\n");
    text_fmt(name, sizeof(name), "sys/devices/%s/%s/vendor", bridges, pci);
    place_write(p, name, vendor);
    text_fmt(name, sizeof(name), "sys/devices/%s/%s/drm/card%d/device", bridges, pci, card);
    text_fmt(to, sizeof(to), "../../../%s", pci);
    place_link(p, name, to);
    text_fmt(name, sizeof(name), "sys/class/drm/card%d", card);
    text_fmt(to, sizeof(to), "../../devices/%s/%s/drm/card%d", bridges, pci, card);
    place_link(p, name, to);
    text_fmt(name, sizeof(name), "sys/bus/pci/devices/%s", pci);
    text_fmt(to, sizeof(to), "../../../devices/%s/%s", bridges, pci);
    place_link(p, name, to);
}

static void put(const struct place *p, const char *bridges, const char *pci, const char *file,
                const char *text)
{
    char name[256];
    text_fmt(name, sizeof(name), "sys/devices/%s/%s/%s", bridges, pci, file);
    place_write(p, name, text);
}

#define BRIDGES_A "pci0000:c0/0000:c0:01.1/0000:c1:00.0/0000:c2:00.0"
#define BRIDGES_B "pci0000:c0/0000:c0:01.1/0000:c1:00.0/0000:c2:01.0"
#define BRIDGES_C "pci0000:40/0000:40:01.1"

static void put_kfd(const struct place *p, int node, int render, const char *gpu_id,
                    int link_to)
{
    char name[128], text[256];
    text_fmt(name, sizeof(name), "sys/class/kfd/kfd/topology/nodes/%d/properties", node);
    text_fmt(text, sizeof(text), "cpu_cores_count 0\nsimd_count 1216\ndrm_render_minor %d\n",
             render);
    place_write(p, name, text);
    text_fmt(name, sizeof(name), "sys/class/kfd/kfd/topology/nodes/%d/gpu_id", node);
    place_write(p, name, gpu_id);
    text_fmt(name, sizeof(name), "sys/class/kfd/kfd/topology/nodes/%d/io_links/0/properties", node);
    text_fmt(text, sizeof(text), "type 11\nnode_from %d\nnode_to %d\nweight 15\n", node, link_to);
    place_write(p, name, text);
}

static void amd_tree(const struct place *p)
{
    put_card(p, 1, BRIDGES_A, "0000:c3:00.0", "0x1002\n");
    put_card(p, 2, BRIDGES_B, "0000:c6:00.0", "0x1002\n");
    put_card(p, 10, BRIDGES_C, "0000:43:00.0", "0x1002\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "unique_id", "b6da1e27ac69ba52\n");
    put(p, BRIDGES_B, "0000:c6:00.0", "unique_id", "0123456789abcdef\n");
    put(p, BRIDGES_C, "0000:43:00.0", "unique_id", "fedcba9876543210\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "mem_info_vram_total", "206141652992\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "mem_info_vram_used", "299008000\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "gpu_busy_percent", "37\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "mem_busy_percent", "250\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "product_name", "AMD Instinct MI300X OAM\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "numa_node", "1\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "local_cpulist", "96-191,288-383\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "hwmon/hwmon7/power1_average", "132000000\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "hwmon/hwmon7/temp1_input", "41000\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "ras/umc_err_count", "ue: 2\nce: 7\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "ras/gfx_err_count", "ue: 1\nce: 0\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "ras/features", "feature mask: 0x5\n");
    put(p, BRIDGES_A, "0000:c3:00.0", "ras/gpu_vram_bad_pages",
        "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n");
    put(p, BRIDGES_B, "0000:c6:00.0", "numa_node", "1\n");
    put(p, BRIDGES_B, "0000:c6:00.0", "device", "0x74a1\n");
    put(p, BRIDGES_C, "0000:43:00.0", "numa_node", "-1\n");
    put_kfd(p, 2, 129, "51147\n", 4);
    put_kfd(p, 4, 138, "22222\n", 2);
    place_write(p, "sys/class/kfd/kfd/proc/8123/vram_51147", "4194304\n");
    place_write(p, "sys/class/kfd/kfd/proc/8124/vram_51147", "0\n");
    place_write(p, "sys/class/kfd/kfd/proc/8125/vram_22222", "8192\n");
    place_node(p, "dev/kfd", 235, 0);
    place_node(p, "dev/dri/renderD129", 226, 129);
    place_node(p, "dev/dri/card1", 226, 1);
    place_write(p, "dev/dri/renderD130", "a file is no device");
}

static enum probe_path path_of(const struct probe_report *r, uint32_t a, uint32_t b)
{
    VEC_EACH (l, &r->links) if (l->a == a && l->b == b) return l->path;
    return PROBE_PATH_UNKNOWN;
}

static void check_first_amd(const struct probe_device *d)
{
    assert_int_equal(d->vendor, PROBE_AMD);
    assert_string_equal(d->uuid, "AMD-b6da1e27ac69ba52");
    assert_string_equal(d->model, "AMD Instinct MI300X OAM");
    assert_string_equal(d->pci, "0000:c3:00.0");
    assert_int_equal(d->mem_bytes, INT64_C(206141652992));
    assert_int_equal(d->mem_used_bytes, 299008000);
    assert_int_equal(d->sm_percent, 37);
    assert_int_equal(d->mem_percent, PROBE_UNKNOWN);
    assert_int_equal(d->power_mw, 132000);
    assert_int_equal(d->temperature_c, 41);
    assert_int_equal(d->numa_node, 1);
    assert_string_equal(d->cpus, "96-191,288-383");
    assert_int_equal(d->ecc_uncorrected, 3);
    assert_int_equal(d->retired_pending, 1);
    assert_int_equal(d->remap_failed, 0);
    assert_int_equal(d->n_nodes, 3);
    assert_string_equal(d->nodes[0].path, "/dev/dri/renderD129");
    assert_int_equal(d->nodes[0].minor, 129);
    assert_string_equal(d->nodes[2].path, "/dev/kfd");
    assert_true(d->processes_known);
    assert_int_equal(d->processes.n, 1);
    assert_int_equal(d->processes.v[0].pid, 8123);
    assert_int_equal(d->processes.v[0].mem_bytes, 4194304);
}

static void amds(void **state)
{
    (void)state;
    struct place p;
    struct probe_report r;
    place_make(&p);
    amd_tree(&p);
    assert_int_equal(once(&p, NULL, &r), 0);
    assert_int_equal(r.n_devices, 3);
    check_first_amd(&r.devices[0]);
    assert_string_equal(r.devices[1].model, "AMD GPU 0x74a1");
    assert_int_equal(r.devices[1].ecc_uncorrected, PROBE_UNKNOWN);
    assert_false(r.devices[1].processes_known); /* KFD does not know it */
    assert_int_equal(r.devices[1].n_nodes, 1);
    assert_int_equal(r.devices[2].numa_node, PROBE_UNKNOWN);
    assert_int_equal(path_of(&r, 0, 1), PROBE_PATH_SWITCH);
    assert_int_equal(path_of(&r, 0, 2), PROBE_PATH_LINK1);
    assert_int_equal(path_of(&r, 1, 2), PROBE_PATH_UNKNOWN);
    report_free(&r);
    place_remove(&p);
}

static void amds_that_are_not_listed(void **state)
{
    (void)state;
    static const struct { const char *id; bool listed; } cases[] = {
        {"0123456789abcdef\n", true}, {"ABCDEF\n", true}, {"", false}, {"\n", false},
        {"0000000000000000\n", false}, {"../../etc/passwd", false}, {"12 34", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct place p;
        struct probe_report r;
        place_make(&p);
        put_card(&p, 0, BRIDGES_C, "0000:43:00.0", "0x1002\n");
        put(&p, BRIDGES_C, "0000:43:00.0", "unique_id", cases[i].id);
        assert_int_equal(once(&p, NULL, &r), 0);
        assert_int_equal(r.n_devices, cases[i].listed);
        report_free(&r);
        place_remove(&p);
    }
}

/* A file that is there and does not read is not a file that is not there. */
static void amds_that_do_not_answer(void **state)
{
    (void)state;
    struct place p;
    struct probe_report r;
    char name[256];
    place_make(&p);
    put_card(&p, 0, BRIDGES_C, "0000:43:00.0", "0x1002\n");
    put_card(&p, 1, BRIDGES_A, "0000:c3:00.0", "0x1002\n");
    put(&p, BRIDGES_A, "0000:c3:00.0", "unique_id", "77\n");
    put(&p, BRIDGES_C, "0000:43:00.0", "unique_id", "88\n");
    text_fmt(name, sizeof(name), "%s/sys/devices/" BRIDGES_C "/0000:43:00.0/mem_info_vram_total",
             p.dir);
    assert_int_equal(mkdir(name, 0755), 0); /* reading it is an error */
    assert_int_equal(once(&p, NULL, &r), 0);
    assert_int_equal(r.n_devices, 2);
    assert_true(r.devices[0].lost && !r.devices[1].lost);
    report_free(&r);
    text_fmt(name, sizeof(name), "%s/sys/devices/" BRIDGES_C "/0000:43:00.0/unique_id", p.dir);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkdir(name, 0755), 0);
    assert_int_equal(once(&p, NULL, &r), 1);
    assert_string_equal(r.error, "the unique id of 0000:43:00.0 does not read");
    assert_int_equal(r.n_devices, 1);
    report_free(&r);
    place_remove(&p);
}

static void counts_of_errors(void **state)
{
    (void)state;
    static const struct { const char *text; bool known; int64_t v; } cases[] = {
        {"ue: 0\nce: 0\n", true, 0}, {"ce: 5\nue: 9", true, 9}, {"ue:7", true, 7},
        {"", false, 0}, {"ue", false, 0}, {"ue: x", false, 0}, {"ue: -1", false, 0},
        {"ce: 1\n", false, 0}, {"due: 3\n", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 77;
        assert_int_equal(amd_uncorrected(str_of(cases[i].text), &v), cases[i].known);
        assert_int_equal(v, cases[i].known ? cases[i].v : 77);
    }
}

/* ---- Intel ---- */

static void put_driver(const struct place *p, const char *bridges, const char *pci,
                       const char *driver)
{
    char name[256], to[64];
    text_fmt(name, sizeof(name), "sys/devices/%s/%s/driver", bridges, pci);
    text_fmt(to, sizeof(to), "../../../../bus/pci/drivers/%s", driver);
    place_link(p, name, to);
}

static void intels(void **state)
{
    (void)state;
    struct place p;
    struct probe_report r;
    place_make(&p);
    put_card(&p, 0, "pci0000:00", "0000:00:02.0", "0x8086\n"); /* part of the processor */
    put_driver(&p, "pci0000:00", "0000:00:02.0", "i915");
    put_card(&p, 1, BRIDGES_A, "0000:c3:00.0", "0x8086\n");
    put_driver(&p, BRIDGES_A, "0000:c3:00.0", "xe");
    put(&p, BRIDGES_A, "0000:c3:00.0", "device", "0x0bda\n");
    put(&p, BRIDGES_A, "0000:c3:00.0", "tile0/physical_vram_size_bytes", "34359738368\n");
    put(&p, BRIDGES_A, "0000:c3:00.0", "tile1/physical_vram_size_bytes", "34359738368\n");
    put_card(&p, 2, BRIDGES_C, "0000:43:00.0", "0x8086\n");
    put_driver(&p, BRIDGES_C, "0000:43:00.0", "i915");
    put(&p, BRIDGES_C, "0000:43:00.0", "resource",
        "0x00000000a0000000 0x00000000a0ffffff 0x0000000000140204\n"
        "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
        "0x0000006000000000 0x00000063ffffffff 0x000000000014220c\n");
    put_card(&p, 3, BRIDGES_B, "0000:c6:00.0", "0x8086\n"); /* handed to a virtual machine */
    put_driver(&p, BRIDGES_B, "0000:c6:00.0", "vfio-pci");
    assert_int_equal(once(&p, NULL, &r), 0);
    assert_int_equal(r.n_devices, 2);
    assert_int_equal(r.devices[0].vendor, PROBE_INTEL);
    assert_string_equal(r.devices[0].uuid, "INTEL-0000:c3:00.0");
    assert_string_equal(r.devices[0].model, "Intel GPU 0x0bda");
    assert_int_equal(r.devices[0].mem_bytes, INT64_C(64) << 30);
    assert_int_equal(r.devices[1].mem_bytes, INT64_C(16) << 30);
    report_free(&r);
    place_remove(&p);
}

static void regions_that_are_no_memory(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n\n\n", "x\ny\nz\n", "\n\n0x 0x 0x\n", "\n\n0xzz 0x1\n",
        "\n\n0x0000006000000000 0x000000600fffffff 0x0\n", /* a window of 256 MiB */
        "\n\n0x0000006000000000 0x0000005fffffffff 0x0\n",
        "\n\n0x0000000000000001 0xffffffffffffffff 0x0\n",
        "\n\n0x00000060000000000000000000 0x1 0x0\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct place p;
        struct probe_report r;
        place_make(&p);
        put_card(&p, 1, BRIDGES_A, "0000:c3:00.0", "0x8086\n");
        put_driver(&p, BRIDGES_A, "0000:c3:00.0", "xe");
        put(&p, BRIDGES_A, "0000:c3:00.0", "resource", texts[i]);
        assert_int_equal(once(&p, NULL, &r), 0);
        assert_int_equal(r.n_devices, 1);
        assert_int_equal(r.devices[0].mem_bytes, PROBE_UNKNOWN);
        report_free(&r);
        place_remove(&p);
    }
}

/* ---- trees ---- */

/* Links lead nowhere but into the tree, and no file makes the probe wait or fall. */
static void hostile_trees(void **state)
{
    (void)state;
    struct place p;
    struct probe_report r;
    place_make(&p);
    put_card(&p, 1, BRIDGES_A, "0000:c3:00.0", "0x1002\n");
    put(&p, BRIDGES_A, "0000:c3:00.0", "unique_id", "1\n");
    place_link(&p, "sys/devices/" BRIDGES_A "/0000:c3:00.0/product_name", "/etc/passwd");
    assert_int_equal(mkfifo(place_path(&p, "sys/devices/" BRIDGES_A
                                           "/0000:c3:00.0/mem_info_vram_total"), 0600), 0);
    place_link(&p, "sys/devices/" BRIDGES_A "/0000:c3:00.0/gpu_busy_percent", "gpu_busy_percent");
    AUTO_STRBUF struct strbuf big;
    strbuf_init(&big, 1 << 20);
    for (int i = 0; i < 100000; i++) strbuf_putc(&big, '7');
    put(&p, BRIDGES_A, "0000:c3:00.0", "mem_info_vram_used", big.p);
    put(&p, BRIDGES_A, "0000:c3:00.0", "local_cpulist", big.p);
    put(&p, BRIDGES_A, "0000:c3:00.0", "numa_node", "999999999999999999999\n");
    put(&p, BRIDGES_A, "0000:c3:00.0", "ras/gpu_vram_bad_pages", big.p);
    place_link(&p, "sys/class/drm/card7", "../../nowhere");
    place_write(&p, "sys/class/drm/card8/device/vendor", "0x1002\n"); /* no link to a bus */
    place_write(&p, "sys/class/drm/card1-DP-1/status", "connected\n");
    assert_int_equal(once(&p, NULL, &r), 0);
    assert_int_equal(r.n_devices, 1);
    assert_string_equal(r.devices[0].model, "AMD GPU");
    assert_int_equal(r.devices[0].mem_bytes, PROBE_UNKNOWN);
    assert_int_equal(r.devices[0].mem_used_bytes, PROBE_UNKNOWN);
    assert_int_equal(r.devices[0].numa_node, PROBE_UNKNOWN);
    assert_string_equal(r.devices[0].cpus, "");
    report_free(&r);
    place_remove(&p);
}

static void addresses(void **state)
{
    (void)state;
    static const struct { const char *text, *pci; } cases[] = {
        {"0000:3b:00.0", "0000:3b:00.0"}, {"00000000:3B:00.0", "0000:3b:00.0"},
        {"0000:3b:00", "0000:3b:00.0"}, {"10000:01:1f.7", "10000:01:1f.7"},
        {"ffffffff:ff:1f.7", "ffffffff:ff:1f.7"}, {"0:0:0", "0000:00:00.0"},
        {"", NULL}, {":", NULL}, {"::", NULL}, {"0000:3b", NULL}, {"0000:3b:20.0", NULL},
        {"0000:3b:00.8", NULL}, {"0000:3b:00.", NULL}, {"0000:100:00.0", NULL},
        {"100000000:00:00.0", NULL}, {"g000:00:00.0", NULL}, {"0000:00:00.0 ", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[20] = "before";
        assert_int_equal(survey_pci(str_of(cases[i].text), got), cases[i].pci != NULL);
        assert_string_equal(got, cases[i].pci ? cases[i].pci : "before");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amds),
        cmocka_unit_test(amds_that_are_not_listed),
        cmocka_unit_test(amds_that_do_not_answer),
        cmocka_unit_test(counts_of_errors),
        cmocka_unit_test(intels),
        cmocka_unit_test(regions_that_are_no_memory),
        cmocka_unit_test(hostile_trees),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
