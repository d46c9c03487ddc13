/* Flags of the proxy: what is refused, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "proxy/config.h"

#define MAX_ARGS 8

static int parse(const char *const *args, struct proxy_config *c, struct err *err)
{
    char *argv[MAX_ARGS + 2] = {(char *)(uintptr_t)"rotad proxy"};
    int argc = 1;
    bool help;
    for (; args[argc - 1] != NULL; argc++) argv[argc] = (char *)(uintptr_t)args[argc - 1];
    return proxy_config_parse(argc, argv, c, &help, err);
}

static void accepted(void **state)
{
    static const struct { const char *args[MAX_ARGS], *listen; } cases[] = {
        {{NULL}, "127.0.0.1:7412"},
        {{"--listen", "[::1]:80"}, "[::1]:80"},
        {{"--listen=localhost:80"}, "localhost:80"},
        {{"--listen", "unix:/run/p.sock"}, "unix:/run/p.sock"},
        {{"--listen", "0.0.0.0:80", "--insecure"}, "0.0.0.0:80"},
        {{"--listen", "10.0.0.1:443", "--cert", "/c", "--key=/k"}, "10.0.0.1:443"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proxy_config c;
        struct err err = {0};
        if (parse(cases[i].args, &c, &err) != 0) fail_msg("case %zu: %s", i, err.text);
        assert_string_equal(c.listen, cases[i].listen);
        assert_string_equal(c.name, "proxy");
    }
}

static void a_file_counts_where_no_flag_does(void **state)
{
    char path[64];
    static const struct { const char *text, *part; } wrong[] = {
        {"lsiten: 127.0.0.1:1\n", "proxy.yaml:1:1"},
        {"name: a\nname: b\n", "proxy.yaml:2"},
        {"listen: 0.0.0.0:80\n", "beyond this machine"},
    };
    const char *const args[] = {"--config", path, "--name=flag", NULL};
    struct proxy_config c;
    struct err err = {0};
    (void)state;
    snprintf(path, sizeof(path), "/tmp/rota-%d-proxy.yaml", getpid());
    FILE *f = fopen(path, "we");
    fputs("# the proxy\nname: file\nlisten: 0.0.0.0:80\ninsecure: true\n", f);
    fclose(f);
    assert_int_equal(parse(args, &c, &err), 0);
    assert_string_equal(c.name, "flag");
    assert_string_equal(c.listen, "0.0.0.0:80");
    assert_string_equal(c.dir, "/var/lib/rota/proxy");
    assert_true(c.insecure);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        f = fopen(path, "we");
        fputs(wrong[i].text, f);
        fclose(f);
        assert_true(parse(args, &c, &err) < 0);
        assert_non_null(strstr(err.text, wrong[i].part));
    }
    remove(path);
    assert_int_equal(parse(args, &c, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, path));
}

static void refused(void **state)
{
    static const struct { const char *args[MAX_ARGS], *part; } cases[] = {
        {{"--listen", "0.0.0.0:80"}, "beyond this machine"},
        {{"--listen", "[::]:80"}, "beyond this machine"},
        {{"--listen", "10.0.0.1:80"}, "beyond this machine"},
        {{"--listen", "example.org:80"}, "beyond this machine"},
        {{"--listen", "nonsense"}, "--listen"},
        {{"--cert", "/c"}, "go together"},
        {{"--name", "No Name"}, "is no name"},
        {{"--dir", "here"}, "absolute path"},
        {{"--lsiten", "x"}, "--lsiten is unknown"},
        {{"--listen"}, "needs a value"},
        {{"extra"}, "is no flag"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proxy_config c = {.name = "untouched"};
        struct err err = {0};
        if (parse(cases[i].args, &c, &err) >= 0) fail_msg("case %zu passed", i);
        if (strstr(err.text, cases[i].part) == NULL) fail_msg("case %zu: %s", i, err.text);
        assert_string_equal(c.name, "untouched");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),
        cmocka_unit_test(a_file_counts_where_no_flag_does),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
