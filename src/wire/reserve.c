/* wire/reserve.c - the tables of reservations. */
#include "wire/reserve.h"

#include "wire/time.h"

#define OMIT .flags = WIRE_OMIT

static int finish_request(void *obj, struct err *err)
{
    const struct reserve_request *rq = obj;
    int64_t at;
    const char *field = NULL, *text = NULL;
    if ((rq->user[0] == '\0') == (rq->project[0] == '\0')) {
        field = "user";
        text = "expected either a user or a project";
    } else if (rq->start_at[0] && rq->start_in_ms > 0) {
        field = "start_at";
        text = "stands beside start_in: give one of both";
    } else if (rq->start_at[0] && !wire_time_parse(str_of(rq->start_at), &at)) {
        field = "start_at";
        text = "expected an instant such as 2026-12-01T18:00:00Z";
    }
    if (!field) return 0;
    int rc = err_set(err, ERR_INVALID, "%s", text);
    TEXT_CLIP(err->field, str_of(field));
    return rc;
}

static const struct wire_field request_fields[] = {
    WIRE_F_TEXT(struct reserve_request, name, "name", .flags = WIRE_OMIT | WIRE_NAME,
                .doc = "For people."),
    WIRE_F_TEXT(struct reserve_request, user, "user", OMIT, .doc = "For whom: a user ..."),
    WIRE_F_TEXT(struct reserve_request, project, "project", OMIT, .doc = "... or a project."),
    WIRE_F_TEXT(struct reserve_request, group, "group", .def_text = "default", .min = 1),
    WIRE_F_TEXT(struct reserve_request, node, "node", OMIT,
                .doc = "This node; absent: any of the group."),
    WIRE_F_I64(struct reserve_request, start_in_ms, "start_in_ms", .alias = "start_in",
               .flags = WIRE_OMIT | WIRE_DURATION, .min = 0, .max = RESERVATION_AHEAD_MAX_MS,
               .doc = "It begins when this time has passed."),
    WIRE_F_TEXT(struct reserve_request, start_at, "start_at", OMIT,
                .doc = "It begins at this instant (RFC 3339)."),
    WIRE_F_I64(struct reserve_request, length_ms, "length_ms", .alias = "length",
               .flags = WIRE_REQUIRED | WIRE_DURATION, .min = 1, .max = RESERVATION_AHEAD_MAX_MS,
               .doc = "How long it lasts."),
    WIRE_F_U32(struct reserve_request, nodes, "nodes", .min = 1, .max = RESERVATION_PARTS_MAX,
               .def = 1, .doc = "On how many nodes."),
    WIRE_F_I64(struct reserve_request, cpu_milli, "cpu_milli", .alias = "cpu",
               .flags = WIRE_OMIT | WIRE_CPU, .min = 0, .max = SLOT_MAX,
               .doc = "On each of them."),
    WIRE_F_I64(struct reserve_request, mem_bytes, "mem_bytes", .alias = "mem",
               .flags = WIRE_OMIT | WIRE_BYTES, .min = 0, .max = SLOT_MAX,
               .doc = "On each of them."),
    WIRE_F_I64(struct reserve_request, gpu, "gpu", OMIT, .min = 0, .max = NODE_DEVICES_MAX,
               .doc = "Whole devices on each of them."),
};
const struct wire_table wire_reserve_request =
    WIRE_TABLE("reservation", struct reserve_request, request_fields, .finish = finish_request);

static const struct wire_field each_fields[] = {
    WIRE_F_I64(struct slots_view, cpu_milli, "cpu_milli"),
    WIRE_F_I64(struct slots_view, mem_bytes, "mem_bytes"),
    WIRE_F_I64(struct slots_view, gpu, "gpu"),
};
static const struct wire_table each_table =
    WIRE_TABLE("amounts on each node", struct slots_view, each_fields);

static const struct wire_field part_fields[] = {
    WIRE_F_TEXT(struct reservation_part_view, node, "node"),
    WIRE_F_TEXT(struct reservation_part_view, devices, "devices", .doc = "\"0,1,3\"."),
};
static const struct wire_table part_table =
    WIRE_TABLE("node of a reservation", struct reservation_part_view, part_fields);

static const struct wire_field view_fields[] = {
    WIRE_F_TEXT(struct reservation_view, id, "id"),
    WIRE_F_TEXT(struct reservation_view, name, "name", OMIT),
    WIRE_F_TEXT(struct reservation_view, user, "user", OMIT),
    WIRE_F_TEXT(struct reservation_view, project, "project", OMIT),
    WIRE_F_TEXT(struct reservation_view, group, "group"),
    WIRE_F_TEXT(struct reservation_view, state, "state", .doc = "planned or active."),
    WIRE_F_TEXT(struct reservation_view, start_at, "start_at"),
    WIRE_F_TEXT(struct reservation_view, end_at, "end_at"),
    WIRE_F_I64(struct reservation_view, starts_in_ms, "starts_in_ms"),
    WIRE_F_I64(struct reservation_view, ends_in_ms, "ends_in_ms"),
    WIRE_F_OBJECT(struct reservation_view, each, "each", &each_table),
    WIRE_F_ARRAY(struct reservation_view, parts, n_parts, "nodes", &part_table),
};
const struct wire_table wire_reservation_view =
    WIRE_TABLE("reservation", struct reservation_view, view_fields);

static const struct wire_field list_fields[] = {
    WIRE_F_LIST(struct reservation_list, items, "items", &wire_reservation_view,
                WORLD_RESERVATIONS_MAX),
    WIRE_F_TEXT(struct reservation_list, next, "next"),
};
const struct wire_table wire_reservation_list =
    WIRE_TABLE("reservations", struct reservation_list, list_fields, .max_bytes = 32u << 20);

bool wire_reservation_id(struct str text, uint32_t *ret)
{
    uint64_t id = 0;
    if (text.n > 0 && text.p[0] == 'r') text = str_n(text.p + 1, text.n - 1);
    if (!str_to_u64(text, &id) || id == 0 || id > UINT32_MAX) return false;
    *ret = (uint32_t)id;
    return true;
}
