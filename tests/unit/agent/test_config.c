/* Flags and file of the agent: defaults, precedence, and errors that help. */
#include "test.h"

#include "agent/config.h"
#include "base/fmt.h"

#define MAX_ARGS 8

static int parse(const char *const *args, struct agent_config *c, struct err *err)
{
    char *argv[MAX_ARGS + 2] = {(char *)(uintptr_t)"rotad agent"};
    int argc = 1;
    bool help;
    for (; args[argc - 1] != NULL; argc++) argv[argc] = (char *)(uintptr_t)args[argc - 1];
    return agent_config_parse(argc, argv, c, &help, err);
}

static void defaults(void **state)
{
    struct agent_config c;
    struct err err;
    const char *const args[MAX_ARGS] = {"--name", "n1"};
    (void)state;
    assert_int_equal(parse(args, &c, &err), 0);
    assert_string_equal(c.dir, "/var/lib/rota/agent");
    assert_string_equal(c.manager, "https://127.0.0.1:7411");
    assert_string_equal(c.data_listen, "127.0.0.1:7413");
    assert_string_equal(c.driver, "crun");
    assert_string_equal(c.group, "default");
    assert_string_equal(c.log_level, "info");
    assert_int_equal(c.cpu_milli, CONFIG_NOT_GIVEN);
    assert_int_equal(c.mem_bytes, CONFIG_NOT_GIVEN);
    assert_int_equal(c.reserve.cpu_milli, 0);
    assert_int_equal(c.reserve.mem_bytes, CONFIG_NOT_GIVEN);
    assert_int_equal(c.devices.simulated, 0);
    assert_int_equal(c.log_keep_bytes, FMT_GIB);
}

static void flags_win_over_the_file(void **state)
{
    char dir[64], file[96];
    struct agent_config c;
    struct err err;
    (void)state;
    test_dir_new(dir);
    test_file(dir, "a.yaml",
              "name: from-file\ncpu: 4\nmem: 8G\ndriver: fake\n"
              "reserve:\n  cpu: 500m\n  mem: 1G\nlabels: zone=a,disk=ssd\n"
              "devices:\n  simulated: 2\n  model: NVIDIA H100\n");
    text_fmt(file, sizeof(file), "--config=%s/a.yaml", dir);
    const char *const args[MAX_ARGS] = {"--cpus", "1.5", file, "--name=from-flag"};
    assert_int_equal(parse(args, &c, &err), 0);
    assert_string_equal(c.name, "from-flag");
    assert_string_equal(c.driver, "fake");
    assert_int_equal(c.cpu_milli, 1500);
    assert_int_equal(c.mem_bytes, 8 * FMT_GIB);
    assert_int_equal(c.reserve.cpu_milli, 500);
    assert_int_equal(c.reserve.mem_bytes, FMT_GIB);
    assert_int_equal(c.devices.simulated, 2);
    assert_string_equal(c.devices.model, "NVIDIA H100");
    assert_string_equal(c.labels, "disk=ssd,zone=a");
    const char *const twice[MAX_ARGS] = {"--name", "n1", "--labels", "a=1,a=2"};
    assert_int_equal(parse(twice, &c, &err), ERR_INVALID);
    test_dir_free(dir);
}

static void wrong_flags(void **state)
{
    static const struct { const char *args[MAX_ARGS], *part; } cases[] = {
        {{"--nmae", "x"}, "--nmae is unknown"},
        {{"name"}, "is no flag"},
        {{"--name"}, "needs a value"},
        {{"--name", "Not A Name"}, "is no name"},
        {{"--name", "n", "--driver", "podman"}, "expected crun, docker or fake"},
        {{"--name", "n", "--docker-socket", "tcp://x:1"}, "expected unix:///PATH"},
        {{"--name", "n", "--cpus", "many"}, "expected CPUs"},
        {{"--name", "n", "--cpus", "0"}, "some CPU"},
        {{"--name", "n", "--mem", "-1"}, "expected a size"},
        {{"--name", "n", "--simulated-gpus", "17"}, "expected 0 to 16"},
        {{"--name", "n", "--simulated-gpus", "2", "--simulated-links", "aa"}, "for each pair"},
        {{"--name", "n", "--simulated-gpus", "2", "--simulated-links", "z"}, "for each pair"},
        {{"--name", "n", "--log-level", "loud"}, "expected debug, info"},
        {{"--name", "n", "--dir", "relative"}, "absolute path"},
        {{"--name", "n", "--cgroup-parent", "rota"}, "expected /NAME"},
        {{"--name", "n", "--cgroup-parent", "/a/../b"}, "expected /NAME"},
        {{"--name", "n", "--prolog", "prolog.sh --now"}, "--prolog: expected the absolute path"},
        {{"--name", "n", "--health", "check"}, "--health: expected the absolute path"},
        {{"--name", "n", "--hook-timeout", "0"}, "expected a time"},
        {{"--name", "n", "--config", "/nonexistent/x.yaml"}, "/nonexistent/x.yaml"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_config c = {.name = "untouched"};
        struct err err = {0};
        if (parse(cases[i].args, &c, &err) >= 0) fail_msg("case %zu passed", i);
        if (strstr(err.text, cases[i].part) == NULL) fail_msg("case %zu: %s", i, err.text);
        assert_string_equal(c.name, "untouched");
    }
}

static void wrong_files(void **state)
{
    static const struct { const char *text, *part; } cases[] = {
        {"nmae: x\n", "f.yaml:1:1"},
        {"name: a\nname: b\n", "f.yaml:2"},
        {"devices:\n  simulated: 17\n", "f.yaml:2"},
        {"reserve:\n  disk: 1G\n", "f.yaml:2"},
        {"cpu: [1]\n", "f.yaml:1"},
        {"health: /usr/bin/check\n", "f.yaml:1"},
        {"health:\n  every: 0s\n", "f.yaml:2"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_config c;
        struct err err = {0};
        int rc = agent_config_parse_yaml(str_of(cases[i].text), "f.yaml", &c, &err);
        if (rc != ERR_INVALID) fail_msg("case %zu: %d", i, rc);
        if (strstr(err.text, cases[i].part) == NULL) fail_msg("case %zu: %s", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(flags_win_over_the_file),
        cmocka_unit_test(wrong_flags),
        cmocka_unit_test(wrong_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
