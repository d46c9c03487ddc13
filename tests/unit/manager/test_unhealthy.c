/* A node whose own script says that nothing new may come. */
#include "harness.h"

static void beat(struct fake_node *n)
{
    struct sync_answer a;
    fake_node_beat(n, NULL, 0, 10, &a);
    wire_free(&wire_sync_answer, &a);
}

static void expect(struct rig *r, const char *target, const char *text)
{
    AUTO_REPLY struct reply p;
    rig_call(r, &(struct call){.target = target}, &p);
    if (p.status != 200 || !reply_has(&p, text)) fail_msg("%s: %s", target, p.body.p);
}

/* A level: it is out while its agent says so. */
static void test_an_unhealthy_node_takes_nothing_new(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    n.unhealthy = "health: fan stuck";
    beat(&n);
    expect(&r, "/api/v1/nodes/n1", "\"state\":\"unhealthy\"");
    expect(&r, "/api/v1/nodes/n1", "\"unhealthy\":\"health: fan stuck\"");
    rig_submit(&r, "{\"command\":[\"x\"]}");
    expect(&r, "/api/v1/sessions/s1", "\"state\":\"pending\"");
    expect(&r, "/api/v1/sessions/s1/why", "\"unhealthy\":1");
    expect(&r, "/api/v1/sessions/s1/why", "(1 node: 1 unhealthy)");
    n.unhealthy = NULL;
    beat(&n);
    expect(&r, "/api/v1/nodes/n1", "\"state\":\"ready\"");
    expect(&r, "/api/v1/sessions/s1", "\"state\":\"allocated\"");
    fake_node_done(&n);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_unhealthy_node_takes_nothing_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
