/* wire/reserve.h - reservations, as people ask for them and see them. */
#ifndef WIRE_RESERVE_H
#define WIRE_RESERVE_H
#include "core/model/reservation.h"
#include "wire/objects.h"

struct reserve_request {
    char name[64];
    char user[64], project[64]; /* one of them */
    char group[64], node[NODE_NAME_MAX + 1]; /* node "": any of the group */
    int64_t start_in_ms;
    char start_at[WIRE_TIME_TEXT];  /* or this; neither: at once */
    int64_t length_ms;
    uint32_t nodes;
    int64_t cpu_milli, mem_bytes, gpu; /* on each of them */
};
struct reservation_part_view { char node[NODE_NAME_MAX + 1], devices[48]; };
struct reservation_view {
    char id[16];                 /* "r3" */
    char name[64], user[64], project[64], group[64];
    char state[16];              /* "planned", "active" */
    char start_at[WIRE_TIME_TEXT], end_at[WIRE_TIME_TEXT];
    int64_t starts_in_ms;        /* 0: it has begun */
    int64_t ends_in_ms;
    struct slots_view each;      /* on each node */
    uint32_t n_parts;
    struct reservation_part_view parts[RESERVATION_PARTS_MAX];
};
struct reservation_list { VEC(struct reservation_view) items; char next[64]; };
extern const struct wire_table wire_reserve_request, wire_reservation_view, wire_reservation_list;

/* "r3" or "3"; false on anything else. */
bool wire_reservation_id(struct str text, uint32_t *ret);

#endif
