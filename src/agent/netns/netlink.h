/* agent/netns/netlink.h - rtnetlink messages of our own, in batches.
 *
 * Messages gather in a bounded buffer and leave together; each is acknowledged, and
 * the first that is refused names itself in the error.  A socket speaks for the
 * network namespace in which it was opened, wherever its thread is later.
 * docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_NETLINK_H
#define AGENT_NETNS_NETLINK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

#define NETLINK_BATCH 64
#define NETLINK_BYTES 16384
#define NETLINK_MESSAGE 1024 /* the longest of ours */

struct netlink {
    int fd;
    uint32_t seq;            /* of the last message */
    uint32_t n;              /* messages in the buffer */
    size_t used, at;         /* bytes in it; where the open message begins */
    const char *what[NETLINK_BATCH]; /* for errors: "make the pair" */
    char buf[NETLINK_BYTES] __attribute__((aligned(8)));
};

int netlink_open(struct netlink *nl, struct err *err); /* of this thread's namespace */
void netlink_close(struct netlink *nl);

/* A message's type, with NLM_F_CREATE and the like. */
#define NETLINK_DO(type, flags) ((uint32_t)(type) | (uint32_t)(flags) << 16)
/* Begins a message.  A full batch leaves first. */
int netlink_begin(struct netlink *nl, uint32_t act, const void *head, size_t n, const char *what,
                  struct err *err);
void netlink_put(struct netlink *nl, uint16_t attr, const void *data, size_t n);
void netlink_put_u8(struct netlink *nl, uint16_t attr, uint8_t v);
void netlink_put_u32(struct netlink *nl, uint16_t attr, uint32_t v);
void netlink_put_text(struct netlink *nl, uint16_t attr, const char *text);
/* Attributes inside an attribute, behind `head` where its kind has one. */
size_t netlink_nest(struct netlink *nl, uint16_t attr, const void *head, size_t n);
void netlink_nest_end(struct netlink *nl, size_t nest);
void netlink_end(struct netlink *nl);

/* Sends what has gathered and waits for every acknowledgement, for 5 s at most.
 * ERR_CONFLICT: it exists; ERR_NOT_FOUND: it does not; ERR_UNSUPPORTED: this kernel
 * cannot. */
int netlink_flush(struct netlink *nl, struct err *err);

/* The index of a link by its name, and its MTU (may be NULL). */
int netlink_find(struct netlink *nl, const char *name, uint32_t *ret_index, uint32_t *ret_mtu,
                 struct err *err);
/* Removes a link; one that is absent is fine. */
int netlink_remove(struct netlink *nl, const char *name, struct err *err);

#endif
