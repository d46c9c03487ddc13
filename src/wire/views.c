/* wire/views.c - what people read: sessions, nodes, groups, history, reasons, errors. */
#include "wire/objects.h"

#define OMIT .flags = WIRE_OMIT
/* A number that may be unknown: then it is not there. */
#define MAYBE .flags = WIRE_OMIT, .def = -1, .min = -1, .max = INT64_MAX

static const struct wire_field slots_fields[] = {
    WIRE_F_I64(struct slots_view, cpu_milli, "cpu_milli", .doc = "Thousandths of a core."),
    WIRE_F_I64(struct slots_view, mem_bytes, "mem_bytes", .doc = "Memory."),
    WIRE_F_I64(struct slots_view, gpu, "gpu", .doc = "Whole devices."),
};
static const struct wire_table slots_table = WIRE_TABLE("slots", struct slots_view, slots_fields);

static const struct wire_field role_fields[] = {
    WIRE_F_TEXT(struct role_view, name, "name", .doc = "Of the role."),
    WIRE_F_U32(struct role_view, count, "count", .doc = "Containers."),
    WIRE_F_I64(struct role_view, cpu_milli, "cpu_milli", .doc = "Of one container."),
    WIRE_F_I64(struct role_view, mem_bytes, "mem_bytes", .doc = "Of one container."),
    WIRE_F_I64(struct role_view, gpu, "gpu", .doc = "Of one container."),
};
static const struct wire_table role_table = WIRE_TABLE("role", struct role_view, role_fields);

static const struct wire_field session_fields[] = {
    WIRE_F_TEXT(struct session_view, id, "id", .flags = WIRE_REQUIRED, .doc = "Number, as s17."),
    WIRE_F_TEXT(struct session_view, name, "name", .doc = "Unique among the owner's live ones."),
    WIRE_F_TEXT(struct session_view, owner, "owner", .doc = "User."),
    WIRE_F_TEXT(struct session_view, project, "project", .doc = "Accounted to."),
    WIRE_F_TEXT(struct session_view, group, "group", .doc = "Runs in."),
    WIRE_F_ENUM(struct session_view, kind, "kind", names_session_kind, .def = KIND_BATCH,
                .doc = "What it is for."),
    WIRE_F_ENUM(struct session_view, state, "state", names_session_state,
                .flags = WIRE_REQUIRED, .def = SESSION_PENDING, .doc = "Where it is."),
    WIRE_F_ENUM(struct session_view, outcome, "outcome", names_session_outcome, OMIT,
                .doc = "How it ended; while stopping, why."),
    WIRE_F_I32(struct session_view, priority, "priority", .doc = "0 to 100."),
    WIRE_F_U32(struct session_view, attempt, "attempt", .doc = "Of the present start; 0: none."),
    WIRE_F_U32(struct session_view, failed_starts, "failed_starts", OMIT, .doc = "In a row."),
    WIRE_F_U32(struct session_view, members, "members", .doc = "Containers in all."),
    WIRE_F_OBJECT(struct session_view, total, "total", &slots_table, .doc = "Of all containers."),
    WIRE_F_ARRAY(struct session_view, roles, n_roles, "roles", &role_table, .doc = "Shapes."),
    WIRE_F_TEXTS(struct session_view, nodes, "nodes", SESSION_MEMBERS_MAX, 65536,
                 .doc = "Where it is, or was."),
    WIRE_F_TEXT(struct session_view, submitted_at, "submitted_at", OMIT, .doc = "When."),
    WIRE_F_TEXT(struct session_view, started_at, "started_at", OMIT, .doc = "When it first ran."),
    WIRE_F_TEXT(struct session_view, ended_at, "ended_at", OMIT, .doc = "When."),
    WIRE_F_I64(struct session_view, time_limit_ms, "time_limit_ms", OMIT, .doc = "0: none."),
    WIRE_F_I64(struct session_view, age_ms, "age_ms", OMIT, .doc = "Since it entered its state."),
    WIRE_F_I32(struct session_view, exit_code, "exit_code", OMIT, .def = -1, .min = -1, .max = 255,
               .doc = "Of the main container."),
    WIRE_F_I32(struct session_view, signal, "signal", OMIT, .doc = "That ended it."),
    WIRE_F_BOOL(struct session_view, oom, "oom", OMIT, .doc = "The memory limit ended it."),
    WIRE_F_I64(struct session_view, cpu_us, "cpu_us", MAYBE,
               .doc = "CPU time: of this attempt while it runs, of all attempts once it ended."),
    WIRE_F_I64(struct session_view, cpu_used_milli, "cpu_used_milli", MAYBE,
               .doc = "CPU over the last half minute, all containers."),
    WIRE_F_I64(struct session_view, mem_used_bytes, "mem_used_bytes", MAYBE,
               .doc = "Memory of all containers, with cached files."),
    WIRE_F_I64(struct session_view, mem_peak_bytes, "mem_peak_bytes", MAYBE,
               .doc = "The most that one container had."),
    WIRE_F_BOOL(struct session_view, alarm, "alarm", OMIT,
                .doc = "Stopping for longer than its grace: somebody should look."),
    WIRE_F_BOOL(struct session_view, preemptible, "preemptible", OMIT,
                .doc = "May have to make room for others."),
    WIRE_F_BOOL(struct session_view, hold, "hold", OMIT, .doc = "Waits for its release."),
    WIRE_F_I32(struct session_view, lowered, "lowered", OMIT,
               .doc = "It queues at priority less this: it blocked others for long."),
    WIRE_F_U32(struct session_view, restarts, "restarts", OMIT, .doc = "So far."),
    WIRE_F_U32(struct session_view, restart_max, "restart_max", OMIT, .doc = "After failures."),
    WIRE_F_TEXT(struct session_view, array, "array", OMIT, .doc = "First task of its array."),
    WIRE_F_U32(struct session_view, array_index, "array_index", OMIT, .doc = "Of this task."),
    WIRE_F_U32(struct session_view, array_count, "array_count", OMIT, .doc = "Tasks."),
    WIRE_F_U32(struct session_view, array_limit, "array_limit", OMIT, .doc = "Tasks at once."),
    WIRE_F_TEXTS(struct session_view, after, "after", SESSION_DEPENDS_MAX, 1024, OMIT,
                 .doc = "What it still waits for."),
    WIRE_F_I64(struct session_view, start_in_ms, "start_in_ms", OMIT,
               .doc = "Until it may start."),
    WIRE_F_TEXT(struct session_view, detail, "detail", OMIT, .doc = "What its node said."),
    WIRE_F_TEXT(struct session_view, reason, "reason", OMIT, .doc = "Why it is where it is."),
    WIRE_F_RAW(struct session_view, spec, "spec", 1 << 20, .doc = "The submission."),
};
const struct wire_table wire_session_view =
    WIRE_TABLE("session", struct session_view, session_fields);

static const struct wire_field device_fields[] = {
    WIRE_F_U32(struct device_view, index, "index", .doc = "On its node."),
    WIRE_F_TEXT(struct device_view, uuid, "uuid", .doc = "Of the device."),
    WIRE_F_TEXT(struct device_view, model, "model", .doc = "Of the device."),
    WIRE_F_I64(struct device_view, mem_bytes, "mem_bytes", .doc = "Its memory."),
    WIRE_F_TEXT(struct device_view, pci, "pci", OMIT, .doc = "Its place on the bus."),
    WIRE_F_ENUM(struct device_view, health, "health", names_device_health,
                .doc = "Only a healthy one is given."),
    WIRE_F_TEXT(struct device_view, why, "why", OMIT, .doc = "It is not healthy."),
    WIRE_F_I64(struct device_view, since_ms, "since_ms", OMIT,
               .doc = "Not healthy since then, by its node's clock."),
    WIRE_F_BOOL(struct device_view, simulated, "simulated", OMIT, .doc = "No real hardware."),
    WIRE_F_TEXT(struct device_view, numa, "numa", OMIT, .doc = "Its NUMA node."),
    WIRE_F_TEXTS(struct device_view, links, "links", NODE_DEVICES_MAX, 128, OMIT,
                 .doc = "To each device of the node: NV#, PIX, PHB, NODE, SYS, ?, itself X."),
    WIRE_F_TEXT(struct device_view, session, "session", OMIT, .doc = "That holds it."),
};
static const struct wire_table device_table =
    WIRE_TABLE("device", struct device_view, device_fields);

static const struct wire_field node_fields[] = {
    WIRE_F_U32(struct node_view, id, "id", .doc = "Number."),
    WIRE_F_TEXT(struct node_view, name, "name", .flags = WIRE_REQUIRED, .doc = "Name."),
    WIRE_F_TEXT(struct node_view, group, "group", .doc = "Resource group."),
    WIRE_F_TEXT(struct node_view, state, "state",
                .doc = "ready, cordoned, draining, drained, unhealthy, quarantined, unreachable, "
                       "unheard."),
    WIRE_F_BOOL(struct node_view, cordoned, "cordoned", .doc = "Nothing new is placed here."),
    WIRE_F_TEXT(struct node_view, cordon_reason, "cordon_reason", OMIT, .doc = "Why."),
    WIRE_F_TEXT(struct node_view, cordoned_by, "cordoned_by", OMIT, .doc = "Who said so."),
    WIRE_F_TEXT(struct node_view, cordoned_at, "cordoned_at", OMIT, .doc = "And when."),
    WIRE_F_I64(struct node_view, drain_in_ms, "drain_in_ms", OMIT,
               .doc = "Until who is still there has to go."),
    WIRE_F_BOOL(struct node_view, unreachable, "unreachable", .doc = "Silent; nothing is stopped."),
    WIRE_F_BOOL(struct node_view, quarantined, "quarantined", OMIT,
                .doc = "Sessions in a row failed to start here; uncordon opens it."),
    WIRE_F_TEXTS(struct node_view, failed_by, "failed_by", NODE_QUARANTINE_AFTER, 128, OMIT,
                 .doc = "These, in a row."),
    WIRE_F_TEXT(struct node_view, unhealthy, "unhealthy", OMIT,
                .doc = "Why its own script lets nothing new come."),
    WIRE_F_TEXT(struct node_view, labels, "labels", OMIT, .doc = "What sessions may ask for."),
    WIRE_F_TEXT(struct node_view, arch, "arch", OMIT, .doc = "Its architecture."),
    WIRE_F_OBJECT(struct node_view, capacity, "capacity", &slots_table, .doc = "For sessions."),
    WIRE_F_OBJECT(struct node_view, used, "used", &slots_table, .doc = "Sum of what runs here."),
    WIRE_F_U32(struct node_view, sessions, "sessions", .doc = "Containers here."),
    WIRE_F_ARRAY(struct node_view, devices, n_devices, "devices", &device_table,
                 .doc = "Its devices."),
    WIRE_F_BOOL(struct node_view, simulated, "simulated", OMIT, .doc = "Has simulated devices."),
    WIRE_F_I64(struct node_view, silent_ms, "silent_ms", OMIT, .doc = "Since its last report."),
    WIRE_F_TEXT(struct node_view, data_addr, "data_addr", OMIT, .doc = "Its data port."),
    WIRE_F_TEXT(struct node_view, version, "version", OMIT, .doc = "Of its agent."),
    WIRE_F_TEXT(struct node_view, facts, "facts", OMIT, .doc = "What its agent remarks."),
    WIRE_F_TEXT(struct node_view, boot_id, "boot_id", OMIT, .doc = "Of the running kernel."),
};
const struct wire_table wire_node_view = WIRE_TABLE("node", struct node_view, node_fields);

static const struct wire_field preempt_fields[] = {
    WIRE_F_BOOL(struct preempt_policy, enabled, "enabled", .doc = "Others may have to make room."),
    WIRE_F_ENUM(struct preempt_policy, mode, "mode", names_preempt_mode, .def = PREEMPT_TERMINATE,
                .doc = "What happens to them."),
    WIRE_F_ENUM(struct preempt_policy, scope, "scope", names_preempt_scope, .def = SCOPE_USER,
                .doc = "Whose."),
    WIRE_F_ENUM(struct preempt_policy, order, "order", names_preempt_order, .def = VICTIM_NEWEST,
                .doc = "Who first, of equal priority."),
    WIRE_F_I64(struct preempt_policy, min_runtime_ms, "min_runtime_ms",
               .doc = "Nobody before it ran so long."),
};
static const struct wire_table preempt_table =
    WIRE_TABLE("preemption", struct preempt_policy, preempt_fields);

static const struct wire_field group_fields[] = {
    WIRE_F_U32(struct group_view, id, "id", .doc = "Number."),
    WIRE_F_TEXT(struct group_view, name, "name", .flags = WIRE_REQUIRED, .doc = "Name."),
    WIRE_F_ENUM(struct group_view, order, "order", names_queue_order, .def = ORDER_FIFO,
                .doc = "Inside a priority."),
    WIRE_F_ENUM(struct group_view, on_blocked, "on_blocked", names_on_blocked,
                .def = BLOCKED_BACKFILL, .doc = "What a blocked head does to those behind it."),
    WIRE_F_I64(struct group_view, time_limit_batch_ms, "time_limit_batch_ms", .doc = "0: none."),
    WIRE_F_I64(struct group_view, time_limit_interactive_ms, "time_limit_interactive_ms",
               .doc = "0: none."),
    WIRE_F_I64(struct group_view, time_limit_service_ms, "time_limit_service_ms",
               .doc = "0: none."),
    WIRE_F_I64(struct group_view, time_max_ms, "time_max_ms", .doc = "0: no bound."),
    WIRE_F_I64(struct group_view, fence_after_ms, "fence_after_ms", .def = GROUP_FENCE_MS,
               .doc = "After so long without an answer what is to be requeued ends there."),
    WIRE_F_U32(struct group_view, reserve_depth, "reserve_depth", .def = GROUP_RESERVE_DEPTH,
               .doc = "Blocked sessions that are promised room; 4294967295: all."),
    WIRE_F_U32(struct group_view, test_depth, "test_depth", .def = GROUP_TEST_DEPTH,
               .doc = "Searches for those behind, a pass."),
    WIRE_F_I64(struct group_view, undated_ms, "undated_ms", .def = GROUP_UNDATED_MS,
               .doc = "A head that cannot be dated then holds others back."),
    WIRE_F_U32(struct group_view, lower_after, "lower_after", .def = GROUP_LOWER_AFTER,
               .doc = "Failed attempts; 0: never lowered."),
    WIRE_F_I32(struct group_view, lower_by, "lower_by", .def = GROUP_LOWER_BY,
               .doc = "Of its priority."),
    WIRE_F_ENUM(struct group_view, strategy, "strategy", names_place_strategy,
                .def = STRATEGY_CONCENTRATED, .doc = "Which of the nodes with room."),
    WIRE_F_OBJECT(struct group_view, preempt, "preempt", &preempt_table,
                  .doc = "Making room for higher priorities."),
    WIRE_F_BOOL(struct group_view, host_network, "host_network",
                .doc = "Sessions may use the network of the machine itself."),
    WIRE_F_BOOL(struct group_view, restricted, "restricted", OMIT,
                .doc = "Some projects alone may use it."),
    WIRE_F_TEXTS(struct group_view, projects, "projects", GROUP_PROJECTS_MAX, 2048,
                 .doc = "Those that may use it, as far as you may know of them."),
    WIRE_F_U32(struct group_view, nodes, "nodes", .doc = "How many."),
    WIRE_F_U32(struct group_view, pending, "pending", .doc = "Sessions that wait."),
    WIRE_F_U32(struct group_view, live, "live", .doc = "Sessions that have not ended."),
};
const struct wire_table wire_group_view = WIRE_TABLE("group", struct group_view, group_fields);

static const struct wire_field event_fields[] = {
    WIRE_F_TEXT(struct event_view, id, "id", .doc = "Cursor: turn and index."),
    WIRE_F_TEXT(struct event_view, event, "event", .flags = WIRE_REQUIRED, .doc = "What happened."),
    WIRE_F_TEXT(struct event_view, at, "at", .doc = "When."),
    WIRE_F_TEXT(struct event_view, session, "session", OMIT, .doc = "Its id."),
    WIRE_F_TEXT(struct event_view, name, "name", OMIT, .doc = "Of the session."),
    WIRE_F_TEXT(struct event_view, node, "node", OMIT, .doc = "Where."),
    WIRE_F_TEXT(struct event_view, actor, "actor", OMIT, .doc = "Who; absent: the system."),
    WIRE_F_TEXT(struct event_view, state, "state", OMIT, .doc = "Of the session since."),
    WIRE_F_TEXT(struct event_view, outcome, "outcome", OMIT, .doc = "Of the session."),
    WIRE_F_U32(struct event_view, attempt, "attempt", OMIT, .doc = "Of the session."),
    WIRE_F_TEXT(struct event_view, text, "text", OMIT, .doc = "A sentence."),
};
const struct wire_table wire_event_view = WIRE_TABLE("event", struct event_view, event_fields);

static const struct wire_field excess_fields[] = {
    WIRE_F_TEXT(struct excess_view, level, "level", .doc = "user, project or domain."),
    WIRE_F_TEXT(struct excess_view, name, "name", .doc = "Of the user, project or domain."),
    WIRE_F_TEXT(struct excess_view, what, "what", .doc = "cpu, mem, gpu or running."),
    WIRE_F_I64(struct excess_view, used, "used", .doc = "Now."),
    WIRE_F_I64(struct excess_view, asked, "asked", .doc = "By this session."),
    WIRE_F_I64(struct excess_view, limit, "limit", .doc = "The most."),
};
static const struct wire_table excess_table =
    WIRE_TABLE("excess", struct excess_view, excess_fields);

static const struct wire_field why_fields[] = {
    WIRE_F_TEXT(struct why_view, session, "session", .flags = WIRE_REQUIRED,
                .doc = "Its id; of a check the one that it would get now."),
    WIRE_F_TEXT(struct why_view, name, "name", .doc = "Its name."),
    WIRE_F_ENUM(struct why_view, state, "state", names_session_state, .def = SESSION_PENDING,
                .doc = "Where it is."),
    WIRE_F_ENUM(struct why_view, kind, "kind", names_why_kind, .doc = "Why it is there."),
    WIRE_F_TEXT(struct why_view, text, "text", .doc = "The same for people, with the numbers."),
    WIRE_F_TEXT(struct why_view, wait, "wait", OMIT,
                .doc = "What it waits for: hold, dependency, start, backoff, proof, array."),
    WIRE_F_ARRAY(struct why_view, excess, n_excess, "excess", &excess_table, OMIT,
                 .doc = "Limits in its way, all of them."),
    WIRE_F_TEXT(struct why_view, estimate, "estimate", OMIT,
                .doc = "dated, or why there is no date: waits, over, later, undated, behind."),
    WIRE_F_I64(struct why_view, expected_in_ms, "expected_in_ms", OMIT, .def = -1,
               .min = -1, .max = INT64_MAX, .doc = "Until it may expect to start."),
    WIRE_F_TEXT(struct why_view, expected, "expected", OMIT, .doc = "And what that rests on."),
    WIRE_F_TEXT(struct why_view, rests_on, "rests_on", OMIT,
                .doc = "Who has to end before, or has no time limit."),
    WIRE_F_TEXT(struct why_view, node, "node", OMIT, .doc = "Where it would start."),
    WIRE_F_TEXT(struct why_view, blocker, "blocker", OMIT, .doc = "The session ahead."),
    WIRE_F_U32(struct why_view, place, "place", OMIT, .doc = "In the queue, from 1."),
    WIRE_F_U32(struct why_view, queue_length, "queue_length", OMIT, .doc = "Of its group."),
    WIRE_F_U32(struct why_view, nodes, "nodes", OMIT, .doc = "Of its group."),
    WIRE_F_U32(struct why_view, unreachable, "unreachable", OMIT, .doc = "Nodes left out."),
    WIRE_F_U32(struct why_view, cordoned, "cordoned", OMIT, .doc = "Nodes left out."),
    WIRE_F_U32(struct why_view, quarantined, "quarantined", OMIT, .doc = "Nodes left out."),
    WIRE_F_U32(struct why_view, unhealthy, "unhealthy", OMIT, .doc = "Nodes left out."),
    WIRE_F_U32(struct why_view, filtered, "filtered", OMIT,
               .doc = "Nodes that its constraints leave out."),
    WIRE_F_U32(struct why_view, too_small, "too_small", OMIT, .doc = "Nodes left out."),
    WIRE_F_U32(struct why_view, busy, "busy", OMIT, .doc = "Nodes without room now."),
    WIRE_F_TEXT(struct why_view, nearest_node, "nearest_node", OMIT, .doc = "Lacks least."),
    WIRE_F_OBJECT(struct why_view, missing, "missing", &slots_table, OMIT, .doc = "There."),
    WIRE_F_I64(struct why_view, since_ms, "since_ms", OMIT, .doc = "For how long already."),
    WIRE_F_I64(struct why_view, retry_in_ms, "retry_in_ms", OMIT, .doc = "Until the next try."),
    WIRE_F_U32(struct why_view, failed_starts, "failed_starts", OMIT, .doc = "In a row."),
};
const struct wire_table wire_why_view = WIRE_TABLE("why", struct why_view, why_fields);

static const struct wire_field queue_fields[] = {
    WIRE_F_U32(struct queue_entry_view, place, "place", .doc = "From 1."),
    WIRE_F_TEXT(struct queue_entry_view, id, "id", .flags = WIRE_REQUIRED, .doc = "Session."),
    WIRE_F_TEXT(struct queue_entry_view, name, "name", .doc = "Session."),
    WIRE_F_TEXT(struct queue_entry_view, owner, "owner", .doc = "User."),
    WIRE_F_TEXT(struct queue_entry_view, group, "group", .doc = "Resource group."),
    WIRE_F_I32(struct queue_entry_view, priority, "priority", .doc = "0 to 100."),
    WIRE_F_OBJECT(struct queue_entry_view, total, "total", &slots_table, .doc = "Asked."),
    WIRE_F_I64(struct queue_entry_view, waiting_ms, "waiting_ms", .doc = "For how long."),
    WIRE_F_TEXT(struct queue_entry_view, kind, "kind", .doc = "Of the reason."),
    WIRE_F_TEXT(struct queue_entry_view, reason, "reason", .doc = "Why it waits."),
    WIRE_F_I64(struct queue_entry_view, expected_in_ms, "expected_in_ms", OMIT, .def = -1,
               .min = -1, .max = INT64_MAX, .doc = "Until it may expect to start."),
    WIRE_F_TEXT(struct queue_entry_view, expected, "expected", OMIT,
                .doc = "And what that rests on."),
};
const struct wire_table wire_queue_entry_view =
    WIRE_TABLE("queue entry", struct queue_entry_view, queue_fields);

static const struct wire_field version_fields[] = {
    WIRE_F_TEXT(struct version_view, version, "version", .doc = "Of the program."),
    WIRE_F_U32(struct version_view, protocol, "protocol", .doc = "Spoken."),
    WIRE_F_TEXT(struct version_view, cluster, "cluster", OMIT, .doc = "Id."),
    WIRE_F_TEXT(struct version_view, incarnation, "incarnation", OMIT, .doc = "Of the store."),
};
const struct wire_table wire_version_view =
    WIRE_TABLE("version", struct version_view, version_fields);

static const struct wire_field join_token_fields[] = {
    WIRE_F_STRING(struct join_token_answer, token, "token", 256,
                  .flags = WIRE_REQUIRED | WIRE_SECRET, .doc = "Given to a new agent or proxy."),
    WIRE_F_TEXT(struct join_token_answer, ca_sha256, "ca_sha256", .doc = "Hex."),
    WIRE_F_TEXT(struct join_token_answer, agent_url, "agent_url", .doc = "Where to join."),
};
const struct wire_table wire_join_token_answer =
    WIRE_TABLE("join token", struct join_token_answer, join_token_fields);

static const struct wire_field problem_fields[] = {
    WIRE_F_TEXT(struct problem, type, "type", .def_text = "about:blank", .doc = "RFC 9457."),
    WIRE_F_TEXT(struct problem, title, "title", .doc = "Of the status."),
    WIRE_F_U32(struct problem, status, "status", .doc = "Of the answer."),
    WIRE_F_TEXT(struct problem, code, "code", .doc = "Stable word for programs."),
    WIRE_F_TEXT(struct problem, detail, "detail", OMIT, .doc = "A sentence for people."),
    WIRE_F_TEXT(struct problem, field, "field", OMIT, .doc = "Of the input, at fault."),
};
const struct wire_table wire_problem = WIRE_TABLE("problem", struct problem, problem_fields);

#define LIST_TABLE(noun, most) \
    static const struct wire_field noun##_list_fields[] = { \
        WIRE_F_LIST(struct noun##_list, items, "items", &wire_##noun##_view, most, \
                    .flags = WIRE_REQUIRED, .doc = "In order."), \
        WIRE_F_TEXT(struct noun##_list, next, "next", .doc = "Cursor; empty: no more."), \
    }; \
    const struct wire_table wire_##noun##_list = \
        WIRE_TABLE(#noun " list", struct noun##_list, noun##_list_fields, \
                   .max_bytes = (size_t)64 << 20)
LIST_TABLE(session, 1000);
LIST_TABLE(node, 10000);
LIST_TABLE(group, 10000);
LIST_TABLE(event, 1000);

static const struct wire_field queue_list_fields[] = {
    WIRE_F_LIST(struct queue_list, items, "items", &wire_queue_entry_view, 100000,
                .flags = WIRE_REQUIRED, .doc = "In scheduling order."),
    WIRE_F_TEXT(struct queue_list, next, "next", .doc = "Cursor; empty: no more."),
};
const struct wire_table wire_queue_list =
    WIRE_TABLE("queue", struct queue_list, queue_list_fields, .max_bytes = (size_t)64 << 20);

/* ---- orphans */

static const struct wire_field orphan_request_fields[] = {
    WIRE_F_TEXT(struct orphan_request, ref, "ref", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "SESSION.ATTEMPT.MEMBER, as listed."),
};
const struct wire_table wire_orphan_request =
    WIRE_TABLE("orphan", struct orphan_request, orphan_request_fields);

static const struct wire_field orphan_fields[] = {
    WIRE_F_TEXT(struct orphan_view, node, "node", .doc = "Where it is."),
    WIRE_F_TEXT(struct orphan_view, ref, "ref", .doc = "SESSION.ATTEMPT.MEMBER of its store."),
    WIRE_F_TEXT(struct orphan_view, phase, "phase", .flags = WIRE_OMIT, .doc = "How far it is."),
    WIRE_F_BOOL(struct orphan_view, ending, "ending", .flags = WIRE_OMIT,
                .doc = "Its node is told to end it."),
};
const struct wire_table wire_orphan_view = WIRE_TABLE("orphan", struct orphan_view, orphan_fields);
static const struct wire_field orphan_list_fields[] = {
    WIRE_F_LIST(struct orphan_list, items, "items", &wire_orphan_view, 4096),
    WIRE_F_TEXT(struct orphan_list, next, "next", .flags = WIRE_OMIT),
};
const struct wire_table wire_orphan_list =
    WIRE_TABLE("orphans", struct orphan_list, orphan_list_fields);
