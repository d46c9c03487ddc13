/* A driver that does not come back: what the probe says meanwhile, and how it ends.  This takes
 * as long as the probe's patience: half a minute. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>

#include "probe/main.h"

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
static bool has_event(const struct probe_report *r, void *arg)
{
    VEC_EACH (e, &r->events) if (e->xid == *(uint32_t *)arg) return true;
    return false;
}

static bool sees_stuck(const struct probe_report *r, void *arg)
{
    return !r->complete && strstr(r->error, arg);
}

static void a_hung_call_is_named_and_xids_go_on(void **state)
{
    (void)state;
    struct live l;
    struct probe_report r;
    uint32_t xid = 119;
    char path[128];
    const char *flags[] = {"--nvml", FAKE_NVML, "--kmsg", path, NULL};
    place_make(&l.place);
    place_scenario(&l.place, FOUR);
    place_write(&l.place, "kmsg", "");
    text_fmt(path, sizeof(path), "%s", place_path(&l.place, "kmsg"));
    child_start(&l.child, &l.place, flags);
    until_whole(&l, 4, &r);
    report_free(&r);
    place_scenario(&l.place, FOUR "hang nvmlDeviceGetTemperature 2\n");
    place_append(&l.place, "kmsg", "NVRM: Xid (PCI:0000:12:00): 119, Timeout of GSP\n");
    child_until(&l.child, has_event, &xid, &r);
    report_free(&r);
    char call[] = "nvmlDeviceGetTemperature has not answered for";
    child_until(&l.child, sees_stuck, call, &r);
    assert_int_equal(r.n_devices, 0); /* nothing is said of devices that were not read */
    assert_false(r.mismatch);
    report_free(&r);
    place_scenario(&l.place, FOUR); /* it comes back after all */
    until_whole(&l, 4, &r);
    report_free(&r);
    live_stop(&l);
}

static void a_call_that_never_returns_ends_the_probe(void **state)
{
    (void)state;
    struct live l;
    live_start(&l, FOUR "hang nvmlInit_v2\n");
    int status = child_wait(&l.child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), PROBE_EXIT_STALLED);
    place_remove(&l.place);
}

static void killed_while_it_hangs(void **state)
{
    (void)state;
    struct live l;
    struct probe_report r;
    char call[] = "nvmlDeviceGetCount_v2 has not answered";
    live_start(&l, FOUR "hang nvmlDeviceGetCount_v2\n");
    child_until(&l.child, sees_stuck, call, &r);
    report_free(&r);
    live_stop(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hung_call_is_named_and_xids_go_on),
        cmocka_unit_test(a_call_that_never_returns_ends_the_probe),
        cmocka_unit_test(killed_while_it_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
