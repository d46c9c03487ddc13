/* wire/rows.c - stored forms.  Adding a field with a default keeps the version; a change
 * of meaning raises it, and the store gets a migration. */
#include "wire/rows.h"

#define OMIT .flags = WIRE_OMIT
#define ID .flags = WIRE_REQUIRED, .min = 1, .max = UINT32_MAX

static const struct wire_field end_fields[] = {
    WIRE_F_I32(struct member_end, exit_code, "exit_code", OMIT, .min = -1, .max = 255),
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

static const struct wire_field role_fields[] = {
    WIRE_F_TEXT(struct role, name, "name", .flags = WIRE_REQUIRED),
    WIRE_F_U32(struct role, count, "count", .flags = WIRE_REQUIRED),
    WIRE_F_I64(struct role, slots.v[SLOT_CPU], "cpu_milli", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_I64(struct role, slots.v[SLOT_MEM], "mem_bytes", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_I64(struct role, slots.v[SLOT_GPU], "gpu", OMIT, .min = 0, .max = SLOT_MAX),
};
static const struct wire_table role_table = WIRE_TABLE("role", struct role, role_fields);

static const struct wire_field constraint_fields[] = {
    WIRE_F_TEXT(struct constraint, gpu_models, "gpu_models", OMIT),
    WIRE_F_TEXT(struct constraint, labels, "labels", OMIT),
    WIRE_F_TEXT(struct constraint, arch, "arch", OMIT),
    WIRE_F_U32(struct constraint, node, "node", OMIT),
    WIRE_F_BOOL(struct constraint, node_preferred, "node_preferred", OMIT),
};
static const struct wire_table constraint_table =
    WIRE_TABLE("constraint", struct constraint, constraint_fields);

static const struct wire_field dependency_fields[] = {
    WIRE_F_U64(struct dependency, session, "session", .flags = WIRE_REQUIRED, .min = 1,
               .max = INT64_MAX),
    WIRE_F_ENUM(struct dependency, on, "on", names_depend_on, .flags = WIRE_REQUIRED),
};
static const struct wire_table dependency_table =
    WIRE_TABLE("dependency", struct dependency, dependency_fields);

static const struct wire_field failed_start_fields[] = {
    WIRE_F_U32(struct failed_start, node, "node", ID),
    WIRE_F_U32(struct failed_start, times, "times", ID),
};
static const struct wire_table failed_start_table =
    WIRE_TABLE("failed start", struct failed_start, failed_start_fields);

static const struct wire_field session_fields[] = {
    WIRE_F_U64(struct session_row, session.id, "id", .flags = WIRE_REQUIRED, .min = 1,
               .max = INT64_MAX),
    WIRE_F_U32(struct session_row, session.user, "user", ID),
    WIRE_F_U32(struct session_row, session.project, "project", ID),
    WIRE_F_U32(struct session_row, session.group, "group", ID),
    WIRE_F_TEXT(struct session_row, session.name, "name", .flags = WIRE_REQUIRED),
    WIRE_F_ENUM(struct session_row, session.kind, "kind", names_session_kind,
                .flags = WIRE_REQUIRED),
    WIRE_F_ENUM(struct session_row, session.state, "state", names_session_state,
                .flags = WIRE_REQUIRED),
    WIRE_F_ENUM(struct session_row, session.outcome, "outcome", names_session_outcome, OMIT),
    WIRE_F_I32(struct session_row, session.priority, "priority", OMIT),
    WIRE_F_I32(struct session_row, session.lowered, "lowered", OMIT),
    WIRE_F_BOOL(struct session_row, session.preemptible, "preemptible", OMIT),
    WIRE_F_BOOL(struct session_row, session.hold, "hold", OMIT),
    WIRE_F_BOOL(struct session_row, session.unproved, "unproved", OMIT),
    WIRE_F_BOOL(struct session_row, session.requeue, "requeue", OMIT),
    WIRE_F_ENUM(struct session_row, session.strategy, "strategy", names_place_strategy_or_none,
                OMIT),
    WIRE_F_OBJECT(struct session_row, session.where, "where", &constraint_table, OMIT),
    WIRE_F_ARRAY(struct session_row, session.depends, session.n_depends, "depends",
                 &dependency_table, OMIT),
    WIRE_F_U64(struct session_row, session.array, "array", OMIT),
    WIRE_F_U32(struct session_row, session.array_index, "array_index", OMIT),
    WIRE_F_U32(struct session_row, session.array_count, "array_count", OMIT),
    WIRE_F_U32(struct session_row, session.array_limit, "array_limit", OMIT),
    WIRE_F_U32(struct session_row, session.restart_max, "restart_max", OMIT),
    WIRE_F_U32(struct session_row, session.failures, "failures", OMIT),
    WIRE_F_U32(struct session_row, session.restarts, "restarts", OMIT),
    WIRE_F_U32(struct session_row, session.blocked_tries, "blocked_tries", OMIT),
    WIRE_F_I64(struct session_row, session.blocked_ms, "blocked_ms", OMIT),
    WIRE_F_I64(struct session_row, session.start_after_ms, "start_after_ms", OMIT),
    WIRE_F_BOOL(struct session_row, session.one_node, "one_node", OMIT),
    WIRE_F_BOOL(struct session_row, session.stop_on_member, "stop_on_member", OMIT),
    WIRE_F_ENUM(struct session_row, session.on_device_fault, "on_device_fault",
                names_on_device_fault, OMIT),
    WIRE_F_BOOL(struct session_row, session.alarm, "alarm", OMIT),
    WIRE_F_U32(struct session_row, session.members, "members", .flags = WIRE_REQUIRED),
    WIRE_F_ARRAY(struct session_row, session.roles, session.n_roles, "roles", &role_table,
                 .flags = WIRE_REQUIRED),
    WIRE_F_U32(struct session_row, session.attempt, "attempt", OMIT),
    WIRE_F_U32(struct session_row, session.failed_starts, "failed_starts", OMIT),
    WIRE_F_ARRAY(struct session_row, session.failed_on, session.n_failed_on, "failed_on",
                 &failed_start_table, OMIT),
    WIRE_F_I64(struct session_row, session.submitted_ms, "submitted_ms", OMIT),
    WIRE_F_I64(struct session_row, session.since_ms, "since_ms", OMIT),
    WIRE_F_I64(struct session_row, session.deadline_ms, "deadline_ms", OMIT),
    WIRE_F_I64(struct session_row, session.not_before_ms, "not_before_ms", OMIT),
    WIRE_F_I64(struct session_row, session.started_ms, "started_ms", OMIT),
    WIRE_F_I64(struct session_row, session.ended_ms, "ended_ms", OMIT),
    WIRE_F_I64(struct session_row, session.time_limit_ms, "time_limit_ms", OMIT),
    WIRE_F_I64(struct session_row, session.grace_ms, "grace_ms", OMIT),
    WIRE_F_I32(struct session_row, session.fence_ms, "fence_ms", OMIT, .min = 0,
               .max = INT32_MAX),
    WIRE_F_I64(struct session_row, session.pending_timeout_ms, "pending_timeout_ms", OMIT),
    WIRE_F_I64(struct session_row, session.submitted_wall_ms, "submitted_wall_ms", OMIT),
    WIRE_F_I64(struct session_row, session.started_wall_ms, "started_wall_ms", OMIT),
    WIRE_F_I64(struct session_row, session.ended_wall_ms, "ended_wall_ms", OMIT),
    WIRE_F_U32(struct session_row, session.signal_no, "signal_no", OMIT),
    WIRE_F_I32(struct session_row, session.signal, "signal", OMIT),
    WIRE_F_OBJECT(struct session_row, end, "end", &end_table, OMIT),
};
const struct wire_table wire_row_session =
    WIRE_TABLE("session row", struct session_row, session_fields, .version = 1);

static const struct wire_field alloc_fields[] = {
    WIRE_F_U64(struct alloc_row, alloc.ref.session, "session", .flags = WIRE_REQUIRED, .min = 1,
               .max = INT64_MAX),
    WIRE_F_U32(struct alloc_row, alloc.ref.attempt, "attempt", ID),
    WIRE_F_U32(struct alloc_row, alloc.ref.member, "member", .flags = WIRE_REQUIRED),
    WIRE_F_U32(struct alloc_row, alloc.node, "node", ID),
    WIRE_F_I64(struct alloc_row, alloc.slots.v[SLOT_CPU], "cpu_milli", OMIT, .min = 0,
               .max = SLOT_MAX),
    WIRE_F_I64(struct alloc_row, alloc.slots.v[SLOT_MEM], "mem_bytes", OMIT, .min = 0,
               .max = SLOT_MAX),
    WIRE_F_I64(struct alloc_row, alloc.slots.v[SLOT_GPU], "gpu", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_U32(struct alloc_row, alloc.devices, "devices", OMIT),
    WIRE_F_U64(struct alloc_row, alloc.turn, "turn", .flags = WIRE_REQUIRED),
    WIRE_F_BOOL(struct alloc_row, alloc.revoked, "revoked", OMIT),
    WIRE_F_U64(struct alloc_row, alloc.revoked_turn, "revoked_turn", OMIT),
    WIRE_F_ENUM(struct alloc_row, alloc.phase, "phase", names_member_phase, OMIT),
    WIRE_F_U32(struct alloc_row, alloc.signal_done, "signal_done", OMIT),
    WIRE_F_OBJECT(struct alloc_row, end, "end", &end_table, OMIT),
};
const struct wire_table wire_row_alloc =
    WIRE_TABLE("alloc row", struct alloc_row, alloc_fields, .version = 1);

static const struct wire_field device_fields[] = {
    WIRE_F_TEXT(struct device, uuid, "uuid", .flags = WIRE_REQUIRED),
    WIRE_F_TEXT(struct device, model, "model", OMIT),
    WIRE_F_I64(struct device, mem_bytes, "mem_bytes", OMIT),
    WIRE_F_TEXT(struct device, pci, "pci", OMIT),
    WIRE_F_ENUM(struct device, health, "health", names_device_health, OMIT),
    WIRE_F_TEXT(struct device, why, "why", OMIT),
    WIRE_F_U32(struct device, xid_no, "xid_no", OMIT),
    WIRE_F_I64(struct device, since_ms, "since_ms", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_BOOL(struct device, simulated, "simulated", OMIT),
    WIRE_F_U32(struct device, numa, "numa_from_1", OMIT, .min = 0, .max = NODE_NUMA_MAX),
};
static const struct wire_table device_table = WIRE_TABLE("device", struct device, device_fields);

static const struct wire_field node_failure_fields[] = {
    WIRE_F_U64(struct node_failure, session, "session", .flags = WIRE_REQUIRED, .min = 1,
               .max = INT64_MAX),
};
static const struct wire_table node_failure_table =
    WIRE_TABLE("failed start on a node", struct node_failure, node_failure_fields);

static const struct wire_field node_order_fields[] = {
    WIRE_F_U32(struct node_order, no, "no", ID),
    WIRE_F_ENUM(struct node_order, order, "order", names_device_order, OMIT),
    WIRE_F_TEXT(struct node_order, uuid, "uuid", .flags = WIRE_REQUIRED),
    WIRE_F_TEXT(struct node_order, why, "why", OMIT),
};
static const struct wire_table node_order_table =
    WIRE_TABLE("wish for a device", struct node_order, node_order_fields);

static const struct wire_field node_fields[] = {
    WIRE_F_U32(struct node, id, "id", ID),
    WIRE_F_TEXT(struct node, name, "name", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_U32(struct node, group, "group", ID),
    WIRE_F_I64(struct node, capacity.v[SLOT_CPU], "cpu_milli", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_I64(struct node, capacity.v[SLOT_MEM], "mem_bytes", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_I64(struct node, capacity.v[SLOT_GPU], "gpu", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_ARRAY(struct node, devices, n_devices, "devices", &device_table, OMIT),
    WIRE_F_TEXT(struct node, links, "links", OMIT),
    WIRE_F_TEXT(struct node, boot_id, "boot_id", OMIT),
    WIRE_F_TEXT(struct node, data_addr, "data_addr", OMIT),
    WIRE_F_TEXT(struct node, net_addr, "net_addr", OMIT),
    WIRE_F_TEXT(struct node, version, "version", OMIT),
    WIRE_F_TEXT(struct node, facts, "facts", OMIT),
    WIRE_F_TEXT(struct node, unhealthy, "unhealthy", OMIT),
    WIRE_F_TEXT(struct node, labels, "labels", OMIT),
    WIRE_F_TEXT(struct node, arch, "arch", OMIT),
    WIRE_F_U32(struct node, order_no, "order_no", OMIT),
    WIRE_F_ARRAY(struct node, orders, n_orders, "orders", &node_order_table, OMIT),
    WIRE_F_BOOL(struct node, cordoned, "cordoned", OMIT),
    WIRE_F_TEXT(struct node, cordon_reason, "cordon_reason", OMIT),
    WIRE_F_U32(struct node, cordon_by, "cordon_by", OMIT),
    WIRE_F_I64(struct node, cordon_wall_ms, "cordon_wall_ms", OMIT),
    WIRE_F_BOOL(struct node, draining, "draining", OMIT),
    WIRE_F_I64(struct node, drain_ms, "drain_ms", OMIT),
    WIRE_F_ARRAY(struct node, failed_by, failed_row, "failed_by", &node_failure_table, OMIT),
    WIRE_F_BOOL(struct node, quarantined, "quarantined", OMIT),
    WIRE_F_BOOL(struct node, silence_accepted, "silence_accepted", OMIT),
    WIRE_F_U64(struct node, epoch, "epoch", OMIT),
};
const struct wire_table wire_row_node =
    WIRE_TABLE("node row", struct node, node_fields, .version = 1);

/* Two tables of the same struct would need the same words: numbers are exact. */
struct group_project { uint32_t id; };
static const struct wire_field group_project_fields[] = {
    WIRE_F_U32(struct group_project, id, "id", ID),
};
static const struct wire_table group_project_table =
    WIRE_TABLE("project of a group", struct group_project, group_project_fields);

static const struct wire_field preempt_fields[] = {
    WIRE_F_BOOL(struct preempt_policy, enabled, "enabled", OMIT),
    WIRE_F_ENUM(struct preempt_policy, mode, "mode", names_preempt_mode, .def = PREEMPT_TERMINATE),
    WIRE_F_ENUM(struct preempt_policy, scope, "scope", names_preempt_scope, .def = SCOPE_USER),
    WIRE_F_ENUM(struct preempt_policy, order, "order", names_preempt_order, .def = VICTIM_NEWEST),
    WIRE_F_I64(struct preempt_policy, min_runtime_ms, "min_runtime_ms", OMIT),
};
static const struct wire_table preempt_table =
    WIRE_TABLE("preemption", struct preempt_policy, preempt_fields);

static const struct wire_field group_fields[] = {
    WIRE_F_U32(struct group, id, "id", ID),
    WIRE_F_TEXT(struct group, name, "name", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_ENUM(struct group, order, "order", names_queue_order, .def = ORDER_FIFO),
    WIRE_F_ENUM(struct group, on_blocked, "on_blocked", names_on_blocked, .flags = WIRE_REQUIRED),
    WIRE_F_U32(struct group, reserve_depth, "reserve_depth", .min = 1, .max = UINT32_MAX,
               .def = GROUP_RESERVE_DEPTH),
    WIRE_F_U32(struct group, test_depth, "test_depth", .min = 1, .max = UINT32_MAX,
               .def = GROUP_TEST_DEPTH),
    WIRE_F_I64(struct group, undated_ms, "undated_ms", .min = 0, .max = SESSION_TIME_MAX_MS,
               .def = GROUP_UNDATED_MS),
    WIRE_F_BOOL(struct group, backfill_shortest, "backfill_shortest", OMIT),
    WIRE_F_U32(struct group, lower_after, "lower_after", .def = GROUP_LOWER_AFTER),
    WIRE_F_I32(struct group, lower_by, "lower_by", .min = 0, .max = SESSION_PRIORITY_MAX,
               .def = GROUP_LOWER_BY),
    WIRE_F_ENUM(struct group, strategy, "strategy", names_place_strategy,
                .def = STRATEGY_CONCENTRATED),
    WIRE_F_U32(struct group, round_robin_node, "round_robin_node", OMIT),
    WIRE_F_OBJECT(struct group, preempt, "preempt", &preempt_table),
    WIRE_F_I64(struct group, fence_ms, "fence_ms", .min = GROUP_FENCE_MIN_MS,
               .max = GROUP_FENCE_MAX_MS, .def = GROUP_FENCE_MS),
    WIRE_F_BOOL(struct group, host_network, "host_network", OMIT),
    WIRE_F_I64(struct group, time_max_ms, "time_max_ms", OMIT),
    WIRE_F_ARRAY(struct group, projects, n_projects, "projects", &group_project_table, OMIT),
    WIRE_F_I64(struct group, time_limit_ms[KIND_BATCH], "time_limit_batch_ms", OMIT),
    WIRE_F_I64(struct group, time_limit_ms[KIND_INTERACTIVE], "time_limit_interactive_ms", OMIT),
    WIRE_F_I64(struct group, time_limit_ms[KIND_SERVICE], "time_limit_service_ms", OMIT),
};
const struct wire_table wire_row_group =
    WIRE_TABLE("group row", struct group, group_fields, .version = 1);

static const struct wire_field limits_fields[] = {
    WIRE_F_U32(struct limits, set, "set", OMIT, .max = (1u << LIMIT_KINDS) - 1),
    WIRE_F_I64(struct limits, max[LIMIT_CPU], "cpu_milli", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct limits, max[LIMIT_MEM], "mem_bytes", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct limits, max[LIMIT_GPU], "gpu", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct limits, max[LIMIT_RUNNING], "running", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct limits, max[LIMIT_PENDING], "pending", OMIT, .min = 0, .max = INT64_MAX),
    WIRE_F_I64(struct limits, max[LIMIT_CONTAINERS], "containers", OMIT, .min = 0,
               .max = INT64_MAX),
};
static const struct wire_table limits_table = WIRE_TABLE("limits", struct limits, limits_fields);

static const struct wire_field domain_fields[] = {
    WIRE_F_U32(struct domain, id, "id", ID),
    WIRE_F_TEXT(struct domain, name, "name", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_OBJECT(struct domain, limits, "limits", &limits_table, OMIT),
};
const struct wire_table wire_row_domain =
    WIRE_TABLE("domain row", struct domain, domain_fields, .version = 1);

static const struct wire_field project_fields[] = {
    WIRE_F_U32(struct project, id, "id", ID),
    WIRE_F_U32(struct project, domain, "domain", ID),
    WIRE_F_TEXT(struct project, name, "name", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_OBJECT(struct project, limits, "limits", &limits_table, OMIT),
};
const struct wire_table wire_row_project =
    WIRE_TABLE("project row", struct project, project_fields, .version = 1);

static const struct wire_field user_fields[] = {
    WIRE_F_U32(struct user, id, "id", ID),
    WIRE_F_U32(struct user, domain, "domain", ID),
    WIRE_F_TEXT(struct user, name, "name", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_OBJECT(struct user, limits, "limits", &limits_table, OMIT),
    WIRE_F_ENUM(struct user, role, "role", names_account_role, .flags = WIRE_REQUIRED),
    WIRE_F_U32(struct user, uid, "uid", .flags = WIRE_REQUIRED),
    WIRE_F_U32(struct user, gid, "gid", .flags = WIRE_REQUIRED),
    WIRE_F_BOOL(struct user, disabled, "disabled", OMIT),
};
const struct wire_table wire_row_user =
    WIRE_TABLE("user row", struct user, user_fields, .version = 1);

static const struct wire_field reservation_part_fields[] = {
    WIRE_F_U32(struct reservation_part, node, "node", ID),
    WIRE_F_U32(struct reservation_part, devices, "devices", OMIT),
};
static const struct wire_table reservation_part_table =
    WIRE_TABLE("part of a reservation", struct reservation_part, reservation_part_fields);

static const struct wire_field reservation_fields[] = {
    WIRE_F_U32(struct reservation, id, "id", ID),
    WIRE_F_TEXT(struct reservation, name, "name", OMIT),
    WIRE_F_U32(struct reservation, group, "group", ID),
    WIRE_F_U32(struct reservation, user, "user", OMIT),
    WIRE_F_U32(struct reservation, project, "project", OMIT),
    WIRE_F_U64(struct reservation, since, "since", OMIT),
    WIRE_F_I64(struct reservation, slots.v[SLOT_CPU], "cpu_milli", OMIT, .min = 0,
               .max = SLOT_MAX),
    WIRE_F_I64(struct reservation, slots.v[SLOT_MEM], "mem_bytes", OMIT, .min = 0,
               .max = SLOT_MAX),
    WIRE_F_I64(struct reservation, slots.v[SLOT_GPU], "gpu", OMIT, .min = 0, .max = SLOT_MAX),
    WIRE_F_ARRAY(struct reservation, parts, n_parts, "parts", &reservation_part_table,
                 .flags = WIRE_REQUIRED),
    WIRE_F_I64(struct reservation, start_ms, "start_ms", .flags = WIRE_REQUIRED),
    WIRE_F_I64(struct reservation, end_ms, "end_ms", .flags = WIRE_REQUIRED),
    WIRE_F_I64(struct reservation, start_wall_ms, "start_wall_ms", OMIT),
    WIRE_F_I64(struct reservation, end_wall_ms, "end_wall_ms", OMIT),
};
const struct wire_table wire_row_reservation =
    WIRE_TABLE("reservation row", struct reservation, reservation_fields, .version = 1);

/* A line of history that is about no session has no state either. */
static const struct wire_name history_state[] = {
    {0, ""}, {SESSION_PENDING, "pending"}, {SESSION_RESERVED, "reserved"},
    {SESSION_ALLOCATED, "allocated"}, {SESSION_PREPARING, "preparing"},
    {SESSION_READY, "ready"}, {SESSION_STARTING, "starting"}, {SESSION_RUNNING, "running"},
    {SESSION_STOPPING, "stopping"}, {SESSION_ENDED, "ended"}, {0, NULL},
};
static const struct wire_field history_fields[] = {
    WIRE_F_ENUM(struct history, what, "what", names_history, .flags = WIRE_REQUIRED),
    WIRE_F_U64(struct history, session, "session", OMIT),
    WIRE_F_U32(struct history, node, "node", OMIT),
    WIRE_F_U32(struct history, actor, "actor", OMIT),
    WIRE_F_ENUM(struct history, state, "state", history_state, OMIT),
    WIRE_F_ENUM(struct history, outcome, "outcome", names_session_outcome, OMIT),
    WIRE_F_U32(struct history, attempt, "attempt", OMIT),
    WIRE_F_I64(struct history, wall_ms, "wall_ms", OMIT),
    WIRE_F_I64(struct history, now_ms, "now_ms", OMIT),
    WIRE_F_TEXT(struct history, text, "text", OMIT),
};
const struct wire_table wire_row_history =
    WIRE_TABLE("history row", struct history, history_fields, .version = 1);
