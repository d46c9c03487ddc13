/* tests/unit/agent/test_bundle.c - the runtime's configuration is what we promise. */
#include "test.h"
#include <jansson.h>
#include "agent/bundle.h"
#include "agent/seccomp.h"

static struct rootfs_host rootfs;
static const char *const argv[] = {"/bin/echo", "a \"quoted\"\n\\ word", "\xff", NULL};
static const char *const envp[] = {"PATH=/bin", "X=\t", NULL};

static json_t *config(bool raw_filter, bool tty)
{
    struct bundle_host h = {.shim_path = "/opt/rota-shim", .rootfs = &rootfs, .nofile = 4096,
                            .filter_base64 = raw_filter ? "QUJD" : NULL,
                            .filter_json = "{\"defaultAction\":\"SCMP_ACT_ERRNO\"}"};
    struct container_spec s = {.image = "host", .argv = argv, .envp = envp, .hostname = "box",
                               .uid = 7, .gid = 8, .shm_bytes = 4096, .tty = tty};
    struct strbuf b;
    strbuf_init(&b, BUNDLE_MAX);
    assert_int_equal(bundle_config(&h, &s, "/state/m", &b, NULL), 0);
    json_error_t e;
    json_t *j = json_loads(b.p, JSON_REJECT_DUPLICATES, &e);
    if (!j) fail_msg("%s at %d", e.text, e.position);
    strbuf_done(&b);
    return j;
}

static const char *text(json_t *j, const char *a, const char *b)
{
    const char *v = json_string_value(json_object_get(json_object_get(j, a), b));
    return v ? v : "";
}

static void the_process_has_nothing_it_needs_not(void **state)
{
    (void)state;
    json_t *j = config(true, false), *p = json_object_get(j, "process"), *v;
    const char *set;
    assert_true(json_is_true(json_object_get(p, "noNewPrivileges")));
    assert_true(json_is_false(json_object_get(p, "terminal")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(p, "user"), "uid")), 7);
    assert_int_equal(json_object_size(json_object_get(p, "capabilities")), 5);
    json_object_foreach(json_object_get(p, "capabilities"), set, v)
        assert_int_equal(json_array_size(v), 0);
    json_t *args = json_object_get(p, "args");
    assert_string_equal(json_string_value(json_array_get(args, 0)), BUNDLE_INIT);
    assert_string_equal(json_string_value(json_array_get(args, 4)), "a \"quoted\"\n\\ word");
    assert_int_equal(json_array_size(args), 6);
    assert_string_equal(text(j, "root", "path"), "/state/m");
    json_decref(j);
    j = config(true, true);
    assert_true(json_is_true(json_object_get(json_object_get(j, "process"), "terminal")));
    json_decref(j);
}

static void every_namespace_is_its_own(void **state)
{
    static const char *const want[] = {"network", "pid", "ipc", "uts", "mount", "cgroup"};
    (void)state;
    json_t *j = config(true, false);
    json_t *list = json_object_get(json_object_get(j, "linux"), "namespaces");
    assert_int_equal(json_array_size(list), ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        json_t *one = json_array_get(list, i);
        assert_string_equal(json_string_value(json_object_get(one, "type")), want[i]);
        assert_null(json_object_get(one, "path")); /* a new one, not somebody's */
    }
    json_decref(j);
}

static void no_mount_can_be_used_against_the_host(void **state)
{
    struct rootfs_bind b = {"/opt/data"};
    (void)state;
    VEC_PUSH(&rootfs.binds, b);
    json_t *j = config(true, false), *m, *o;
    size_t i, k, binds = 0;
    json_array_foreach(json_object_get(j, "mounts"), i, m) {
        bool nosuid = false, ro = false;
        json_array_foreach(json_object_get(m, "options"), k, o) {
            nosuid = nosuid || strcmp(json_string_value(o), "nosuid") == 0;
            ro = ro || strcmp(json_string_value(o), "ro") == 0;
        }
        const char *type = json_string_value(json_object_get(m, "type"));
        assert_true(nosuid);
        if (strcmp(type, "bind") == 0) {
            assert_true(ro);
            binds++;
        }
    }
    assert_int_equal(binds, 2);
    json_decref(j);
    VEC_DONE(&rootfs.binds);
}

static void the_filter_is_always_there_in_one_way(void **state)
{
    (void)state;
    json_t *raw = config(true, false), *slow = config(false, false);
    assert_string_equal(text(raw, "annotations", "run.oci.seccomp_bpf_data"), "QUJD");
    assert_null(json_object_get(json_object_get(raw, "linux"), "seccomp"));
    assert_null(json_object_get(slow, "annotations"));
    assert_non_null(json_object_get(json_object_get(slow, "linux"), "seccomp"));
    json_decref(raw);
    json_decref(slow);
}

static void the_filter_compiles_and_is_json(void **state)
{
    struct strbuf raw, slow;
    (void)state;
    strbuf_init(&raw, 1 << 20);
    strbuf_init(&slow, 1 << 20);
    assert_int_equal(seccomp_filter_base64(&raw, NULL), 0);
    seccomp_filter_json(&slow);
    assert_true(raw.n > 2000 && raw.n % 4 == 0 &&
                strspn(raw.p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
                              "mnopqrstuvwxyz0123456789+/=") == raw.n);
    json_t *j = json_loads(slow.p, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    json_decref(j);
    strbuf_done(&raw);
    strbuf_done(&slow);
}

static void a_command_inside_is_no_stronger(void **state)
{
    struct bundle_host h = {.shim_path = "/s", .rootfs = &rootfs, .nofile = 4096};
    struct bundle_process p = {.uid = 7, .gid = 8, .argv = argv, .envp = envp, .tty = true};
    struct strbuf b;
    (void)state;
    strbuf_init(&b, BUNDLE_MAX);
    assert_int_equal(bundle_exec(&h, &p, &b, NULL), 0);
    json_t *j = json_loads(b.p, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    assert_true(json_is_true(json_object_get(j, "noNewPrivileges")));
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(j, "capabilities"), "bounding")), 0);
    assert_string_equal(json_string_value(json_object_get(j, "cwd")), "/");
    json_decref(j);
    /* Anywhere else it goes by itself: the runtime has the machine's descriptors still. */
    strbuf_reset(&b);
    p.workdir = "/proc/self/fd/7";
    assert_int_equal(bundle_exec(&h, &p, &b, NULL), 0);
    j = json_loads(b.p, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "cwd")), "/");
    static const char *const first[] = {BUNDLE_INIT, "into", "/proc/self/fd/7", "--"};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        assert_string_equal(json_string_value(json_array_get(json_object_get(j, "args"), i)),
                            first[i]);
    assert_string_equal(json_string_value(json_array_get(json_object_get(j, "args"), 4)), argv[0]);
    json_decref(j);
    p.workdir = NULL;
    strbuf_reset(&b);
    b.max = 100; /* longer than may be: told, not cut */
    assert_int_equal(bundle_exec(&h, &p, &b, NULL), ERR_LIMIT);
    strbuf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_process_has_nothing_it_needs_not),
        cmocka_unit_test(every_namespace_is_its_own),
        cmocka_unit_test(no_mount_can_be_used_against_the_host),
        cmocka_unit_test(the_filter_is_always_there_in_one_way),
        cmocka_unit_test(the_filter_compiles_and_is_json),
        cmocka_unit_test(a_command_inside_is_no_stronger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
