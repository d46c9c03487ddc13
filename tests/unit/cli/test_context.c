/* Which cluster a command talks to: environment, contexts, the default. */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/context.h"

static char dir[] = "/tmp/rota-context-XXXXXX";

static void put_file(const char *name, const char *text)
{
    char path[128];
    text_fmt(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    setenv("HOME", dir, 1);
    static const char *const names[] = {"ROTA_URL", "ROTA_TOKEN", "ROTA_TOKEN_FILE", "ROTA_CONFIG",
                                        "XDG_CONFIG_HOME"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) unsetenv(names[i]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const files[] = {"c.yaml", "token", "deep/rota/config.yaml", "deep/rota",
                                        "deep"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[128];
        text_fmt(path, sizeof(path), "%s/%s", dir, files[i]);
        if (unlink(path) < 0) rmdir(path);
    }
    return rmdir(dir);
}

static void file_goes_where_it_is_said(void **state)
{
    (void)state;
    char path[512], expected[128];
    context_path(path, sizeof(path));
    text_fmt(expected, sizeof(expected), "%s/.config/rota/config.yaml", dir);
    assert_string_equal(path, expected);
    setenv("XDG_CONFIG_HOME", "/x", 1);
    context_path(path, sizeof(path));
    assert_string_equal(path, "/x/rota/config.yaml");
    setenv("ROTA_CONFIG", "/y/c.yaml", 1);
    context_path(path, sizeof(path));
    assert_string_equal(path, "/y/c.yaml");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("ROTA_CONFIG");
}

static void tokens_are_one_word(void **state)
{
    (void)state;
    static const struct { const char *text, *token; } rows[] = {
        {"rota-abc\n", "rota-abc"}, {"rota-abc", "rota-abc"}, {"  rota-abc  \nmore\n", "rota-abc"},
        {"rota-abc\r\n", "rota-abc"}, {"", NULL}, {"\n", NULL}, {"two words\n", NULL},
        {"ctrl\001\n", NULL}, {"\xc3\xbc\n", NULL},
    };
    char path[128];
    text_fmt(path, sizeof(path), "%s/token", dir);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char token[CONTEXT_TOKEN_MAX] = "untouched";
        struct err err = {0};
        put_file("token", rows[i].text);
        int rc = context_read_token(path, token, &err);
        ROW_TRUE(rows[i].text, (rc == 0) == (rows[i].token != NULL));
        assert_string_equal(token, rows[i].token ? rows[i].token : "untouched");
    }
    char token[CONTEXT_TOKEN_MAX];
    assert_int_equal(context_read_token("/nowhere/at/all", token, NULL), ERR_NOT_FOUND);
    assert_int_equal(context_read_token("/dev/zero", token, NULL), ERR_LIMIT); /* has no end */
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    char path[512];
    text_fmt(path, sizeof(path), "%s/deep/rota/config.yaml", dir);
    struct contexts *c = mem_alloc(sizeof(*c)), *back = mem_alloc(sizeof(*back));
    TEXT_CLIP(c->current, STR("lab"));
    c->n_contexts = 2;
    c->contexts[0] = (struct context){.name = "lab", .url = "https://rota.example.org",
                                      .token = "rota-\"odd: #token", .ca_sha256 = "ab"};
    c->contexts[1] = (struct context){.name = "here", .url = "http://127.0.0.1:7410",
                                      .token_file = "/var/lib/x"};
    struct err err = {0};
    assert_int_equal(context_write(path, c, &err), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(context_read(path, back, &err), 0);
    assert_memory_equal(c, back, sizeof(*c));
    mem_free(c);
    mem_free(back);
}

static void order_of_what_counts(void **state)
{
    (void)state;
    char config[128];
    text_fmt(config, sizeof(config), "%s/c.yaml", dir);
    put_file("c.yaml", "current: lab\ncontexts:\n"
                       "  - name: lab\n    url: http://lab:1\n    token: labtoken\n"
                       "  - name: two\n    url: http://two:2\n");
    setenv("ROTA_CONFIG", config, 1);
    static const struct { const char *context, *env_url, *env_token, *url, *token; } rows[] = {
        {NULL, NULL, NULL, "http://lab:1", "labtoken"},
        {"two", NULL, NULL, "http://two:2", ""},
        {"two", "http://env:3", "envtoken", "http://two:2", ""},
        {NULL, "http://env:3", NULL, "http://env:3", ""},
        {NULL, "http://env:3", "envtoken", "http://env:3", "envtoken"},
        {NULL, NULL, "envtoken", "http://lab:1", "envtoken"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].env_url) setenv("ROTA_URL", rows[i].env_url, 1);
        if (rows[i].env_token) setenv("ROTA_TOKEN", rows[i].env_token, 1);
        struct context_target t;
        assert_int_equal(context_target(rows[i].context, &t, NULL), 0);
        assert_string_equal(t.url, rows[i].url);
        assert_string_equal(t.token, rows[i].token);
        context_target_done(&t);
        unsetenv("ROTA_URL");
        unsetenv("ROTA_TOKEN");
    }
    struct context_target t;
    struct err err = {0};
    static const char *const bad[] = {"two words", "line\nbreak", "\xc3\xbc"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        setenv("ROTA_TOKEN", bad[i], 1);
        ROW_TRUE(bad[i], context_target(NULL, &t, &err) == ERR_INVALID);
        ROW_TRUE(bad[i], strstr(err.text, bad[i]) == NULL);
        unsetenv("ROTA_TOKEN");
    }
    setenv("ROTA_CONFIG", "/dev/zero", 1); /* never ends */
    assert_int_equal(context_target(NULL, &t, &err), ERR_LIMIT);
    setenv("ROTA_CONFIG", config, 1);
    assert_int_equal(context_target("thre", &t, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "rota login"));
    put_file("c.yaml", "curent: lab\n");
    assert_int_equal(context_target(NULL, &t, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "c.yaml:1:1"));
    assert_non_null(strstr(err.text, "current"));
    unsetenv("ROTA_CONFIG");
}

static void default_is_this_machine(void **state)
{
    (void)state;
    struct context_target t;
    assert_int_equal(context_target(NULL, &t, NULL), 0);
    assert_string_equal(t.url, CONTEXT_DEFAULT_URL);
    context_target_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_goes_where_it_is_said),
        cmocka_unit_test(tokens_are_one_word),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(order_of_what_counts),
        cmocka_unit_test(default_is_this_machine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
