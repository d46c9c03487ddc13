/* wire/names.h - the words that stand for enum values in JSON, rows and command lines. */
#ifndef WIRE_NAMES_H
#define WIRE_NAMES_H
#include "wire/table.h"

extern const struct wire_name names_session_state[], names_session_outcome[], /* "" is none */
    names_session_kind[], names_member_phase[], names_want_act[], names_on_blocked[],
    names_queue_order[],
    names_place_strategy[], names_place_strategy_or_none[], names_preempt_mode[],
    names_preempt_scope[], names_preempt_order[], names_depend_on[], names_choice[],
    names_account_role[],
    names_history[],
    names_why_kind[],
    names_device_health[],
    names_on_disconnect[],
    names_network_mode[],
    names_device_order[],
    names_on_device_fault[];

#endif
