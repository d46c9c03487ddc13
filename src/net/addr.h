/* net/addr.h - addresses as people write them.
 *
 *     127.0.0.1:8080   [::1]:8080   *:8080   :8080   localhost:8080
 *     unix:/run/rota/manager.sock   fd:3 (a listening descriptor handed over) */
#ifndef NET_ADDR_H
#define NET_ADDR_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include "base/err.h"
#include "base/str.h"

#define NET_ADDR_TEXT_MAX 272 /* host name of 255 bytes, port, brackets */

enum net_addr_kind { NET_ADDR_IP, NET_ADDR_NAME, NET_ADDR_UNIX, NET_ADDR_FD };

struct net_addr {
    enum net_addr_kind kind;
    uint16_t port;               /* IP and NAME */
    int fd;                      /* FD */
    char host[256];              /* NAME: to be resolved; UNIX: the path; IP: as written */
    struct sockaddr_storage sa;  /* IP: complete; UNIX: complete */
    socklen_t sa_len;
};

/* default_port 0: a port is required ("host" alone is then an error). */
int net_addr_parse(struct str text, uint16_t default_port, struct net_addr *ret, struct err *err);
/* "127.0.0.1:8080", "[::1]:8080", "unix:/path", "unix"; clips. */
void net_addr_format(const struct sockaddr *sa, socklen_t len, char *dst, size_t cap);

#endif
