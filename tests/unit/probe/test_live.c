/* The world changes under a living probe: each verb of a scenario, as the agent sees it.
 * Nothing here waits for a time; each step waits for the report that shows it. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/proc.h"

#define FOUR "gpus 4 NVIDIA H100 80GB HBM3 80G\n"
static const char *const fake[] = {"--nvml", FAKE_NVML, "--kmsg", "", NULL};

struct live { struct place place; struct child child; };

static void live_start(struct live *l, const char *scenario)
{
    place_make(&l->place);
    place_scenario(&l->place, scenario);
    child_start(&l->child, &l->place, fake);
}
static void live_stop(struct live *l)
{
    int status = child_stop(&l->child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it was alive */
    place_remove(&l->place);
}

static bool whole(const struct probe_report *r, void *arg)
{
    return r->complete && r->n_devices == *(uint32_t *)arg;
}
static void until_whole(struct live *l, uint32_t n, struct probe_report *ret)
{
    child_until(&l->child, whole, &n, ret);
}

static void lines_are_numbered(void **state)
{
    (void)state;
    struct live l;
    struct probe_report r;
    live_start(&l, FOUR);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        child_report(&l.child, &r);
        assert_int_equal(r.seq, seq);
        assert_true(r.complete && r.xid_nvml && !r.xid_kmsg);
        assert_int_equal(r.n_devices, 4);
        report_free(&r);
    }
    live_stop(&l);
}

struct change {
    const char *line;
    bool (*is)(const struct probe_report *r, void *arg);
};
#define SEES(name, condition) \
    static bool name(const struct probe_report *r, void *arg) \
    { \
        (void)arg; \
        const struct probe_device *d = r->devices; \
        (void)d; \
        return condition; \
    }
SEES(sees_lost, r->complete && r->n_devices == 4 && d[1].lost && d[1].uuid[0] && !d[0].lost &&
                    d[1].mem_bytes == PROBE_UNKNOWN)
SEES(sees_gone, r->complete && r->n_devices == 3 && strstr(d[1].uuid, "GPU-00000002") &&
                    d[1].index == 1)
SEES(sees_back, r->complete && r->n_devices == 4 && !d[1].lost && d[1].mem_bytes > 0)
SEES(sees_ecc, r->complete && d[1].ecc_uncorrected == 3 && d[0].ecc_uncorrected == 0)
SEES(sees_no_ecc, r->complete && d[1].ecc_uncorrected == PROBE_UNKNOWN)
SEES(sees_retired, r->complete && d[1].retired_pending == 1 && d[0].retired_pending == 0)
SEES(sees_remap, r->complete && d[1].remap_pending == 1 && d[1].remap_failed == 0)
SEES(sees_remap_failed, r->complete && d[1].remap_failed == 1)
SEES(sees_recovery, r->complete && d[1].recovery_action == 2 && d[0].recovery_action == 0)
SEES(sees_reset, r->complete && d[1].recovery_action == 1)
SEES(sees_mig, r->complete && d[1].mig && !d[0].mig && d[1].sm_percent == PROBE_UNKNOWN)
SEES(sees_util, r->complete && d[1].sm_percent == 70 && d[1].mem_percent == 20)
SEES(sees_util_absurd, r->complete && d[1].sm_percent == PROBE_UNKNOWN && d[1].mem_percent == 1)
SEES(sees_power, r->complete && d[1].power_mw == 350000)
SEES(sees_temp, r->complete && d[1].temperature_c == 88)
SEES(sees_process, r->complete && d[1].processes.n == 1 && d[1].processes.v[0].pid == 77 &&
                       d[1].processes.v[0].mem_bytes == INT64_C(3) << 30 &&
                       d[1].mem_used_bytes == INT64_C(3) << 30 && d[0].processes.n == 0)
SEES(sees_numa, r->complete && d[1].numa_node == 1 && strcmp(d[1].cpus, "8-15") == 0)
SEES(sees_fabric, r->complete &&
                      strcmp(d[1].fabric, "00112233445566778899aabbccddeeff.9") == 0)
SEES(sees_mismatch, !r->complete && r->mismatch && strcmp(r->library, "999.1") == 0)
SEES(sees_handle_fail, r->complete && r->n_devices == 4 && d[0].lost && d[3].lost && d[3].uuid[0])
SEES(sees_count_fail, !r->complete && r->n_devices == 0 &&
                          strstr(r->error, "nvmlDeviceGetCount_v2: unknown error"))

static const struct change changes[] = {
    {"lost 1", sees_lost},
    {"gone 1", sees_gone},
    {"ecc 1 3", sees_ecc},
    {"ecc 1 off", sees_no_ecc},
    {"retired 1", sees_retired},
    {"remap 1", sees_remap},
    {"remap 1 failed", sees_remap_failed},
    {"recovery 1 2", sees_recovery},
    {"fail nvmlDeviceGetPowerUsage 16 1", sees_reset},
    {"mig 1 on", sees_mig},
    {"util 1 70 20", sees_util},
    {"util 1 101 1", sees_util_absurd},
    {"power 1 350000", sees_power},
    {"temp 1 88", sees_temp},
    {"process 1 77 3G", sees_process},
    {"numa 1 1", sees_numa},
    {"fabric 1 9", sees_fabric},
    {"mismatch", sees_mismatch},
    {"fail nvmlDeviceGetHandleByIndex_v2 999", sees_handle_fail},
    {"fail nvmlDeviceGetCount_v2 999", sees_count_fail},
    {"fail nvmlDeviceGetUUID 15 1\nfail nvmlDeviceGetMemoryInfo_v2 15 1\n"
     "fail nvmlDeviceGetMemoryInfo 15 1", sees_lost},
};

/* GPU10, GPU12: each change is seen, and its end, too. */
static void every_change_and_back(void **state)
{
    (void)state;
    struct live l;
    struct probe_report r;
    live_start(&l, FOUR);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        char scenario[256];
        until_whole(&l, 4, &r);
        report_free(&r);
        text_fmt(scenario, sizeof(scenario), FOUR "%s\n", changes[i].line);
        print_message("%s\n", changes[i].line);
        place_scenario(&l.place, scenario);
        child_until(&l.child, changes[i].is, NULL, &r);
        report_free(&r);
        place_scenario(&l.place, FOUR "back 1\n");
        child_until(&l.child, sees_back, NULL, &r);
        report_free(&r);
    }
    live_stop(&l);
}

static void later_lines_win_and_time_comes(void **state)
{
    (void)state;
    struct live l;
    struct probe_report r;
    live_start(&l, FOUR "lost 1\nback 1\nat 1 ecc 1 3\nat 999999999 gone 0\n");
    child_until(&l.child, sees_ecc, NULL, &r);
    report_free(&r);
    live_stop(&l);
}

/* ---- Xids ---- */

static bool has_event(const struct probe_report *r, void *arg)
{
    VEC_EACH (e, &r->events) if (e->xid == *(uint32_t *)arg) return true;
    return false;
}

static void xids_are_told_once(void **state)
{
    (void)state;
    struct live l;
    struct probe_report r;
    uint32_t xid = 79, other = 31;
    live_start(&l, FOUR);
    until_whole(&l, 4, &r);
    report_free(&r);
    place_scenario(&l.place, FOUR "xid 2 79\nlost 2\n");
    child_until(&l.child, has_event, &xid, &r);
    assert_int_equal(r.events.n, 1);
    assert_string_equal(r.events.v[0].uuid, r.devices[2].uuid);
    assert_string_equal(r.events.v[0].pci, "0000:12:00.0");
    assert_true(r.events.v[0].at_ms > INT64_C(1600000000000));
    assert_true(r.devices[2].lost); /* the report that tells it is of after it */
    report_free(&r);
    /* Written anew around it: not told again, the new one is; twice the same line is twice. */
    place_scenario(&l.place, FOUR "xid 2 79\nlost 2\nxid 0 31\nxid 0 31\n");
    child_until(&l.child, has_event, &other, &r);
    uint32_t seen = 0;
    for (;;) {
        assert_false(has_event(&r, &xid));
        VEC_EACH (e, &r.events) seen += e->xid == 31;
        report_free(&r);
        if (seen == 2) break;
        child_report(&l.child, &r);
    }
    live_stop(&l);
}

static void the_log_and_the_library_tell_one(void **state)
{
    (void)state;
    struct live l;
    struct probe_report r;
    uint32_t first = 48, second = 63;
    char path[128];
    const char *flags[] = {"--nvml", FAKE_NVML, "--kmsg", path, NULL};
    place_make(&l.place);
    place_scenario(&l.place, FOUR);
    place_write(&l.place, "kmsg", "NVRM: Xid (PCI:0000:10:00): 74, long ago\n");
    text_fmt(path, sizeof(path), "%s", place_path(&l.place, "kmsg"));
    child_start(&l.child, &l.place, flags);
    until_whole(&l, 4, &r);
    assert_true(r.xid_kmsg && r.xid_nvml);
    assert_int_equal(r.events.n, 0);
    report_free(&r);
    /* The library first, then the log; and a second one from the log alone behind it. */
    place_scenario(&l.place, FOUR "xid 1 48\n");
    child_until(&l.child, has_event, &first, &r);
    report_free(&r);
    place_append(&l.place, "kmsg", "NVRM: Xid (PCI:0000:11:00): 48, DBE\n"
                                   "NVRM: Xid (PCI:0000:11:00): 63, row remapper\n");
    child_until(&l.child, has_event, &second, &r);
    assert_int_equal(r.events.n, 1);
    assert_string_equal(r.events.v[0].text, "row remapper");
    assert_string_equal(r.events.v[0].pci, "0000:11:00.0");
    assert_string_equal(r.events.v[0].uuid, r.devices[1].uuid);
    report_free(&r);
    live_stop(&l);
}

/* ---- its end ---- */

static void nobody_reads(void **state)
{
    (void)state;
    struct live l;
    int status;
    live_start(&l, FOUR);
    struct probe_report r;
    until_whole(&l, 4, &r);
    report_free(&r);
    (void)close(l.child.out);
    assert_int_equal(waitpid(l.child.pid, &status, 0), l.child.pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    mem_free(l.child.buf);
    place_remove(&l.place);
}

/* A parent between us and the probe is killed: the probe ends although we still read. */
static void its_parent_dies(void **state)
{
    (void)state;
    struct place p;
    struct child c;
    int fds[2], status;
    place_make(&p);
    place_scenario(&p, FOUR);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        struct probe_report r;
        child_start(&c, &p, fake);
        child_report(&c, &r); /* it has asked to be told of our death by now */
        (void)!write(fds[1], &c.pid, sizeof(c.pid));
        for (;;) pause();
    }
    pid_t probe = 0;
    assert_int_equal(read(fds[0], &probe, sizeof(probe)), sizeof(probe));
    int pidfd = proc_open_child(probe, NULL);
    assert_true(pidfd >= 0);
    (void)kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(proc_wait_gone(pidfd, CEILING_MS));
    (void)close(pidfd);
    (void)close(fds[0]);
    (void)close(fds[1]);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_numbered),
        cmocka_unit_test(every_change_and_back),
        cmocka_unit_test(later_lines_win_and_time_comes),
        cmocka_unit_test(xids_are_told_once),
        cmocka_unit_test(the_log_and_the_library_tell_one),
        cmocka_unit_test(nobody_reads),
        cmocka_unit_test(its_parent_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
