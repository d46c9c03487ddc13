/* Flags of the proxy: what is refused, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

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
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
