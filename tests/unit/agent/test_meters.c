/* tests/unit/agent/test_meters.c - what is told, when, and that nothing is told twice. */
#include "test.h"

#include <sys/stat.h>
#include "agent/meters.h"
#include "host/file.h"
#include "net/loop.h"

#define MEMBERS 3

struct fixture {
    struct net_loop *loop;
    struct driver d;
    struct meters *m;
    char dir[64];
    bool runs[MEMBERS];
};

static uint32_t list(void *self, struct member_report **ret)
{
    struct fixture *f = self;
    uint32_t n = 0;
    *ret = mem_array(MEMBERS, sizeof(**ret));
    for (uint32_t i = 0; i < MEMBERS; i++)
        if (f->runs[i])
            (*ret)[n++] = (struct member_report){.ref = {i + 1, 1, 0}, .phase = MEMBER_RUNNING};
    return n;
}

static bool place(void *self, struct member_ref ref, struct driver_place *ret)
{
    struct fixture *f = self;
    memset(ret, 0, sizeof(*ret));
    ret->groups.version = CGROUP_V2;
    ret->groups.n = 1;
    text_fmt(ret->groups.at[0].dir, sizeof(ret->groups.at[0].dir), "%s/%u", f->dir,
             (unsigned)ref.session);
    return true;
}

static const struct driver_ops ops = {.name = "test", .list = list, .place = place};

static void set_cpu(struct fixture *f, unsigned member, const char *text)
{
    char path[128];
    text_fmt(path, sizeof(path), "%s/%u", f->dir, member);
    mkdir(path, 0700);
    text_fmt(path, sizeof(path), "%s/%u/cpu.stat", f->dir, member);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    close(fd);
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){.loop = net_loop_new()};
    text_fmt(f->dir, sizeof(f->dir), "/tmp/meters.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    for (unsigned i = 1; i <= MEMBERS; i++) set_cpu(f, i, "usage_usec 100\n");
    f->d = (struct driver){&ops, f};
    f->m = meters_new(f->loop, &f->d, &(struct meters_opts){.period_ms = 5, .tell_ms = 10});
}

static void end(struct fixture *f)
{
    meters_free(f->m);
    net_loop_free(f->loop);
    file_remove_tree(AT_FDCWD, f->dir, NULL);
}

/* The next summary; nothing within a second is none. */
static bool told(struct fixture *f, struct sync_request *rq)
{
    const bool never = false;
    for (int i = 0; i < 200; i++) {
        wire_init(&wire_sync_request, rq);
        meters_fill(f->m, rq);
        if (rq->used_ms > 0) return true;
        net_loop_run_until(f->loop, &never, 5);
    }
    return false;
}

static void while_nothing_runs_nothing_is_told(void **state)
{
    (void)state;
    struct fixture f;
    struct sync_request rq;
    begin(&f);
    assert_false(told(&f, &rq));
    f.runs[0] = true;
    meters_changed(f.m);
    assert_true(told(&f, &rq));
    f.runs[0] = false;
    meters_changed(f.m);
    while (told(&f, &rq)) assert_true(rq.used.n <= 1); /* the end is told once, then silence */
    assert_int_equal(rq.used.n, 0);
    end(&f);
}

static void only_what_changed_is_told(void **state)
{
    (void)state;
    struct fixture f;
    struct sync_request rq;
    begin(&f);
    f.runs[0] = f.runs[1] = f.runs[2] = true;
    meters_changed(f.m);
    assert_true(told(&f, &rq));
    assert_int_equal(rq.used.n, 3);
    assert_int_equal(rq.used.v[0].m.cpu_us, 100);
    assert_int_equal(rq.used.v[0].m.mem_bytes, METER_UNKNOWN);
    int64_t before = rq.used_ms;
    do assert_true(told(&f, &rq)); /* the peak becomes known with the second reading */
    while (rq.used.n > 0);
    assert_true(rq.used_ms > before); /* a summary without rows: all is as it was */
    set_cpu(&f, 2, "usage_usec 900\n");
    do assert_true(told(&f, &rq));
    while (rq.used.n == 0 || rq.used.v[0].m.cpu_us != 900);
    assert_int_equal(rq.used.n, 1);
    assert_int_equal(rq.used.v[0].ref.session, 2);
    meters_again(f.m); /* it may have got lost: counters go on, and all of them come */
    assert_true(told(&f, &rq));
    assert_int_equal(rq.used.n, 3);
    assert_int_equal(rq.used.v[1].m.cpu_us, 900);
    end(&f);
}

/* A new agent reads the kernel's own counters: nothing jumps, nothing begins anew. */
static void a_restart_goes_on_where_the_counters_are(void **state)
{
    (void)state;
    struct fixture f;
    struct sync_request rq;
    begin(&f);
    f.runs[0] = true;
    set_cpu(&f, 1, "usage_usec 5000\n");
    meters_changed(f.m);
    assert_true(told(&f, &rq));
    assert_int_equal(rq.used.v[0].m.cpu_us, 5000);
    meters_free(f.m);
    f.m = meters_new(f.loop, &f.d, &(struct meters_opts){.period_ms = 5, .tell_ms = 10});
    assert_true(told(&f, &rq));
    assert_int_equal(rq.used.v[0].m.cpu_us, 5000);
    struct meters_now *now = NULL;
    assert_int_equal(meters_list(f.m, &now), 1);
    assert_int_equal(now[0].m.cpu_us, 5000);
    mem_free(now);
    assert_non_null(meters_ring(f.m, (struct member_ref){1, 1, 0}));
    assert_null(meters_ring(f.m, (struct member_ref){2, 1, 0}));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(while_nothing_runs_nothing_is_told),
        cmocka_unit_test(only_what_changed_is_told),
        cmocka_unit_test(a_restart_goes_on_where_the_counters_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
