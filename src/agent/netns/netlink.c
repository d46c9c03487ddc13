/* agent/netns/netlink.c - see netlink.h. */
#include "agent/netns/netlink.h"
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "base/check.h"
#include "host/file.h"

#define WAIT_S 5

int netlink_open(struct netlink *nl, struct err *err)
{
    struct timeval wait = {.tv_sec = WAIT_S};
    int one = 1;
    nl->seq = nl->n = 0;
    nl->used = nl->at = 0;
    nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (nl->fd < 0) return err_sys(err, ERR_IO, errno, "cannot open a netlink socket");
    /* Acknowledgements without the message, and with the kernel's own words. */
    setsockopt(nl->fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
    setsockopt(nl->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
    setsockopt(nl->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    return 0;
}

void netlink_close(struct netlink *nl) { file_close(&nl->fd); }

/* ---- writing ---- */

static void append(struct netlink *nl, const void *data, size_t n)
{
    size_t padded = NLMSG_ALIGN(n);
    CHECK(nl->used + padded <= sizeof(nl->buf));
    memset(nl->buf + nl->used, 0, padded);
    if (n > 0) memcpy(nl->buf + nl->used, data, n);
    nl->used += padded;
}

int netlink_begin(struct netlink *nl, uint32_t act, const void *head, size_t n, const char *what,
                  struct err *err)
{
    struct nlmsghdr h = {.nlmsg_type = (uint16_t)(act & 0xFFFF),
                         .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | act >> 16)};
    if (nl->n == NETLINK_BATCH || nl->used + NETLINK_MESSAGE > sizeof(nl->buf)) {
        int rc = netlink_flush(nl, err);
        if (rc < 0) return rc;
    }
    h.nlmsg_seq = ++nl->seq;
    nl->what[nl->n++] = what;
    nl->at = nl->used;
    append(nl, &h, sizeof(h));
    append(nl, head, n);
    return 0;
}

void netlink_put(struct netlink *nl, uint16_t attr, const void *data, size_t n)
{
    CHECK(n < NETLINK_MESSAGE);
    struct rtattr a = {.rta_type = attr, .rta_len = (unsigned short)RTA_LENGTH(n)};
    append(nl, &a, sizeof(a));
    append(nl, data, n);
}

void netlink_put_u8(struct netlink *nl, uint16_t attr, uint8_t v)
{
    netlink_put(nl, attr, &v, sizeof(v));
}

void netlink_put_u32(struct netlink *nl, uint16_t attr, uint32_t v)
{
    netlink_put(nl, attr, &v, sizeof(v));
}

void netlink_put_text(struct netlink *nl, uint16_t attr, const char *text)
{
    netlink_put(nl, attr, text, strlen(text) + 1);
}

size_t netlink_nest(struct netlink *nl, uint16_t attr, const void *head, size_t n)
{
    size_t nest = nl->used;
    struct rtattr a = {.rta_type = attr};
    append(nl, &a, sizeof(a));
    append(nl, head, n);
    return nest;
}

void netlink_nest_end(struct netlink *nl, size_t nest)
{
    struct rtattr *a = (struct rtattr *)(void *)(nl->buf + nest);
    a->rta_len = (unsigned short)(nl->used - nest);
}

void netlink_end(struct netlink *nl)
{
    struct nlmsghdr *h = (struct nlmsghdr *)(void *)(nl->buf + nl->at);
    CHECK(nl->used - nl->at <= NETLINK_MESSAGE);
    h->nlmsg_len = (uint32_t)(nl->used - nl->at);
}

/* ---- answers ---- */

static int code_of(int number)
{
    switch (number) {
    case EEXIST: return ERR_CONFLICT;
    case ENOENT:
    case ENODEV:
    case ESRCH: return ERR_NOT_FOUND;
    case EOPNOTSUPP:
    case EAFNOSUPPORT: return ERR_UNSUPPORTED;
    default: return ERR_IO;
    }
}

/* The message's number in the batch, counted from its first. */
static int take_ack(const struct netlink *nl, const struct nlmsghdr *h, struct err *err)
{
    const struct nlmsgerr *e = NLMSG_DATA(h);
    uint32_t first = nl->seq - nl->n + 1, at = h->nlmsg_seq - first;
    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)) || at >= nl->n)
        return err_set(err, ERR_IO, "netlink: an answer to nothing that was asked");
    if (e->error == 0) return 0;
    return err_sys(err, code_of(-e->error), -e->error, "cannot %s", nl->what[at]);
}

static ssize_t receive(struct netlink *nl, char *buf, size_t cap, struct err *err)
{
    ssize_t n;
    do {
        n = recv(nl->fd, buf, cap, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        err_sys(err, errno == EAGAIN ? ERR_TIMEOUT : ERR_IO, errno, "netlink does not answer");
    return n;
}

static int send_all(struct netlink *nl, struct err *err)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n = sendto(nl->fd, nl->buf, nl->used, 0, (struct sockaddr *)&kernel, sizeof(kernel));
    if (n == (ssize_t)nl->used) return 0;
    return err_sys(err, ERR_IO, n < 0 ? errno : EMSGSIZE, "cannot speak netlink");
}

int netlink_flush(struct netlink *nl, struct err *err)
{
    char buf[8192] __attribute__((aligned(8)));
    uint32_t answered = 0;
    int first = 0;
    if (nl->n == 0) return 0;
    int rc = send_all(nl, err);
    while (rc == 0 && answered < nl->n) {
        ssize_t got = receive(nl, buf, sizeof(buf), err);
        if (got < 0) {
            rc = ERR_IO;
            break;
        }
        size_t left = (size_t)got;
        for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)buf; NLMSG_OK(h, left);
             h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type != NLMSG_ERROR) continue;
            int one = take_ack(nl, h, first < 0 ? NULL : err);
            if (one < 0 && first == 0) first = one;
            answered++;
        }
    }
    nl->n = 0;
    nl->used = 0;
    return rc < 0 ? rc : first;
}

/* ---- links ---- */

static void take_link(const struct nlmsghdr *h, uint32_t *ret_index, uint32_t *ret_mtu)
{
    const struct ifinfomsg *i = NLMSG_DATA(h);
    size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*i));
    *ret_index = (uint32_t)i->ifi_index;
    for (const struct rtattr *a = IFLA_RTA(i); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type != IFLA_MTU || RTA_PAYLOAD(a) != sizeof(uint32_t) || !ret_mtu) continue;
        memcpy(ret_mtu, RTA_DATA(a), sizeof(*ret_mtu));
    }
}

int netlink_find(struct netlink *nl, const char *name, uint32_t *ret_index, uint32_t *ret_mtu,
                 struct err *err)
{
    struct ifinfomsg i = {.ifi_family = AF_UNSPEC};
    char buf[16384] __attribute__((aligned(8)));
    CHECK(nl->n == 0);
    int rc = netlink_begin(nl, RTM_GETLINK, &i, sizeof(i), "find a link", err);
    netlink_put_text(nl, IFLA_IFNAME, name);
    netlink_end(nl);
    if (rc == 0) rc = send_all(nl, err);
    bool found = false, over = rc < 0;
    while (!over) {
        ssize_t got = receive(nl, buf, sizeof(buf), err);
        if (got < 0) rc = ERR_IO;
        over = rc < 0;
        size_t left = over ? 0 : (size_t)got;
        for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)buf; NLMSG_OK(h, left);
             h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == RTM_NEWLINK && h->nlmsg_len >= NLMSG_LENGTH(sizeof(i))) {
                take_link(h, ret_index, ret_mtu);
                found = true;
            } else if (h->nlmsg_type == NLMSG_ERROR) {
                rc = take_ack(nl, h, err);
                over = true;
            }
        }
    }
    nl->n = 0;
    nl->used = 0;
    if (rc == 0 && !found) rc = err_set(err, ERR_NOT_FOUND, "no link '%s'", name);
    return rc;
}

int netlink_remove(struct netlink *nl, const char *name, struct err *err)
{
    struct ifinfomsg i = {.ifi_family = AF_UNSPEC};
    struct err why = {0};
    int rc = netlink_begin(nl, RTM_DELLINK, &i, sizeof(i), "remove a link", err);
    if (rc < 0) return rc;
    netlink_put_text(nl, IFLA_IFNAME, name);
    netlink_end(nl);
    rc = netlink_flush(nl, &why);
    if (rc == ERR_NOT_FOUND) return 0;
    if (rc < 0 && err) *err = why;
    return rc;
}
