/* wire/carry.h - frames of the byte stream between a client and a container.
 *
 * 1 byte type, 3 bytes zero, 4 bytes length (big endian), payload.  Pure
 * functions on bytes; the same both ways.  docs/spec/node.md, "Carry" */
#ifndef WIRE_CARRY_H
#define WIRE_CARRY_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

#define CARRY_HEAD 8
#define CARRY_PAYLOAD_MAX 65536u
#define CARRY_UPGRADE "rota-carry"
#define CARRY_TICKET_HEADER "Rota-Ticket"

enum carry_type {
    /* client to agent */
    CARRY_COMMAND = 'C',   /* first frame of an exec: struct exec_request as JSON */
    CARRY_STDIN = 'I',
    CARRY_STDIN_END = 'Z', /* no payload */
    CARRY_RESIZE = 'R',    /* u16 rows, u16 columns */
    CARRY_SIGNAL = 'K',    /* u8 */
    /* agent to client */
    CARRY_STDOUT = 'O',
    CARRY_STDERR = '2',
    CARRY_END = 'X',       /* struct carry_end as JSON; the agent closes */
    CARRY_ERROR = 'E',     /* a sentence; the agent closes */
    CARRY_NOTICE = 'N',    /* a sentence ("12 records lost") */
};
enum carry_side { CARRY_FROM_CLIENT = 1, CARRY_FROM_AGENT };

/* CHECKs the length. */
void carry_head_put(uint8_t head[CARRY_HEAD], enum carry_type type, uint32_t n);
/* ERR_INVALID on a type this side may not send, bytes that are not zero, and a length that
 * does not suit the type. */
int carry_head_get(const uint8_t head[CARRY_HEAD], enum carry_side from, enum carry_type *ret_type,
                   uint32_t *ret_n, struct err *err);
void carry_resize_put(uint8_t payload[4], uint16_t rows, uint16_t cols);
void carry_resize_get(const uint8_t payload[4], uint16_t *ret_rows, uint16_t *ret_cols);

#endif
