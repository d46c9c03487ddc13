/* tests/unit/agent/test_metrics.c - where figures are served, and that they are. */
#include "test.h"

#include "agent/metrics.h"
#include "net/http_client.h"
#include "net/loop.h"

static uint32_t list(void *self, struct member_report **ret)
{
    (void)self;
    *ret = mem_array(1, sizeof(**ret));
    (*ret)[0] = (struct member_report){.ref = {7, 2, 1}, .phase = MEMBER_RUNNING};
    return 1;
}

/* Its groups are not there: nothing can be read. */
static bool place(void *self, struct member_ref ref, struct driver_place *ret)
{
    (void)self;
    (void)ref;
    memset(ret, 0, sizeof(*ret));
    return true;
}

static const struct driver_ops ops = {.name = "test", .list = list, .place = place};
static struct link *const no_link = NULL;

static void only_on_loopback(void **state)
{
    (void)state;
    static const struct { const char *addr; bool good; } cases[] = {
        {"127.0.0.1:0", true}, {"127.9.9.9:0", true}, {"[::1]:0", true}, {"0.0.0.0:0", false},
        {"10.0.0.1:80", false}, {"[::]:0", false}, {"localhost:80", false}, {"127.0.0.1", false},
        {"128.0.0.1:0", false}, {"", false},
    };
    struct net_loop *loop = net_loop_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct metrics *m = NULL;
        struct err err = {0};
        int rc = metrics_open(loop, cases[i].addr, NULL, &no_link, &m, &err);
        if ((rc == 0) != cases[i].good) fail_msg("%s: %d %s", cases[i].addr, rc, err.text);
        if (rc != 0) assert_non_null(strstr(err.text, "metrics_listen"));
        metrics_close(m);
    }
    net_loop_free(loop);
}

struct got { bool done; int status; char body[8192]; };

static void on_done(void *arg, const struct http_answer *a)
{
    struct got *g = arg;
    g->done = true;
    g->status = a->status;
    text_clip(g->body, sizeof(g->body), a->body);
}

static struct got get(struct net_loop *loop, const struct metrics *m, const char *target)
{
    struct got g = {0};
    struct err err = {0};
    char url[64];
    struct str addr = metrics_addr(m);
    text_fmt(url, sizeof(url), "http://%.*s", (int)addr.n, addr.p);
    struct http_client *c = http_client_new(loop, str_of(url),
                                            &(struct http_client_opts){.conns_max = 1}, &err);
    assert_non_null(c);
    http_call(c, &(struct http_request){.method = "GET", .target = str_of(target),
                                        .timeout_ms = 10000}, on_done, &g);
    assert_true(net_loop_run_until(loop, &g.done, 20000));
    http_client_free(c);
    return g;
}

static void what_is_not_known_has_no_sample(void **state)
{
    (void)state;
    struct err err = {0};
    struct metrics *m = NULL;
    struct driver d = {&ops, NULL};
    const bool never = false;
    struct net_loop *loop = net_loop_new();
    struct meters *meters = meters_new(loop, &d, &(struct meters_opts){.period_ms = 5});
    assert_int_equal(metrics_open(loop, "127.0.0.1:0", meters, &no_link, &m, &err), 0);
    struct meters_now *now = NULL;
    for (int i = 0; i < 400 && meters_list(meters, &now) == 0; i++) {
        mem_free(now);
        net_loop_run_until(loop, &never, 5);
    }
    mem_free(now);
    struct got g = get(loop, m, "/metrics");
    assert_int_equal(g.status, 200);
    assert_non_null(strstr(g.body, "rota_agent_containers 1\n"));
    assert_non_null(strstr(g.body, "# TYPE rota_container_cpu_seconds_total counter\n"));
    assert_null(strstr(g.body, "session=\"s7\"")); /* not even as zero */
    assert_int_equal(get(loop, m, "/").status, 404);
    metrics_close(m);
    meters_free(meters);
    net_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_on_loopback),
        cmocka_unit_test(what_is_not_known_has_no_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
