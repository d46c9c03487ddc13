/* tests/unit/agent/test_inject.c - what a container finds of its devices: on a root of our
 * own, with clones of /dev/null and the like for GPUs. */
#include "test.h"
#include <sys/sysmacros.h>
#include "agent/gpu/cpulist.h"
#include "agent/gpu/inject.h"
#include "host/file.h"

static char root[64], etc_cdi[96], run_cdi[96];
static struct inject *inj;

static void node(const char *path, unsigned minor)
{
    char full[200];
    text_fmt(full, sizeof(full), "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        mkdir(full, 0755);
        *p = '/';
    }
    if (mknod(full, S_IFCHR | 0666, makedev(1, minor)) < 0) fail_msg("cannot make %s", full);
}

static void put_text(const char *path, const char *text)
{
    char full[200];
    test_file(root, path, text);
    text_fmt(full, sizeof(full), "%s/%s", root, path);
    assert_int_equal(chmod(full, 0644), 0);
}

/* The loader's cache, as glibc writes it. */
static void cache(const char *const names[][2], uint32_t n, const char *before)
{
    char path[200], buf[8192] = {0};
    size_t head = strlen(before), text = 48 + 24 * n;
    memcpy(buf, before, head);
    char *p = buf + head;
    memcpy(p, "glibc-ld.so.cache1.1", 20);
    memcpy(p + 20, &n, 4);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t e[6] = {names[i][1][0] == '!' ? 0x0001 : 0x0303, 0, 0, 0, 0, 0};
#if defined(__aarch64__)
        if (e[0] != 1) e[0] = 0x0a03;
#endif
        for (int k = 0; k < 2; k++) {
            e[1 + k] = (uint32_t)text;
            const char *s = names[i][k] + (names[i][k][0] == '!');
            memcpy(p + text, s, strlen(s) + 1);
            text += strlen(s) + 1;
        }
        memcpy(p + 48 + 24 * i, e, 24);
    }
    text_fmt(path, sizeof(path), "%s/etc/ld.so.cache", root);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_int_equal(write(fd, buf, head + text), head + text);
    close(fd);
}

static void devices(void)
{
    struct inject_device d[4] = {{.index = 0}};
    for (uint32_t i = 0; i < 4; i++) {
        static const unsigned minors[] = {3, 5, 7, 8};
        d[i] = (struct inject_device){.index = i, .vendor = PROBE_NVIDIA, .vendor_index = 3 - i,
                                      .numa_node = i / 2, .n_nodes = 1};
        text_fmt(d[i].uuid, sizeof(d[i].uuid), "GPU-%u", i);
        text_fmt(d[i].nodes[0].path, sizeof(d[i].nodes[0].path), "/dev/nvidia%u", i);
        d[i].nodes[0].major = 1;
        d[i].nodes[0].minor = minors[i];
        TEXT_SET(d[i].cpus, STR("0"));
    }
    d[3].simulated = true;
    inject_set_devices(inj, d, 4);
}

static void reread(void) { inject_take(inj, inject_read(inj)); }

static int setup(void **state)
{
    static const char *const libs[][2] = {
        {"libc.so.6", "/lib/libc.so.6"},
        {"libcuda.so.1", "!/usr/lib32/libcuda.so.1"}, /* of another kind of program */
        {"libcuda.so.1", "/usr/lib/libcuda.so.1"},
        {"libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1"},
        {"libnvidia-gone.so.1", "/usr/lib/libnvidia-gone.so.1"},
    };
    struct err err = {0};
    (void)state;
    test_dir_new(root);
    text_fmt(etc_cdi, sizeof(etc_cdi), "%s/etc/cdi", root);
    text_fmt(run_cdi, sizeof(run_cdi), "%s/run/cdi", root);
    chmod(root, 0755);
    put_text("etc/passwd", "x");
    put_text("usr/lib/libcuda.so.1.2.3", "cuda");
    put_text("usr/lib/libnvidia-ml.so.1", "nvml");
    put_text("usr/bin/nvidia-smi", "smi");
    put_text("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:   4194304 kB\n");
    char link[200];
    text_fmt(link, sizeof(link), "%s/usr/lib/libcuda.so.1", root);
    assert_int_equal(symlink("libcuda.so.1.2.3", link), 0);
    cache(libs, ARRAY_LEN(libs), "ld.so-1.7.0\0\0\0\0\0");
    node("/dev/nvidia0", 3);
    node("/dev/nvidia1", 5);
    node("/dev/nvidia2", 7);
    node("/dev/nvidiactl", 9);
    node("/dev/nvidia-uvm", 11);
    const struct inject_opts o = {.root = root, .cdi_dirs = {etc_cdi, run_cdi}};
    if (inject_new(&o, &inj, &err) < 0) fail_msg("%s", err.text);
    devices();
    reread();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    inject_free(inj);
    test_dir_free(root);
    return 0;
}

static int make(uint32_t mask, const char *image, struct grant *g, struct err *err)
{
    struct inject_ask ask = {.devices = mask, .image = image, .cpu_milli = 1000,
                             .mem_bytes = 1 << 30};
    return inject_make(inj, &ask, g, err);
}

static bool has_node(const struct grant *g, const char *path)
{
    VEC_EACH(n, &g->nodes)
        if (strcmp(n->path, path) == 0) return true;
    return false;
}

static const struct grant_mount *mount_on(const struct grant *g, const char *to)
{
    VEC_EACH(m, &g->mounts)
        if (strcmp(m->to, to) == 0) return m;
    return NULL;
}

static void cdi_text(char *buf, size_t cap, const char *items)
{
    text_fmt(buf, cap, "{\"cdiVersion\":\"0.6.0\",\"kind\":\"nvidia.com/gpu\",\"devices\":[%s]}",
             items);
}

#define ITEM(name, path, host) \
    "{\"name\":\"" name "\",\"containerEdits\":{\"deviceNodes\":[{\"path\":\"" path \
    "\",\"hostPath\":\"" host "\"}]}}"

/* ---- */

static void our_list_gives_its_own_and_what_is_shared(void **state)
{
    struct grant g;
    struct err err = {0};
    (void)state;
    if (make(1u << 1, "host", &g, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(g.nodes.n, 3); /* uvm-tools and modeset are not there: no reason to fail */
    assert_true(has_node(&g, "/dev/nvidia1"));
    assert_true(has_node(&g, "/dev/nvidiactl"));
    assert_true(has_node(&g, "/dev/nvidia-uvm"));
    assert_int_equal(g.nodes.v[0].minor, 5);
    assert_int_equal(g.mounts.n, 0); /* image host has the libraries */
    assert_false(g.memlock);
    grant_done(&g);
    assert_int_equal(make(0, "host", &g, &err), 0);
    assert_int_equal(g.nodes.n, 0); /* nothing asked, nothing given, nvidiactl neither */
    grant_done(&g);
    assert_int_equal(make(1u << 3, "host", &g, &err), 0);
    assert_int_equal(g.nodes.n, 0); /* simulated: told of by environment alone */
    grant_done(&g);
    assert_int_equal(make(1u << 4, "host", &g, &err), ERR_NOT_FOUND);
    grant_done(&g);
}

static void other_images_get_the_drivers_libraries(void **state)
{
    struct grant g;
    char want[200];
    (void)state;
    assert_int_equal(make(1, "docker://busybox", &g, NULL), 0);
    const struct grant_mount *m = mount_on(&g, "/usr/local/nvidia/lib64/libcuda.so.1");
    assert_non_null(m);
    text_fmt(want, sizeof(want), "%s/usr/lib/libcuda.so.1", root);
    assert_string_equal(m->from, want);
    assert_false(m->writable);
    assert_non_null(mount_on(&g, "/usr/local/nvidia/lib64/libcuda.so"));
    assert_non_null(mount_on(&g, "/usr/local/nvidia/lib64/libnvidia-ml.so.1"));
    assert_null(mount_on(&g, "/usr/local/nvidia/lib64/libnvidia-gone.so.1"));
    assert_null(mount_on(&g, "/usr/local/nvidia/lib64/libc.so.6"));
    assert_non_null(mount_on(&g, "/usr/bin/nvidia-smi"));
    assert_string_equal(g.libs, "/usr/local/nvidia/lib64");
    grant_done(&g);
}

static void cdi_by_uuid_then_by_index(void **state)
{
    char text[2000];
    struct grant g;
    (void)state;
    /* The vendor counts the other way round: device 0 is its number 3. */
    cdi_text(text, sizeof(text), ITEM("3", "/dev/zero0", "/dev/nvidia0"));
    put_text("etc/cdi/a.json", text);
    reread();
    assert_int_equal(make(1, "host", &g, NULL), 0);
    assert_int_equal(g.nodes.n, 1); /* and nothing of our own list beside */
    assert_true(has_node(&g, "/dev/zero0"));
    grant_done(&g);
    cdi_text(text, sizeof(text), ITEM("3", "/dev/zero0", "/dev/nvidia0") ","
             ITEM("GPU-0", "/dev/by-uuid", "/dev/nvidia0") ","
             ITEM("all", "/dev/all", "/dev/nvidia0"));
    put_text("etc/cdi/a.json", text);
    reread();
    assert_int_equal(make(1, "host", &g, NULL), 0);
    assert_int_equal(g.nodes.n, 1);
    assert_true(has_node(&g, "/dev/by-uuid"));
    grant_done(&g);
    assert_int_equal(make(2, "host", &g, NULL), 0); /* not named there: our own list */
    assert_true(has_node(&g, "/dev/nvidia1"));
    grant_done(&g);
}

/* Index names that have moved, or a file that gives too much: nobody gets another's. */
static void nothing_of_another_device(void **state)
{
    char text[2000];
    struct grant g;
    struct err err = {0};
    (void)state;
    cdi_text(text, sizeof(text), ITEM("GPU-0", "/dev/nvidia0", "/dev/nvidia1"));
    put_text("etc/cdi/a.json", text);
    reread();
    assert_int_equal(make(1, "host", &g, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "does not give"));
    grant_done(&g);
    cdi_text(text, sizeof(text),
             "{\"name\":\"GPU-0\",\"containerEdits\":{\"deviceNodes\":[{\"path\":\"/dev/nvidia0\"},"
             "{\"path\":\"/dev/x\",\"hostPath\":\"/dev/nvidia2\"}]}}");
    put_text("etc/cdi/a.json", text);
    reread();
    assert_int_equal(make(1, "host", &g, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "GPU-2"));
    grant_done(&g);
    assert_int_equal(make(1 | 4, "host", &g, &err), 0); /* both are its own: fine */
    grant_done(&g);
    put_text("etc/cdi/b.json", text); /* twice: a conflict, and not our list instead */
    reread();
    assert_int_equal(make(1 | 4, "host", &g, &err), ERR_CONFLICT);
    grant_done(&g);
}

static void cdi_libraries_get_their_other_names(void **state)
{
    char text[2000], item[1000], from[200];
    struct grant g;
    (void)state;
    text_fmt(from, sizeof(from), "%s/usr/lib/libcuda.so.1.2.3", root);
    text_fmt(item, sizeof(item),
             "{\"name\":\"GPU-0\",\"containerEdits\":{\"deviceNodes\":[{\"path\":"
             "\"/dev/nvidia0\"}],\"mounts\":[{\"hostPath\":\"%s\",\"containerPath\":"
             "\"/usr/lib64/libcuda.so.1.2.3\"}]}}", from);
    cdi_text(text, sizeof(text), item);
    put_text("etc/cdi/a.json", text);
    reread();
    assert_int_equal(make(1, "docker://x", &g, NULL), 0);
    assert_non_null(mount_on(&g, "/usr/lib64/libcuda.so.1.2.3"));
    assert_non_null(mount_on(&g, "/usr/lib64/libcuda.so.1"));
    assert_non_null(mount_on(&g, "/usr/lib64/libcuda.so"));
    assert_int_equal(g.mounts.n, 3);
    grant_done(&g);
}

static void fabric_only_when_asked_and_there(void **state)
{
    struct inject_ask ask = {.image = "host", .rdma = true};
    struct grant g;
    struct err err = {0};
    (void)state;
    assert_int_equal(inject_make(inj, &ask, &g, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "RDMA"));
    grant_done(&g);
    node("/dev/infiniband/uverbs0", 3);
    node("/dev/infiniband/rdma_cm", 5);
    node("/dev/infiniband/umad0", 7);
    put_text("dev/infiniband/uverbs-file", "no device");
    assert_int_equal(inject_make(inj, &ask, &g, &err), 0);
    assert_int_equal(g.nodes.n, 2); /* not umad: that manages the fabric */
    assert_true(g.memlock);
    grant_done(&g);
    const struct inject_ask others[] = {{.image = "host", .gds = true},
                                        {.image = "host", .imex = true}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_int_equal(inject_make(inj, &others[i], &g, &err), ERR_NOT_FOUND);
        grant_done(&g);
    }
    node("/dev/nvidia-fs0", 9);
    node("/dev/nvidia-caps-imex-channels/channel0", 11);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_int_equal(inject_make(inj, &others[i], &g, &err), 0);
        assert_int_equal(g.nodes.n, 1);
        grant_done(&g);
    }
}

static void processors_near_where_they_suffice(void **state)
{
    static const struct { uint32_t mask; int64_t cpu, mem; const char *cpus, *mems; } cases[] = {
        {1, 1000, 1 << 30, "0", "0"},
        {1, 1001, 1 << 30, "", ""},             /* more than there are near */
        {1, 500, INT64_C(3) << 30, "0", ""},    /* little room: memory may be far */
        {4, 500, 1 << 30, "0", ""},             /* what node 1 has is not known */
        {0, 500, 1 << 30, "", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct inject_ask ask = {.devices = cases[i].mask, .image = "host",
                                 .cpu_milli = cases[i].cpu, .mem_bytes = cases[i].mem};
        struct grant g;
        assert_int_equal(inject_make(inj, &ask, &g, NULL), 0);
        assert_string_equal(g.cpus, cases[i].cpus);
        assert_string_equal(g.mems, cases[i].mems);
        grant_done(&g);
    }
}

/* What the inventory of the test has seen. */
static const struct probe_device *seen_at(void *arg, uint32_t index)
{
    const struct probe_report *r = arg;
    return index == 1 ? &r->devices[0] : index == 2 ? &r->devices[1] : NULL;
}

/* The vendor's order is not the node's: UUIDs tell which is which. */
static void told_is_matched_by_uuid(void **state)
{
    struct probe_report r = {.n_devices = 3};
    struct sync_info told = {.n_devices = 4};
    char links[LINK_TEXT];
    struct grant g;
    (void)state;
    for (uint32_t i = 0; i < 4; i++) told.devices[i].index = i;
    TEXT_SET(told.devices[0].uuid, STR("GPU-lost"));
    TEXT_SET(told.devices[1].uuid, STR("GPU-a"));
    TEXT_SET(told.devices[2].uuid, STR("GPU-b"));
    told.devices[3].simulated = true;
    TEXT_SET(r.devices[0].uuid, STR("GPU-a"));
    TEXT_SET(r.devices[1].uuid, STR("GPU-b"));
    TEXT_SET(r.devices[2].uuid, STR("GPU-new"));
    r.devices[0].vendor = r.devices[1].vendor = PROBE_NVIDIA;
    r.devices[0].n_nodes = 1;
    TEXT_SET(r.devices[0].nodes[0].path, STR("/dev/nvidia0"));
    inject_set_told(inj, &told, seen_at, &r);
    assert_int_equal(make(2, "host", &g, NULL), 0);
    assert_true(has_node(&g, "/dev/nvidia0"));
    grant_done(&g);
    assert_int_equal(make(1, "host", &g, NULL), ERR_NOT_FOUND); /* lost: nothing to give */
    grant_done(&g);
    assert_int_equal(make(4, "host", &g, NULL), ERR_NOT_FOUND); /* has no node in /dev */
    grant_done(&g);
    assert_int_equal(make(8, "host", &g, NULL), 0);
    grant_done(&g);
    inject_links(&r, &told, links);
    assert_string_equal(links, ""); /* no links were told: nothing is known */
    VEC_PUSH(&r.links, ((struct probe_link){0, 1, PROBE_PATH_LINK1}));
    VEC_PUSH(&r.links, ((struct probe_link){0, 2, PROBE_PATH_LINK1})); /* not of this node yet */
    VEC_PUSH(&r.links, ((struct probe_link){0, 9, PROBE_PATH_LINK1}));
    inject_links(&r, &told, links);
    assert_true(linkmap_sane(links, 4));
    for (uint32_t b = 1; b < 4; b++) {
        for (uint32_t a = 0; a < b; a++)
            assert_int_equal(linkmap_get(links, a, b), a == 1 && b == 2 ? LINK_DIRECT1 : 0);
    }
    VEC_DONE(&r.links);
}

static void broken_caches_say_so(void **state)
{
    static const char good[] = "glibc-ld.so.cache1.1\x01\0\0\0";
    char buf[100] = {0};
    struct ldcache c;
    (void)state;
    assert_int_equal(ldcache_parse("", 0, &c, NULL), ERR_UNSUPPORTED);
    memcpy(buf, good, sizeof(good) - 1);
    assert_int_equal(ldcache_parse(buf, 47, &c, NULL), ERR_UNSUPPORTED);
    assert_int_equal(ldcache_parse(buf, 71, &c, NULL), ERR_CORRUPT);
    for (int i = 48; i < 72; i++) buf[i] = (char)0xff; /* offsets beyond the end */
    buf[48] = 3;
    buf[49] = 3;
    assert_int_equal(ldcache_parse(buf, sizeof(buf), &c, NULL), 0);
    assert_int_equal(c.libs.n, 0);
}

static void lists_of_processors(void **state)
{
    static const struct { const char *in, *out; } cases[] = {
        {"0", "0"}, {"0-3", "0-3"}, {"0-3,5,7-8\n", "0-3,5,7-8"}, {"5,4,3", "3-5"}, {"", ""},
        {"0,2,4095", "0,2,4095"}, {"4096", NULL}, {"1-", NULL}, {"-1", NULL}, {"2-1", NULL},
        {"a", NULL}, {"1,,2", NULL}, {"1 2", NULL}, {"0-99999999999999999999", NULL},
    };
    struct cpulist l;
    char text[64];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool ok = cpulist_parse(cases[i].in, &l);
        if (ok != (cases[i].out != NULL)) fail_msg("'%s'", cases[i].in);
        if (!ok) continue;
        assert_true(cpulist_format(&l, text, sizeof(text)));
        assert_string_equal(text, cases[i].out);
    }
    assert_true(cpulist_parse("1,3,5,7,9,11,13", &l));
    assert_false(cpulist_format(&l, text, 6));
    assert_string_equal(text, "");
}

int main(void)
{
    if (geteuid() != 0) {
        printf("skipped: needs root, to make device nodes\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(our_list_gives_its_own_and_what_is_shared, setup, teardown),
        cmocka_unit_test_setup_teardown(other_images_get_the_drivers_libraries, setup, teardown),
        cmocka_unit_test_setup_teardown(cdi_by_uuid_then_by_index, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_of_another_device, setup, teardown),
        cmocka_unit_test_setup_teardown(cdi_libraries_get_their_other_names, setup, teardown),
        cmocka_unit_test_setup_teardown(fabric_only_when_asked_and_there, setup, teardown),
        cmocka_unit_test_setup_teardown(processors_near_where_they_suffice, setup, teardown),
        cmocka_unit_test_setup_teardown(told_is_matched_by_uuid, setup, teardown),
        cmocka_unit_test(broken_caches_say_so),
        cmocka_unit_test(lists_of_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
