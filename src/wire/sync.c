/* wire/sync.c - tables of the full lists between agent and manager. */
#include "wire/sync.h"

#include "core/model/group.h"

#define NEED .flags = WIRE_REQUIRED
#define OMIT .flags = WIRE_OMIT

static const struct wire_field device_fields[] = {
    WIRE_F_U32(struct sync_device, index, "index", NEED, .min = 0, .max = NODE_DEVICES_MAX - 1),
    WIRE_F_TEXT(struct sync_device, uuid, "uuid", NEED),
    WIRE_F_TEXT(struct sync_device, model, "model", NEED),
    WIRE_F_I64(struct sync_device, mem_bytes, "mem_bytes", NEED, .min = 0, .max = SLOT_MAX),
    WIRE_F_TEXT(struct sync_device, pci, "pci", OMIT),
    WIRE_F_ENUM(struct sync_device, health, "health", names_device_health, NEED),
    WIRE_F_TEXT(struct sync_device, why, "why", OMIT),
    WIRE_F_U32(struct sync_device, xid, "xid", OMIT),
    WIRE_F_U32(struct sync_device, xid_no, "xid_no", OMIT),
    WIRE_F_U64(struct sync_device, xid_session, "xid_session", OMIT, .max = INT64_MAX),
    WIRE_F_BOOL(struct sync_device, xid_kill, "xid_kill", OMIT),
    WIRE_F_I64(struct sync_device, since_ms, "since_ms", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_BOOL(struct sync_device, simulated, "simulated", OMIT),
    WIRE_F_U32(struct sync_device, numa, "numa_from_1", OMIT, .min = 0, .max = NODE_NUMA_MAX),
};
static const struct wire_table device_table =
    WIRE_TABLE("device", struct sync_device, device_fields);

static const struct wire_field info_fields[] = {
    WIRE_F_TEXT(struct sync_info, version, "version"),
    WIRE_F_TEXT(struct sync_info, data_addr, "data_addr", NEED),
    WIRE_F_TEXT(struct sync_info, facts, "facts"),
    WIRE_F_TEXT(struct sync_info, labels, "labels", OMIT),
    WIRE_F_TEXT(struct sync_info, unhealthy, "unhealthy", OMIT),
    WIRE_F_TEXT(struct sync_info, arch, "arch", OMIT),
    WIRE_F_TEXT(struct sync_info, net_addr, "net_addr", OMIT),
    WIRE_F_TEXT(struct sync_info, group, "group", .flags = WIRE_NAME, .def_text = "default",
                .min = 1),
    WIRE_F_I64(struct sync_info, cpu_milli, "cpu_milli", NEED, .min = 0, .max = SLOT_MAX),
    WIRE_F_I64(struct sync_info, mem_bytes, "mem_bytes", NEED, .min = 0, .max = SLOT_MAX),
    WIRE_F_U32(struct sync_info, orders_done, "orders_done", OMIT),
    WIRE_F_ARRAY(struct sync_info, devices, n_devices, "devices", &device_table),
    WIRE_F_TEXT(struct sync_info, links, "links", OMIT),
};
const struct wire_table wire_sync_info = WIRE_TABLE("info", struct sync_info, info_fields);

static const struct wire_field end_fields[] = {
    WIRE_F_I32(struct member_end, exit_code, "exit_code", .min = -1, .max = 255),
    WIRE_F_I32(struct member_end, signal, "signal", OMIT, .min = 0, .max = 64),
    WIRE_F_BOOL(struct member_end, oom, "oom", OMIT),
    WIRE_F_BOOL(struct member_end, timed_out, "timed_out", OMIT),
    WIRE_F_BOOL(struct member_end, fatal, "fatal", OMIT),
    WIRE_F_BOOL(struct member_end, fenced, "fenced", OMIT),
    WIRE_F_TEXT(struct member_end, detail, "detail", OMIT),
    WIRE_F_I64(struct member_end, cpu_us, "cpu_us", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct member_end, mem_peak_bytes, "mem_peak_bytes", OMIT, .min = 0,
               .max = INT64_MAX),
};
static const struct wire_table end_table = WIRE_TABLE("end", struct member_end, end_fields);

static const struct wire_field member_fields[] = {
    WIRE_F_U64(struct member_report, ref.session, "session", NEED, .min = 1, .max = INT64_MAX),
    WIRE_F_U32(struct member_report, ref.attempt, "attempt", NEED, .min = 1, .max = UINT32_MAX),
    WIRE_F_U32(struct member_report, ref.member, "member", NEED, .min = 0,
               .max = SESSION_MEMBERS_MAX - 1),
    WIRE_F_ENUM(struct member_report, phase, "phase", names_member_phase, NEED),
    WIRE_F_BOOL(struct member_report, orphan, "orphan", OMIT),
    WIRE_F_U32(struct member_report, signal_done, "signal_done", OMIT),
    WIRE_F_OBJECT(struct member_report, end, "end", &end_table, OMIT),
};
static const struct wire_table member_table =
    WIRE_TABLE("member", struct member_report, member_fields);

static const struct wire_field need_fields[] = {
    WIRE_F_U64(struct sync_need, session, "session", NEED, .min = 1, .max = INT64_MAX),
};
static const struct wire_table need_table = WIRE_TABLE("need", struct sync_need, need_fields);

static int ref_order(struct member_ref a, struct member_ref b)
{
    if (a.session != b.session) return a.session < b.session ? -1 : 1;
    if (a.attempt != b.attempt) return a.attempt < b.attempt ? -1 : 1;
    return (a.member > b.member) - (a.member < b.member);
}

static int unsorted(struct err *err, const char *field, uint32_t at)
{
    err_set(err, ERR_INVALID, "entry %u is not after the one before it", at);
    err_field(err, field);
    return ERR_INVALID;
}

static int finish_request(void *obj, struct err *err)
{
    const struct sync_request *r = obj;
    for (uint32_t i = 1; i < r->used.n; i++) {
        if (ref_order(r->used.v[i - 1].ref, r->used.v[i].ref) >= 0) return unsorted(err, "used", i);
    }
    if (r->full && r->info.data_addr[0] == '\0') {
        err_set(err, ERR_INVALID, "expected HOST:PORT: a full list says what the node is");
        err_field(err, "info.data_addr");
        return ERR_INVALID;
    }
    for (uint32_t i = 1; i < r->members.n; i++) {
        if (ref_order(r->members.v[i - 1].ref, r->members.v[i].ref) >= 0) {
            return unsorted(err, "members", i);
        }
    }
    return 0;
}

static const struct wire_field request_fields[] = {
    WIRE_F_U32(struct sync_request, protocol, "protocol", NEED),
    WIRE_F_TEXT(struct sync_request, cluster, "cluster", NEED, .min = 32),
    WIRE_F_TEXT(struct sync_request, incarnation, "incarnation", NEED, .min = 32),
    WIRE_F_U64(struct sync_request, turn, "turn", NEED),
    WIRE_F_TEXT(struct sync_request, node, "node", .flags = WIRE_REQUIRED | WIRE_NAME, .min = 1),
    WIRE_F_TEXT(struct sync_request, boot_id, "boot_id", OMIT),
    WIRE_F_U64(struct sync_request, epoch, "epoch", NEED),
    WIRE_F_U64(struct sync_request, seq, "seq", NEED),
    WIRE_F_BOOL(struct sync_request, full, "full", .def = 1),
    WIRE_F_U64(struct sync_request, list_no, "list_no", OMIT, .max = INT64_MAX),
    WIRE_F_U64(struct sync_request, wants_no, "wants_no", OMIT, .max = INT64_MAX),
    WIRE_F_OBJECT(struct sync_request, info, "info", &wire_sync_info, OMIT),
    WIRE_F_LIST(struct sync_request, members, "members", &member_table, SYNC_MEMBERS_MAX, NEED),
    WIRE_F_LIST(struct sync_request, need, "need", &need_table, SYNC_MEMBERS_MAX, OMIT),
    WIRE_F_I64(struct sync_request, poll_ms, "poll_ms", .min = 0, .max = 60000),
    WIRE_F_I64(struct sync_request, used_ms, "used_ms", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_LIST(struct sync_request, used, "used", &wire_use_row, SYNC_MEMBERS_MAX, OMIT),
    WIRE_F_LIST(struct sync_request, used_devices, "used_devices", &wire_use_device,
                NODE_DEVICES_MAX, OMIT),
};
const struct wire_table wire_sync_request =
    WIRE_TABLE("sync", struct sync_request, request_fields, .finish = finish_request,
               .max_bytes = (size_t)32 << 20);

static const struct wire_field want_fields[] = {
    WIRE_F_U64(struct member_want, ref.session, "session", NEED, .min = 1, .max = INT64_MAX),
    WIRE_F_U32(struct member_want, ref.attempt, "attempt", NEED, .min = 1, .max = UINT32_MAX),
    WIRE_F_U32(struct member_want, ref.member, "member", NEED, .min = 0,
               .max = SESSION_MEMBERS_MAX - 1),
    WIRE_F_ENUM(struct member_want, act, "act", names_want_act, NEED, .def = WANT_HOLD),
    WIRE_F_BOOL(struct member_want, fresh, "fresh", OMIT),
    WIRE_F_U32(struct member_want, signal_no, "signal_no", OMIT),
    WIRE_F_I32(struct member_want, signal, "signal", OMIT, .min = 0, .max = 64),
    WIRE_F_I64(struct member_want, grace_ms, "grace_ms", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_BOOL(struct member_want, preempted, "preempted", OMIT),
};
static const struct wire_table want_table = WIRE_TABLE("want", struct member_want, want_fields);

static const struct wire_field mask_fields[] = {
    WIRE_F_U32(struct sync_device_mask, member, "member", NEED),
    WIRE_F_U32(struct sync_device_mask, mask, "mask", NEED, .min = 0, .max = UINT16_MAX),
};
static const struct wire_table mask_table =
    WIRE_TABLE("devices", struct sync_device_mask, mask_fields);

static const struct wire_field peer_fields[] = {
    WIRE_F_U32(struct sync_peer, member, "member", NEED),
    WIRE_F_TEXT(struct sync_peer, node, "node", NEED),
    WIRE_F_TEXT(struct sync_peer, addr, "addr", OMIT),
};
static const struct wire_table peer_table = WIRE_TABLE("peer", struct sync_peer, peer_fields);

static const struct wire_field body_fields[] = {
    WIRE_F_U64(struct sync_body, session, "session", NEED, .min = 1, .max = INT64_MAX),
    WIRE_F_U32(struct sync_body, attempt, "attempt", NEED, .min = 1, .max = UINT32_MAX),
    WIRE_F_RAW(struct sync_body, spec, "spec", 1 << 20, NEED),
    WIRE_F_TEXT(struct sync_body, owner, "owner", NEED),
    WIRE_F_U32(struct sync_body, uid, "uid", NEED),
    WIRE_F_U32(struct sync_body, gid, "gid", NEED),
    WIRE_F_LIST(struct sync_body, devices, "devices", &mask_table, SESSION_MEMBERS_MAX, OMIT),
    WIRE_F_LIST(struct sync_body, peers, "peers", &peer_table, SESSION_MEMBERS_MAX, OMIT),
    WIRE_F_U64(struct sync_body, array, "array", OMIT, .max = INT64_MAX),
    WIRE_F_U32(struct sync_body, array_index, "array_index", OMIT),
    WIRE_F_U32(struct sync_body, array_count, "array_count", OMIT),
    WIRE_F_U32(struct sync_body, restarts, "restarts", OMIT),
    WIRE_F_I64(struct sync_body, time_limit_ms, "time_limit_ms", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct sync_body, grace_ms, "grace_ms", .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct sync_body, fence_ms, "fence_ms", OMIT, .min = 0, .max = GROUP_FENCE_MAX_MS),
};
const struct wire_table wire_sync_body = WIRE_TABLE("body", struct sync_body, body_fields,
                                                    .max_bytes = (size_t)2 << 20);

static const struct wire_field ref_fields[] = {
    WIRE_F_U64(struct member_ref, session, "session", NEED, .min = 1, .max = INT64_MAX),
    WIRE_F_U32(struct member_ref, attempt, "attempt", NEED, .min = 1, .max = UINT32_MAX),
    WIRE_F_U32(struct member_ref, member, "member", NEED, .min = 0,
               .max = SESSION_MEMBERS_MAX - 1),
};
static const struct wire_table ref_table = WIRE_TABLE("orphan", struct member_ref, ref_fields);

static int finish_answer(void *obj, struct err *err)
{
    const struct sync_answer *a = obj;
    for (uint32_t i = 1; i < a->wants.n; i++) {
        if (ref_order(a->wants.v[i - 1].ref, a->wants.v[i].ref) >= 0) {
            return unsorted(err, "wants", i);
        }
    }
    return 0;
}

static const struct wire_field order_fields[] = {
    WIRE_F_U32(struct sync_device_order, no, "no", NEED, .min = 1, .max = UINT32_MAX),
    WIRE_F_TEXT(struct sync_device_order, uuid, "uuid", NEED),
    WIRE_F_ENUM(struct sync_device_order, order, "order", names_device_order, NEED),
    WIRE_F_TEXT(struct sync_device_order, why, "why", OMIT),
};
static const struct wire_table order_table =
    WIRE_TABLE("device order", struct sync_device_order, order_fields);

static const struct wire_field answer_fields[] = {
    WIRE_F_U32(struct sync_answer, protocol, "protocol", NEED),
    WIRE_F_TEXT(struct sync_answer, cluster, "cluster", NEED, .min = 32),
    WIRE_F_TEXT(struct sync_answer, incarnation, "incarnation", NEED, .min = 32),
    WIRE_F_U64(struct sync_answer, turn, "turn", NEED),
    WIRE_F_U32(struct sync_answer, node_id, "node_id"),
    WIRE_F_U64(struct sync_answer, list_no, "list_no", OMIT, .max = INT64_MAX),
    WIRE_F_U64(struct sync_answer, wants_no, "wants_no", OMIT, .max = INT64_MAX),
    WIRE_F_BOOL(struct sync_answer, same, "same", OMIT),
    WIRE_F_BOOL(struct sync_answer, again, "again", OMIT),
    WIRE_F_LIST(struct sync_answer, wants, "wants", &want_table, SYNC_MEMBERS_MAX, NEED),
    WIRE_F_LIST(struct sync_answer, orphans_end, "orphans_end", &ref_table, SYNC_ORPHANS_MAX,
                OMIT),
    WIRE_F_LIST(struct sync_answer, bodies, "bodies", &wire_sync_body, SYNC_MEMBERS_MAX, OMIT),
    WIRE_F_ARRAY(struct sync_answer, orders, n_orders, "device_orders", &order_table, OMIT),
};
const struct wire_table wire_sync_answer =
    WIRE_TABLE("sync", struct sync_answer, answer_fields, .finish = finish_answer,
               .max_bytes = (size_t)256 << 20);
