/* core/model/node.h - a machine: what it has, whether it is heard, what it holds. */
#ifndef CORE_MODEL_NODE_H
#define CORE_MODEL_NODE_H
#include <stdbool.h>
#include <stdint.h>
#include "core/model/linkmap.h"
#include "core/model/slots.h"
#include "core/nodeplan/device.h"

#define NODE_DEVICES_MAX LINK_DEVICES
#define NODE_NAME_MAX 63
#define NODE_NUMA_MAX 1024
#define NODE_QUARANTINE_AFTER 3
#define NODE_BEAT_MS 2000
#define NODE_UNREACHABLE_MS 15000
#define NODE_LOST_MS (24 * 60 * 60 * INT64_C(1000))

struct device {
    char uuid[48];
    char model[32];
    char pci[16];     /* "0000:3b:00.0", or "" */
    char why[40];     /* it is not healthy: "Xid 79" */
    int64_t mem_bytes;
    int64_t since_ms; /* wall clock of its agent: not healthy since then */
    enum device_health health;
    bool simulated; /* says so wherever it is shown */
    uint32_t numa;  /* its NUMA node + 1; 0: not known */
    uint32_t xid_no; /* how many errors its driver told of */
};

#define NODE_ORDERS_MAX 4
/* An operator's wish for a device, until its agent says that it was carried out. */
struct node_order {
    uint32_t no;
    enum device_order order;
    char uuid[48], why[40];
};

struct node_failure { uint64_t session; };

struct node {
    uint32_t id; /* from 1, never used again */
    char name[NODE_NAME_MAX + 1];
    uint32_t group;
    struct slots capacity; /* what sessions may use; SLOT_GPU = number of devices */
    uint32_t n_devices;
    struct device devices[NODE_DEVICES_MAX];
    char links[LINK_TEXT]; /* how they reach each other: linkmap.h; "" knows nothing */
    char boot_id[40];
    char data_addr[64];   /* where its data port listens, "ip:port" */
    char net_addr[48];    /* where other nodes reach it; "": the address of data_addr */
    char version[24];
    char facts[128];      /* notes for people: "seccomp by JSON: slow starts" */
    char labels[256];     /* "disk=ssd,zone=a", sorted by key */
    char arch[16];        /* "x86_64" */
    char unhealthy[128];  /* its own script says why nothing new may come; "": nothing */
    bool cordoned;        /* nothing new is placed here ... */
    char cordon_reason[96]; /* ... for this reason, in a person's words */
    uint32_t cordon_by;   /* user; 0: nobody */
    int64_t cordon_wall_ms;
    bool draining;        /* and it is to become empty: */
    int64_t drain_ms;     /* at this core time who is still there has to go; 0: never */
    uint32_t failed_row;  /* sessions in a row that failed to start here ... */
    struct node_failure failed_by[NODE_QUARANTINE_AFTER]; /* ... each once */
    uint32_t order_no;    /* of the last wish for a device; those not carried out yet: */
    uint32_t n_orders;
    struct node_order orders[NODE_ORDERS_MAX];
    bool quarantined;     /* after NODE_QUARANTINE_AFTER of them, until an operator uncordons it */
    bool silence_accepted; /* an operator took it to be down; until it is heard */
    uint64_t epoch;       /* agent's start count: a lower one is an echo */
    /* Not stored: a restarted manager hears again. */
    bool heard;           /* since this manager started */
    bool unreachable;     /* silent for NODE_UNREACHABLE_MS: shown, nothing stopped */
    int64_t heard_ms;     /* core time of the last report, or of the manager's start */
    bool fence_asked;     /* it is due for the fence command ... */
    bool fence_confirmed; /* ... which has succeeded since it fell silent */
    uint64_t report_seq, report_turn;
    /* Index: the sum of the node's rows, kept by the three functions below alone. */
    uint32_t first_alloc;
    struct slots used;
    uint32_t used_devices; /* mask */
    /* What RESERVED sessions are promised here, and what of it those hold who are leaving:
     * the rest is kept free.  Written by sched/reserve.c alone. */
    struct slots kept, leaving;
    uint32_t kept_devices; /* mask */
    uint32_t timer_stamp;
    uint32_t kind_stamp; /* moves on whenever what the node says about itself may have changed */
};

struct world;
struct alloc;
struct room;
/* Recomputes what is used from the rows, and the node's room from all the rest;
 * called after every change of the node. */
void node_refresh(struct world *w, struct node *n);
/* A row has come to the node, or leaves it: as node_refresh, without counting the
 * thousands that stay.  world_audit counts them all. */
void node_take(struct world *w, struct node *n, const struct alloc *a);
void node_give(struct world *w, struct node *n, const struct alloc *a);

/* Its room as if whoever holds `gone` had ended, beside all that is kept: devices of the mask
 * that are not its own count for nothing. */
void node_room_without(const struct node *n, const struct slots *gone, uint32_t gone_devices,
                       struct room *ret);

uint32_t node_healthy_devices(const struct node *n);
/* Devices that anybody could be given: healthy and not kept, held or not. */
uint32_t node_givable_devices(const struct node *n);
/* Devices that may be given: these, unallocated. */
uint32_t node_free_devices(const struct node *n);
/* All devices, healthy or not, given or not. */
uint32_t node_all_devices(uint32_t n_devices);
/* Whether both say the same of all their devices. */
bool node_same_devices(const struct node *a, const struct node *b);
/* True when new work may be placed here at all. */
bool node_usable(const struct node *n);

#endif
