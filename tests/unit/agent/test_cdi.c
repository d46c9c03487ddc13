/* tests/unit/agent/test_cdi.c - CDI files: what is taken, what is not, and what a container
 * gets of them.  Devices of this machine (/dev/null, /dev/zero, /dev/full) stand for GPUs. */
#include "test.h"
#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "agent/gpu/cdi.h"
#include "host/file.h"

#define HEAD "{\"cdiVersion\":\"0.6.0\",\"kind\":\"example.com/gpu\","
#define ONE(edits) HEAD "\"devices\":[{\"name\":\"0\",\"containerEdits\":{" edits "}}]}"

static char base[64], dirs[CDI_DIRS][80];
static const char *const roots[CDI_DIRS] = {dirs[0], dirs[1]};
static struct cdi_rules rules;

static int setup(void **state)
{
    (void)state;
    text_fmt(base, sizeof(base), "/tmp/rota-cdi-XXXXXX");
    assert_non_null(mkdtemp(base));
    text_fmt(dirs[0], sizeof(dirs[0]), "%s/etc", base);
    text_fmt(dirs[1], sizeof(dirs[1]), "%s/run", base);
    rules.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return mkdir(dirs[0], 0755) | mkdir(dirs[1], 0755) | (rules.root < 0);
}

static int teardown(void **state)
{
    (void)state;
    close(rules.root);
    return file_remove_tree(AT_FDCWD, base, NULL);
}

static void put_file(int dir, const char *name, const char *text)
{
    char path[200];
    struct err err = {0};
    text_fmt(path, sizeof(path), "%s/%s", dirs[dir], name);
    if (file_write(AT_FDCWD, path, text, strlen(text), FILE_ORDERED, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(chmod(path, 0644), 0);
}

static void clear(void)
{
    for (int i = 0; i < CDI_DIRS; i++) {
        file_remove_tree(AT_FDCWD, dirs[i], NULL);
        assert_int_equal(mkdir(dirs[i], 0755), 0);
    }
}

static int apply(const char *text, struct grant *g, struct err *err)
{
    struct cdi_spec s;
    int rc = cdi_parse("x.json", str_of(text), &s, err);
    if (rc < 0) return rc;
    rc = cdi_apply(&s.devices.v[0].edits, &rules, g, err);
    cdi_spec_done(&s);
    return rc;
}

/* ---- */

static void all_edits_in_json_and_yaml(void **state)
{
    static const char json[] =
        "{\"cdiVersion\":\"0.8.0\",\"kind\":\"nvidia.com/gpu\",\"annotations\":{\"a\":\"b\"},"
        "\"devices\":[{\"name\":\"GPU-1\",\"annotations\":{},\"containerEdits\":{"
        "\"env\":[\"A=1\",\"B=\"],\"deviceNodes\":[{\"path\":\"/dev/nvidia0\",\"hostPath\":"
        "\"/dev/zero\",\"type\":\"c\",\"major\":1,\"minor\":5,\"fileMode\":432,\"permissions\":"
        "\"rw\",\"uid\":5,\"gid\":6}],\"mounts\":[{\"hostPath\":\"/usr/bin/env\","
        "\"containerPath\":\"/usr/bin/smi\",\"options\":[\"ro\",\"nosuid\",\"rbind\"]}],"
        "\"hooks\":[{\"hookName\":\"createContainer\",\"path\":\"/usr/bin/nvidia-ctk\",\"args\":"
        "[\"nvidia-ctk\",\"hook\",\"update-ldcache\",\"--folder\",\"/usr/lib/vendor\"]}],"
        "\"intelRdt\":{\"closID\":\"c1\"},\"additionalGids\":[44,107]}}]}";
    static const char yaml[] =
        "---\ncdiVersion: 0.8.0\nkind: nvidia.com/gpu\nannotations: {a: b}\ndevices:\n"
        "- name: GPU-1\n  containerEdits:\n    env: [A=1, B=]\n    deviceNodes:\n"
        "    - path: /dev/nvidia0\n      hostPath: /dev/zero\n      type: c\n      major: 1\n"
        "      minor: 5\n      fileMode: 432\n      permissions: rw\n      uid: 5\n      gid: 6\n"
        "    mounts:\n    - hostPath: /usr/bin/env\n      containerPath: /usr/bin/smi\n"
        "      options: [ro, nosuid, rbind]\n    hooks:\n    - hookName: createContainer\n"
        "      path: /usr/bin/nvidia-ctk\n      args: [nvidia-ctk, hook, update-ldcache, "
        "--folder, /usr/lib/vendor]\n    intelRdt: {closID: c1}\n    additionalGids: [44, 107]\n";
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cdi_spec s;
        struct grant g = {0};
        struct err err = {0};
        if (cdi_parse(i ? "x.yaml" : "x.json", str_of(i ? yaml : json), &s, &err) < 0 ||
            cdi_apply(&s.devices.v[0].edits, &rules, &g, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(s.devices.v[0].name, "GPU-1");
        assert_int_equal(g.nodes.n, 1);
        const struct grant_node *n = &g.nodes.v[0];
        assert_string_equal(n->path, "/dev/nvidia0");
        assert_int_equal(n->major, 1);
        assert_int_equal(n->minor, 5);
        assert_int_equal(n->mode, 0660);
        assert_int_equal(n->uid, 5);
        assert_int_equal(n->gid, 6);
        assert_string_equal(n->access, "rw");
        assert_int_equal(g.mounts.n, 1);
        assert_true(g.mounts.v[0].deep);
        assert_false(g.mounts.v[0].writable);
        assert_int_equal(g.hooks.n, 0); /* not allowed: replaced by what it would have done */
        assert_string_equal(g.libs, "/usr/lib/vendor");
        assert_int_equal(g.gids.n, 2);
        assert_int_equal(g.gids.v[1], 107);
        assert_int_equal(g.env.n, 2);
        assert_true(g.rdt.set);
        assert_string_equal(g.rdt.clos, "c1");
        grant_done(&g);
        cdi_spec_done(&s);
    }
}

static void hooks_run_only_when_allowed(void **state)
{
    static const char text[] = ONE("\"hooks\":[{\"hookName\":\"prestart\",\"path\":\"/opt/hook\","
                                   "\"args\":[\"hook\",\"x\"],\"env\":[\"A=b\"],\"timeout\":5}]");
    static const char *const allowed[] = {"/opt/other", "/opt/hook", NULL};
    struct grant g = {0};
    (void)state;
    assert_int_equal(apply(text, &g, NULL), 0);
    assert_int_equal(g.hooks.n, 0);
    rules.hooks = allowed;
    assert_int_equal(apply(text, &g, NULL), 0);
    rules.hooks = NULL;
    assert_int_equal(g.hooks.n, 1);
    assert_string_equal(g.hooks.v[0].stage, "prestart");
    assert_string_equal(g.hooks.v[0].args.v[1], "x");
    assert_int_equal(g.hooks.v[0].timeout_s, 5);
    grant_done(&g);
}

/* The whole file is refused, whoever asks for what of it. */
static void files_that_are_not_taken(void **state)
{
    static const struct { const char *text, *why; } cases[] = {
        {"", "line 1"},
        {"[]", "object"},
        {"{\"cdiVersion\":\"0.2.0\",\"kind\":\"a.b/c\",\"devices\":[]}", "0.3.0 to 0.8.0"},
        {"{\"cdiVersion\":\"9.0.0\",\"kind\":\"a.b/c\",\"devices\":[]}", "0.3.0 to 0.8.0"},
        {"{\"cdiVersion\":6,\"kind\":\"a.b/c\",\"devices\":[]}", "a text"},
        {HEAD "\"devices\":[]}", "no device"},
        {HEAD "\"devices\":{}}", "list"},
        {HEAD "\"devices\":[{\"name\":\"0\"}]}", "containerEdits"},
        {HEAD "\"devices\":[{\"name\":\"../0\",\"containerEdits\":{}}]}", "no name"},
        {HEAD "\"devices\":[{\"name\":\"0\",\"containerEdits\":{}},"
              "{\"name\":\"0\",\"containerEdits\":{}}]}", "twice"},
        {"{\"cdiVersion\":\"0.6.0\",\"kind\":\"nvidia\",\"devices\":[{\"name\":\"0\","
         "\"containerEdits\":{}}]}", "vendor.com/class"},
        {ONE("\"privileged\":true"), "privileged"},
        {ONE("\"env\":[\"no value\"]"), "NAME=value"},
        {ONE("\"env\":[\"A B=1\"]"), "NAME=value"},
        {ONE("\"env\":[1]"), "text"},
        {ONE("\"deviceNodes\":[{}]"), "path"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/../etc/shadow\"}]"), "below /dev"},
        {ONE("\"deviceNodes\":[{\"path\":\"/tmp/x\",\"hostPath\":\"/dev/zero\"}]"), "below /dev"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"hostPath\":\"dev/zero\"}]"), "below /dev"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/pts/1\",\"hostPath\":\"/dev/zero\"}]"), "below"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"type\":\"p\"}]"), "type"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"permissions\":\"rwx\"}]"), "permissions"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"permissions\":\"rr\"}]"), "permissions"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"major\":\"1\"}]"), "number"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"major\":1e3}]"), "number"},
        {ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"minor\":99999999999}]"), "expected"},
        {ONE("\"mounts\":[{\"hostPath\":\"/\",\"containerPath\":\"/host\"}]"), "absolute"},
        {ONE("\"mounts\":[{\"hostPath\":\"/etc/../root\",\"containerPath\":\"/x\"}]"), "absolute"},
        {ONE("\"mounts\":[{\"hostPath\":\"/x\",\"containerPath\":\"/proc/1/mem\"}]"), "nothing"},
        {ONE("\"mounts\":[{\"hostPath\":\"/x\",\"containerPath\":\"/run/rota-init\"}]"), "nothing"},
        {ONE("\"mounts\":[{\"hostPath\":\"/x\",\"containerPath\":\"/usr\"}]"), "nothing"},
        {ONE("\"mounts\":[{\"hostPath\":\"/x\",\"containerPath\":\"/y\",\"type\":\"tmpfs\"}]"),
         "type"},
        {ONE("\"hooks\":[{\"hookName\":\"prestart\",\"path\":\"sh\"}]"), "absolute"},
        {ONE("\"additionalGids\":[-1]"), "from 0"},
        {ONE("\"additionalGids\":[\"video\"]"), "number"},
        {ONE("\"env\":[\"A=1\"],\"env\":[\"B=1\"]"), "twice"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cdi_spec s;
        struct err err = {0};
        if (cdi_parse("x.json", str_of(cases[i].text), &s, &err) == 0)
            fail_msg("taken: %s", cases[i].text);
        if (!strstr(err.text, cases[i].why) || !str_starts(str_of(err.text), STR("x.json")))
            fail_msg("case %zu: '%s' does not say '%s'", i, err.text, cases[i].why);
    }
}

static void deep_and_large_files_are_not_taken(void **state)
{
    struct strbuf b;
    struct cdi_spec s;
    struct err err = {0};
    (void)state;
    strbuf_init(&b, 16 << 20);
    strbuf_puts(&b, HEAD "\"devices\":");
    for (int i = 0; i < 100000; i++) strbuf_putc(&b, '[');
    assert_true(cdi_parse("x.json", strbuf_str(&b), &s, &err) < 0);
    strbuf_reset(&b);
    strbuf_puts(&b, HEAD);
    while (b.n < 10 << 20) strbuf_puts(&b, "          ");
    assert_int_equal(cdi_parse("x.json", strbuf_str(&b), &s, &err), ERR_LIMIT);
    clear();
    put_file(0, "big.json", b.p);
    strbuf_done(&b);
    put_file(0, "good.json", ONE("\"env\":[\"A=1\"]"));
    struct cdi c;
    cdi_load(&c, roots);
    assert_int_equal(c.files.n, 1); /* one bad file does not take the others along */
    assert_string_equal(c.files.v[0].name, "good.json");
    assert_non_null(strstr(c.why, "big.json"));
    cdi_done(&c);
    /* YAML that refers to itself, or grows without end. */
    static const char *const loops[] = {"a: &a [*a]\n", "kind: !!binary x\n", "cdiVersion: *x\n"};
    for (size_t i = 0; i < ARRAY_LEN(loops); i++)
        assert_true(cdi_parse("x.yaml", str_of(loops[i]), &s, &err) < 0);
}

/* What the machine says counts, and a file that says otherwise is out of date. */
static void a_node_is_what_the_machine_says(void **state)
{
    static const struct { const char *edits; int rc; } cases[] = {
        {"\"path\":\"/dev/x\",\"hostPath\":\"/dev/zero\"", 0},
        {"\"path\":\"/dev/zero\"", 0},
        {"\"path\":\"/dev/x\",\"hostPath\":\"/dev/zero\",\"major\":1,\"minor\":5", 0},
        {"\"path\":\"/dev/x\",\"hostPath\":\"/dev/zero\",\"major\":1,\"minor\":3", ERR_CONFLICT},
        {"\"path\":\"/dev/x\",\"hostPath\":\"/dev/zero\",\"major\":195,\"minor\":5", ERR_CONFLICT},
        {"\"path\":\"/dev/x\",\"hostPath\":\"/dev/zero\",\"type\":\"b\"", ERR_CONFLICT},
        {"\"path\":\"/dev/x\",\"hostPath\":\"/dev/rota-not-there\"", ERR_NOT_FOUND},
        {"\"path\":\"/dev/x\",\"hostPath\":\"/etc/passwd\"", ERR_INVALID},
        {"\"path\":\"/dev/x\",\"hostPath\":\"/proc/self/fd/0\"", ERR_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[400];
        struct grant g = {0};
        struct err err = {0};
        text_fmt(text, sizeof(text), ONE("\"deviceNodes\":[{%s}]"), cases[i].edits);
        int rc = apply(text, &g, &err);
        if (i + 1 == ARRAY_LEN(cases)) assert_true(rc < 0); /* a link: refused in some way */
        else if (rc != cases[i].rc) fail_msg("case %zu: %d, %s", i, rc, err.text);
        assert_int_equal(g.nodes.n, rc == 0);
        grant_done(&g);
    }
}

static void the_same_path_is_the_same_device(void **state)
{
    struct grant g = {0};
    (void)state;
    assert_int_equal(
        apply(ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"hostPath\":\"/dev/zero\"}]"), &g, NULL),
        0);
    assert_int_equal(
        apply(ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"hostPath\":\"/dev/zero\"}]"), &g, NULL),
        0);
    assert_int_equal(g.nodes.n, 1);
    assert_int_equal(
        apply(ONE("\"deviceNodes\":[{\"path\":\"/dev/x\",\"hostPath\":\"/dev/full\"}]"), &g, NULL),
        ERR_CONFLICT);
    assert_int_equal(apply(ONE("\"env\":[\"A=1\"]"), &g, NULL), 0);
    assert_int_equal(apply(ONE("\"env\":[\"A=2\"]"), &g, NULL), 0); /* the later one */
    assert_int_equal(g.env.n, 1);
    assert_string_equal(g.env.v[0], "A=2");
    assert_int_equal(apply(ONE("\"additionalGids\":[0]"), &g, NULL), ERR_DENIED);
    assert_int_equal(
        apply(ONE("\"mounts\":[{\"hostPath\":\"/x\",\"containerPath\":\"/y\",\"options\":"
                  "[\"suid\"]}]"), &g, NULL), ERR_DENIED);
    grant_done(&g);
}

static const char *where_from(const char *name, int *ret_rc)
{
    static char env[32];
    const struct cdi_file *f;
    const struct cdi_item *item;
    struct cdi c;
    cdi_load(&c, roots);
    *ret_rc = cdi_find(&c, "example.com/gpu", name, &f, &item, NULL);
    if (*ret_rc == 0) TEXT_CLIP(env, str_of(item->edits.env.v[0]));
    cdi_done(&c);
    return *ret_rc == 0 ? env : "";
}

static void who_wins(void **state)
{
    int rc;
    (void)state;
    clear();
    put_file(0, "a.json", ONE("\"env\":[\"F=etc-a\"]"));
    assert_string_equal(where_from("0", &rc), "F=etc-a");
    put_file(0, "b.json", ONE("\"env\":[\"F=etc-b\"]"));
    assert_string_equal(where_from("0", &rc), "");
    assert_int_equal(rc, ERR_CONFLICT); /* nobody gets it ... */
    put_file(1, "c.json", ONE("\"env\":[\"F=run-c\"]"));
    assert_string_equal(where_from("0", &rc), "F=run-c"); /* ... unless a stronger one says */
    put_file(1, "d.json", ONE("\"env\":[\"F=run-d\"]"));
    assert_string_equal(where_from("0", &rc), "");
    assert_int_equal(rc, ERR_CONFLICT);
    where_from("1", &rc);
    assert_int_equal(rc, ERR_NOT_FOUND);
}

static void files_of_others_are_not_read(void **state)
{
    char path[200], to[200];
    int rc;
    (void)state;
    clear();
    put_file(0, "a.json", ONE("\"env\":[\"F=1\"]"));
    text_fmt(path, sizeof(path), "%s/a.json", dirs[0]);
    chmod(path, 0666);
    assert_string_equal(where_from("0", &rc), ""); /* whoever writes it owns the machine */
    chmod(path, 0664);
    assert_string_equal(where_from("0", &rc), "");
    chmod(path, 0644);
    assert_string_equal(where_from("0", &rc), "F=1");
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 0), 0);
        assert_string_equal(where_from("0", &rc), "");
        assert_int_equal(chown(path, 0, 0), 0);
    }
    text_fmt(to, sizeof(to), "%s/real", base);
    assert_int_equal(rename(path, to), 0);
    assert_int_equal(symlink(to, path), 0);
    assert_string_equal(where_from("0", &rc), "");
    text_fmt(to, sizeof(to), "%s/fifo.json", dirs[0]);
    assert_int_equal(mkfifo(to, 0644), 0); /* does not hang either */
    put_file(0, "b.json.tmp", ONE("\"env\":[\"F=tmp\"]"));
    put_file(0, ".c.json", ONE("\"env\":[\"F=hidden\"]"));
    assert_string_equal(where_from("0", &rc), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_edits_in_json_and_yaml),
        cmocka_unit_test(hooks_run_only_when_allowed),
        cmocka_unit_test(files_that_are_not_taken),
        cmocka_unit_test(deep_and_large_files_are_not_taken),
        cmocka_unit_test(a_node_is_what_the_machine_says),
        cmocka_unit_test(the_same_path_is_the_same_device),
        cmocka_unit_test(who_wins),
        cmocka_unit_test(files_of_others_are_not_read),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
