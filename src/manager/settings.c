/* manager/settings.c - defaults, the file's table, and checks across fields. */
#include "manager/settings.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>
#include "base/mem.h"
#include "net/addr.h"
#include "net/log.h"
#include "wire/table.h"

#define SETTINGS_FILE_MAX (64 * 1024)

/* Every field of the file is optional; "" means not said. */
struct settings_file {
    char dir[SETTINGS_PATH_MAX];
    char listen[SETTINGS_ADDR_MAX], agent_listen[SETTINGS_ADDR_MAX];
    char agent_url[SETTINGS_ADDR_MAX], proxy_url[SETTINGS_ADDR_MAX];
    char tls_cert[SETTINGS_PATH_MAX], tls_key[SETTINGS_PATH_MAX];
    bool insecure;
    char log_level[8], log_format[8];
    uint32_t admin_uid, admin_gid;
    struct wire_texts fence_command;
};

static const struct wire_field settings_fields[] = {
    WIRE_F_TEXT(struct settings_file, dir, "dir", .doc = "folder of store, keys and admin token"),
    WIRE_F_TEXT(struct settings_file, listen, "listen", .doc = "address of the people's API"),
    WIRE_F_TEXT(struct settings_file, agent_listen, "agent_listen",
                .doc = "address that agents and proxies dial, TLS"),
    WIRE_F_TEXT(struct settings_file, agent_url, "agent_url",
                .doc = "how they reach it from elsewhere"),
    WIRE_F_TEXT(struct settings_file, proxy_url, "proxy_url",
                .doc = "where clients carry logs, exec and attach"),
    WIRE_F_TEXT(struct settings_file, tls_cert, "tls_cert",
                .doc = "certificate of the people's API"),
    WIRE_F_TEXT(struct settings_file, tls_key, "tls_key", .doc = "its key"),
    WIRE_F_BOOL(struct settings_file, insecure, "insecure",
                .doc = "allow plain HTTP elsewhere than on loopback"),
    WIRE_F_TEXT(struct settings_file, log_level, "log_level", .doc = "debug, info, warn or error"),
    WIRE_F_TEXT(struct settings_file, log_format, "log_format", .doc = "logfmt or json"),
    WIRE_F_TEXTS(struct settings_file, fence_command, "fence_command", SETTINGS_ARGS_MAX, 2000,
                 .doc = "program and arguments, the node comes last: must succeed before what "
                        "ran on a silent node runs elsewhere"),
    WIRE_F_U32(struct settings_file, admin_uid, "admin_uid", .max = INT32_MAX,
               .doc = "uid that user admin's containers run as, set at the first start"),
    WIRE_F_U32(struct settings_file, admin_gid, "admin_gid", .max = INT32_MAX, .doc = "its gid"),
};
static const struct wire_table settings_table =
    WIRE_TABLE("manager configuration", struct settings_file, settings_fields);

void settings_defaults(struct settings *c)
{
    memset(c, 0, sizeof(*c));
    TEXT_SET(c->dir, STR("/var/lib/rota/manager"));
    TEXT_SET(c->listen, STR("127.0.0.1:7410"));
    TEXT_SET(c->agent_listen, STR("127.0.0.1:7411"));
    TEXT_SET(c->proxy_url, STR("http://127.0.0.1:7412"));
    TEXT_SET(c->log_level, STR("info"));
    TEXT_SET(c->log_format, STR("logfmt"));
}

static void take(char *dst, size_t cap, const char *said)
{
    if (said[0]) text_clip(dst, cap, str_of(said));
}

int settings_parse(struct settings *c, struct str text, const char *file, struct err *err)
{
    struct settings_file f;
    int rc = wire_parse_yaml(&settings_table, text, file, &f, err);
    if (rc != 0) return rc;
    take(c->dir, sizeof(c->dir), f.dir);
    take(c->listen, sizeof(c->listen), f.listen);
    take(c->agent_listen, sizeof(c->agent_listen), f.agent_listen);
    take(c->agent_url, sizeof(c->agent_url), f.agent_url);
    take(c->proxy_url, sizeof(c->proxy_url), f.proxy_url);
    take(c->tls_cert, sizeof(c->tls_cert), f.tls_cert);
    take(c->tls_key, sizeof(c->tls_key), f.tls_key);
    take(c->log_level, sizeof(c->log_level), f.log_level);
    take(c->log_format, sizeof(c->log_format), f.log_format);
    if (f.fence_command.n > 0) c->n_fence = f.fence_command.n;
    for (uint32_t i = 0; i < f.fence_command.n; i++)
        take(c->fence[i], sizeof(c->fence[i]), f.fence_command.v[i]);
    if (f.insecure) c->insecure = true;
    if (f.admin_uid) c->admin_uid = f.admin_uid;
    if (f.admin_gid) c->admin_gid = f.admin_gid;
    wire_free(&settings_table, &f);
    return 0;
}

int settings_read(struct settings *c, const char *file, struct err *err)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open %s", file);
    AUTO_FREE char *buf = mem_alloc(SETTINGS_FILE_MAX + 1);
    size_t n = 0;
    for (;;) {
        ssize_t got = read(fd, buf + n, SETTINGS_FILE_MAX + 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            int e = errno;
            close(fd);
            return err_sys(err, ERR_IO, e, "cannot read %s", file);
        }
        if (got == 0) break;
        n += (size_t)got;
        if (n > SETTINGS_FILE_MAX) {
            close(fd);
            return err_set(err, ERR_LIMIT, "%s is longer than %d bytes", file, SETTINGS_FILE_MAX);
        }
    }
    close(fd);
    return settings_parse(c, str_n(buf, n), file, err);
}

/* Names count as elsewhere: what they resolve to may change. */
static bool is_loopback(const struct net_addr *a)
{
    if (a->kind == NET_ADDR_UNIX) return true;
    if (a->kind == NET_ADDR_NAME) return str_eq(str_of(a->host), STR("localhost"));
    if (a->kind != NET_ADDR_IP) return false;
    if (a->sa.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)&a->sa;
        return (ntohl(in->sin_addr.s_addr) >> 24) == 127;
    }
    const struct sockaddr_in6 *in6 = (const void *)&a->sa;
    return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static int check_logs(const struct settings *c, struct err *err)
{
    enum log_level level;
    if (!log_level_parse(str_of(c->log_level), &level))
        return err_set(err, ERR_INVALID, "log level \"%s\": expected debug, info, warn or error",
                       c->log_level);
    if (!str_eq(str_of(c->log_format), STR("json")) &&
        !str_eq(str_of(c->log_format), STR("logfmt")))
        return err_set(err, ERR_INVALID, "log format \"%s\": expected logfmt or json",
                       c->log_format);
    return 0;
}

int settings_check(struct settings *c, struct err *err)
{
    if (c->dir[0] != '/')
        return err_set(err, ERR_INVALID, "the directory must be an absolute path, got \"%s\"",
                       c->dir);
    if (c->n_fence > 0 && c->fence[0][0] != '/')
        return err_set(err, ERR_INVALID, "fence_command: expected a program's absolute path first, "
                       "got \"%s\"", c->fence[0]);
    struct net_addr a;
    int rc = net_addr_parse(str_of(c->listen), 0, &a, err);
    if (rc != 0) return err_prefix(err, "listen");
    if (!c->tls_cert[0] != !c->tls_key[0])
        return err_set(err, ERR_INVALID, "tls_cert and tls_key are given together");
    if (!c->tls_cert[0] && !c->insecure && !is_loopback(&a))
        return err_set(err, ERR_INVALID,
                       "listen %s is not on loopback: give tls_cert and tls_key, or say "
                       "--insecure to let tokens travel in the clear",
                       c->listen);
    rc = net_addr_parse(str_of(c->agent_listen), 0, &a, err);
    if (rc != 0) return err_prefix(err, "agent_listen");
    struct str proxy = str_of(c->proxy_url);
    if (!str_starts(proxy, STR("http://")) && !str_starts(proxy, STR("https://")))
        return err_set(err, ERR_INVALID, "proxy_url \"%s\": expected http:// or https://",
                       c->proxy_url);
    return check_logs(c, err);
}
