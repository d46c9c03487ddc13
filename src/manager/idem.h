/* manager/idem.h - Idempotency-Key: the same question twice gets the same answer.
 *
 * What is stored is asked of the store; this table bridges the moment between a
 * decision and its durability, so that a repeat in that moment is seen too. */
#ifndef MANAGER_IDEM_H
#define MANAGER_IDEM_H
#include "base/map.h"
#include "base/vec.h"
#include "store/store.h"

#define IDEM_KEEP_MS (24 * 60 * 60 * INT64_C(1000))
#define IDEM_KEY_MAX 127

struct idem {
    struct map_str by_key; /* "user/key" of entries not yet durable */
    VEC(struct store_idem) entries;
    VEC(uint32_t) free;
};

enum idem_found { IDEM_NEW = 1, IDEM_SAME, IDEM_OTHER_BODY };

void idem_done(struct idem *i);
void idem_clear(struct idem *i); /* the undurable never happened */
/* `ask` has user, key, body_hash and wall_ms (now) set; SAME: *ret_session is the answer's. */
int idem_find(const struct idem *i, struct store_reader *r, const struct store_idem *ask,
              enum idem_found *ret, uint64_t *ret_session, struct err *err);
void idem_add(struct idem *i, const struct store_idem *e);
void idem_durable(struct idem *i, const struct store_idem *e); /* the store has it now */

#endif
