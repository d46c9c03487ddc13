/* wire/carry.c - frame heads of carried streams.
 *
 * What one side may send is a table; so is the length of each. */
#include "wire/carry.h"

#include <string.h>

#include "base/check.h"

struct carry_rule { enum carry_type type; enum carry_side from; uint32_t min, max; };

static const struct carry_rule rules[] = {
    {CARRY_COMMAND, CARRY_FROM_CLIENT, 1, CARRY_PAYLOAD_MAX},
    {CARRY_STDIN, CARRY_FROM_CLIENT, 0, CARRY_PAYLOAD_MAX},
    {CARRY_STDIN_END, CARRY_FROM_CLIENT, 0, 0},
    {CARRY_RESIZE, CARRY_FROM_CLIENT, 4, 4},
    {CARRY_SIGNAL, CARRY_FROM_CLIENT, 1, 1},
    {CARRY_STDOUT, CARRY_FROM_AGENT, 0, CARRY_PAYLOAD_MAX},
    {CARRY_STDERR, CARRY_FROM_AGENT, 0, CARRY_PAYLOAD_MAX},
    {CARRY_END, CARRY_FROM_AGENT, 1, CARRY_PAYLOAD_MAX},
    {CARRY_ERROR, CARRY_FROM_AGENT, 0, CARRY_PAYLOAD_MAX},
    {CARRY_NOTICE, CARRY_FROM_AGENT, 0, CARRY_PAYLOAD_MAX},
};

static const struct carry_rule *rule_of(uint8_t type)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].type == type) return &rules[i];
    }
    return NULL;
}

void carry_head_put(uint8_t head[CARRY_HEAD], enum carry_type type, uint32_t n)
{
    const struct carry_rule *rule = rule_of((uint8_t)type);
    CHECK(rule != NULL);
    CHECK(n >= rule->min);
    CHECK(n <= rule->max);
    memset(head, 0, CARRY_HEAD);
    head[0] = (uint8_t)type;
    for (int i = 0; i < 4; i++) head[4 + i] = (uint8_t)(n >> (24 - 8 * i));
}

int carry_head_get(const uint8_t head[CARRY_HEAD], enum carry_side from, enum carry_type *ret_type,
                   uint32_t *ret_n, struct err *err)
{
    const struct carry_rule *rule = rule_of(head[0]);
    if (!rule || rule->from != from) {
        return err_set(err, ERR_INVALID, "frame of type %u is not expected here", head[0]);
    }
    if (head[1] || head[2] || head[3]) {
        return err_set(err, ERR_INVALID, "frame head with bytes that must be zero");
    }
    uint32_t n = 0;
    for (int i = 4; i < CARRY_HEAD; i++) n = n << 8 | head[i];
    if (n < rule->min || n > rule->max) {
        return err_set(err, ERR_INVALID, "frame '%c' of %u bytes; expected %u to %u", head[0], n,
                       rule->min, rule->max);
    }
    *ret_type = rule->type;
    *ret_n = n;
    return 0;
}

void carry_resize_put(uint8_t payload[4], uint16_t rows, uint16_t cols)
{
    payload[0] = (uint8_t)(rows >> 8);
    payload[1] = (uint8_t)(rows & 0xff);
    payload[2] = (uint8_t)(cols >> 8);
    payload[3] = (uint8_t)(cols & 0xff);
}

void carry_resize_get(const uint8_t payload[4], uint16_t *ret_rows, uint16_t *ret_cols)
{
    *ret_rows = (uint16_t)(payload[0] << 8 | payload[1]);
    *ret_cols = (uint16_t)(payload[2] << 8 | payload[3]);
}
