/* wire/sync.h - the full lists that an agent and the manager exchange.
 *
 * docs/spec/node.md, "Agent and manager" */
#ifndef WIRE_SYNC_H
#define WIRE_SYNC_H
#include "core/model/node.h"
#include "core/nodeplan/plan.h"
#include "wire/names.h"
#include "wire/table.h"
#include "wire/use.h"

#define SYNC_MEMBERS_MAX 65536
#define SYNC_ORPHANS_MAX 4096 /* ended at once */
/* Version 1: lists are always sent.  Version 2: a list that the other side holds is named
 * by its number.  A manager speaks both, each to who speaks it. */
#define SYNC_PROTOCOL 2
#define SYNC_PROTOCOL_MIN 1

struct sync_device {
    uint32_t index;
    char uuid[48], model[32], pci[16];
    int64_t mem_bytes;
    enum device_health health;
    char why[40];     /* it is not healthy */
    int64_t since_ms; /* wall clock: not healthy since then */
    bool simulated;
    /* Errors that its driver told of (NVIDIA: Xid): the last one, how many there were, who
     * held the device then (0: nobody), and whether that session has to end. */
    uint32_t xid, xid_no;
    uint64_t xid_session;
    bool xid_kill;
    uint32_t numa; /* NUMA node + 1; 0: not known */
};
struct sync_info {
    char version[24], data_addr[64], facts[128], group[64];
    char labels[256]; /* "disk=ssd,zone=a" */
    char arch[16];    /* as uname says it */
    char net_addr[48]; /* where other nodes reach this one, an IP address; "": as data_addr */
    char unhealthy[128]; /* why nothing new may be placed here: "health: no space"; "": nothing */
    int64_t cpu_milli, mem_bytes;
    uint32_t orders_done; /* number of the last wish for a device that was carried out */
    uint32_t n_devices;
    struct sync_device devices[NODE_DEVICES_MAX];
    char links[LINK_TEXT]; /* core/model/linkmap.h */
};
/* An operator's wish for a device, done once. */
struct sync_device_order {
    uint32_t no; /* from 1 */
    char uuid[48];
    enum device_order order;
    char why[40];
};
struct sync_need { uint64_t session; };
struct sync_request {
    uint32_t protocol;
    char cluster[33], incarnation[33];
    uint64_t turn;                      /* of the last answer acted on */
    char node[NODE_NAME_MAX + 1];
    char boot_id[40];
    uint64_t epoch, seq;
    bool full;                          /* false: boot_id, info and members are those of list_no */
    uint64_t list_no;                   /* of this list, within the epoch; version 2 */
    uint64_t wants_no;                  /* of the list of wishes that is acted on; 0: none */
    struct sync_info info;
    VEC(struct member_report) members;  /* sorted by ref (checked by wire_parse) */
    VEC(struct sync_need) need;
    int64_t poll_ms;
    int64_t used_ms;                    /* a summary of use as of then, the node's clock; 0: none.
                                         * What is not in it is as in the summary before. */
    VEC(struct use_row) used;           /* sorted by ref (checked by wire_parse) */
    VEC(struct use_device) used_devices;
};

struct sync_device_mask { uint32_t member, mask; };
struct sync_peer {
    uint32_t member;
    char node[NODE_NAME_MAX + 1];
    char addr[48]; /* of the node, for other nodes; "": it has told none */
};
struct sync_body {
    uint64_t session;
    uint32_t attempt;
    char *spec;                         /* JSON: parse with wire_session_spec */
    char owner[64];
    uint32_t uid, gid;
    VEC(struct sync_device_mask) devices; /* only members that hold some */
    VEC(struct sync_peer) peers;        /* every member, in order */
    int64_t time_limit_ms, grace_ms;    /* 0: no limit */
    int64_t fence_ms;                   /* its containers end when we were not answered for so
                                           long; 0: they do not */
    uint64_t array;                     /* first task's id; 0: no array */
    uint32_t array_index, array_count;
    uint32_t restarts;                  /* after failures, evictions and requeues */
};
struct sync_answer {
    uint32_t protocol;
    char cluster[33], incarnation[33];
    uint64_t turn;
    uint32_t node_id;
    uint64_t list_no;                   /* the node's list that the manager holds; 0: none */
    uint64_t wants_no;                  /* of this list of wishes; 0: version 1 */
    bool same;                          /* the wishes are those of wants_no, not sent again */
    bool again;                         /* nothing but this: the list named is not known here */
    VEC(struct member_want) wants;      /* sorted by ref (checked by wire_parse) */
    VEC(struct member_ref) orphans_end; /* somebody decided: these orphans are ended */
    VEC(struct sync_body) bodies;
    uint32_t n_orders;                  /* for devices: sent until they are carried out */
    struct sync_device_order orders[NODE_ORDERS_MAX];
};
extern const struct wire_table wire_sync_request, wire_sync_answer, wire_sync_info, wire_sync_body;

#endif
