/* wire/use.h - what containers and devices use: as nodes tell it, and as people read it.
 *
 * A number that could not be read is METER_UNKNOWN here and absent in the text.
 * docs/spec/node.md, "Utilisation" */
#ifndef WIRE_USE_H
#define WIRE_USE_H
#include "core/model/meter.h"
#include "core/model/node.h"
#include "core/model/session.h"
#include "wire/table.h"

/* ---- from a node ---- */
struct use_row {
    struct member_ref ref;
    struct meter m;
    int64_t cpu_peak_milli; /* the most within one second, since the summary before */
};
struct use_device {
    uint32_t index;
    int64_t sm_percent, mem_used_bytes, power_mw, temperature_c;
};
extern const struct wire_table wire_use_row, wire_use_device;

/* ---- for people ---- */
struct use_point_view { int64_t ago_ms, cpu_milli, mem_bytes; };
struct member_use_view {
    uint32_t attempt, member;
    char node[NODE_NAME_MAX + 1];
    int64_t age_ms;         /* of the figures */
    struct meter m;
    int64_t cpu_milli;      /* over the last half minute */
    int64_t cpu_peak_milli;
    VEC(struct use_point_view) points; /* oldest first; of one session alone */
};
struct session_use_view {
    char id[24], name[SESSION_NAME_MAX + 1], owner[64], group[64];
    enum session_state state;
    int64_t cpu_limit_milli, mem_limit_bytes; /* over all members */
    int64_t gpu;
    int64_t cpu_milli, cpu_us, mem_bytes; /* sums; unknown when one of them is */
    VEC(struct member_use_view) members;
};
struct session_use_list { VEC(struct session_use_view) items; char next[64]; };
struct node_use_view {
    char name[NODE_NAME_MAX + 1];
    int64_t age_ms;
    uint32_t containers;
    int64_t cpu_milli, mem_bytes; /* of all that run there */
    uint32_t n_devices;
    struct use_device devices[NODE_DEVICES_MAX];
};
extern const struct wire_table wire_session_use_view, wire_session_use_list, wire_node_use_view;

#endif
