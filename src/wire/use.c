/* wire/use.c - tables of what containers and devices use. */
#include "wire/use.h"

#include "wire/names.h"

#define NEED .flags = WIRE_REQUIRED
/* A number that may be unknown: then it is not there. */
#define MAYBE .flags = WIRE_OMIT, .def = METER_UNKNOWN, .min = METER_UNKNOWN, .max = INT64_MAX

#define METER(st, at) \
    WIRE_F_I64(st, at.cpu_us, "cpu_us", MAYBE, .doc = "CPU time since its start."), \
    WIRE_F_I64(st, at.mem_bytes, "mem_bytes", MAYBE, .doc = "Memory now, with cached files."), \
    WIRE_F_I64(st, at.mem_peak_bytes, "mem_peak_bytes", MAYBE, .doc = "The most it ever was."), \
    WIRE_F_I64(st, at.pids, "pids", MAYBE, .doc = "Processes and threads now."), \
    WIRE_F_I64(st, at.io_read_bytes, "io_read_bytes", MAYBE, .doc = "From disks."), \
    WIRE_F_I64(st, at.io_write_bytes, "io_write_bytes", MAYBE, .doc = "To disks."), \
    WIRE_F_I64(st, at.net_rx_bytes, "net_rx_bytes", MAYBE, .doc = "Received."), \
    WIRE_F_I64(st, at.net_tx_bytes, "net_tx_bytes", MAYBE, .doc = "Sent.")

static const struct wire_field row_fields[] = {
    WIRE_F_U64(struct use_row, ref.session, "session", NEED, .min = 1, .max = INT64_MAX),
    WIRE_F_U32(struct use_row, ref.attempt, "attempt", NEED, .min = 1, .max = UINT32_MAX),
    WIRE_F_U32(struct use_row, ref.member, "member", NEED, .min = 0,
               .max = SESSION_MEMBERS_MAX - 1),
    METER(struct use_row, m),
    WIRE_F_I64(struct use_row, cpu_peak_milli, "cpu_peak_milli", MAYBE),
};
const struct wire_table wire_use_row = WIRE_TABLE("use", struct use_row, row_fields);

static const struct wire_field device_fields[] = {
    WIRE_F_U32(struct use_device, index, "index", NEED, .min = 0, .max = NODE_DEVICES_MAX - 1,
               .doc = "On its node."),
    WIRE_F_I64(struct use_device, sm_percent, "sm_percent", .flags = WIRE_OMIT,
               .def = METER_UNKNOWN, .min = METER_UNKNOWN, .max = 100, .doc = "Busy time."),
    WIRE_F_I64(struct use_device, mem_used_bytes, "mem_used_bytes", MAYBE, .doc = "In use."),
    WIRE_F_I64(struct use_device, power_mw, "power_mw", MAYBE, .doc = "Milliwatts."),
    WIRE_F_I64(struct use_device, temperature_c, "temperature_c", MAYBE, .doc = "Celsius."),
};
const struct wire_table wire_use_device = WIRE_TABLE("device use", struct use_device,
                                                     device_fields);

/* ---- for people ---- */

static const struct wire_field point_fields[] = {
    WIRE_F_I64(struct use_point_view, ago_ms, "ago_ms", .doc = "Before this answer."),
    WIRE_F_I64(struct use_point_view, cpu_milli, "cpu_milli", MAYBE,
               .doc = "Since the point before."),
    WIRE_F_I64(struct use_point_view, mem_bytes, "mem_bytes", MAYBE, .doc = "At that moment."),
};
static const struct wire_table point_table = WIRE_TABLE("point", struct use_point_view,
                                                        point_fields);

static const struct wire_field member_fields[] = {
    WIRE_F_U32(struct member_use_view, attempt, "attempt", .doc = "Which start."),
    WIRE_F_U32(struct member_use_view, member, "member", .doc = "Number."),
    WIRE_F_TEXT(struct member_use_view, node, "node", .doc = "Where it is."),
    WIRE_F_I64(struct member_use_view, age_ms, "age_ms", MAYBE, .doc = "Of these figures."),
    METER(struct member_use_view, m),
    WIRE_F_I64(struct member_use_view, cpu_milli, "cpu_milli", MAYBE,
               .doc = "Over the last half minute."),
    WIRE_F_I64(struct member_use_view, cpu_peak_milli, "cpu_peak_milli", MAYBE,
               .doc = "The most within one second of the last ten."),
    WIRE_F_LIST(struct member_use_view, points, "points", &point_table, 1024, .flags = WIRE_OMIT,
                .doc = "The last quarter of an hour, oldest first."),
};
static const struct wire_table member_table = WIRE_TABLE("member use", struct member_use_view,
                                                         member_fields);

static const struct wire_field session_fields[] = {
    WIRE_F_TEXT(struct session_use_view, id, "id", NEED, .doc = "Number, as s17."),
    WIRE_F_TEXT(struct session_use_view, name, "name", .doc = "Its name."),
    WIRE_F_TEXT(struct session_use_view, owner, "owner", .doc = "User."),
    WIRE_F_TEXT(struct session_use_view, group, "group", .doc = "Runs in."),
    WIRE_F_ENUM(struct session_use_view, state, "state", names_session_state, NEED,
                .def = SESSION_PENDING, .doc = "Where it is."),
    WIRE_F_I64(struct session_use_view, cpu_limit_milli, "cpu_limit_milli",
               .doc = "Of all members."),
    WIRE_F_I64(struct session_use_view, mem_limit_bytes, "mem_limit_bytes",
               .doc = "Of all members."),
    WIRE_F_I64(struct session_use_view, gpu, "gpu", .doc = "Devices it holds."),
    WIRE_F_I64(struct session_use_view, cpu_milli, "cpu_milli", MAYBE,
               .doc = "Over the last half minute, all members."),
    WIRE_F_I64(struct session_use_view, cpu_us, "cpu_us", MAYBE,
               .doc = "CPU time of all members in this attempt."),
    WIRE_F_I64(struct session_use_view, mem_bytes, "mem_bytes", MAYBE, .doc = "Of all members."),
    WIRE_F_LIST(struct session_use_view, members, "members", &member_table, SESSION_MEMBERS_MAX,
                .doc = "Each container that its node has told of."),
};
const struct wire_table wire_session_use_view =
    WIRE_TABLE("session use", struct session_use_view, session_fields);

static const struct wire_field list_fields[] = {
    WIRE_F_LIST(struct session_use_list, items, "items", &wire_session_use_view, 1000,
                .doc = "By number."),
    WIRE_F_TEXT(struct session_use_list, next, "next", .flags = WIRE_OMIT,
                .doc = "Cursor of the next page."),
};
const struct wire_table wire_session_use_list =
    WIRE_TABLE("session use list", struct session_use_list, list_fields,
               .max_bytes = (size_t)64 << 20);

static const struct wire_field node_fields[] = {
    WIRE_F_TEXT(struct node_use_view, name, "name", NEED, .doc = "Name."),
    WIRE_F_I64(struct node_use_view, age_ms, "age_ms", MAYBE, .doc = "Of these figures."),
    WIRE_F_U32(struct node_use_view, containers, "containers", .doc = "That it told of."),
    WIRE_F_I64(struct node_use_view, cpu_milli, "cpu_milli", MAYBE, .doc = "Of all of them."),
    WIRE_F_I64(struct node_use_view, mem_bytes, "mem_bytes", MAYBE, .doc = "Of all of them."),
    WIRE_F_ARRAY(struct node_use_view, devices, n_devices, "devices", &wire_use_device,
                 .doc = "Its devices, where the agent's probe reads them."),
};
const struct wire_table wire_node_use_view = WIRE_TABLE("node use", struct node_use_view,
                                                        node_fields);
