/* tests/unit/manager/test_fencer.c - the fence command: once for each silence, and only its
 * success counts. */
#include "harness.h"

/* The core has found that the node is due. */
static struct node *silent(struct rig *r, struct fake_node *n)
{
    struct sync_answer a;
    fake_node_join(r, "n1", 4, n);
    fake_node_beat(n, NULL, 0, 10, &a);
    wire_free(&wire_sync_answer, &a);
    struct node *node = world_node_named(turns_world(r->m->turns), STR("n1"));
    assert_true(turns_world(r->m->turns)->fence_command);
    node->unreachable = node->fence_asked = true;
    return node;
}

static void set_command(struct rig *r, const char *script, const char *file)
{
    rig_kill(r);
    const char *const argv[] = {"/bin/sh", "-c", script, file};
    for (r->n_fence = 0; r->n_fence < 4; r->n_fence++) r->fence[r->n_fence] = argv[r->n_fence];
    rig_start(r);
}

static void test_its_success_counts(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    char file[128], said[64] = "";
    rig_open(&r);
    text_fmt(file, sizeof(file), "%s/fenced", r.dir);
    set_command(&r, "echo \"$1\" >> \"$0\"", file);
    const struct node *node = silent(&r, &n);
    bool never = false;
    for (int i = 0; i < 600 && !node->fence_confirmed; i++)
        net_loop_run_until(r.loop, &never, 50);
    assert_true(node->fence_confirmed);
    assert_false(node->fence_asked);
    FILE *f = fopen(file, "re");
    assert_non_null(f);
    size_t got = fread(said, 1, sizeof(said) - 1, f);
    fclose(f);
    said[got] = '\0';
    assert_string_equal(said, "n1\n"); /* once */
    fake_node_done(&n);
    rig_close(&r);
}

static void test_its_failure_releases_nothing(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    char file[128];
    rig_open(&r);
    text_fmt(file, sizeof(file), "%s/fenced", r.dir);
    set_command(&r, "echo $1 > \"$0\"; exit 1", file);
    const struct node *node = silent(&r, &n);
    bool never = false;
    for (int i = 0; i < 600 && access(file, F_OK) != 0; i++)
        net_loop_run_until(r.loop, &never, 50);
    assert_int_equal(access(file, F_OK), 0);
    net_loop_run_until(r.loop, &never, 500);
    assert_false(node->fence_confirmed);
    assert_true(node->fence_asked);
    fake_node_done(&n);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_success_counts),
        cmocka_unit_test(test_its_failure_releases_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
