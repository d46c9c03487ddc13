/* wire/rows.h - how objects of the core are stored: one versioned JSON text each.
 *
 * Only facts: indexes and what a restarted manager must hear again are not in
 * it.  Reading yields the same struct with those parts zero. */
#ifndef WIRE_ROWS_H
#define WIRE_ROWS_H
#include "core/model/world.h"
#include "core/step.h"
#include "wire/names.h"
#include "wire/table.h"

extern const struct wire_table wire_row_session, wire_row_alloc, wire_row_node, wire_row_group,
    wire_row_domain, wire_row_project, wire_row_user, wire_row_reservation, wire_row_history;

#endif
