/* net/addr.c - see addr.h. */
#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

static int bad(struct err *err, struct str text)
{
    char shown[80];
    TEXT_CLIP(shown, text);
    return err_set(err, ERR_INVALID,
                   "'%s' is no address: expected host:port, [ipv6]:port or unix:/path", shown);
}

static int parse_unix(struct str path, struct net_addr *a, struct str text, struct err *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&a->sa;
    if (path.n == 0 || memchr(path.p, 0, path.n) != NULL) return bad(err, text);
    if (path.n >= sizeof(un->sun_path))
        return err_set(err, ERR_LIMIT, "the socket path has %zu bytes, %zu are possible", path.n,
                       sizeof(un->sun_path) - 1);
    a->kind = NET_ADDR_UNIX;
    un->sun_family = AF_UNIX;
    (void)text_set(un->sun_path, sizeof(un->sun_path), path);
    (void)TEXT_SET(a->host, path);
    a->sa_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + 1);
    return 0;
}

/* Splits "host:port" and "[host]:port"; *v6 tells of the brackets. */
static bool split(struct str text, struct str *host, struct str *port, bool *v6)
{
    *v6 = text.n > 0 && text.p[0] == '[';
    if (*v6) {
        struct str rest = str_n(text.p + 1, text.n - 1);
        if (!str_cut(&rest, ']', host)) return false;
        if (rest.n > 0 && rest.p[0] != ':') return false;
        *port = rest.n > 0 ? str_n(rest.p + 1, rest.n - 1) : rest;
        return rest.n != 1; /* "[::1]:" */
    }
    struct str rest = text;
    bool colon = str_cut(&rest, ':', host);
    *port = rest;
    if (rest.n > 0 && memchr(rest.p, ':', rest.n) != NULL) return false; /* bare IPv6 */
    return !colon || rest.n > 0;
}

static bool host_is_name(struct str h)
{
    if (h.n == 0 || h.n > 253) return false;
    for (size_t i = 0; i < h.n; i++) {
        char c = h.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
        if (!ok) return false;
    }
    return true;
}

int net_addr_parse(struct str text, uint16_t default_port, struct net_addr *ret, struct err *err)
{
    struct net_addr a = {0};
    struct str rest = text, host, port;
    a.fd = -1;
    if (str_starts(text, STR("unix:"))) {
        int rc = parse_unix(str_n(text.p + 5, text.n - 5), &a, text, err);
        if (rc == 0) *ret = a;
        return rc;
    }
    if (str_starts(text, STR("fd:"))) {
        uint64_t fd;
        rest = str_n(text.p + 3, text.n - 3);
        if (!str_to_u64(rest, &fd) || fd < 3 || fd > 65535) return bad(err, text);
        a.kind = NET_ADDR_FD;
        a.fd = (int)fd;
        *ret = a;
        return 0;
    }
    bool v6;
    if (!split(rest, &host, &port, &v6)) return bad(err, text);
    uint64_t number = default_port;
    if (port.n > 0 && (!str_to_u64(port, &number) || number > 65535)) return bad(err, text);
    if (port.n == 0 && default_port == 0) return bad(err, text);
    a.port = (uint16_t)number;
    if (host.n == 0 || str_eq(host, STR("*"))) host = STR("0.0.0.0");
    if (!TEXT_SET(a.host, host)) return bad(err, text);

    struct sockaddr_in *in4 = (struct sockaddr_in *)&a.sa;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a.sa;
    if (v6) {
        if (inet_pton(AF_INET6, a.host, &in6->sin6_addr) != 1) return bad(err, text);
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(a.port);
        a.sa_len = sizeof(*in6);
    } else if (inet_pton(AF_INET, a.host, &in4->sin_addr) == 1) {
        in4->sin_family = AF_INET;
        in4->sin_port = htons(a.port);
        a.sa_len = sizeof(*in4);
    } else if (host_is_name(host)) {
        a.kind = NET_ADDR_NAME;
        *ret = a;
        return 0;
    } else {
        return bad(err, text);
    }
    a.kind = NET_ADDR_IP;
    *ret = a;
    return 0;
}

void net_addr_format(const struct sockaddr *sa, socklen_t len, char *dst, size_t cap)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)sa;
        inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host));
        text_fmt(dst, cap, "%s:%u", host, (unsigned)ntohs(in4->sin_port));
    } else if (sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
        text_fmt(dst, cap, "[%s]:%u", host, (unsigned)ntohs(in6->sin6_port));
    } else if (sa->sa_family == AF_UNIX && len > offsetof(struct sockaddr_un, sun_path)) {
        const struct sockaddr_un *un = (const struct sockaddr_un *)sa;
        text_fmt(dst, cap, "unix:%.107s", un->sun_path);
    } else {
        text_fmt(dst, cap, "unix");
    }
}
