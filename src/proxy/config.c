/* proxy/config.c - see config.h.  Tickets let their holder into containers, so they
 * leave this machine only over TLS unless somebody insists. */
#include "proxy/config.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"
#include "net/addr.h"
#include "wire/table.h"

#define FILE_MAX ((size_t)64 * 1024)

static const struct wire_field config_fields[] = {
    WIRE_F_TEXT(struct proxy_config, dir, "dir", .def_text = "/var/lib/rota/proxy",
                .doc = "state directory"),
    WIRE_F_TEXT(struct proxy_config, listen, "listen", .def_text = "127.0.0.1:7412",
                .doc = "where people connect"),
    WIRE_F_TEXT(struct proxy_config, manager, "manager", .def_text = "https://127.0.0.1:7411",
                .doc = "address of the manager's listener for agents"),
    WIRE_F_TEXT(struct proxy_config, join_token_file, "join_token_file",
                .doc = "file with a join token, needed once"),
    WIRE_F_TEXT(struct proxy_config, name, "name", .flags = WIRE_NAME, .def_text = "proxy",
                .doc = "name of this proxy"),
    WIRE_F_TEXT(struct proxy_config, cert, "cert", .doc = "certificate for HTTPS"),
    WIRE_F_TEXT(struct proxy_config, key, "key", .doc = "its private key"),
    WIRE_F_BOOL(struct proxy_config, insecure, "insecure",
                .doc = "listen beyond this machine without HTTPS"),
};
static const struct wire_table config_table =
    WIRE_TABLE("proxy configuration", struct proxy_config, config_fields);

struct flag { const char *name, *arg, *doc; size_t offset, size; };
#define AT(m) offsetof(struct proxy_config, m), sizeof(((struct proxy_config *)0)->m)

static const struct flag flags[] = {
    {"dir", "DIR", "state directory (/var/lib/rota/proxy)", AT(dir)},
    {"listen", "ADDR", "where people connect (127.0.0.1:7412)", AT(listen)},
    {"manager", "URL", "the manager's listener for agents (https://127.0.0.1:7411)", AT(manager)},
    {"join-token-file", "FILE", "join token, needed once", AT(join_token_file)},
    {"name", "NAME", "name of this proxy (proxy)", AT(name)},
    {"cert", "FILE", "certificate for HTTPS, with --key", AT(cert)},
    {"key", "FILE", "its private key", AT(key)},
};

static void help(const char *program)
{
    printf("Usage: %s [FLAG...]\n\n"
           "Passes people's connections on to the containers that their tickets name.\n\n",
           program);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        char left[40];
        text_fmt(left, sizeof(left), "--%s %s", flags[i].name, flags[i].arg);
        printf("  %-24s %s\n", left, flags[i].doc);
    }
    printf("  %-24s %s\n", "--config FILE", "YAML file with the same names; flags win over it");
    printf("  %-24s %s\n", "--insecure", "listen beyond this machine without HTTPS");
    printf("  %-24s %s\n", "--help", "this text");
}

static bool loopback(const struct net_addr *a)
{
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)(const void *)&a->sa;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&a->sa;
    if (a->kind == NET_ADDR_UNIX || a->kind == NET_ADDR_FD) return true;
    if (a->kind == NET_ADDR_NAME) return strcmp(a->host, "localhost") == 0;
    if (a->sa.ss_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    return a->sa.ss_family == AF_INET && ntohl(in4->sin_addr.s_addr) >> 24 == 127;
}

static int check(const struct proxy_config *c, struct err *err)
{
    struct net_addr addr;
    if (!str_is_name(str_of(c->name), NODE_NAME_MAX)) {
        return err_set(err, ERR_INVALID, "--name: \"%s\" is no name (a-z, 0-9, dots, dashes)",
                       c->name);
    }
    if (c->dir[0] != '/') {
        return err_set(err, ERR_INVALID, "--dir: expected an absolute path, got \"%.80s\"", c->dir);
    }
    if ((c->cert[0] == '\0') != (c->key[0] == '\0')) {
        return err_set(err, ERR_INVALID, "--cert and --key go together");
    }
    int rc = net_addr_parse(str_of(c->listen), 0, &addr, err);
    if (rc != 0) return err_prefix(err, "--listen");
    if (c->cert[0] == '\0' && !c->insecure && !loopback(&addr)) {
        return err_set(err, ERR_DENIED,
                       "%s is beyond this machine: give --cert and --key, or --insecure",
                       c->listen);
    }
    return 0;
}

static int take_flag(struct proxy_config *c, struct str name, const char *value, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (!str_eq(name, str_of(flags[i].name))) continue;
        if (value == NULL) return err_set(err, ERR_INVALID, "--%s needs a value", flags[i].name);
        if (text_set((char *)c + flags[i].offset, flags[i].size, str_of(value))) return 0;
        return err_set(err, ERR_INVALID, "--%s: too long", flags[i].name);
    }
    return err_set(err, ERR_INVALID, "--%.*s is unknown; see --help", (int)name.n, name.p);
}

static int read_config(const char *file, struct proxy_config *c, struct err *err)
{
    AUTO_FREE char *text = mem_alloc(FILE_MAX);
    size_t n = 0;
    int rc = file_read(AT_FDCWD, file, text, FILE_MAX, &n, err);
    return rc < 0 ? rc : wire_parse_yaml(&config_table, str_n(text, n), file, c, err);
}

/* One walk over argv; with `file` only that is looked for, else all the others are taken. */
static int each_flag(int argc, char **argv, const char **file, struct proxy_config *c,
                     struct err *err)
{
    for (int i = 1; i < argc; i++) {
        struct str name, rest = str_of(argv[i]);
        if (str_eq(rest, STR("--insecure"))) {
            c->insecure = true;
            continue;
        }
        if (!str_starts(rest, STR("--"))) {
            return err_set(err, ERR_INVALID, "\"%.60s\" is no flag; see --help", argv[i]);
        }
        bool joined = str_cut(&rest, '=', &name);
        const char *value = joined ? rest.p : i + 1 < argc ? argv[++i] : NULL;
        bool config = str_eq(name, STR("--config"));
        if (config && value == NULL) return err_set(err, ERR_INVALID, "--config needs a value");
        if (config && file != NULL) *file = value;
        if (config || file != NULL) continue;
        int rc = take_flag(c, str_n(name.p + 2, name.n - 2), value, err);
        if (rc != 0) return rc;
    }
    return 0;
}

int proxy_config_parse(int argc, char **argv, struct proxy_config *ret, bool *ret_help,
                       struct err *err)
{
    struct proxy_config c;
    const char *file = NULL;
    *ret_help = false;
    for (int i = 1; i < argc; i++) {
        struct str word = str_of(argv[i]);
        if (!str_eq(word, STR("--help")) && !str_eq(word, STR("-h"))) continue;
        help(argv[0]);
        *ret_help = true;
        return 0;
    }
    wire_init(&config_table, &c);
    int rc = each_flag(argc, argv, &file, &c, err);
    c.insecure = false; /* the file says so, or the flag, the second time */
    if (rc == 0 && file != NULL) rc = read_config(file, &c, err);
    if (rc == 0) rc = each_flag(argc, argv, NULL, &c, err);
    if (rc == 0) rc = check(&c, err);
    if (rc == 0) *ret = c;
    return rc;
}
