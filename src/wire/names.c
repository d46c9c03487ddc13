/* wire/names.c - words for enum values; tests compare them with those of the core. */
#include "wire/names.h"

#include "core/explain.h"
#include "core/model/world.h"
#include "core/step.h"
#include "wire/objects.h"

#define END {0, NULL}

const struct wire_name names_session_state[] = {
    {SESSION_PENDING, "pending"},     {SESSION_RESERVED, "reserved"},
    {SESSION_ALLOCATED, "allocated"}, {SESSION_PREPARING, "preparing"},
    {SESSION_READY, "ready"},         {SESSION_STARTING, "starting"},
    {SESSION_RUNNING, "running"},     {SESSION_STOPPING, "stopping"},
    {SESSION_ENDED, "ended"},         END,
};
const struct wire_name names_session_outcome[] = {
    {OUTCOME_NONE, ""},
    {OUTCOME_SUCCEEDED, "succeeded"},
    {OUTCOME_FAILED, "failed"},
    {OUTCOME_CANCELLED, "cancelled"},
    {OUTCOME_TIMED_OUT, "timed_out"},
    {OUTCOME_PREEMPTED, "preempted"},
    {OUTCOME_IDLE, "idle"},
    {OUTCOME_LOST, "lost"},
    END,
};
const struct wire_name names_session_kind[] = {
    {KIND_BATCH, "batch"}, {KIND_INTERACTIVE, "interactive"}, {KIND_SERVICE, "service"}, END,
};
const struct wire_name names_member_phase[] = {
    {MEMBER_NONE, "none"},         {MEMBER_PREPARING, "preparing"}, {MEMBER_READY, "ready"},
    {MEMBER_STARTING, "starting"}, {MEMBER_RUNNING, "running"},     {MEMBER_STOPPING, "stopping"},
    {MEMBER_EXITED, "exited"},     {MEMBER_FAILED, "failed"},       END,
};
const struct wire_name names_want_act[] = {
    {WANT_HOLD, "hold"}, {WANT_RUN, "run"}, {WANT_STOP, "stop"}, END,
};
const struct wire_name names_on_blocked[] = {
    {BLOCKED_STOP, "stop"}, {BLOCKED_SKIP, "skip"}, {BLOCKED_BACKFILL, "backfill"}, END,
};
const struct wire_name names_queue_order[] = { /* the others are for simulations alone */
    {ORDER_FIFO, "fifo"}, {ORDER_LIFO, "lifo"}, END,
};
const struct wire_name names_place_strategy[] = {
    {STRATEGY_CONCENTRATED, "concentrated"},       {STRATEGY_DISPERSED, "dispersed"},
    {STRATEGY_ROUND_ROBIN, "round_robin"},         {STRATEGY_LEAST_ALLOCATED, "least_allocated"},
    {STRATEGY_MOST_ALLOCATED, "most_allocated"},   {STRATEGY_BEST_FIT, "best_fit"},
    END,
};
const struct wire_name names_place_strategy_or_none[] = {
    {0, ""},
    {STRATEGY_CONCENTRATED, "concentrated"},       {STRATEGY_DISPERSED, "dispersed"},
    {STRATEGY_ROUND_ROBIN, "round_robin"},         {STRATEGY_LEAST_ALLOCATED, "least_allocated"},
    {STRATEGY_MOST_ALLOCATED, "most_allocated"},   {STRATEGY_BEST_FIT, "best_fit"},
    END,
};
const struct wire_name names_preempt_mode[] = {
    {PREEMPT_TERMINATE, "terminate"}, {PREEMPT_REQUEUE, "requeue"}, END,
};
const struct wire_name names_preempt_scope[] = {
    {SCOPE_USER, "user"}, {SCOPE_PROJECT, "project"}, {SCOPE_DOMAIN, "domain"},
    {SCOPE_GROUP, "group"}, END,
};
const struct wire_name names_preempt_order[] = {
    {VICTIM_NEWEST, "newest"}, {VICTIM_OLDEST, "oldest"}, {VICTIM_SMALLEST, "smallest"},
    {VICTIM_FEWEST, "fewest"}, END,
};
const struct wire_name names_depend_on[] = {
    {DEPEND_SUCCESS, "success"}, {DEPEND_END, "end"}, {DEPEND_FAILURE, "failure"}, END,
};
const struct wire_name names_on_disconnect[] = {
    {DISCONNECT_KEEP, "keep"}, {DISCONNECT_REQUEUE, "requeue"}, END,
};
const struct wire_name names_choice[] = {
    {CHOICE_DEFAULT, "default"}, {CHOICE_YES, "yes"}, {CHOICE_NO, "no"}, END,
};
const struct wire_name names_network_mode[] = {
    {NETWORK_DEFAULT, ""}, {NETWORK_OUTBOUND, "outbound"}, {NETWORK_NONE, "none"},
    {NETWORK_HOST, "host"}, END,
};
_Static_assert(ARRAY_LEN(names_network_mode) == NETWORK_MODES + 1, "one name a mode");
const struct wire_name names_account_role[] = {
    {ROLE_NONE, "none"}, {ROLE_ADMIN, "admin"}, {ROLE_MEMBER, "member"}, END,
};
const struct wire_name names_history[] = {
    {HISTORY_SUBMITTED, "session.submitted"},
    {HISTORY_STATE, "session.state"},
    {HISTORY_ATTEMPT_REVOKED, "session.attempt_revoked"},
    {HISTORY_ALARM, "session.alarm"},
    {HISTORY_SIGNAL, "session.signal"},
    {HISTORY_NODE_JOINED, "node.joined"},
    {HISTORY_NODE_UNREACHABLE, "node.unreachable"},
    {HISTORY_NODE_BACK, "node.back"},
    {HISTORY_NODE_CORDON, "node.cordon"},
    {HISTORY_NODE_QUARANTINED, "node.quarantined"},
    {HISTORY_NODE_FORGOTTEN, "node.forgotten"},
    {HISTORY_GROUP, "group.changed"},
    {HISTORY_UPDATED, "session.updated"},
    {HISTORY_ACCOUNT, "account.changed"},
    {HISTORY_RESERVED, "reservation.made"},
    {HISTORY_UNRESERVED, "reservation.gone"},
    {HISTORY_SILENCE_ACCEPTED, "silence.accepted"},
    {HISTORY_NODE_FENCED, "node.fenced"},
    {HISTORY_DEVICE, "device.changed"},
    {HISTORY_NODE_DRAIN, "node.drain"},
    END,
};
const struct wire_name names_device_health[] = {
    {DEVICE_UNREADABLE, "unreadable"}, {DEVICE_HEALTHY, "healthy"},
    {DEVICE_SUSPECT, "suspect"},       {DEVICE_QUARANTINED, "quarantined"},
    {DEVICE_RECOVERING, "recovering"}, {DEVICE_GONE, "gone"},
    END,
};
const struct wire_name names_device_order[] = {
    {DEVICE_ORDER_NONE, "none"}, {DEVICE_ORDER_RETURN, "return"},
    {DEVICE_ORDER_QUARANTINE, "quarantine"}, END,
};
const struct wire_name names_on_device_fault[] = {
    {DEVICE_FAULT_KEEP, "keep"}, {DEVICE_FAULT_REQUEUE, "requeue"}, END,
};
const struct wire_name names_why_kind[] = {
    {WHY_NONE, "none"},         {WHY_PLACED, "placed"},     {WHY_WAITING, "waiting"},
    {WHY_OVER_QUOTA, "over_quota"}, {WHY_NO_CAPACITY, "no_capacity"},
    {WHY_SKIPPED, "skipped"},   {WHY_PREEMPTING, "preempting"}, {WHY_STARTING, "starting"},
    {WHY_STOPPING, "stopping"}, {WHY_RUNNING, "running"},   END,
};
