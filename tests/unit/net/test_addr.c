/* Addresses as people write them, and back. */
#include "net/addr.h"
#include "test.h"

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint16_t default_port;
        int rc;
        enum net_addr_kind kind;
        const char *host;
        uint16_t port;
        const char *shown; /* of IP */
    } rows[] = {
        {"127.0.0.1:80", 0, 0, NET_ADDR_IP, "127.0.0.1", 80, "127.0.0.1:80"},
        {"127.0.0.1", 443, 0, NET_ADDR_IP, "127.0.0.1", 443, "127.0.0.1:443"},
        {"127.0.0.1:0", 0, 0, NET_ADDR_IP, "127.0.0.1", 0, "127.0.0.1:0"},
        {"*:80", 0, 0, NET_ADDR_IP, "0.0.0.0", 80, "0.0.0.0:80"},
        {":80", 0, 0, NET_ADDR_IP, "0.0.0.0", 80, "0.0.0.0:80"},
        {"[::1]:80", 0, 0, NET_ADDR_IP, "::1", 80, "[::1]:80"},
        {"[::]", 9, 0, NET_ADDR_IP, "::", 9, "[::]:9"},
        {"localhost:80", 0, 0, NET_ADDR_NAME, "localhost", 80, NULL},
        {"a-b.c_d:65535", 0, 0, NET_ADDR_NAME, "a-b.c_d", 65535, NULL},
        {"unix:/run/x", 0, 0, NET_ADDR_UNIX, "/run/x", 0, NULL},
        {"fd:3", 0, 0, NET_ADDR_FD, "", 0, NULL},
        {"127.0.0.1", 0, ERR_INVALID, 0, "", 0, NULL},
        {"localhost", 0, ERR_INVALID, 0, "", 0, NULL},
        {"", 0, ERR_INVALID, 0, "", 0, NULL},
        {"a:", 80, ERR_INVALID, 0, "", 0, NULL},
        {"a:65536", 0, ERR_INVALID, 0, "", 0, NULL},
        {"a:-1", 0, ERR_INVALID, 0, "", 0, NULL},
        {"a:1x", 0, ERR_INVALID, 0, "", 0, NULL},
        {"::1:80", 0, ERR_INVALID, 0, "", 0, NULL},
        {"[::1", 80, ERR_INVALID, 0, "", 0, NULL},
        {"[::1]:", 80, ERR_INVALID, 0, "", 0, NULL},
        {"[::1]x", 80, ERR_INVALID, 0, "", 0, NULL},
        {"[127.0.0.1]:80", 0, ERR_INVALID, 0, "", 0, NULL},
        {"a b:80", 0, ERR_INVALID, 0, "", 0, NULL},
        {"a/b:80", 0, ERR_INVALID, 0, "", 0, NULL},
        {"u@a:80", 0, ERR_INVALID, 0, "", 0, NULL},
        {"unix:", 0, ERR_INVALID, 0, "", 0, NULL},
        {"fd:0", 0, ERR_INVALID, 0, "", 0, NULL},
        {"fd:x", 0, ERR_INVALID, 0, "", 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct net_addr a = {0};
        struct err err = {0};
        int rc = net_addr_parse(str_of(rows[i].text), rows[i].default_port, &a, &err);
        if (rc != rows[i].rc) fail_msg("'%s': got %d %s", rows[i].text, rc, err.text);
        if (rc != 0) continue;
        if (a.kind != rows[i].kind || a.port != rows[i].port || strcmp(a.host, rows[i].host) != 0)
            fail_msg("'%s': kind %d host '%s' port %u", rows[i].text, (int)a.kind, a.host, a.port);
        if (rows[i].shown == NULL) continue;
        char shown[NET_ADDR_TEXT_MAX];
        net_addr_format((const struct sockaddr *)&a.sa, a.sa_len, shown, sizeof(shown));
        assert_string_equal(shown, rows[i].shown);
    }
}

static void long_texts(void **state)
{
    (void)state;
    char text[400];
    struct net_addr a = {.port = 7};
    memset(text, 'a', sizeof(text));
    memcpy(text, "unix:", 5);
    assert_int_equal(net_addr_parse(str_n(text, 5 + 107), 0, &a, NULL), 0);
    assert_int_equal(net_addr_parse(str_n(text, 5 + 108), 0, &a, NULL), ERR_LIMIT);
    memset(text, 'a', 5);
    a.port = 7;
    assert_int_equal(net_addr_parse(str_n(text, 253), 80, &a, NULL), 0);
    a.port = 7;
    assert_int_equal(net_addr_parse(str_n(text, 254), 80, &a, NULL), ERR_INVALID);
    assert_int_equal(a.port, 7); /* untouched on failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses), cmocka_unit_test(long_texts)};
    return RUN(tests);
}
