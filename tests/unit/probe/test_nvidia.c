/* NVIDIA's devices through the real probe: what is read, what stays unknown, what is an error. */
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "probe/nvidia_impl.h"
#include "probe/nvml.h"

#define TWO "gpus 2 NVIDIA H200 141G\nprocess 0 77 3G\nprocess 0 78 1G\nfabric 0 1\nnuma 0 1\n"

static const struct probe_device *only(const struct probe_report *r, uint32_t n, uint32_t at)
{
    assert_int_equal(r->n_devices, n);
    return &r->devices[at];
}

static void a_whole_machine(void **state)
{
    (void)state;
    struct probe_report r;
    assert_int_equal(once_of(TWO, &r), 0);
    assert_true(r.complete && !r.mismatch);
    const struct probe_device *d = only(&r, 2, 0);
    assert_int_equal(d->vendor, PROBE_NVIDIA);
    assert_string_equal(d->uuid, "GPU-00000000-fa4e-4000-8000-000000000000");
    assert_string_equal(d->model, "NVIDIA H200");
    assert_string_equal(d->pci, "0000:10:00.0");
    assert_int_equal(d->mem_bytes, INT64_C(141) << 30);
    assert_int_equal(d->mem_used_bytes, INT64_C(4) << 30);
    assert_int_equal(d->n_nodes, 0); /* there is no /dev/nvidia0 there */
    assert_int_equal(d->processes.n, 2);
    assert_true(d->processes_known && d[1].processes_known);
    report_free(&r);
}

static void none_is_no_error(void **state)
{
    (void)state;
    struct probe_report r;
    assert_int_equal(once_of("gpus 0 none 1G\n", &r), 0);
    assert_true(r.complete);
    assert_int_equal(r.n_devices, 0);
    assert_string_equal(r.error, "");
    report_free(&r);
}

/* ---- functions that are missing, one by one ---- */

static bool needed(const char *symbol)
{
    static const char *const names[] = {"nvmlInit_v2", "nvmlDeviceGetCount_v2",
                                        "nvmlDeviceGetHandleByIndex_v2"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(symbol, names[i]) == 0) return true;
    return false;
}

#define SYMBOL_(name, symbol, args) #symbol,
static const char *const symbols[] = {NVML_FUNCTIONS(SYMBOL_)};

/* What a missing function takes with it, and no more than that. */
static void check_missing(const char *symbol, const struct probe_report *r)
{
    const struct probe_device *d = r->devices;
    bool uuid = strcmp(symbol, "nvmlDeviceGetUUID") == 0;
    bool ecc = strcmp(symbol, "nvmlDeviceGetTotalEccErrors") == 0;
    bool fields = strcmp(symbol, "nvmlDeviceGetFieldValues") == 0;
    bool use = strcmp(symbol, "nvmlDeviceGetUtilizationRates") == 0;
    bool remapped = strcmp(symbol, "nvmlDeviceGetRemappedRows") == 0;
    bool events = strcmp(symbol, "nvmlEventSetCreate") == 0 ||
                  strcmp(symbol, "nvmlDeviceRegisterEvents") == 0;
    assert_int_equal(r->complete, !uuid); /* nobody could tell the devices apart */
    assert_int_equal(r->n_devices, 2);
    assert_int_equal(d->uuid[0] != '\0', !uuid);
    assert_int_equal(d->ecc_uncorrected, ecc ? PROBE_UNKNOWN : 0);
    assert_int_equal(d->recovery_action, fields ? PROBE_UNKNOWN : 0);
    assert_int_equal(d->sm_percent, use ? PROBE_UNKNOWN : 0);
    assert_int_equal(d->remap_pending, remapped ? PROBE_UNKNOWN : 0);
    assert_int_equal(r->xid_nvml, !events);
    assert_int_equal(d->mem_bytes, INT64_C(141) << 30); /* by the one or the other function */
    assert_int_equal(d->processes.n, 2);
    assert_false(d->lost);
}

static void each_function_may_be_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        struct probe_report r;
        char scenario[512];
        text_fmt(scenario, sizeof(scenario), TWO "missing %s\n", symbols[i]);
        print_message("without %s\n", symbols[i]);
        int code = once_of(scenario, &r);
        assert_int_equal(code, r.complete ? 0 : 1);
        if (needed(symbols[i])) {
            assert_false(r.complete);
            assert_int_equal(r.n_devices, 0);
            assert_non_null(strstr(r.error, "has not the functions of libnvidia-ml.so.1"));
        } else {
            check_missing(symbols[i], &r);
        }
        report_free(&r);
    }
}

/* The same, with functions that are there and say that they are not supported, or fail. */
static void each_function_may_fail(void **state)
{
    (void)state;
    static const int codes[] = {3, 4, 999, 5432};
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        for (size_t k = 0; k < ARRAY_LEN(codes); k++) {
            struct probe_report r;
            char scenario[512];
            text_fmt(scenario, sizeof(scenario), TWO "fail %s %d\n", symbols[i], codes[k]);
            (void)once_of(scenario, &r);
            for (uint32_t at = 0; r.complete && at < r.n_devices; at++) {
                assert_true(r.devices[at].uuid[0] != '\0');
                assert_false(r.devices[at].lost);
            }
            if (r.complete) assert_int_equal(r.n_devices, 2);
            else assert_true(r.error[0] != '\0');
            report_free(&r);
        }
    }
}

/* ---- processes ---- */

#define NO_V3 "missing nvmlDeviceGetComputeRunningProcesses_v3\n"
#define NO_V3_V2 NO_V3 "missing nvmlDeviceGetComputeRunningProcesses_v2\n"

static void strides_of_every_release(void **state)
{
    (void)state;
    static const char *const functions[] = {
        "", NO_V3, NO_V3_V2,
    };
    for (int stride = 16; stride <= 48; stride += 8) {
        for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
            struct probe_report r;
            char scenario[512];
            text_fmt(scenario, sizeof(scenario), TWO "stride %d\n%s", stride, functions[i]);
            assert_int_equal(once_of(scenario, &r), 0);
            const struct probe_device *d = only(&r, 2, 0);
            assert_true(d->processes_known);
            assert_int_equal(d->processes.n, 2);
            assert_int_equal(d->processes.v[0].pid, 77);
            assert_int_equal(d->processes.v[0].mem_bytes, INT64_C(3) << 30);
            assert_int_equal(d->processes.v[1].pid, 78);
            assert_int_equal(d->processes.v[1].mem_bytes, INT64_C(1) << 30);
            report_free(&r);
        }
    }
}

static void lists_that_make_no_sense(void **state)
{
    (void)state;
    struct probe_report r;
    /* A pid of 0, a list that is longer than ours, no function at all, one that fails. */
    static const char *const scenarios[] = {
        "gpus 1 a b 1G\nprocess 0 0 1G\n",
        "gpus 1 a b 1G\nprocess 0 5 1G\nprocess 0 4294967295 1G\n",
        "gpus 1 a b 1G\n" NO_V3_V2 "missing nvmlDeviceGetComputeRunningProcesses\n",
        "gpus 1 a b 1G\nfail nvmlDeviceGetMPSComputeRunningProcesses_v3 999\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        assert_int_equal(once_of(scenarios[i], &r), 0);
        assert_false(only(&r, 1, 0)->processes_known);
        report_free(&r);
    }
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 1 << 20);
    strbuf_puts(&b, "gpus 1 a b 80G\n");
    for (int i = 1; i <= 300; i++) strbuf_fmt(&b, "process 0 %d 1M\n", i);
    assert_int_equal(once_of(b.p, &r), 0);
    assert_false(only(&r, 1, 0)->processes_known);
    report_free(&r);
}

static void stride_by_bytes(void **state)
{
    (void)state;
    uint8_t buf[16 * 64];
    for (uint32_t stride = 1; stride <= 64; stride++) {
        for (uint32_t count = 0; count <= 16; count++) {
            memset(buf, 0xa5, sizeof(buf));
            memset(buf, 0, (size_t)stride * count);
            for (uint32_t i = 0; i < count && stride >= 4; i++) buf[i * stride] = (uint8_t)(i + 1);
            uint32_t got = nvidia_stride(buf, sizeof(buf), count, 0xa5);
            bool sane = count > 0 && stride >= 16 && stride % 8 == 0;
            if (sane) assert_int_equal(got, stride);
            else if (count > 0 && stride >= 4) assert_int_equal(got, 0);
        }
    }
    memset(buf, 0, sizeof(buf)); /* a library that clears all of the buffer */
    buf[0] = 7;
    assert_int_equal(nvidia_stride(buf, sizeof(buf), 1, 0xa5), 0);
}

/* ---- links ---- */

static enum probe_path path_of(const struct probe_report *r, uint32_t a, uint32_t b)
{
    VEC_EACH (l, &r->links) if (l->a == a && l->b == b) return l->path;
    return PROBE_PATH_UNKNOWN;
}

static void links_and_switches(void **state)
{
    (void)state;
    struct probe_report r;
    assert_int_equal(once_of("gpus 4 x y 1G\nlink 0 1 4\nlink 2 switch 18\nlink 3 switch 36\n"
                             "near 0 2 single\nnear 0 3 host\nnear 1 2 system\n", &r), 0);
    assert_int_equal(r.links.n, 6);
    assert_int_equal(path_of(&r, 0, 1), PROBE_PATH_LINK1 + 3);
    assert_int_equal(path_of(&r, 2, 3), PROBE_PATH_LINK18);
    assert_int_equal(path_of(&r, 0, 2), PROBE_PATH_SWITCH);
    assert_int_equal(path_of(&r, 0, 3), PROBE_PATH_HOST);
    assert_int_equal(path_of(&r, 1, 2), PROBE_PATH_SYSTEM);
    assert_int_equal(path_of(&r, 1, 3), PROBE_PATH_NODE);
    report_free(&r);
    /* More than we have names for are as many as we have names for. */
    assert_int_equal(once_of("gpus 2 x y 1G\nlink 0 switch 36\nlink 1 switch 36\n", &r), 0);
    assert_int_equal(path_of(&r, 0, 1), PROBE_PATH_LINK18);
    report_free(&r);
}

static void links_that_may_not_be_used(void **state)
{
    (void)state;
    struct probe_report r;
    /* Nobody says that the switch lets them through. */
    assert_int_equal(once_of("gpus 2 x y 1G\nlink 0 switch 8\nlink 1 switch 8\n"
                             "missing nvmlDeviceGetP2PStatus\n", &r), 0);
    assert_int_equal(path_of(&r, 0, 1), PROBE_PATH_NODE);
    report_free(&r);
    /* A wire between the two needs nobody. */
    assert_int_equal(once_of("gpus 2 x y 1G\nlink 0 1 2\nmissing nvmlDeviceGetP2PStatus\n", &r), 0);
    assert_int_equal(path_of(&r, 0, 1), PROBE_PATH_LINK1 + 1);
    report_free(&r);
    /* An older driver does not say what is at the other end. */
    assert_int_equal(once_of("gpus 3 x y 1G\nlink 0 switch 8\nlink 1 switch 6\nlink 0 2 1\n"
                             "missing nvmlDeviceGetNvLinkRemoteDeviceType\n", &r), 0);
    assert_int_equal(path_of(&r, 0, 1), PROBE_PATH_LINK1 + 5);
    assert_int_equal(path_of(&r, 0, 2), PROBE_PATH_LINK1);
    report_free(&r);
    assert_int_equal(once_of("gpus 2 x y 1G\nmissing nvmlDeviceGetTopologyCommonAncestor\n", &r),
                     0);
    assert_int_equal(r.links.n, 0); /* neither the library nor the bus knows */
    report_free(&r);
}

/* ---- the driver ---- */

static const char *const asked[] = {"--nvml", FAKE_NVML, NULL};
#define VERSION "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Tue Mar 19\nGCC:\n"

/* Not "????" in one piece, which would be a trigraph before a dash. */
#define Q4 "?" "?" "?" "?"
#define Q8 Q4 Q4

static void put_version(const struct place *p, const char *version)
{
    char text[256];
    text_fmt(text, sizeof(text), VERSION, version);
    place_write(p, "proc/driver/nvidia/version", text);
}

static void put_gpu(const struct place *p, const char *pci, const char *uuid, int minor)
{
    char name[128], text[512];
    text_fmt(name, sizeof(name), "proc/driver/nvidia/gpus/%s/information", pci);
    text_fmt(text, sizeof(text), "Model: \t\t NVIDIA H200\nIRQ:   \t\t 55\nGPU UUID: \t %s\n"
                                 "Bus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\n",
             uuid, pci, minor);
    place_write(p, name, text);
}

static void versions_that_differ(void **state)
{
    (void)state;
    struct place p;
    struct probe_report r;
    place_make(&p);
    /* The library must not be initialised: here that would never end. */
    place_scenario(&p, TWO "hang nvmlInit_v2\n");
    put_version(&p, "555.42.02");
    put_gpu(&p, "0000:10:00.0", "GPU-00000000-fa4e-4000-8000-000000000000", 0);
    put_gpu(&p, "0000:11:00.0", "GPU-" Q8 "-" Q4 "-" Q4 "-" Q4 "-" Q8 Q4, 1);
    place_node(&p, "dev/nvidia0", 195, 0);
    assert_int_equal(once(&p, asked, &r), 1);
    assert_true(r.mismatch && !r.complete);
    assert_string_equal(r.driver, "555.42.02");
    assert_string_equal(r.library, "550.54.15");
    assert_string_equal(r.error, "the NVIDIA driver is 555.42.02, its library 550.54.15");
    const struct probe_device *d = only(&r, 2, 0);
    assert_string_equal(d->uuid, "GPU-00000000-fa4e-4000-8000-000000000000");
    assert_string_equal(d->model, "NVIDIA H200");
    assert_int_equal(d->mem_bytes, PROBE_UNKNOWN);
    assert_int_equal(d->n_nodes, 1);
    assert_string_equal(d->nodes[0].path, "/dev/nvidia0");
    assert_int_equal(d->nodes[0].major, 195);
    assert_string_equal(d[1].uuid, "");
    assert_string_equal(d[1].pci, "0000:11:00.0");
    report_free(&r);
    place_remove(&p);
}

static void one_release_written_shorter(void **state)
{
    (void)state;
    assert_true(nvidia_same_version("550.54.15", "550.54"));
    assert_true(nvidia_same_version("550.54", "550.54.15"));
    assert_true(nvidia_same_version("550.54.15", "550.54.15"));
    assert_false(nvidia_same_version("550.54.15", "550.54.14"));
    assert_false(nvidia_same_version("550.54.15", "555.54.15"));
    assert_false(nvidia_same_version("550.5", "550.54"));
    static const struct { const char *text, *version; } texts[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12", "535.183.01"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Rel", "570.86.15"},
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Wed", "390.157"},
        {"535.129.03", "535.129.03"},
        {"", NULL}, {"version 5", NULL}, {"1. .1 1..", NULL}, {"x\n550.54.15", NULL},
        {"1.2.3.4.5", NULL}, {"12345678901234567890.1234567", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char got[32] = "";
        assert_int_equal(nvidia_version_in(texts[i].text, got, sizeof(got)),
                         texts[i].version != NULL);
        assert_string_equal(got, texts[i].version ? texts[i].version : "");
    }
}

static void devices_without_a_handle_are_named_by_the_kernel(void **state)
{
    (void)state;
    struct place p;
    struct probe_report r;
    place_make(&p);
    place_scenario(&p, TWO "lost 1\n");
    put_version(&p, "550.54.15");
    put_gpu(&p, "0000:10:00.0", "GPU-00000000-fa4e-4000-8000-000000000000", 0);
    put_gpu(&p, "0000:11:00.0", "GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7", 1);
    assert_int_equal(once(&p, asked, &r), 0);
    const struct probe_device *d = only(&r, 2, 1);
    assert_true(d->lost);
    assert_string_equal(d->uuid, "GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7");
    assert_string_equal(d->pci, "0000:11:00.0");
    assert_false(r.devices[0].lost);
    report_free(&r);
    /* The kernel lists another one, too: nobody can say which it is. */
    put_gpu(&p, "0000:12:00.0", "GPU-c850f46d-d5ea-c752-ddf3-c4453e44d3f7", 2);
    assert_int_equal(once(&p, asked, &r), 1);
    assert_false(r.complete);
    assert_string_equal(r.error, "GPU 1: the GPU is lost");
    report_free(&r);
    place_remove(&p);
}

static void no_driver_no_library(void **state)
{
    (void)state;
    static const char *const nowhere[] = {"--nvml", "/nowhere/libnvidia-ml.so.1", NULL};
    static const char *const wrong[] = {"--nvml", "/lib/x86_64-linux-gnu/libm.so.6", NULL};
    struct place p;
    struct probe_report r;
    place_make(&p);
    /* Nothing of NVIDIA's: nothing is loaded, nothing is wrong. */
    assert_int_equal(once(&p, NULL, &r), 0);
    assert_true(r.complete);
    report_free(&r);
    assert_int_equal(once(&p, nowhere, &r), 1);
    assert_non_null(strstr(r.error, "does not load"));
    report_free(&r);
    if (access(wrong[1], R_OK) == 0) {
        assert_int_equal(once(&p, wrong, &r), 1);
        assert_non_null(strstr(r.error, "has not the functions"));
        report_free(&r);
    }
    /* A GPU on the bus that no driver has taken (here: no library either). */
    place_write(&p, "sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
    place_write(&p, "sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
    if (access("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", F_OK) != 0) {
        assert_int_equal(once(&p, NULL, &r), 1);
        assert_false(r.complete);
        report_free(&r);
    }
    /* Its sound is no GPU. */
    place_write(&p, "sys/bus/pci/devices/0000:3b:00.0/class", "0x040300\n");
    assert_int_equal(once(&p, NULL, &r), 0);
    report_free(&r);
    place_remove(&p);
}

static void an_uninitialised_library(void **state)
{
    (void)state;
    struct probe_report r;
    assert_int_equal(once_of(TWO "fail nvmlInit_v2 9\n", &r), 1);
    assert_string_equal(r.error, "nvmlInit_v2: the driver is not loaded");
    assert_false(r.mismatch);
    report_free(&r);
    assert_int_equal(once_of(TWO "fail nvmlInit_v2 18\n", &r), 1);
    assert_true(r.mismatch);
    report_free(&r);
    assert_int_equal(once_of("gpus two x 1G\n", &r), 1); /* a scenario that is wrong */
    assert_int_equal(r.n_devices, 0);
    report_free(&r);
}

static void names_that_are_no_names(void **state)
{
    (void)state;
    struct probe_report r;
    assert_int_equal(once_of(TWO "uuid 1 GPU-00000000-fa4e-4000-8000-000000000000\n", &r), 1);
    assert_non_null(strstr(r.error, "two devices are called GPU-00000000"));
    (void)only(&r, 1, 0);
    report_free(&r);
    assert_int_equal(once_of(TWO "pci 1 0000:10:00.0\n", &r), 1);
    (void)only(&r, 1, 0);
    report_free(&r);
    assert_int_equal(once_of(TWO "uuid 1 \xff\"\\\x01\n", &r), 0);
    assert_string_equal(only(&r, 2, 1)->uuid, "?\"\\?");
    report_free(&r);
    assert_int_equal(once_of("gpus 2 \xf0\xf0 1G\npci 1 10000:AB:1F.0\n", &r), 0);
    assert_string_equal(only(&r, 2, 0)->model, "??");
    assert_string_equal(r.devices[1].pci, "10000:ab:1f.0");
    report_free(&r);
}

static void more_than_we_can_hold(void **state)
{
    (void)state;
    struct probe_report r;
    assert_int_equal(once_of("gpus 16 x y 1G\n", &r), 0);
    assert_int_equal(r.n_devices, 16);
    assert_int_equal(r.links.n, 120);
    report_free(&r);
    assert_int_equal(once_of("gpus 17 x y 1G\n", &r), 1);
    assert_int_equal(r.n_devices, 16);
    assert_string_equal(r.error, "there are 17 devices, more than 16");
    report_free(&r);
}

/* --once where a call hangs: no devices, and the call's name; never a machine without GPUs. */
static void once_under_a_hang(void **state)
{
    (void)state;
    struct probe_report r;
    assert_int_equal(once_of(TWO "hang nvmlDeviceGetUUID\n", &r), 1);
    assert_false(r.complete);
    assert_int_equal(r.n_devices, 0);
    assert_non_null(strstr(r.error, "nvmlDeviceGetUUID has not answered"));
    report_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_machine),
        cmocka_unit_test(none_is_no_error),
        cmocka_unit_test(each_function_may_be_missing),
        cmocka_unit_test(each_function_may_fail),
        cmocka_unit_test(strides_of_every_release),
        cmocka_unit_test(lists_that_make_no_sense),
        cmocka_unit_test(stride_by_bytes),
        cmocka_unit_test(links_and_switches),
        cmocka_unit_test(links_that_may_not_be_used),
        cmocka_unit_test(versions_that_differ),
        cmocka_unit_test(one_release_written_shorter),
        cmocka_unit_test(devices_without_a_handle_are_named_by_the_kernel),
        cmocka_unit_test(no_driver_no_library),
        cmocka_unit_test(an_uninitialised_library),
        cmocka_unit_test(names_that_are_no_names),
        cmocka_unit_test(more_than_we_can_hold),
        cmocka_unit_test(once_under_a_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
